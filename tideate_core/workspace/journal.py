"""What every apply of a run found before it wrote, durable before the first write.

One directory for each apply, ``PRIVATE/journal/<execution_id>/<number>/``: ``before`` holds the pre-images
one after another, ``manifest.json`` says where each is and what will be written. A directory without a
manifest is of an apply that never began. A journal may come with a project: each manifest has a seal that
only this person's tideate can make.
"""

from __future__ import annotations

import hmac
import json
import logging
import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict

from tideate_core import provenance
from tideate_core.errors import WorkspaceError
from tideate_core.workspace.files import FileState, fsync_directory
from tideate_core.workspace.paths import journal_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = [
    "BufferEntry",
    "DirectoryEntry",
    "Entry",
    "FileEntry",
    "Journal",
    "Manifest",
    "ModeEntry",
    "MoveEntry",
    "Record",
    "RemovedEntry",
]

_MANIFEST = "manifest.json"
_BEFORE = "before"

log = logging.getLogger(__name__)


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


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


class BufferEntry(_Entry):
    """One buffer: digests of its text before and after."""

    kind: Literal["buffer"] = "buffer"
    path: str
    moved_to: str | None = None
    number: int
    before: str
    after: str
    offset: int = 0
    length: int = 0


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


@dataclass(frozen=True, slots=True)
class Record:
    """One apply, as it was journalled."""

    directory: Path
    manifest: Manifest

    @property
    def is_ours(self) -> bool:
        """This person's tideate wrote it, for this run.

        :raises WorkspaceError: the person's key cannot be read.
        """
        try:
            seal = _seal(self.directory.parent.name, self.manifest)
        except OSError as error:
            raise WorkspaceError(f"{error.filename} cannot be used: {error.strerror}") from error
        return hmac.compare_digest(seal.encode(), self.manifest.seal.encode("utf-8", "surrogatepass"))

    def before(self, entry: FileEntry | BufferEntry) -> bytes:
        """Return an entry's pre-image.

        :raises WorkspaceError: the journal is damaged.
        """
        try:
            with (self.directory / _BEFORE).open("rb") as file:
                file.seek(entry.offset)
                data = file.read(entry.length)
        except OSError as error:
            raise WorkspaceError(f"{self.directory} is damaged ({error}); nothing was restored") from error
        if len(data) != entry.length:
            raise WorkspaceError(f"{self.directory} is damaged: a pre-image is cut off; nothing was restored")
        return data


class Journal:
    """The applies of all runs of a project."""

    def __init__(self, private: Path) -> None:
        self._private = private

    def record(
        self, run: str, entries: Sequence[Entry], images: Sequence[bytes], step: str | None = None
    ) -> Record:
        """Write an apply down; when this returns it is on disk.

        :param images: the pre-image of each entry, empty where there is none.
        :raises WorkspaceError: it cannot be written.
        """
        place = journal_of(self._private, run)
        manifest = _sealed(run, Manifest(step=step, entries=_placed(entries, images)))
        try:
            directory = _new_directory(place)
            _write(directory / _BEFORE, b"".join(images))
            _write(directory / f"{_MANIFEST}.new", _text(manifest).encode())
            (directory / f"{_MANIFEST}.new").rename(directory / _MANIFEST)
            for path in [directory, *list(directory.parents)[:4]]:
                fsync_directory(path)
        except OSError as error:
            raise WorkspaceError(
                f"{place.parent} cannot be written ({error.strerror}); without it nothing could be taken "
                "back, so nothing was changed"
            ) from error
        return Record(directory, manifest)

    def drop(self, record: Record) -> None:
        """Forget an apply of which nothing was written, or nothing is left."""
        (record.directory / _MANIFEST).unlink(missing_ok=True)
        shutil.rmtree(record.directory, ignore_errors=True)
        if not any(record.directory.parent.iterdir()):
            record.directory.parent.rmdir()

    def records(self, run: str) -> list[Record]:
        """Return a run's applies, the oldest first; empty if it wrote nothing.

        :raises WorkspaceError: one cannot be read.
        """
        directory = journal_of(self._private, run)
        if not directory.is_dir():
            return []
        found = sorted(directory.iterdir(), key=lambda path: int(path.name))
        return [_load(path) for path in found if (path / _MANIFEST).exists()]


def _new_directory(of_run: Path) -> Path:
    of_run.mkdir(parents=True, exist_ok=True, mode=0o700)
    of_run.parent.chmod(0o700)  # holds copies of the user's files
    number = max((int(path.name) for path in of_run.iterdir()), default=0)
    while True:
        number += 1
        try:
            (of_run / f"{number:04}").mkdir(mode=0o700)
        except FileExistsError:
            continue
        return of_run / f"{number:04}"


def _placed(entries: Sequence[Entry], images: Sequence[bytes]) -> tuple[Entry, ...]:
    placed: list[Entry] = []
    offset = 0
    for entry, image in zip(entries, images, strict=True):
        where = {"offset": offset, "length": len(image)} if image else {}
        placed.append(entry.model_copy(update=where))
        offset += len(image)
    return tuple(placed)


def _sealed(run: str, manifest: Manifest) -> Manifest:
    try:
        return manifest.model_copy(update={"seal": _seal(run, manifest)})
    except OSError as error:
        # the database vouches for its runs, too
        log.warning("what the run %s changes is journalled without a seal: %s", run, error)
        return manifest


def _seal(run: str, manifest: Manifest) -> str:
    text = _text(manifest.model_copy(update={"seal": ""}))
    return provenance.seal(f"{run}\n{text}".encode())


def _text(manifest: Manifest) -> str:
    return json.dumps(
        manifest.model_dump(), separators=(",", ":")
    )  # pydantic's own refuses names that are no UTF-8


def _load(directory: Path) -> Record:
    try:
        return Record(directory, Manifest.model_validate(json.loads((directory / _MANIFEST).read_bytes())))
    except (OSError, ValueError) as error:  # pydantic's errors are of values, too
        raise WorkspaceError(f"{directory} cannot be read; nothing was restored: {error}") from error


def _write(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
