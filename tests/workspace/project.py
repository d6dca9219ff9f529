"""A project on disk and an editor in memory for the tests of the workspace."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from typing import TYPE_CHECKING

from tideate_core.errors import EditConflict
from tideate_core.workspace import BufferEdit, BufferText, apply_hunks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

Tree = dict[str, tuple[str, int, bytes]]


def tree(root: Path) -> Tree:
    """Everything below a directory: kind, mode and content of each path."""
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


class Editor:
    """Loaded buffers that behave as an editor's: a tick for every change, all edits or none."""

    def __init__(self) -> None:
        self.buffers: dict[int, BufferText] = {}
        self.disk_checks: list[Path] = []
        self.renames: list[tuple[Path, Path]] = []
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

    async def moved(self, old: Path, new: Path) -> None:
        self.renames.append((old, new))
        for number, buffer in self.buffers.items():
            if buffer.path == str(old):
                self.buffers[number] = replace(buffer, path=str(new))
