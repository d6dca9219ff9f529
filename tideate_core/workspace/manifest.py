"""What one apply was about to change, as data."""

from __future__ import annotations

import json
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

from tideate_core.workspace.files import FileState  # noqa: TC001 pydantic resolves it

__all__ = [
    "BufferEntry",
    "DirectoryEntry",
    "Entry",
    "FileEntry",
    "Manifest",
    "ModeEntry",
    "MoveEntry",
    "Packed",
    "RemovedEntry",
]

_LATER: Final = ("kept", "moved_from", "disk", "disk_kept")
"""Fields that manifests did not always have: left out where they say nothing, or old seals would fail."""


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Packed(_Entry):
    """Where an image is that is kept besides the pre-image, packed on the ground of it."""

    offset: int
    length: int


class FileEntry(_Entry):
    """One path: what stood there and what will."""

    kind: Literal["file"] = "file"
    path: str
    before: FileState
    after: FileState
    temp: str
    """Name of the file beside it that is written first."""
    offset: int = 0
    length: int = 0
    """Where the pre-image is."""
    kept: Packed | None = None
    """The post-image of a text; None where it was not kept, or stands elsewhere in the record."""
    moved_from: str | None = None
    """Another entry's path: its file goes here."""


class BufferEntry(_Entry):
    """One buffer: digests of its text before and after, and the file of it that stood there before."""

    kind: Literal["buffer"] = "buffer"
    path: str
    moved_to: str | None = None
    number: int
    before: str
    after: str
    offset: int = 0
    length: int = 0
    kept: Packed | None = None
    disk: FileState | None = None
    """None where it is not known."""
    disk_kept: Packed | None = None


class DirectoryEntry(_Entry):
    """A directory that was made."""

    kind: Literal["directory"] = "directory"
    path: str


class MoveEntry(_Entry):
    """A file that the editor was told of under its new name."""

    kind: Literal["move"] = "move"
    old: str
    new: str


class RemovedEntry(_Entry):
    """A directory that was removed, empty then."""

    kind: Literal["removed"] = "removed"
    path: str
    mode: int


class ModeEntry(_Entry):
    """Permission bits that were changed; the ones of a file that is written are in its own entry, too."""

    kind: Literal["mode"] = "mode"
    path: str
    before: int
    after: int


Entry = FileEntry | BufferEntry | DirectoryEntry | MoveEntry | RemovedEntry | ModeEntry


class Manifest(_Entry):
    """What one apply was about to change, written before it did."""

    version: Literal[1] = 1
    step: str | None = None
    """Of the run, that wanted it; None where nobody said."""
    entries: tuple[Entry, ...]
    seal: str = ""
    """Of the rest and of the run that it belongs to; empty where none could be made."""

    def as_text(self) -> str:
        """Return it as JSON; what an older manifest did not have and this one does not need is left out."""
        shape = self.model_dump()
        for entry in shape["entries"]:
            for field in _LATER:
                if entry.get(field) is None:
                    entry.pop(field, None)
        return json.dumps(shape, separators=(",", ":"))  # pydantic's own refuses names that are no UTF-8
