"""A run's journal in a portable form, merged with the files of another tree.

The journal of the other tree gets the images of that tree, so that a rollback there is exact.
"""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tideate_core.errors import EditConflict, NotText, OutsideRoot, WorkspaceError
from tideate_core.workspace.changes import apply_hunks, lines_of, merge_hunks
from tideate_core.workspace.documents import Document
from tideate_core.workspace.file_images import ABSENT, FileImage, FileState, holds, read_image_nofollow
from tideate_core.workspace.image_changes import document_of
from tideate_core.workspace.journal import (
    BufferEntry,
    DirectoryEntry,
    FileEntry,
    Images,
    JournalPlaces,
    KeptMetadata,
    ModeEntry,
    RemovedEntry,
)
from tideate_core.workspace.paths import refuse_in_repositories, refuse_new_repositories
from tideate_core.workspace.staging import (
    DirectoryOperation,
    FileOperation,
    ModeOperation,
    WritePlan,
    is_writable,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tideate_core.workspace.journal import Entry, Record
    from tideate_core.workspace.paths import Root

_EXECUTABLE: Final = 0o111


@dataclass(frozen=True, slots=True)
class PortableFile:
    """Change of one path: its images before and after; only absent paths, files and links."""

    path: str
    before: FileImage
    after: FileImage


@dataclass(frozen=True, slots=True)
class PortableRecord:
    """Changes of one apply, without owners and places of this machine."""

    step: str | None
    files: tuple[PortableFile, ...] = ()
    made: tuple[str, ...] = ()
    """Created directories."""
    removed: tuple[str, ...] = ()
    """Removed directories."""
    modes: tuple[tuple[str, int, int], ...] = ()
    """Path and permission bits before and after."""


@dataclass(slots=True)
class PortableJournal:
    """Records of one run."""

    records: list[PortableRecord] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    """Changed buffers that have no file in the project."""


def portable_journal(root: Root, records: Sequence[Record]) -> PortableJournal:
    """Return the records of a run with all images; blocking.

    :raises WorkspaceError: the journal is damaged, or the content that the run wrote was not kept.
    """
    reading = _Reading(root, records)
    done = PortableJournal(left=reading.left)
    for number, record in enumerate(records):
        done.records.append(reading.portable(number, record))
    return done


class _Reading:
    def __init__(self, root: Root, records: Sequence[Record]) -> None:
        self._records = records
        self._places = JournalPlaces(root, records)
        self.left: list[str] = []

    def portable(self, number: int, record: Record) -> PortableRecord:
        entries = record.manifest.entries
        files = [self._file(number, record, one) for one in entries if isinstance(one, FileEntry)]
        buffers = [self._buffer(record, one) for one in entries if isinstance(one, BufferEntry)]
        return PortableRecord(
            record.manifest.step,
            (*files, *filter(None, buffers)),
            tuple(one.path for one in entries if isinstance(one, DirectoryEntry)),
            tuple(one.path for one in entries if isinstance(one, RemovedEntry)),
            tuple((one.path, one.before, one.after) for one in entries if isinstance(one, ModeEntry)),
        )

    def _file(self, number: int, record: Record, entry: FileEntry) -> PortableFile:
        before = FileImage(entry.before, record.file_before(entry))
        if entry.after.kind not in ("file", "link"):
            return PortableFile(entry.path, _portable(before), FileImage(ABSENT))
        data = record.file_after(entry)
        if data is None:
            data = self._written_later(number, entry)
        return PortableFile(entry.path, _portable(before), _portable(FileImage(entry.after, data)))

    def _written_later(self, number: int, entry: FileEntry) -> bytes:
        """Return written content from the next record that replaced it, or from the disk."""
        for record in self._records[number + 1 :]:
            for other in record.manifest.entries:
                if isinstance(other, FileEntry) and other.before.digest == entry.after.digest:
                    return record.file_before(other)
        try:
            data = read_image_nofollow(self._places.of(entry.path)).data
        except OSError as error:
            raise WorkspaceError(f"{entry.path} cannot be read: {error.strerror}") from error
        if not holds(data, entry.after.digest):
            raise WorkspaceError(
                f"{entry.path} was changed since the run wrote it, and the content of the run was not kept: "
                "it is not text, or is too large; restore the file as the run wrote it"
            )
        return data

    def _buffer(self, record: Record, entry: BufferEntry) -> PortableFile | None:
        path = entry.moved_to or entry.path
        try:
            place = self._places.of(path) if path and not Path(path).is_absolute() else None
        except OutsideRoot:
            place = None
        if place is None:
            self.left.append(path or "a buffer without a name")
            return None
        text, after = record.text_before(entry), record.text_after(entry)
        if after is None:
            raise WorkspaceError(
                f"{path} is too large: the text that the run wrote to its buffer was not kept"
            )
        images = record.saved_file_images(entry)
        if images is not None:
            return PortableFile(
                path, FileImage.of_file(images[0], 0o644), FileImage.of_file(images[1], 0o644)
            )
        style = self._style(record, entry, place)
        before = record.buffer_file_before(entry, style, text, 0o644)
        try:
            written = FileImage.of_file(style.encode(after), 0o644)
        except NotText as error:
            raise WorkspaceError(f"{path}: {error}") from error
        return PortableFile(path, before, written)

    def _style(self, record: Record, entry: BufferEntry, place: Path) -> Document:
        data = record.disk_image(entry)
        try:
            if data is None:
                data = read_image_nofollow(place).data
            return Document.decode(data)
        except (NotText, OSError):
            return Document()


def _portable(image: FileImage) -> FileImage:
    state = image.state
    if state.kind not in ("file", "link"):
        return FileImage(ABSENT)
    return FileImage(replace(state, mode=state.mode & 0o777), image.data)


def merge_image(base: FileImage, ours: FileImage, theirs: FileImage) -> FileImage | None:
    """Merge the change from `base` to `ours` into `theirs`; None on a conflict.

    A text keeps the line ends and the permissions of `theirs`.
    """
    if theirs.state.holds_same_as(ours.state):
        return theirs
    if theirs.state.holds_same_as(base.state):
        return _like(theirs, base, ours)
    if theirs.state.kind != "file" or base.state.kind != "file":
        return None
    before, now = document_of(base), document_of(theirs)
    if before is None or now is None:
        return None
    if ours.state.kind == "absent":
        return ours if before.text == now.text else None
    after = document_of(ours)
    if after is None or after.text == before.text:
        return None
    if after.text == now.text:
        return theirs
    hunks = merge_hunks(before.text, now.text, after.text)
    if any(hunk.conflict for hunk in hunks):
        return None
    merged = "\n".join(apply_hunks(lines_of(now.text), hunks))
    return _like(theirs, base, FileImage.of_file(now.encode(merged), ours.state.mode))


def _like(theirs: FileImage, base: FileImage, ours: FileImage) -> FileImage:
    """Return the run's content with the permissions of the other tree."""
    if ours.state.kind != "file" or theirs.state.kind != "file":
        return ours
    mode = theirs.state.mode
    if base.state.kind == "file" and (base.state.mode ^ ours.state.mode) & _EXECUTABLE:
        mode = _executable(mode, ours.state.mode)
    return FileImage(replace(ours.state, mode=mode), ours.data)


def _executable(mode: int, like: int) -> int:
    """Return permissions that are executable where they are readable, if `like` is executable."""
    return mode | (mode & 0o444) >> 2 if like & _EXECUTABLE else mode & ~_EXECUTABLE


@dataclass(slots=True)
class MergedJournals:
    """A run's changes for the files of one tree."""

    plan: WritePlan
    """Changes from the present files to the last images."""
    entries: dict[str, list[tuple[str | None, list[tuple[Entry, Images]]]]]
    """Records for the journal of each run: step and entries."""
    conflicts: dict[str, str]
    """Paths that cannot be merged, with the reason."""

    @property
    def written(self) -> list[str]:
        """Paths that the plan changes."""
        return [one.name for one in self.plan.files]


def merge_journals(
    root: Root,
    journals: Mapping[str, Sequence[PortableRecord]],
    order: Iterable[tuple[str, int]],
    start: Mapping[Path, FileImage] | None = None,
) -> MergedJournals:
    """Merge the changes of a run and its nested runs with the files of a tree, without writing; blocking.

    :param journals: records by run.
    :param order: run and number of each record, as they were written.
    :param start: images that count instead of the files, by path.
    :raises WorkspaceError: a file cannot be read.
    """
    merging = _Merging(root, dict(start or {}))
    entries: dict[str, list[tuple[str | None, list[tuple[Entry, Images]]]]] = {run: [] for run in journals}
    for run, number in order:
        record = journals[run][number]
        entries[run].append((record.step, merging.add(record)))
    return MergedJournals(merging.plan(), entries, merging.conflicts)


class _Merging:
    def __init__(self, root: Root, start: dict[Path, FileImage]) -> None:
        self._root = root
        self._now = start
        self._names: dict[Path, str] = {}
        self._found: dict[Path, FileImage] = {}
        self._made: dict[Path, None] = {}
        self._removed: dict[Path, int] = {}
        self._modes: dict[Path, tuple[int, int]] = {}
        self.conflicts: dict[str, str] = {}

    def add(self, record: PortableRecord) -> list[tuple[Entry, Images]]:
        none = Images()
        files = list(filter(None, map(self._file, record.files)))
        made = [(DirectoryEntry(path=self._root.relative(path)), none) for path in self._make(record)]
        modes = [(one, none) for one in itertools.starmap(self._mode, record.modes) if one is not None]
        removed = [(one, none) for one in map(self._remove, record.removed) if one is not None]
        return [*made, *files, *removed, *modes]

    def plan(self) -> WritePlan:
        files = [
            FileOperation(
                self._names[path], path, self._found[path], self._now[path], new_mode=self._is_new(path)
            )
            for path in self._names
            if not self._now[path].state.holds_same_as(self._found[path].state)
        ]
        self._refuse(files)
        gone = {one.path for one in files if one.after.state.kind == "absent"}
        return WritePlan(
            files=files,
            made=[DirectoryOperation(path, 0o755) for path in self._made if not path.is_dir()],
            removed=[DirectoryOperation(path, mode) for path, mode in self._emptied(gone)],
            modes=[
                ModeOperation(path, before, after)
                for path, (before, after) in self._modes.items()
                if before != after and self._now[path].state.kind == "file" and not self._is_new(path)
            ],
        )

    def _is_new(self, path: Path) -> bool:
        return self._found[path].state.kind == "absent" and self._now[path].state.kind == "file"

    def _place(self, name: str) -> Path | None:
        """Return the path of a name; None, with the reason noted, if a run may not write there."""
        try:
            path = self._root.lexical(name)
            if self._root.entry(name) != path:
                self.conflicts[name] = "a link is on its path"
                return None
            refuse_in_repositories(path, self._root.path)
        except (OutsideRoot, EditConflict) as error:
            self.conflicts[name] = str(error)
            return None
        return path

    def _image(self, path: Path, name: str) -> FileImage:
        if path not in self._names:
            self._names[path] = name
            try:
                self._found[path] = found = read_image_nofollow(path)
            except OSError as error:
                raise WorkspaceError(f"{name} cannot be read: {error.strerror}") from error
            self._now.setdefault(path, found)
        return self._now[path]

    def _file(self, file: PortableFile) -> tuple[FileEntry, Images] | None:
        path = self._place(file.path)
        if path is None or file.path in self.conflicts:
            return None
        theirs = self._image(path, file.path)
        merged = merge_image(file.before, file.after, theirs)
        if merged is None:
            self.conflicts[file.path] = _reason(theirs.state, file.before.state)
            return None
        self._now[path] = merged
        entry = FileEntry(
            path=file.path,
            before=theirs.state,
            after=merged.state,
            temp=FileOperation(file.path, path, theirs, merged).temp.name,
            metadata=KeptMetadata.of(theirs.metadata),
        )
        kept = merged.data if merged.state.kind == "file" else None
        return entry, Images(theirs.data, kept)

    def _make(self, record: PortableRecord) -> list[Path]:
        """Return the directories that a record has to create, outer ones first."""
        wanted = {path for name in record.made if (path := self._place(name)) is not None}
        for file in record.files:
            if file.after.state.kind != "absent" and file.path not in self.conflicts:
                wanted.update(self._root.lexical(file.path).parents)
        missing = [path for path in wanted if path not in self._made and not os.path.lexists(path)]
        missing.sort(key=lambda path: len(path.parts))
        self._made.update(dict.fromkeys(missing))
        return missing

    def _mode(self, name: str, before: int, after: int) -> ModeEntry | None:
        path = self._place(name)
        if path is None or name in self.conflicts or not (before ^ after) & _EXECUTABLE:
            return None
        image = self._image(path, name)
        if image.state.kind != "file":
            return None
        mode = _executable(image.state.mode, after)
        first = self._modes.get(path, (image.state.mode, 0))[0]
        self._modes[path] = first, mode
        self._now[path] = FileImage(replace(image.state, mode=mode), image.data, image.metadata)
        return ModeEntry(path=name, before=image.state.mode, after=mode)

    def _remove(self, name: str) -> RemovedEntry | None:
        path = self._place(name)
        if path is None or path in self._removed or not path.is_dir() or path.is_symlink():
            return None
        removing = DirectoryOperation.removing(path)
        self._removed[path] = removing.mode
        return RemovedEntry.of(name, removing.mode, removing.metadata)

    def _emptied(self, gone: set[Path]) -> list[tuple[Path, int]]:
        """Return the removed directories that nothing else is in, inner ones first."""
        found: list[tuple[Path, int]] = []
        for path in sorted(self._removed, key=lambda one: -len(one.parts)):
            empty = gone | {one for one, _ in found}
            if all(child in empty for child in path.iterdir()):
                found.append((path, self._removed[path]))
        return found

    def _refuse(self, files: Sequence[FileOperation]) -> None:
        made = [one.path for one in files if one.before.state.kind == "absent"]
        try:
            refuse_new_repositories(made, self._root.path)
        except EditConflict as error:
            self.conflicts[made[0].name] = str(error)
        for one in files:
            if one.before.state.kind == "file" and not is_writable(one.path, one.before.state.mode):
                self.conflicts[one.name] = "is read-only"


def _reason(theirs: FileState, base: FileState) -> str:
    if theirs.kind == "absent":
        return "does not exist here"
    if theirs.kind not in ("file", "link"):
        return "is not a regular file here"
    if base.kind == "absent":
        return "exists here with another content"
    return "was changed here where the run changed it"
