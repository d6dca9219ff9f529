"""An editor in memory: its buffers, and its answers to queries."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tideate_core.errors import EditConflict
from tideate_core.workspace import BufferEdit, BufferText, apply_hunks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["Buffers"]


class Buffers:
    """Loaded buffers with an editor's behaviour: a tick for every change, all edits or none.

    A saved text ends with a line end, as editors write by default.
    """

    def __init__(self, **answers: Any) -> None:
        """Open an editor with an answer to each query, by name."""
        self.buffers: dict[int, BufferText] = {}
        self.answers = answers
        self.otherwise: Any = {"answers": [], "errors": [], "buffers": [], "items": []}
        """The answer to every other query."""
        self.asked: list[tuple[str, dict[str, Any]]] = []
        """The queries, with their arguments."""
        self.disk_checks: list[Path] = []
        self.renames: list[tuple[Path, Path]] = []
        self.unwritable: set[int] = set()
        self.lacking: dict[int, str] = {}
        """Characters that a buffer's encoding lacks."""
        self.before_replace: Callable[[], None] = lambda: None
        self.before_disk_check: Callable[[], None] = lambda: None

    @classmethod
    def typed(cls, path: Path, text: str) -> Buffers:
        """Open an editor with one file that has unsaved changes."""
        editor = cls()
        editor.types(editor.load(path, ""), text)
        return editor

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

    async def query(self, name: str, arguments: Mapping[str, Any], *, within: float) -> Any:
        assert within > arguments.get("limit", 0) / 1000
        self.asked.append((name, dict(arguments)))
        return self.answers.get(name, self.otherwise)
