"""Project on disk and in-memory editor for workspace tests."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from tideate_core.workspace import FileChange, Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.buffers import Buffers
    from tideate_core.workspace import AppliedChanges, Workspace

Tree = dict[str, tuple[str, int, bytes]]

NAME = "src/long.py"
LONG = "\n".join(f"line {number}" for number in range(1, 21))
WANTED = LONG.replace("line 5", "five").replace("line 15\n", "")
BY_HAND = LONG.replace("line 10", "mine").replace("line 20", "line 20\nmine, too") + "\n"


def tree(root: Path) -> Tree:
    """Return kind, mode and content of every path below a directory."""
    found: Tree = {}
    for path in sorted(root.rglob("*")):
        status = path.lstat()
        mode = stat.S_IMODE(status.st_mode)
        if path.is_symlink():
            entry = ("link", 0, os.fsencode(path.readlink()))
        elif path.is_dir():
            entry = ("directory", mode, b"")
        elif not path.is_file():
            entry = ("other", mode, b"")
        else:
            entry = ("file", mode, path.read_bytes())
        found[path.relative_to(root).as_posix()] = entry
    return found


class TextFile:
    """File that a user changes by hand."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def text(self) -> str:
        return self.path.read_bytes().decode()

    def write(self, text: str) -> None:
        self.path.write_bytes(text.encode())

    def change(self, old: str, new: str) -> None:
        assert old in self.text
        self.write(self.text.replace(old, new))


def edit(name: str, before: str | None, after: str | None) -> FileChange:
    return FileChange(name, "modify", before, after)


def creating(name: str, text: str | None) -> FileChange:
    return FileChange(name, "create", None, text)


def deleting(name: str, text: str | None = None) -> FileChange:
    return FileChange(name, "delete", text, None)


def moving(name: str, new: str, before: str | None = None, after: str | None = None) -> FileChange:
    return FileChange(name, "move", before, after, move_to=new)


async def apply_changes(workspace: Workspace, *changes: FileChange) -> AppliedChanges:
    """Apply changes as the run `run`."""
    return await workspace.apply(changes, execution_id="run")


def change_by_hand(file: TextFile) -> None:
    """Change two lines of `LONG` that stay in `WANTED`."""
    file.change("line 10", "mine")
    file.change("line 20", "line 20\nmine, too")


def types(editor: Buffers, number: int, old: str, new: str) -> None:
    assert old in editor.text(number)
    editor.types(number, editor.text(number).replace(old, new))


async def run(edited: Workspace, number: int | None = None) -> None:
    await apply_changes(edited, FileChange(NAME, "modify", LONG, WANTED, buffer=number))
