"""Journal of applied changes: pre-images and manifests, durable before the first write.

Each apply has a directory ``PRIVATE/journal/<execution_id>/<number>/``. ``before`` holds the pre-images
followed by the compressed post-images; ``manifest.json`` has their places. A directory without a manifest
belongs to an apply that never began. Only the user can write to a private directory; even so, a manifest is
validated as untrusted data (it can only name paths below the root and temporary files beside them), and every
image is verified by its digest.
"""

from __future__ import annotations

import base64
import heapq
import json
import os
import re
import shutil
import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self, TypeAlias, TypeVar

from pydantic import AfterValidator, Base64Bytes, BaseModel, ConfigDict, Field

from tideate_core.errors import WorkspaceError
from tideate_core.util.atomic_files import atomic_writer, fsync_directory
from tideate_core.util.file_metadata import Metadata
from tideate_core.util.private_files import make_private_directory, open_private
from tideate_core.util.regular_files import open_regular, read_regular
from tideate_core.workspace.documents import text_of
from tideate_core.workspace.file_images import ABSENT, FileImage, FileState, holds, text_digest
from tideate_core.workspace.kind_changes import non_directory_above
from tideate_core.workspace.paths import PROTECTED, journal_directory

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tideate_core.workspace.documents import Document
    from tideate_core.workspace.paths import Root


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


_EntryT = TypeVar("_EntryT", bound=Entry)

_MANIFEST = "manifest.json"
_BEFORE = "before"
_NUMBER = re.compile(r"[0-9]{4,9}")
_MAX_KEPT: Final = 4 * 1024 * 1024
"""Largest text that is kept, in bytes; of a larger one only the digest is known."""
_WINDOW: Final = 1 << 15
"""Bytes of the pre-image that the compressor can refer to."""


@dataclass(frozen=True, slots=True)
class Images:
    """Images kept for an entry."""

    before: bytes = b""
    after: bytes | None = None
    """None if it is not kept."""
    disk: bytes | None = None
    """Of a buffer's file."""
    saved: bytes | None = None
    """Of a buffer's file after the buffer is saved."""


