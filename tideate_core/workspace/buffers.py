"""Protocol for an editor's buffers, as the workspace uses them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tideate_core.workspace.changes import Hunk


@dataclass(frozen=True, slots=True)
class BufferText:
    """Text of a loaded buffer, saved or not."""

    number: int
    tick: int
    """`changedtick` at the time of reading."""
    text: str
    """Lines joined by ``\\n``, without the last line end."""
    modified: bool = False
    path: str = ""
    """Absolute; empty for an unnamed buffer."""
    gone: bool = False
    """The file existed at an earlier read and no longer does."""


@dataclass(frozen=True, slots=True)
class BufferEdit:
    """Hunks for one buffer, made against `tick`."""

    number: int
    tick: int
    hunks: tuple[Hunk, ...]


class Buffers(Protocol):
    """Loaded buffers of an editor. Every call may raise `FrontEndGone`."""

    async def find(self, path: Path) -> BufferText | None:
        """Return the loaded buffer of a file, or None."""

    async def read(self, number: int) -> BufferText | None:
        """Return the loaded buffer with this number, or None."""

    async def replace(self, edits: Sequence[BufferEdit]) -> list[BufferText]:
        """Apply all edits, one undo block per buffer, or none of them.

        :returns: empty on success; otherwise the current state of each buffer with another changedtick, and
            no edit was applied.
        :raises EditConflict: a buffer is gone or not modifiable; no edit was applied.
        """

    async def changed_on_disk(self, paths: Sequence[Path]) -> None:
        """Make the editor check these files for changes on disk."""

    async def moved(self, old: Path, new: Path) -> None:
        """Rename the buffer of a moved file, if it is loaded."""

    async def missing_characters(self, number: int, text: str) -> tuple[str, str]:
        """Return the characters that the encoding of a buffer's file lacks, and the encoding's name."""

    async def encoded(self, number: int, texts: Sequence[str]) -> list[bytes]:
        """Return the bytes of a buffer's file for each text; empty if a text cannot be encoded."""

    async def save(self, numbers: Sequence[int]) -> dict[int, str]:
        """Save the modified buffers among these, byte for byte.

        :returns: buffers that were not saved, with the reason: `:write` would change the text, or failed.
        """

    async def modified(self, root: Path) -> list[Path]:
        """Return the files below a directory that have unsaved changes."""
