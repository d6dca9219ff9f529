"""Project on disk and in-memory editor for workspace tests."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tideate_core.errors import EditConflict
from tideate_core.workspace import BufferEdit, BufferText, FileChange, apply_hunks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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


class Editor:
    """Loaded buffers with an editor's behaviour: a tick for every change, all edits or none.

    A saved text ends with a line end, as editors write by default.
    """

    def __init__(self) -> None:
        self.buffers: dict[int, BufferText] = {}
        self.disk_checks: list[Path] = []
        self.renames: list[tuple[Path, Path]] = []
        self.unwritable: set[int] = set()
        self.lacking: dict[int, str] = {}
        """Characters that a buffer's encoding lacks."""
        self.before_replace: Callable[[], None] = lambda: None
        self.before_disk_check: Callable[[], None] = lambda: None

    def load(self, path: Path | None, text: str, *, modified: bool = False) -> int:
        number = len(self.buffers) + 1
        self.buffers[number] = BufferText(number, 1, text, modified, str(path) if path else "")
        return number

    def types(self, number: int, text: str) -> None:
        buffer = self.buffers[number]
        self.buffers[number] = replace(buffer, text=text, tick=buffer.tick + 1, modified=True)

    def text(self, number: int) -> str:
        return self.buffers[number].text

    async def find(self, path: Path) -> BufferText | None:
        return next((buffer for buffer in self.buffers.values() if buffer.path == str(path)), None)

    async def read(self, number: int) -> BufferText | None:
        return self.buffers.get(number)

    async def replace(self, edits: Sequence[BufferEdit]) -> list[BufferText]:
        self.before_replace()
        for edit in edits:
            if edit.number not in self.buffers:
                raise EditConflict(f"buffer {edit.number} is gone")
        changed = [self.buffers[edit.number] for edit in edits if self.buffers[edit.number].tick != edit.tick]
        if not changed:
            for edit in edits:
                lines = apply_hunks(self.text(edit.number).split("\n"), edit.hunks)
                self.types(edit.number, "\n".join(lines))
        return changed

    async def changed_on_disk(self, paths: Sequence[Path]) -> None:
        self.before_disk_check()
        self.disk_checks += paths

    def saves(self, number: int) -> None:
        buffer = self.buffers[number]
        Path(buffer.path).write_text(buffer.text + "\n")
        self.buffers[number] = replace(buffer, modified=False)

    async def missing_characters(self, number: int, text: str) -> tuple[str, str]:
        missing = [one for one in dict.fromkeys(text) if one in self.lacking.get(number, "")]
        return "".join(missing), "latin1" if number in self.lacking else ""

    async def encoded(self, number: int, texts: Sequence[str]) -> list[bytes]:
        return []

    async def save(self, numbers: Sequence[int]) -> dict[int, str]:
        for number in numbers:
            if number not in self.unwritable and self.buffers[number].modified:
                self.saves(number)
        return dict.fromkeys(self.unwritable.intersection(numbers), "E45: 'readonly' option is set")

    async def modified(self, root: Path) -> list[Path]:
        found = [Path(buffer.path) for buffer in self.buffers.values() if buffer.path and buffer.modified]
        return [path for path in found if path.is_relative_to(root)]

    async def moved(self, old: Path, new: Path) -> None:
        self.renames.append((old, new))
        for number, buffer in self.buffers.items():
            if buffer.path == str(old):
                self.buffers[number] = replace(buffer, path=str(new))


def types(editor: Editor, number: int, old: str, new: str) -> None:
    assert old in editor.text(number)
    editor.types(number, editor.text(number).replace(old, new))


async def run(edited: Workspace, number: int | None = None) -> None:
    await apply_changes(edited, FileChange(NAME, "modify", LONG, WANTED, buffer=number))