@dataclass(frozen=True, slots=True)
class Record:
    """Journal record of one apply."""

    directory: Path
    manifest: JournalManifest

    @property
    def written_at(self) -> int:
        """Time of its manifest, in nanoseconds."""
        return (self.directory / _MANIFEST).stat().st_mtime_ns

    def file_before(self, entry: FileEntry) -> bytes:
        """Return the bytes of a path before the apply.

        :raises WorkspaceError: the journal is damaged.
        """
        data = self._pre_image(entry)
        if entry.before.kind == "file" and not holds(data, entry.before.digest):
            raise self._damaged()
        return data

    def image_before(self, entry: FileEntry, mode: int) -> FileImage:
        """Return the image of a path before the apply, with owner and attributes.

        :raises WorkspaceError: the journal is damaged.
        """
        metadata = None if entry.metadata is None else entry.metadata.metadata()
        state = replace(entry.before, mode=mode) if entry.before.kind == "file" else entry.before
        return FileImage(state, self.file_before(entry), metadata)

    def file_after(self, entry: FileEntry) -> bytes | None:
        """Return the bytes written to a path, or None if they were not kept.

        :raises WorkspaceError: the journal is damaged.
        """
        return self._post_image(entry, entry.after.digest)

    def text_before(self, entry: BufferEntry) -> str:
        """Return the text of a buffer before the apply.

        :raises WorkspaceError: the journal is damaged.
        """
        text = self._pre_image(entry).decode("utf-8", "surrogatepass")
        if text_digest(text) != entry.before:
            raise self._damaged()
        return text

    def text_after(self, entry: BufferEntry) -> str | None:
        """Return the text written to a buffer, or None if it was not kept.

        :raises WorkspaceError: the journal is damaged.
        """
        data = self._post_image(entry, entry.after)
        return None if data is None else data.decode("utf-8", "surrogatepass")

    def buffer_file_before(self, entry: BufferEntry, document: Document, before: str, mode: int) -> FileImage:
        """Return the image of a buffer's file for an earlier text, else encode the text in its current style.

        :raises NotText: the text cannot be encoded.
        :raises WorkspaceError: the journal is damaged.
        """
        if entry.disk is not None and entry.disk.kind == "absent" and not before:
            return FileImage(ABSENT)
        data = self.disk_image(entry)
        if data is not None and text_of(data) == before:
            return FileImage.of_file(data, mode)
        return FileImage.of_file(document.encode(before), mode)

    def saved_file_images(self, entry: BufferEntry) -> tuple[bytes, bytes] | None:
        """Return the bytes of a buffer's file before the apply and after a save; None if not kept.

        :raises WorkspaceError: the journal is damaged.
        """
        if entry.saved is None or entry.saved_kept is None:
            return None
        before = self.disk_image(entry)
        after = self._decompressed(entry.saved_kept, entry, entry.saved.digest)
        return None if before is None or after is None else (before, after)

    def moves_buffer(self, entry: FileEntry) -> bool:
        """Return whether the buffer of a moved file was renamed."""
        return any(move.new == entry.path for move in entries_of([self], MoveEntry))

    def _pre_image(self, entry: FileEntry | BufferEntry) -> bytes:
        return self._read(entry.offset, entry.length)

    def _post_image(self, entry: FileEntry | BufferEntry, digest: str) -> bytes | None:
        if entry.kept is not None:
            return self._decompressed(entry.kept, entry, digest)
        for other in entries_of([self], FileEntry):  # of a moved file: the pre-image at its old path
            if other.before.digest == digest:
                found = self._pre_image(other)
                return found if holds(found, digest) else None
        return b"" if holds(b"", digest) else None

    def disk_image(self, entry: BufferEntry) -> bytes | None:
        """Return the bytes of a buffer's file before the apply, or None if they were not kept.

        :raises WorkspaceError: the journal is damaged.
        """
        if entry.disk is None or entry.disk_kept is None:
            return None
        return self._decompressed(entry.disk_kept, entry, entry.disk.digest)

    def _decompressed(
        self, kept: CompressedImage, entry: FileEntry | BufferEntry, digest: str
    ) -> bytes | None:
        found = _decompress(self._read(kept.offset, kept.length), self._pre_image(entry))
        return found if found is not None and holds(found, digest) else None

    def _read(self, offset: int, length: int) -> bytes:
        try:
            with os.fdopen(open_regular(self.directory / _BEFORE), "rb") as file:
                file.seek(offset)
                data = file.read(length)
        except OSError as error:
            raise WorkspaceError(f"{self.directory} is damaged ({error}); nothing was restored") from error
        if len(data) != length:
            raise WorkspaceError(f"{self.directory} is damaged: a pre-image is cut off; nothing was restored")
        return data

    def _damaged(self) -> WorkspaceError:
        return WorkspaceError(
            f"{self.directory} is damaged: a pre-image does not match its digest; nothing was restored"
        )


def entries_of(records: Iterable[Record], kind: type[_EntryT]) -> list[_EntryT]:
    """Return the entries of one kind, in the order of the applies."""
    return [entry for record in records for entry in record.manifest.entries if isinstance(entry, kind)]


class JournalPlaces:
    """Resolved paths of the names in a journal; no link was on these paths when they were written.

    A link that an apply made or removed is not followed. Another link is followed within the project.
    """

    def __init__(self, root: Root, records: Iterable[Record]) -> None:
        self._root = root
        self._known: dict[str, Path] = {}
        entries = entries_of(records, FileEntry)
        self._written = {root.lexical(entry.path) for entry in entries}
        self.temporaries = {root.lexical(entry.path).with_name(entry.temp) for entry in entries}
        """Files that an interrupted apply may have left."""

    def of(self, name: str) -> Path:
        """Return the path of a name.

        :raises OutsideRoot: a link leads out of the project.
        """
        if name not in self._known:
            place = self._root.lexical(name)
            above = non_directory_above(place, self._root.path)
            foreign = above is not None and above[0] not in self._written
            self._known[name] = self._root.entry(name) if foreign else place
        return self._known[name]


