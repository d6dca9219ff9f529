"""Rollback planning: reverse a run's journal in memory, starting from current files and buffers.

Content that the run wrote is replaced by the content before it; content that is already restored stays.
Otherwise the user or another run changed it: their changes are merged into the earlier content. If the merge
is ambiguous, the whole file is left.
"""

from __future__ import annotations

import contextlib
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from tideate_core.errors import NotText, OutsideRoot, WorkspaceError
from tideate_core.workspace.buffers import BufferEdit
from tideate_core.workspace.changes import FileChange, diff_lines, lines_of, merge_bytes, merge_text
from tideate_core.workspace.documents import Document, text_of
from tideate_core.workspace.file_images import (
    ABSENT,
    FileImage,
    file_or_link,
    read_image_nofollow,
    text_digest,
)
from tideate_core.workspace.image_changes import Difference, changes_between
from tideate_core.workspace.journal import (
    BufferEntry,
    DirectoryEntry,
    FileEntry,
    JournalPlaces,
    ModeEntry,
    RemovedEntry,
    entries_of,
)
from tideate_core.workspace.kind_changes import blocking_entries, non_directory_above
from tideate_core.workspace.rollback_notes import RollbackNote, RollbackNotes, states_of, text_state
from tideate_core.workspace.staging import DirectoryOperation, FileOperation

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from tideate_core.workspace.buffers import BufferText
    from tideate_core.workspace.journal import Record
    from tideate_core.workspace.paths import Root


Key: TypeAlias = Path | int
"""A file, or a loaded buffer by its number."""


@dataclass(frozen=True, slots=True)
class BufferSave:
    """Buffer to save after its rollback, because its file has the run's text."""

    number: int
    path: Path
    wanted: FileImage
    """Content of the file if the buffer has no further changes."""
    text: str
    """Text of the buffer at that time."""


@dataclass(slots=True)
class RollbackPlan:
    """Changes of files and buffers that restore their state before a run."""

    files: list[FileOperation] = field(default_factory=list)
    made: list[DirectoryOperation] = field(default_factory=list)
    """Directories to create again, outer ones first."""
    removed: list[DirectoryOperation] = field(default_factory=list)
    """Directories to remove if empty, inner ones first."""
    edits: list[BufferEdit] = field(default_factory=list)
    saves: list[BufferSave] = field(default_factory=list)
    notes: list[RollbackNote] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    """All names to restore."""
    merged: list[str] = field(default_factory=list)
    """Restored names with later changes that are kept."""
    before: dict[str, bool] = field(default_factory=dict)
    """Names restored by an earlier rollback, finished or not, and whether it merged changes."""
    reasons: dict[str, str] = field(default_factory=dict)
    """Conflicting names and the reason for each."""
    left: list[str] = field(default_factory=list)
    """Conflicting names, and names that depend on them."""
    difference: Difference = field(default_factory=Difference)
    """Files to restore, before and after."""
    moved: dict[str, str] = field(default_factory=dict)
    """New name → current name of moved files."""
    texts: dict[str, FileChange] = field(default_factory=dict)
    """Changes of open buffers, by name."""

    @property
    def conflicts(self) -> list[str]:
        """Names that cannot be restored."""
        return list(self.reasons)

    def changes(self) -> list[FileChange]:
        """Return the planned changes of the current files.

        For an open file with changed lines only, the change is the buffer's.
        """
        files = changes_between(self.difference, self.moved)
        named = {change.path for change in files if change.action != "modify"}
        open_ones = [change for name, change in self.texts.items() if name not in named]
        found = [change for change in files if change.path in named or change.path not in self.texts]
        return sorted([*found, *open_ones], key=lambda change: change.move_to or change.path)


def plan_rollback(
    root: Root,
    records: Sequence[Record],
    loaded: Mapping[BufferEntry | Path, BufferText] | None,
    *,
    whole: Collection[str] = (),
) -> RollbackPlan:
    """Plan the final content of every file and buffer in the records, without writing.

    :param loaded: loaded buffers, by a buffer entry or by a file changed on disk; None leaves buffers out.
    :param whole: names that must not be merged.
    :raises WorkspaceError: a file cannot be read, or the journal is damaged.
    """
    planner = _Planner(root, records, loaded or {}, whole)
    for record in reversed(records):
        for entry in reversed(record.manifest.entries):
            if isinstance(entry, FileEntry):
                planner.plan_file(record, entry)
            elif isinstance(entry, BufferEntry) and loaded is not None:
                planner.plan_buffer(record, entry)
            elif isinstance(entry, DirectoryEntry | RemovedEntry):
                planner.plan_directory(entry)
            elif isinstance(entry, ModeEntry):
                planner.plan_mode(entry)
    return planner.plan()


