"""Protocol of an editor's buffers, as far as a workspace needs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tideate_core.workspace.changes import Hunk

__all__ = ["BufferEdit", "BufferText", "Buffers"]


@dataclass(frozen=True, slots=True)
class BufferText:
    """Text of a loaded buffer, saved or not."""

    number: int
    tick: int
    """Its changedtick at the time of reading."""
    text: str
    """Its lines joined by ``\\n``, without the last line end."""
    modified: bool = False
    path: str = ""
    """Absolute; empty for a buffer without a name."""


@dataclass(frozen=True, slots=True)
class BufferEdit:
    """Hunks made against a buffer at `tick`."""

    number: int
    tick: int
    hunks: tuple[Hunk, ...]


class Buffers(Protocol):
    """The loaded buffers of an editor. Every call may raise `FrontEndGone`."""

    async def find(self, path: Path) -> BufferText | None:
        """Return the loaded buffer of this file, None if there is none."""

    async def read(self, number: int) -> BufferText | None:
        """Return the loaded buffer of this number, None if there is none."""

    async def replace(self, edits: Sequence[BufferEdit]) -> list[BufferText]:
        """Apply all edits, one undo block for each buffer, or none.

        :returns: empty if they were applied; else the buffers whose changedtick is another one, as they
            are now, and nothing was applied.
        :raises EditConflict: a buffer is gone or cannot be modified; nothing was applied.
        """

    async def changed_on_disk(self, paths: Sequence[Path]) -> None:
        """Let the editor look at these files again."""

    async def moved(self, old: Path, new: Path) -> None:
        """Give the buffer of `old`, if there is one, its file's new name."""

    async def save(self, numbers: Sequence[int]) -> None:
        """Write those of these buffers that have changes to their files, exactly as they are.

        :raises WorkspaceError: one cannot be; the ones before it are.
        """

    async def modified(self, root: Path) -> list[Path]:
        """Return the files below a directory whose buffers have changes that were not saved."""
