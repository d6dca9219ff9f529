"""Rollback planning: reverse a run's journal in memory, starting from current files and buffers.

Content that the run wrote is replaced by the content before it; content that is already restored stays.
Otherwise the user or another run changed it: their changes are merged into the earlier content. If the merge
is ambiguous, the whole file is left.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from tideate_core.errors import NotText, OutsideRoot, WorkspaceError
from tideate_core.workspace.buffers import BufferEdit
from tideate_core.workspace.changes import FileChange, diff_lines, lines_of, merge_bytes, merge_text
from tideate_core.workspace.documents import Document
from tideate_core.workspace.file_images import (
    ABSENT,
    FileImage,
    file_or_link,
    read_image_nofollow,
    temporary_beside,
    text_digest,
)
from tideate_core.workspace.image_changes import Difference, changes_between
from tideate_core.workspace.journal import (
    BufferEntry,
    DirectoryEntry,
    FileEntry,
    JournalPlaces,
    RemovedEntry,
    entries_of,
)
from tideate_core.workspace.kind_changes import blocking_entries, non_directory_above
from tideate_core.workspace.rollback_notes import RollbackNote, RollbackNotes, states_of, text_state

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from tideate_core.util.file_metadata import Metadata
    from tideate_core.workspace.buffers import BufferText
    from tideate_core.workspace.file_images import FileState
    from tideate_core.workspace.journal import Record
    from tideate_core.workspace.paths import Root


Key: TypeAlias = Path | int
"""A file, or a loaded buffer by its number."""


@dataclass(frozen=True, slots=True)
class FileRollback:
    """Path to restore."""

    path: Path
    after: FileImage
    expected: FileState
    temp: Path


@dataclass(frozen=True, slots=True)
class DirectoryRollback:
    """Directory to create again, or to remove if empty."""

    path: Path
    mode: int = 0
    metadata: Metadata | None = None


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

    files: list[FileRollback] = field(default_factory=list)
    made: list[DirectoryRollback] = field(default_factory=list)
    """Directories to create again, outer ones first."""
    removed: list[DirectoryRollback] = field(default_factory=list)
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


class RollbackState:
    """Files and buffers as found, rolled back in memory.

    :param loaded: the editor's buffers, by a buffer entry or by a file changed on disk.
    """

    def __init__(
        self, root: Root, records: Sequence[Record], loaded: Mapping[BufferEntry | Path, BufferText]
    ) -> None:
        self.root = root
        self.places = JournalPlaces(root, records)
        self.texts = {buffer.number: buffer.text for buffer in loaded.values()}
        self.temps: dict[Path, str] = {}
        self.merged: set[Key] = set()
        self._loaded = loaded
        self._buffers = {buffer.number: buffer for buffer in loaded.values()}
        self._own = {buffer.number for key, buffer in loaded.items() if not isinstance(key, Path)}
        self._own |= {buffer.number for buffer in loaded.values() if buffer.modified}
        self._found: dict[Path, FileImage] = {}
        self._directories: dict[Path, RemovedEntry | DirectoryEntry] = {}
        """First entry of each created or removed directory."""
        self._standing: set[Path] = set()
        """Directories at the path of a recorded file or link."""
        self._own_directories = {
            root.lexical(entry.path)
            for record in records
            for entry in record.manifest.entries
            if isinstance(entry, DirectoryEntry | RemovedEntry)
        }
        self._now: dict[Path, FileImage] = {}
        self._before: dict[Key, bool] = {}
        self._saves: dict[int, Path] = {}
        self._reasons: dict[Key, tuple[str, str]] = {}
        self._ties: list[tuple[Key, Key]] = []
        self._notes: list[tuple[Record, str, Key]] = []

    # -- what is there ----------------------------------------------------------------------------

    def path_of(self, name: str) -> Path | None:
        """Return the path of an entry; None, with the reason noted, if it is now outside of the project."""
        try:
            return self.places.of(name)
        except OutsideRoot:
            self.leave(Path(name), name, "a link leads out of the project there")
            return None

    def image_at(self, path: Path) -> FileImage:
        """Return the file or link at a path; absent for a directory.

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

    def is_foreign_directory(self, path: Path) -> bool:
        """Return whether an unrecorded directory is at a path."""
        self.image_at(path)
        return path in self._standing and path not in self._own_directories

    def why_absent(self, path: Path) -> str:
        """Return the reason why no file can exist at a path; empty if one can."""
        above = non_directory_above(path, self.root.path)
        return "" if above is None else f"{self.root.relative(above[0])} is {above[1]} now"

    def number_of(self, key: BufferEntry | Path) -> int | None:
        """Return the number of a changed buffer or of a written file's buffer; None if not loaded."""
        buffer = self._loaded.get(key)
        return None if buffer is None else buffer.number

    def is_own(self, number: int) -> bool:
        """Return whether a buffer has text that the editor would not reload from its file."""
        return number in self._own

    def is_modified(self, number: int) -> bool:
        return self._buffers[number].modified

    def is_named(self, number: int) -> bool:
        return bool(self._buffers[number].path)

    # -- what becomes of it -----------------------------------------------------------------------

    def set_image(self, path: Path, wanted: FileImage, *, merged: bool = False) -> None:
        """Set the planned image of a path.

        :param merged: it keeps later changes.
        """
        self._now[path] = wanted
        if merged:
            self.merged.add(path)

    def set_directory(self, entry: RemovedEntry | DirectoryEntry) -> None:
        """Plan to create a directory again, or to remove it if empty."""
        with contextlib.suppress(OutsideRoot):
            self._directories[self.places.of(entry.path)] = entry

    def save_buffer(self, number: int, path: Path) -> None:
        """Plan to save a buffer, because its file has to change."""
        self._saves[number] = path

    def note_earlier_rollback(self, key: Key, *, merged: bool) -> None:
        """Record an earlier rollback of a file or buffer."""
        self._before[key] = self._before.get(key, False) or merged

    def note_rollback(self, record: Record, name: str, key: Key) -> None:
        """Record that an entry is rolled back in a file or buffer, unless it is left in the end."""
        self._notes.append((record, name, key))

    # -- what cannot be ---------------------------------------------------------------------------

    def tie(self, one: Key, other: Key) -> None:
        """Restore two files or buffers only together."""
        self._ties.append((one, other))

    def leave(self, key: Key, name: str, why: str) -> None:
        """Leave a file or buffer unchanged."""
        self._reasons.setdefault(key, (name, why))

    def is_left(self, key: Key) -> bool:
        return key in self._reasons

    # -- the result -------------------------------------------------------------------------------

    def plan(self) -> RollbackPlan:
        for path in [path for path in self._now if self._changes(path)]:
            self._check_obstacles(path)
        kept = self._all_left()
        plan = RollbackPlan(reasons=dict(self._reasons.values()))
        self._add_buffers(plan, kept)
        saved = self._add_saves(plan, kept)
        for path, wanted in self._now.items():
            expected = self._found[path].state
            if not self._changes(path):
                continue
            if path not in kept and path not in saved:
                temp = path.with_name(self.temps[path]) if path in self.temps else temporary_beside(path)
                plan.files.append(FileRollback(path, wanted, expected, temp))
            self._add_name(plan, path, kept)
            if path not in kept:
                plan.difference.files[self._name(path)] = self._images(path)
        plan.moved = self._moves(kept)
        left = [*plan.reasons, *plan.left]
        plan.left = list(dict.fromkeys(left))
        for key, merged in self._before.items():
            if key not in kept:
                name = self._name(key)
                plan.before[name] = plan.before.get(name, False) or merged
        self._add_directories(plan)
        plan.notes = [
            self._note(*note) for note in self._notes if note[2] not in kept and self._changes(note[2])
        ]
        return plan

    def _check_obstacles(self, path: Path) -> None:
        """Make a path depend on files that must be removed for it, or leave it if others block it."""
        if self.image_at(path).state == ABSENT:
            return
        above = non_directory_above(path, self.root.path)
        if above is not None:
            if above[0] in self._now and self.image_at(above[0]).state == ABSENT:
                self.tie(path, above[0])
            else:
                self.leave(path, self.root.relative(path), self.why_absent(path))
        elif path in self._standing:
            going = {other for other in self._now if self.image_at(other).state == ABSENT}
            try:
                directories, stays = blocking_entries(path, going.union(self.places.temporaries))
            except OSError as error:
                raise WorkspaceError(f"{path} cannot be read: {error.strerror}") from error
            foreign = (
                one for one in directories if not isinstance(self._directories.get(one), DirectoryEntry)
            )
            if stays := stays or next(foreign, None):
                name = "" if stays == path else f" with {self.root.relative(stays)} in it"
                self.leave(path, self.root.relative(path), f"a directory is there now{name}")
            for other in going:
                if path in other.parents:
                    self.tie(path, other)

    def _add_directories(self, plan: RollbackPlan) -> None:
        for path, entry in sorted(self._directories.items()):
            if isinstance(entry, RemovedEntry):
                metadata = None if entry.metadata is None else entry.metadata.metadata()
                plan.made.append(DirectoryRollback(path, entry.mode, metadata))
            else:
                plan.removed.insert(0, DirectoryRollback(path))

    def _changes(self, key: Key) -> bool:
        if isinstance(key, int):
            return self.texts[key] != self._buffers[key].text
        return not self.image_at(key).state.holds_same_as(self._found[key].state)

    def _all_left(self) -> set[Key]:
        kept = set(self._reasons)
        while more := {
            key for tie in self._ties if not kept.isdisjoint(tie) for key in tie if key not in kept
        }:
            kept |= more
        return kept

    def _add_buffers(self, plan: RollbackPlan, kept: set[Key]) -> None:
        for number, text in self.texts.items():
            buffer = self._buffers[number]
            if text != buffer.text:
                if number not in kept:
                    hunks = diff_lines(lines_of(buffer.text), lines_of(text))
                    plan.edits.append(BufferEdit(buffer.number, buffer.tick, tuple(hunks)))
                    name = self._name(number)
                    plan.texts[name] = FileChange(name, "modify", buffer.text, text, buffer=number)
                self._add_name(plan, number, kept)

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
        return self._found[path], self.image_at(path)

    def _add_saves(self, plan: RollbackPlan, kept: set[Key]) -> set[Path]:
        saved: set[Path] = set()
        for number, path in self._saves.items():
            wanted = self.image_at(path)
            if number not in kept and (self._changes(path) or self._changes(number)):
                plan.saves.append(BufferSave(number, path, wanted, self.texts[number]))
                saved.add(path)
        return saved

    def _add_name(self, plan: RollbackPlan, key: Key, kept: set[Key]) -> None:
        name = self._name(key)
        if key in kept:
            plan.left.append(name)
            return
        if name not in plan.names:
            plan.names.append(name)
        if key in self.merged and name not in plan.merged:
            plan.merged.append(name)

    def _note(self, record: Record, name: str, key: Key) -> RollbackNote:
        if isinstance(key, int):
            states: tuple[str, ...] = (text_state(self.texts[key]),)
        else:
            states = states_of(self.image_at(key))
            # its file will also have the buffer's unsaved text
            states += tuple(
                text_state(self.texts[number]) for number, path in self._saves.items() if path == key
            )
        return RollbackNote(record, name, states, key in self.merged)

    def _name(self, key: Key) -> str:
        if isinstance(key, Path):
            return self.root.relative(key)
        buffer = self._buffers[key]
        if not buffer.path:
            return f"buffer {key}"
        with contextlib.suppress(OutsideRoot):
            return self.root.relative(self.root.resolve(buffer.path))
        return buffer.path