class Journal:
    """Journal of all runs of a project."""

    def __init__(self, private: Path) -> None:
        self._private = private

    def record(self, run: str, changes: Iterable[tuple[Entry, Images]], step: str | None = None) -> Record:
        """Record an apply durably before it starts.

        :raises WorkspaceError: it cannot be written.
        """
        place = journal_directory(self._private, run)
        placed, data = _with_places(changes)
        manifest = JournalManifest(step=step, entries=placed)
        try:
            directory = _new_directory(place)
            _write(directory / _BEFORE, data)
            with atomic_writer(directory / _MANIFEST) as file:
                file.write(manifest.as_text().encode())
            for path in list(directory.parents)[:4]:
                fsync_directory(path)
        except OSError as error:
            raise WorkspaceError(
                f"{place.parent} cannot be written ({error.strerror}); without it nothing could be rolled "
                "back, so nothing was changed"
            ) from error
        return Record(directory, manifest)

    def drop(self, record: Record) -> None:
        """Delete the record of an apply that wrote nothing or was reverted."""
        (record.directory / _MANIFEST).unlink(missing_ok=True)
        shutil.rmtree(record.directory, ignore_errors=True)
        if not any(record.directory.parent.iterdir()):
            record.directory.parent.rmdir()

    def records(self, *runs: str) -> list[Record]:
        """Return the applies of one or more runs, the oldest first.

        :raises WorkspaceError: a record cannot be read.
        """
        # merge, not sort: the order within a run must not depend on the clock
        return list(heapq.merge(*map(self._records_of, runs), key=lambda record: record.written_at))

    def _records_of(self, run: str) -> list[Record]:
        directory = journal_directory(self._private, run)
        try:
            applies = _applies(directory)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise WorkspaceError(f"{directory} cannot be read; nothing was restored: {error}") from error
        # a dangling link is a damaged manifest, not a missing one
        return [_load(path) for path in applies if os.path.lexists(path / _MANIFEST)]


def _applies(of_run: Path) -> list[Path]:
    """Return the directories of a run's applies, the oldest first."""
    found = list(of_run.iterdir())
    if strange := next((path.name for path in found if not _NUMBER.fullmatch(path.name)), None):
        raise WorkspaceError(f"{of_run} is damaged: {strange!r} is not an apply; nothing was restored")
    return sorted(found, key=lambda path: int(path.name))


def _new_directory(of_run: Path) -> Path:
    make_private_directory(of_run)
    number = max((int(path.name) for path in _applies(of_run)), default=0)
    while True:
        number += 1
        try:
            make_private_directory(of_run / f"{number:04}", exist_ok=False)
        except FileExistsError:
            continue
        return of_run / f"{number:04}"


def _with_places(changes: Iterable[tuple[Entry, Images]]) -> tuple[tuple[Entry, ...], bytes]:
    """Return the entries with the places of their images, and the concatenated images."""
    placed: list[Entry] = []
    data = bytearray()
    for entry, image in changes:
        where: dict[str, Any] = {}
        if image.before:
            where |= {"offset": len(data), "length": len(image.before)}
            data += image.before
        images = {"kept": image.after, "disk_kept": image.disk, "saved_kept": image.saved}
        for name, kept in images.items():
            # no merge can use a binary, but an encoding may contain NUL bytes
            packed = (
                None
                if kept is None or (image.saved is None and b"\0" in kept)
                else _compress(kept, image.before)
            )
            if packed is not None:
                where[name] = CompressedImage(offset=len(data), length=len(packed))
                data += packed
        placed.append(entry.model_copy(update=where))
    return tuple(placed), bytes(data)


def _load(directory: Path) -> Record:
    try:
        return Record(
            directory, JournalManifest.model_validate(json.loads(read_regular(directory / _MANIFEST)))
        )
    except (OSError, ValueError) as error:  # pydantic's errors are ValueErrors
        raise WorkspaceError(f"{directory} cannot be read; nothing was restored: {error}") from error


def _write(path: Path, data: bytes) -> None:
    with os.fdopen(open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _compress(data: bytes, pre_image: bytes) -> bytes | None:
    """Compress a text; None if it is too large.

    :param pre_image: dictionary, mostly equal to the text and available at decompression.
    """
    if len(data) > _MAX_KEPT:
        return None
    compressor = zlib.compressobj(1, zlib.DEFLATED, -15, zdict=pre_image[-_WINDOW:])
    return compressor.compress(data) + compressor.flush()


def _decompress(data: bytes, pre_image: bytes) -> bytes | None:
    """Decompress a text; None if it is damaged."""
    decompressor = zlib.decompressobj(-15, zdict=pre_image[-_WINDOW:])
    try:
        text = decompressor.decompress(data, _MAX_KEPT + 1)
    except zlib.error:
        return None
    return text if decompressor.eof else None
