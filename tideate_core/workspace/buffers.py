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
    gone: bool = False
    """Its file was there when the buffer was read before, and is not any more."""


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

    async def missing_characters(self, number: int, text: str) -> tuple[str, str]:
        """Return the characters of a text that the encoding of a buffer's file lacks, and that encoding."""

    async def encoded(self, number: int, texts: Sequence[str]) -> list[bytes]:
        """Return the bytes of a buffer's file for each of these texts; empty if one cannot be encoded."""

    async def save(self, numbers: Sequence[int]) -> dict[int, str]:
        """Write those of these buffers that have changes to their files, exactly as they are.

        :returns: the reasons for those that were not written: `:write` would write something else, or failed.
        """

    async def modified(self, root: Path) -> list[Path]:
        """Return the files below a directory whose buffers have changes that were not saved."""