def _appears(before: FileImage, after: FileImage) -> bool:
    return before.state == ABSENT != after.state


_EDITED = "changed where the run wrote"
_CHANGED = "changed since"
_GONE = "deleted since"
_MADE = "created by the run and changed since"
_REPLACED = "another file was created there since"


def plan_rollback(
    root: Root,
    records: Sequence[Record],
    loaded: Mapping[BufferEntry | Path, BufferText] | None,
    *,
    whole: Collection[str] = (),
) -> RollbackPlan:
    """Plan the final content of every file and buffer in the records, without writing.

    :param loaded: loaded buffers, including those of files changed on disk; None leaves buffers out.
    :param whole: names that must not be merged.
    :raises WorkspaceError: a file cannot be read, or the journal is damaged.
    """
    planner = _Planner(RollbackState(root, records, loaded or {}), whole)
    for record in reversed(records):
        for entry in reversed(record.manifest.entries):
            if isinstance(entry, FileEntry):
                planner.plan_file(record, entry)
            elif isinstance(entry, BufferEntry) and loaded is not None:
                planner.plan_buffer(record, entry)
            elif isinstance(entry, DirectoryEntry | RemovedEntry):
                planner.state.set_directory(entry)
    return planner.state.plan()


class _Planner:
    def __init__(self, state: RollbackState, whole: Collection[str]) -> None:
        self.state = state
        self._whole = whole
        self._notes = RollbackNotes()

    def plan_file(self, record: Record, entry: FileEntry) -> None:
        state = self.state
        path = state.path_of(entry.path)
        origin = state.path_of(entry.moved_from) if entry.moved_from else None
        if path is None or state.is_left(path):
            return
        if state.is_foreign_directory(path):
            state.leave(path, entry.path, _REPLACED)
            return
        if origin is not None:
            state.tie(path, origin)
        state.temps[path] = entry.temp
        now = state.image_at(path)
        if now.state.holds_same_as(entry.after):
            # a changed mode may be the user's choice
            mode = now.state.mode if now.state.kind == "file" else entry.before.mode
            state.set_image(path, record.image_before(entry, mode))
        elif (merged := self._notes.merged(record, entry.path, states_of(now))) is not None:
            state.note_earlier_rollback(path, merged=merged)
        elif not now.state.holds_same_as(entry.before):
            self._changed_file(record, entry, path, origin, now)
        if number := state.number_of(path):
            self._loaded_file(record, entry, path, number)
        state.note_rollback(record, entry.path, path)

    def _changed_file(
        self, record: Record, entry: FileEntry, path: Path, origin: Path | None, now: FileImage
    ) -> None:
        leave = self.state.leave
        if now.state.kind == "absent":
            leave(path, entry.path, self.state.why_absent(path) or _GONE)
        elif now.state.kind != "file" or entry.after.kind != "file":
            leave(path, entry.path, _REPLACED)
        elif origin is not None:
            self._moved_file(record, entry, path, origin, now)
        elif entry.before.kind == "absent":
            leave(path, entry.path, _MADE)
        elif entry.before.kind != "file":
            leave(path, entry.path, _REPLACED)
        else:
            merged, why = self._merged(record, entry, now.data, record.file_before(entry))
            if merged is None:
                leave(path, entry.path, why)
            else:
                self.state.set_image(path, FileImage.of_file(merged, now.state.mode), merged=True)

    def _moved_file(self, record: Record, entry: FileEntry, path: Path, origin: Path, now: FileImage) -> None:
        """Move a file that was changed later back to its old path."""
        from_entry = next(
            other for other in entries_of([record], FileEntry) if other.path == entry.moved_from
        )
        before = record.file_before(from_entry)
        merged, why = self._merged(record, entry, now.data, before)
        there = self.state.image_at(origin)
        if merged is None:
            self.state.leave(path, entry.path, why)
        elif path in origin.parents or origin in path.parents:
            # one must be removed before the other is written, which would lose the user's changes
            self.state.leave(path, entry.path, _CHANGED)
        elif there.state.kind != "file" or there.data not in (before, merged):
            self.state.leave(origin, from_entry.path, _REPLACED)
        else:
            image = FileImage.of_file(merged, there.state.mode, there.metadata)
            self.state.set_image(origin, image, merged=True)
            self.state.set_image(path, FileImage(ABSENT))

    def _merged(
        self, record: Record, entry: FileEntry, now: bytes, before: bytes
    ) -> tuple[bytes | None, str]:
        base = None if entry.path in self._whole else record.file_after(entry)
        if base is None:
            return None, _CHANGED
        return merge_bytes(base, now, before), _EDITED

    def _loaded_file(self, record: Record, entry: FileEntry, path: Path, number: int) -> None:
        """Roll back a file change in its buffer if the editor would not reload it."""
        state = self.state
        if not state.is_own(number) or entry.after.kind != "file":
            return
        if entry.moved_from:
            if state.is_modified(number) and not record.moves_buffer(entry):
                state.leave(path, entry.path, "unsaved changes")
            return
        if entry.before.kind != "file":
            state.leave(number, entry.path, f"{_MADE}, unsaved")
            return
        after = record.file_after(entry)
        try:
            texts = [Document.decode(data or b"").text for data in (after, record.file_before(entry))]
        except NotText:
            after = None
        if after is None:
            state.leave(number, entry.path, "unsaved changes")
            return
        state.tie(path, number)
        self._buffer_text(record, entry.path, number, texts[0], texts[1])
        state.save_buffer(number, path)

    def plan_buffer(self, record: Record, entry: BufferEntry) -> None:
        before = record.text_before(entry)
        number = self.state.number_of(entry)
        if number is not None:
            after = record.text_after(entry)
            self._buffer_text(record, _name(entry, number), number, after, before, entry.after)
        if entry.path:
            self._file_of_buffer(record, entry, before, number)

    def _buffer_text(
        self, record: Record, name: str, number: int, after: str | None, before: str, digest: str = ""
    ) -> None:
        state = self.state
        if state.is_left(number):
            return
        now, key = state.texts[number], f"buffer {name}"
        if text_digest(now) == (digest or text_digest(after or "")):
            state.texts[number] = before
        elif (merged := self._notes.merged(record, key, [text_state(now)])) is not None:
            state.note_earlier_rollback(number, merged=merged)
        elif now != before and (now or state.is_named(number)):
            after = None if name in self._whole else after
            kept = None if after is None else merge_text(after, now, before)
            if kept is None:
                state.leave(number, name, _CHANGED if after is None else _EDITED)
            else:
                state.texts[number] = kept
                state.merged.add(number)
        state.note_rollback(record, key, number)

    def _file_of_buffer(self, record: Record, entry: BufferEntry, before: str, number: int | None) -> None:
        """Restore the file of a saved buffer; an unsaved edit is not in the file."""
        state = self.state
        try:
            path = state.places.of(entry.path)
        except OutsideRoot:
            if number is None:
                self._file_outside(entry)
            return
        if number is not None:
            state.tie(path, number)
        if state.is_left(path):
            return
        now = state.image_at(path)
        if (merged := self._notes.merged(record, f"file {entry.path}", states_of(now))) is not None:
            state.note_earlier_rollback(path, merged=merged)
            return
        if now.state.kind != "file" or (entry.disk is not None and now.state.holds_same_as(entry.disk)):
            return
        if entry.saved is not None:
            self._encoded_file(record, entry, path, now, number)
            return
        try:
            document = Document.decode(now.data)
        except NotText:
            self._other_file(entry, path, number)
        else:
            self._text_of_file(record, entry, path, document, before, number)

    def _other_file(self, entry: BufferEntry, path: Path, number: int | None) -> None:
        """Save a buffer over a file that is not text; without a buffer, leave the file."""
        if number is None:
            self.state.leave(path, entry.path, _CHANGED)
        elif not self.state.is_modified(number):
            self.state.save_buffer(number, path)

    def _encoded_file(
        self, record: Record, entry: BufferEntry, path: Path, now: FileImage, number: int | None
    ) -> None:
        """Restore a buffer's file in another encoding or line end style, byte for byte."""
        images = record.saved_file_images(entry)
        if images is None:
            self.state.leave(path, entry.path, "too large to be restored")
            return
        before, after = images
        is_saved = now.data == after
        merged = before if is_saved else merge_bytes(after, now.data, before)
        if merged is None or (not is_saved and entry.path in self._whole):
            self.state.leave(path, entry.path, _EDITED)
            return
        self.state.set_image(path, FileImage.of_file(merged, now.state.mode), merged=not is_saved)
        self.state.note_rollback(record, f"file {entry.path}", path)
        if number is not None:
            self.state.save_buffer(number, path)

    def _text_of_file(
        self,
        record: Record,
        entry: BufferEntry,
        path: Path,
        document: Document,
        before: str,
        number: int | None,
    ) -> None:
        state = self.state
        mode = state.image_at(path).state.mode
        if text_digest(document.text) == entry.after:
            state.set_image(path, record.buffer_file_before(entry, document, before, mode))
        elif document.text == before or (
            entry.disk is None and number is not None and state.is_modified(number)
        ):
            return  # or it is unknown whether the buffer was ever saved
        else:
            after = None if entry.path in self._whole else record.text_after(entry)
            kept = None if after is None else merge_text(after, document.text, before)
            if kept is None:
                state.leave(path, entry.path, _CHANGED if after is None else _EDITED)
                return
            state.set_image(path, FileImage.of_file(document.encode(kept), mode), merged=True)
        state.note_rollback(record, f"file {entry.path}", path)
        if number is not None:
            state.save_buffer(number, path)

    def _file_outside(self, entry: BufferEntry) -> None:
        """Report a changed file outside of the project, which only the user may write."""
        path = Path(entry.moved_to or entry.path)
        now = self.state.image_at(path)
        if now.state.kind == "absent":
            return
        try:
            if text_digest(Document.decode(now.data).text) == entry.before:
                return
        except NotText:
            pass
        self.state.leave(path, str(path), "outside the project")


def _name(entry: BufferEntry, number: int) -> str:
    return entry.path or f"buffer {number}"
