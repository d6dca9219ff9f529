"""Manifest of a journal record: schema of the entries of one apply.

Validated as untrusted data: it can only name paths below the root and temporary files beside them.
"""

from __future__ import annotations

import base64
import json
import re
from typing import Annotated, Final, Literal, Self, TypeAlias

from pydantic import AfterValidator, Base64Bytes, BaseModel, ConfigDict, Field

from tideate_core.util.file_metadata import Metadata
from tideate_core.workspace.files import FileState
from tideate_core.workspace.paths import PROTECTED

_LATER: Final = ("kept", "moved_from", "disk", "disk_kept", "saved", "saved_kept", "metadata")
"""Fields that are omitted if they are empty."""
_MODE_BITS: Final = 0o7777
_DIGEST: Final = re.compile(r"[0-9a-f]{40}")
_TEMPORARY: Final = r"^\.tideate-[0-9a-f]{1,32}\.tmp$"


def _below_the_root(path: str) -> str:
    parts = path.split("/")
    if "\0" in path or any(part in ("", ".", "..") or part.casefold() in PROTECTED for part in parts):
        raise ValueError(f"{path!r} is not a path below the root that a run may write")
    return path


def _no_nul(path: str) -> str:
    if "\0" in path:
        raise ValueError(f"{path!r} is not a path")
    return path


def _whole_state(state: FileState) -> FileState:
    wants_digest = state.kind in ("file", "link")
    if bool(_DIGEST.fullmatch(state.digest)) != wants_digest or (state.digest and not wants_digest):
        raise ValueError(f"the digest {state.digest!r} is none of a {state.kind}")
    if not 0 <= state.mode <= _MODE_BITS:
        raise ValueError(f"{state.mode} are not permission bits")
    return state


_Path: TypeAlias = Annotated[str, AfterValidator(_below_the_root)]
_State: TypeAlias = Annotated[FileState, AfterValidator(_whole_state)]
_Digest: TypeAlias = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
_Length: TypeAlias = Annotated[int, Field(ge=0)]
_Mode: TypeAlias = Annotated[int, Field(ge=0, le=_MODE_BITS)]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class KeptMetadata(_Entry):
    """Owner and extended attributes of an earlier file or directory."""

    user: _Length
    group: _Length
    attributes: dict[Annotated[str, AfterValidator(_no_nul)], Base64Bytes] = {}

    @classmethod
    def of(cls, metadata: Metadata | None) -> Self | None:
        if metadata is None:
            return None
        user, group = metadata.owner
        kept = {name: base64.b64encode(value) for name, value in metadata.attributes}
        return cls(user=user, group=group, attributes=kept)

    def metadata(self) -> Metadata:
        return Metadata((self.user, self.group), tuple(self.attributes.items()))


class CompressedImage(_Entry):
    """Place of a compressed image; its dictionary is the pre-image."""

    offset: _Length
    length: _Length


class FileEntry(_Entry):
    """Change of one path: its state before and after."""

    kind: Literal["file"] = "file"
    path: _Path
    before: _State
    after: _State
    temp: Annotated[str, Field(pattern=_TEMPORARY)]
    """Name of the temporary file in the same directory."""
    offset: _Length = 0
    length: _Length = 0
    """Place of the pre-image."""
    kept: CompressedImage | None = None
    """Post-image of a text; None if it was not kept or is elsewhere in the record."""
    moved_from: _Path | None = None
    """Path of another entry, the source of a move."""
    metadata: KeptMetadata | None = None
    """Of the file before the change."""


class BufferEntry(_Entry):
    """Change of one buffer: digests of its text before and after, and its file's earlier state."""

    kind: Literal["buffer"] = "buffer"
    path: Annotated[str, AfterValidator(_no_nul)]
    """Below the root; absolute for a file outside that the user opened; empty for an unnamed buffer."""
    moved_to: Annotated[str, AfterValidator(_no_nul)] | None = None
    number: _Length
    before: _Digest
    after: _Digest
    offset: _Length = 0
    length: _Length = 0
    kept: CompressedImage | None = None
    disk: _State | None = None
    """None if unknown."""
    disk_kept: CompressedImage | None = None
    saved: _State | None = None
    """State of its file after a save, if the bytes are not the text as UTF-8."""
    saved_kept: CompressedImage | None = None


class DirectoryEntry(_Entry):
    """Created directory."""

    kind: Literal["directory"] = "directory"
    path: _Path


class MoveEntry(_Entry):
    """File that the editor was told to rename."""

    kind: Literal["move"] = "move"
    old: _Path
    new: _Path


class RemovedEntry(_Entry):
    """Removed directory, empty at that time."""

    kind: Literal["removed"] = "removed"
    path: _Path
    mode: _Mode
    metadata: KeptMetadata | None = None

    @classmethod
    def of(cls, path: str, mode: int, metadata: Metadata | None) -> Self:
        return cls(path=path, mode=mode, metadata=KeptMetadata.of(metadata))


class ModeEntry(_Entry):
    """Changed permission bits; a rewritten file also has them in its own entry."""

    kind: Literal["mode"] = "mode"
    path: _Path
    before: _Mode
    after: _Mode


Entry = FileEntry | BufferEntry | DirectoryEntry | MoveEntry | RemovedEntry | ModeEntry


class JournalManifest(_Entry):
    """Changes of one apply, recorded before the first write."""

    version: Literal[1] = 1
    step: str | None = None
    """Step of the run; None if unknown."""
    entries: tuple[Entry, ...]

    def as_text(self) -> str:
        """Return the manifest as JSON, without empty fields."""
        shape = self.model_dump(mode="json")
        for entry in shape["entries"]:
            for field in _LATER:
                if entry.get(field) is None:
                    entry.pop(field, None)
        return json.dumps(
            shape, separators=(",", ":")
        )  # pydantic's own JSON rejects names that are not UTF-8
