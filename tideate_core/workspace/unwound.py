"""What it takes to go back, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.workspace.buffers import BufferEdit
    from tideate_core.workspace.files import FileImage, FileState
    from tideate_core.workspace.journal import Record

__all__ = ["Mark", "Restore", "Save", "TakenBack", "Unwound"]


@dataclass(frozen=True, slots=True)
class TakenBack:
    """What came of taking back a run: names of files, and of buffers without one."""

    restored: list[str]
    """As they were before."""
    merged: list[str]
    """As they were before, with what a person or another run changed in them since."""
    left: list[str]
    """As they are: they were changed since where the run wrote."""


@dataclass(frozen=True, slots=True)
class Restore:
    """One path is to hold again what it held before."""

    path: Path
    wanted: FileImage
    expected: FileState
    temp: Path


@dataclass(frozen=True, slots=True)
class Save:
    """One buffer is to be saved, once it is restored: its file has what the run wrote."""

    number: int
    path: Path
    wanted: FileImage
    """What the file is to hold, byte for byte, if the buffer has no more than that."""
    text: str
    """Of the buffer then."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A file or buffer will be in one of these states once a record is undone in it."""

    record: Record
    key: str
    states: tuple[str, ...]
    merged: bool


@dataclass(slots=True)
class Unwound:
    """What it takes to go back."""

    files: list[Restore] = field(default_factory=list)
    edits: list[BufferEdit] = field(default_factory=list)
    saves: list[Save] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    """Of everything that will be restored."""
    merged: list[str] = field(default_factory=list)
    """Those of them in which there is something to keep."""
    before: dict[str, bool] = field(default_factory=dict)
    """What an earlier rollback, finished or not, restored, and whether it kept something in it."""
    reasons: dict[str, str] = field(default_factory=dict)
    """Why something that was changed since cannot be restored."""
    left: list[str] = field(default_factory=list)
    """Of the same, and what goes only along with it."""

    @property
    def conflicts(self) -> list[str]:
        """Names of what cannot be restored."""
        return list(self.reasons)