_EDITED = "changed where the run wrote"
_CHANGED = "changed since"
_GONE = "deleted since"
_MADE = "created by the run and changed since"
_REPLACED = "another file was created there since"

_Content = TypeVar("_Content", str, bytes)


class _Planner:
    """Files and buffers as found, rolled back in memory entry by entry."""

    def __init__(
        self,
        root: Root,
        records: Sequence[Record],
        loaded: Mapping[BufferEntry | Path, BufferText],
        whole: Collection[str],
    ) -> None:
        self._root = root
        self._places = JournalPlaces(root, records)
        self._whole = whole
        self._buffers = {buffer.number: buffer for buffer in loaded.values()}
        self._loaded = {key: self._buffers[buffer.number] for key, buffer in loaded.items()}
        self._own = {
            buffer.number for key, buffer in loaded.items() if buffer.modified or isinstance(key, BufferEntry)
        }
        """Buffers with text that the editor would not reload from their files."""
        self._own_directories = {
            root.lexical(entry.path)
            for record in records
            for entry in record.manifest.entries
            if isinstance(entry, DirectoryEntry | RemovedEntry)
        }
        self._earlier = RollbackNotes()
        self._found: dict[Path, FileImage] = {}
        self._standing: set[Path] = set()
        """Directories at the path of a recorded file or link."""
        self._now: dict[Path, FileImage] = {}
        """Planned images."""
        self._texts = {buffer.number: buffer.text for buffer in loaded.values()}
        """Planned texts of the buffers."""
        self._directories: dict[Path, RemovedEntry | DirectoryEntry] = {}
        """First entry of each created or removed directory."""
        self._modes: dict[Path, tuple[int, int]] = {}
        """Permission bits of files, current and planned."""
        self._temps: dict[Path, str] = {}
        self._merged: set[Key] = set()
        self._before: dict[Key, bool] = {}
        """Restored by an earlier rollback, and whether it merged changes."""
        self._saves: dict[int, Path] = {}
        """Buffers to save, because their files have to change."""
        self._reasons: dict[Key, tuple[str, str]] = {}
        """Name and reason of each path or buffer that is left unchanged."""
        self._ties: list[tuple[Key, Key]] = []
        """Files and buffers that can only be restored together."""
        self._rolled_back: list[tuple[Record, str, Key]] = []

    # -- files ------------------------------------------------------------------------------------

    def plan_file(self, record: Record, entry: FileEntry) -> None:
        path = self._path_of(entry.path)
        origin = self._path_of(entry.moved_from) if entry.moved_from else None
        if path is None or path in self._reasons:
            return
        now = self._image_at(path)
        if path in self._standing and path not in self._own_directories:
            self._leave(path, entry.path, _REPLACED)
            return
        if origin is not None:
            self._ties.append((path, origin))
        self._temps[path] = entry.temp
        if now.state.holds_same_as(entry.after):
            # a changed mode may be the user's choice
            mode = now.state.mode if now.state.kind == "file" else entry.before.mode
            self._now[path] = record.image_before(entry, mode)
        elif not (
            self._was_rolled_back(record, entry.path, path, states_of(now))
            or now.state.holds_same_as(entry.before)
        ):
            self._changed_file(record, entry, path, origin, now)
        if (buffer := self._loaded.get(path)) is not None:
            self._loaded_file(record, entry, path, buffer)
        self._rolled_back.append((record, entry.path, path))

    def _changed_file(
        self, record: Record, entry: FileEntry, path: Path, origin: Path | None, now: FileImage
    ) -> None:
        if now.state.kind == "absent":
            self._leave(path, entry.path, self._why_absent(path) or _GONE)
        elif now.state.kind != "file" or entry.after.kind != "file":
            self._leave(path, entry.path, _REPLACED)
        elif origin is not None:
            self._moved_file(record, entry, path, origin, now)
        elif entry.before.kind != "file":
            self._leave(path, entry.path, _MADE if entry.before.kind == "absent" else _REPLACED)
        else:
            before, after = record.file_before(entry), record.file_after(entry)
            if (merged := self._merge(path, entry.path, after, now.data, before)) is not None:
                self._now[path] = FileImage.of_file(merged, now.state.mode)
                self._merged.add(path)

    def _moved_file(self, record: Record, entry: FileEntry, path: Path, origin: Path, now: FileImage) -> None:
        """Move a file that was changed later back to its old path."""
        from_entry = next(
            other for other in entries_of([record], FileEntry) if other.path == entry.moved_from
        )
        before = record.file_before(from_entry)
        merged = self._merge(path, entry.path, record.file_after(entry), now.data, before)
        there = self._image_at(origin)
        if merged is None:
            return
        if path in origin.parents or origin in path.parents:
            # one must be removed before the other is written, which would lose the user's changes
            self._leave(path, entry.path, _CHANGED)
        elif there.state.kind != "file" or there.data not in (before, merged):
            self._leave(origin, from_entry.path, _REPLACED)
        else:
            self._now[origin] = FileImage.of_file(merged, there.state.mode, there.metadata)
            self._merged.add(origin)
            self._now[path] = FileImage(ABSENT)

    def _loaded_file(self, record: Record, entry: FileEntry, path: Path, buffer: BufferText) -> None:
        """Roll back a file change in its buffer if the editor would not reload it."""
        if buffer.number not in self._own or entry.after.kind != "file":
            return
        if entry.moved_from:
            if buffer.modified and not record.moves_buffer(entry):
                self._leave(path, entry.path, "unsaved changes")
            return
        if entry.before.kind != "file":
            self._leave(buffer.number, entry.path, f"{_MADE}, unsaved")
            return
        written = record.file_after(entry)
        before, after = text_of(record.file_before(entry)), None if written is None else text_of(written)
        if before is None or after is None:
            self._leave(buffer.number, entry.path, "unsaved changes")
            return
        self._ties.append((path, buffer.number))
        self._buffer_text(record, entry.path, buffer, after, before)
        self._saves[buffer.number] = path

    # -- buffers ----------------------------------------------------------------------------------

    def plan_buffer(self, record: Record, entry: BufferEntry) -> None:
        before = record.text_before(entry)
        buffer = self._loaded.get(entry)
        if buffer is not None:
            name = entry.path or f"buffer {buffer.number}"
            self._buffer_text(record, name, buffer, record.text_after(entry), before, entry.after)
        if not entry.path:
            return
        try:
            path = self._places.of(entry.path)
        except OutsideRoot:
            if buffer is None:
                self._file_outside(entry)
            return
        if buffer is not None:
            self._ties.append((path, buffer.number))
        if path not in self._reasons:
            self._file_of_buffer(record, entry, path, before, buffer)

    def _buffer_text(
        self,
        record: Record,
        name: str,
        buffer: BufferText,
        after: str | None,
        before: str,
        digest: str = "",
    ) -> None:
        number = buffer.number
        if number in self._reasons:
            return
        now, key = self._texts[number], f"buffer {name}"
        if text_digest(now) == (digest or text_digest(after or "")):
            self._texts[number] = before
        elif self._was_rolled_back(record, key, number, [text_state(now)]) or now == before:
            pass
        elif not now and not buffer.path:
            pass  # another buffer has its number by now
        elif (kept := self._merge(number, name, after, now, before)) is not None:
            self._texts[number] = kept
            self._merged.add(number)
        self._rolled_back.append((record, key, number))

    def _file_of_buffer(
        self, record: Record, entry: BufferEntry, path: Path, before: str, buffer: BufferText | None
    ) -> None:
        """Restore the file of a saved buffer; an unsaved edit is not in the file."""
        now, key = self._image_at(path), f"file {entry.path}"
        if self._was_rolled_back(record, key, path, states_of(now)):
            return
        if now.state.kind != "file" or (entry.disk is not None and now.state.holds_same_as(entry.disk)):
            return
        if entry.saved is not None:
            image = self._encoded_file(record, entry, path, now)
        else:
            image = self._text_file(record, entry, path, now, before, buffer)
        if image is not None:
            self._now[path] = image
            self._rolled_back.append((record, key, path))
            if buffer is not None:
                self._saves[buffer.number] = path

    def _encoded_file(
        self, record: Record, entry: BufferEntry, path: Path, now: FileImage
    ) -> FileImage | None:
        """Restore a buffer's file in another encoding or line end style, byte for byte."""
        images = record.saved_file_images(entry)
        if images is None:
            self._leave(path, entry.path, "too large to be restored")
            return None
        restored, after = images
        if now.data != after:
            merged = self._merge(path, entry.path, after, now.data, restored)
            if merged is None:
                return None
            restored = merged
            self._merged.add(path)
        return FileImage.of_file(restored, now.state.mode)

    def _text_file(
        self,
        record: Record,
        entry: BufferEntry,
        path: Path,
        now: FileImage,
        before: str,
        buffer: BufferText | None,
    ) -> FileImage | None:
        """Restore a text file in its current style; another file is left or saved over by its buffer."""
        try:
            document = Document.decode(now.data)
        except NotText:
            if buffer is None:
                self._leave(path, entry.path, _CHANGED)
            elif not buffer.modified:
                self._saves[buffer.number] = path
            return None
        if text_digest(document.text) == entry.after:
            return record.buffer_file_before(entry, document, before, now.state.mode)
        if document.text == before or (entry.disk is None and buffer is not None and buffer.modified):
            return None  # or it is unknown whether the buffer was ever saved
        merged = self._merge(path, entry.path, record.text_after(entry), document.text, before)
        if merged is None:
            return None
        self._merged.add(path)
        return FileImage.of_file(document.encode(merged), now.state.mode)

    def _file_outside(self, entry: BufferEntry) -> None:
        """Report a changed file outside of the project, which only the user may write."""
        path = Path(entry.moved_to or entry.path)
        now = self._image_at(path)
        text = text_of(now.data)
        if now.state.kind != "absent" and (text is None or text_digest(text) != entry.before):
            self._leave(path, str(path), "outside the project")

    # -- both -------------------------------------------------------------------------------------

    def plan_directory(self, entry: RemovedEntry | DirectoryEntry) -> None:
        """Plan to create a directory again, or to remove it if empty."""
        with contextlib.suppress(OutsideRoot):
            self._directories[self._places.of(entry.path)] = entry

    def _path_of(self, name: str) -> Path | None:
        """Return the path of an entry; None, with the reason noted, if it is now outside of the project."""
        try:
            return self._places.of(name)
        except OutsideRoot:
            self._leave(Path(name), name, "a link leads out of the project there")
            return None

    def _image_at(self, path: Path) -> FileImage:
        """Return the planned file or link at a path, else the current one; absent for a directory.

        :raises WorkspaceError: it cannot be read.
        """
        if path not in self._found:
            try:
                found = read_image_nofollow(path)
            except OSError as error:
                raise WorkspaceError(f"{path} cannot be read: {error.strerror}") from error
            self._found[path] = file_or_link(found)
            if found.state.kind == "directory":
                self._standing.add(path)
        return self._now.get(path, self._found[path])

    def _why_absent(self, path: Path) -> str:
        """Return the reason why no file can exist at a path; empty if one can."""
        above = non_directory_above(path, self._root.path)
        return "" if above is None else f"{self._root.relative(above[0])} is {above[1]} now"

    def _leave(self, key: Key, name: str, why: str) -> None:
        self._reasons.setdefault(key, (name, why))

    def _was_rolled_back(self, record: Record, name: str, key: Key, states: Sequence[str]) -> bool:
        """Return whether an earlier rollback led to the current state, and remember it."""
        merged = self._earlier.merged(record, name, states)
        if merged is not None:
            self._before[key] = self._before.get(key, False) or merged
        return merged is not None

    def _merge(
        self, key: Key, name: str, base: _Content | None, now: _Content, before: _Content
    ) -> _Content | None:
        """Merge later changes into the earlier content; leave the file or buffer if they touch the run's.

        :param base: content that the run wrote; None if it was not kept.
        """
        if base is None or name in self._whole:
            self._leave(key, name, _CHANGED)
            return None
        merge = merge_text if isinstance(base, str) else merge_bytes
        merged: _Content | None = merge(base, now, before)
        if merged is None:
            self._leave(key, name, _EDITED)
        return merged

    def plan_mode(self, entry: ModeEntry) -> None:
        with contextlib.suppress(OutsideRoot, FileNotFoundError, NotADirectoryError):
            path = self._places.of(entry.path)
            found = path.lstat().st_mode
            if not stat.S_ISREG(found):
                return
            now = stat.S_IMODE(found)
            if self._modes.get(path, (now, now))[1] in (entry.after, entry.before | entry.after):
                self._modes[path] = (now, entry.before)

    # -- the result -------------------------------------------------------------------------------

    def plan(self) -> RollbackPlan:
        for path in [path for path in self._now if self._changes(path)]:
            self._check_obstacles(path)
        kept = self._all_left()
        keys: list[Key] = [*self._texts, *self._now]
        changed = [key for key in keys if self._changes(key)]
        restored = [key for key in changed if key not in kept]
        plan = RollbackPlan(
            reasons=dict(self._reasons.values()),
            names=self._names(restored),
            merged=self._names(key for key in restored if key in self._merged),
        )
        plan.left = list(dict.fromkeys([*plan.reasons, *self._names(key for key in changed if key in kept)]))
        for number, path in self._saves.items():
            if number not in kept and (self._changes(path) or self._changes(number)):
                plan.saves.append(BufferSave(number, path, self._image_at(path), self._texts[number]))
        saved = {save.path for save in plan.saves}
        for key in restored:
            name = self._name(key)
            if isinstance(key, int):
                buffer, text = self._buffers[key], self._texts[key]
                hunks = diff_lines(lines_of(buffer.text), lines_of(text))
                plan.edits.append(BufferEdit(key, buffer.tick, tuple(hunks)))
                plan.texts[name] = FileChange(name, "modify", buffer.text, text, buffer=key)
                continue
            found, wanted = plan.difference.files[name] = self._images(key)
            if key not in saved:
                temp = key.with_name(self._temps[key]) if key in self._temps else Path()
                plan.files.append(FileOperation(name, key, found, wanted, temp))
        plan.difference.modes.update(
            (self._name(path), modes) for path, modes in self._modes.items() if path not in kept
        )
        plan.moved = self._moves(kept)
        for key, merged in self._before.items():
            if key not in kept:
                name = self._name(key)
                plan.before[name] = plan.before.get(name, False) or merged
        self._add_directories(plan)
        noted = set(restored)
        plan.notes = [self._note(*each) for each in self._rolled_back if each[2] in noted]
        return plan

    def _check_obstacles(self, path: Path) -> None:
        """Make a path depend on files that must be removed for it, or leave it if others block it."""
        if self._image_at(path).state == ABSENT:
            return
        above = non_directory_above(path, self._root.path)
        if above is not None:
            if above[0] in self._now and self._image_at(above[0]).state == ABSENT:
                self._ties.append((path, above[0]))
            else:
                self._leave(path, self._root.relative(path), self._why_absent(path))
        elif path in self._standing:
            going = {other for other in self._now if self._image_at(other).state == ABSENT}
            try:
                directories, stays = blocking_entries(path, going.union(self._places.temporaries))
            except OSError as error:
                raise WorkspaceError(f"{path} cannot be read: {error.strerror}") from error
            foreign = (
                one for one in directories if not isinstance(self._directories.get(one), DirectoryEntry)
            )
            if stays := stays or next(foreign, None):
                name = "" if stays == path else f" with {self._root.relative(stays)} in it"
                self._leave(path, self._root.relative(path), f"a directory is there now{name}")
            self._ties += [(path, other) for other in going if path in other.parents]

    def _add_directories(self, plan: RollbackPlan) -> None:
        for path, entry in sorted(self._directories.items()):
            if isinstance(entry, RemovedEntry):
                metadata = None if entry.metadata is None else entry.metadata.metadata()
                plan.made.append(DirectoryOperation(path, entry.mode, metadata))
            else:
                plan.removed.insert(0, DirectoryOperation(path, 0))

    def _changes(self, key: Key) -> bool:
        if isinstance(key, int):
            return self._texts[key] != self._buffers[key].text
        return not self._image_at(key).state.holds_same_as(self._found[key].state)

    def _all_left(self) -> set[Key]:
        kept = set(self._reasons)
        while more := {
            key for tie in self._ties if not kept.isdisjoint(tie) for key in tie if key not in kept
        }:
            kept |= more
        return kept

    def _moves(self, kept: set[Key]) -> dict[str, str]:
        """Return new name → current name of the files that move back."""
        moves = {}
        for now, then in self._ties:
            if not isinstance(now, Path) or not isinstance(then, Path) or now in kept:
                continue
            goes = _appears(*reversed(self._images(now)))
            if goes and _appears(*self._images(then)):
                moves[self._name(then)] = self._name(now)
        return moves

    def _images(self, path: Path) -> tuple[FileImage, FileImage]:
        """Return the current and the planned image of a path."""
        planned = self._image_at(path)
        return self._found[path], planned

    def _note(self, record: Record, name: str, key: Key) -> RollbackNote:
        if isinstance(key, int):
            states: tuple[str, ...] = (text_state(self._texts[key]),)
        else:
            states = states_of(self._image_at(key))
            # its file will also have the buffer's unsaved text
            states += tuple(
                text_state(self._texts[number]) for number, path in self._saves.items() if path == key
            )
        return RollbackNote(record, name, states, key in self._merged)

    def _names(self, keys: Iterable[Key]) -> list[str]:
        return list(dict.fromkeys(map(self._name, keys)))

    def _name(self, key: Key) -> str:
        if isinstance(key, Path):
            return self._root.relative(key)
        buffer = self._buffers[key]
        if not buffer.path:
            return f"buffer {key}"
        with contextlib.suppress(OutsideRoot):
            return self._root.relative(self._root.resolve(buffer.path))
        return buffer.path


def _appears(before: FileImage, after: FileImage) -> bool:
    return before.state == ABSENT != after.state
