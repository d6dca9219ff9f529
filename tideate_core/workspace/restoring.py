"""Going back through the journal, in memory first, from what stands now."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tideate_core.errors import NotText, OutsideRoot, WorkspaceError
from tideate_core.workspace.buffers import BufferEdit
from tideate_core.workspace.documents import Document
from tideate_core.workspace.edits import diff_lines, lines_of
from tideate_core.workspace.files import FileState, Snapshot, put, snapshot, text_digest
from tideate_core.workspace.journal import BufferEntry, DirectoryEntry, FileEntry, ModeEntry, RemovedEntry

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tideate_core.workspace.buffers import BufferText
    from tideate_core.workspace.journal import Record
    from tideate_core.workspace.paths import Root

__all__ = ["Restore", "Unwound", "buffer_entries", "put_back", "unwind"]


@dataclass(frozen=True, slots=True)
class Restore:
    """One path is to hold again what it held before."""

    path: Path
    wanted: Snapshot
    expected: FileState
    temp: Path


@dataclass(slots=True)
class Unwound:
    """What it takes to go back."""

    files: list[Restore] = field(default_factory=list)
    edits: list[BufferEdit] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    """Of everything that will be restored."""
    conflicts: list[str] = field(default_factory=list)
    """Of what is neither as it was before nor as it was written."""


def buffer_entries(records: Sequence[Record]) -> list[BufferEntry]:
    """Return the buffers that a run changed, in the order of its applies."""
    return [
        entry for record in records for entry in record.manifest.entries if isinstance(entry, BufferEntry)
    ]


def unwind(root: Root, records: Sequence[Record], loaded: Mapping[BufferEntry, BufferText] | None) -> Unwound:
    """Find what every file and buffer of the records has to become; nothing is written.

    :param loaded: the buffers that are still there; None leaves buffers out.
    :raises WorkspaceError: something cannot be read, or the journal is damaged.
    """
    unwinding = _Unwinding(root, loaded or {})
    for record in reversed(records):
        for entry in reversed(record.manifest.entries):
            if isinstance(entry, FileEntry):
                unwinding.file(record, entry)
            elif isinstance(entry, BufferEntry) and loaded is not None:
                unwinding.buffer(record, entry)
    return unwinding.result()


class _Unwinding:
    def __init__(self, root: Root, loaded: Mapping[BufferEntry, BufferText]) -> None:
        self._root = root
        self._loaded = loaded
        self._buffers = {buffer.number: buffer for buffer in loaded.values()}
        self._texts = {number: buffer.text for number, buffer in self._buffers.items()}
        self._found: dict[Path, Snapshot] = {}
        self._now: dict[Path, Snapshot] = {}
        self._temps: dict[Path, str] = {}
        self._conflicts: list[str] = []

    def file(self, record: Record, entry: FileEntry) -> None:
        path = self._at(entry.path)
        if path is None:
            return
        now = self._look(path)
        self._temps[path] = entry.temp
        if now.state.holds_same_as(entry.after):
            # the mode of a file that still stands may be the person's choice since
            mode = now.state.mode if now.state.kind == "file" else entry.before.mode
            self._now[path] = _whole(Snapshot(replace(entry.before, mode=mode), record.before(entry)), record)
        elif not now.state.holds_same_as(entry.before):
            self._conflict(entry.path)

    def buffer(self, record: Record, entry: BufferEntry) -> None:
        before = record.before(entry).decode("utf-8", "surrogatepass")
        if text_digest(before) != entry.before:
            raise _damaged(record)
        if entry in self._loaded:
            number = self._loaded[entry].number
            now = self._texts[number]
            if text_digest(now) == entry.after:
                self._texts[number] = before
            elif text_digest(now) != entry.before and (now or entry.path):
                self._conflict(entry.path or f"buffer {number}")
        elif entry.path:
            self._saved_buffer(entry, before)

    def _saved_buffer(self, entry: BufferEntry, before: str) -> None:
        """Restore the file of a buffer that was closed; unsaved, nothing of the edit is left."""
        name = entry.moved_to or entry.path
        try:
            path, ours = self._root.entry(name), True
        except OutsideRoot:
            path, ours = Path(name), False  # the person's to write, ours only to look at
        now = self._look(path)
        try:
            document = Document.decode(now.data)
        except NotText:
            self._conflict(name)
            return
        if now.state.kind == "absent" or text_digest(document.text) == entry.before:
            return
        if ours and now.state.kind == "file" and text_digest(document.text) == entry.after:
            self._now[path] = Snapshot.of_file(document.encode(before), now.state.mode)
        else:
            self._conflict(name)

    def result(self) -> Unwound:
        unwound = Unwound(conflicts=self._conflicts)
        for number, text in self._texts.items():
            buffer = self._buffers[number]
            if text != buffer.text:
                hunks = diff_lines(lines_of(buffer.text), lines_of(text))
                unwound.edits.append(BufferEdit(buffer.number, buffer.tick, tuple(hunks)))
                unwound.names.append(self._named(buffer))
        for path, wanted in self._now.items():
            expected = self._found[path].state
            if not wanted.state.holds_same_as(expected):
                temp = path.with_name(self._temps.get(path, f".tideate-{os.getpid()}.tmp"))
                unwound.files.append(Restore(path, wanted, expected, temp))
                unwound.names.append(self._root.relative(path))
        return unwound

    def _named(self, buffer: BufferText) -> str:
        if not buffer.path:
            return f"buffer {buffer.number}"
        with contextlib.suppress(OutsideRoot):
            return self._root.relative(self._root.resolve(buffer.path))
        return buffer.path

    def _at(self, name: str) -> Path | None:
        try:
            return self._root.entry(name)
        except OutsideRoot:
            self._conflict(name)
            return None

    def _look(self, path: Path) -> Snapshot:
        if path not in self._found:
            try:
                self._found[path] = snapshot(path)
            except OSError as error:
                raise WorkspaceError(f"{path} cannot be read: {error.strerror}") from error
        return self._now.get(path, self._found[path])

    def _conflict(self, name: str) -> None:
        if name not in self._conflicts:
            self._conflicts.append(name)


def _whole(image: Snapshot, record: Record) -> Snapshot:
    if image.state.kind == "file" and not Snapshot.of_file(image.data, 0).state.holds_same_as(image.state):
        raise _damaged(record)
    return image


def _damaged(record: Record) -> WorkspaceError:
    return WorkspaceError(f"{record.directory} is damaged: a pre-image is another one; nothing was restored")


def put_back(root: Root, records: Sequence[Record], files: Iterable[Restore]) -> None:
    """Write what was found by `unwind`; directories and permissions go back, too, and nothing is left beside.

    :raises OSError: something cannot be restored; doing it again goes on where it stopped.
    :raises EditConflict: a file was changed in the last moment.
    """
    _modes(root, records)  # a directory may have to be written into again
    _remake(root, records)
    for file in files:
        put(file.path, file.wanted, expected=file.expected, temp=file.temp)
    _clean_up(root, records)
    _modes(root, records)  # of files that were written just now


def _modes(root: Root, records: Sequence[Record]) -> None:
    """Give permissions back where they are still the ones that were set."""
    for record in reversed(records):
        for entry in reversed(record.manifest.entries):
            if isinstance(entry, ModeEntry):
                with contextlib.suppress(OutsideRoot, FileNotFoundError, NotADirectoryError):
                    path = root.entry(entry.path)
                    mode = path.lstat().st_mode
                    ours = (entry.after, entry.before | entry.after)
                    if stat.S_IMODE(mode) in ours and not stat.S_ISLNK(mode):
                        path.chmod(entry.before)


def _remake(root: Root, records: Sequence[Record]) -> None:
    """Make directories again that were removed, outer ones first."""
    for record in reversed(records):
        for entry in reversed(record.manifest.entries):
            if isinstance(entry, RemovedEntry):
                with contextlib.suppress(OutsideRoot, FileExistsError):
                    path = root.entry(entry.path)
                    path.mkdir(parents=True, exist_ok=True)
                    if not path.is_symlink():  # also of one that was made just before a kill
                        path.chmod(entry.mode)


def _clean_up(root: Root, records: Sequence[Record]) -> None:
    """Remove what an interrupted apply left beside the files, and the directories it made, if empty."""
    for record in reversed(records):
        for entry in reversed(record.manifest.entries):
            with contextlib.suppress(OutsideRoot, FileNotFoundError, NotADirectoryError):
                if isinstance(entry, FileEntry):
                    root.entry(entry.path).with_name(entry.temp).unlink()
                elif isinstance(entry, DirectoryEntry):
                    _remove_empty(root.entry(entry.path))


def _remove_empty(directory: Path) -> None:
    try:
        directory.rmdir()
    except OSError as error:
        if error.errno not in {errno.ENOTEMPTY, errno.ENOENT, errno.ENOTDIR, errno.EEXIST}:
            raise
