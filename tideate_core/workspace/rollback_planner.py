"""Rollback planning: reverse a run's journal in memory, starting from current files and buffers.

Content that the run wrote is replaced by the content before it; content that is already restored stays.
Otherwise the user or another run changed it: their changes are merged into the earlier content. If the merge
is ambiguous, the whole file is left.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tideate_core.errors import NotText, OutsideRoot
from tideate_core.workspace.changes import merge_bytes, merge_text
from tideate_core.workspace.documents import Document
from tideate_core.workspace.files import ABSENT, FileImage, text_digest
from tideate_core.workspace.journal import entries_of
from tideate_core.workspace.journal_manifest import BufferEntry, DirectoryEntry, FileEntry, RemovedEntry
from tideate_core.workspace.rollback_notes import RollbackNotes, states_of, text_state
from tideate_core.workspace.rollback_state import RollbackState

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from tideate_core.workspace.buffers import BufferText
    from tideate_core.workspace.journal import Record
    from tideate_core.workspace.paths import Root
    from tideate_core.workspace.rollback_state import RollbackPlan

_EDITED = "changed where the run wrote"
_CHANGED = "changed since"
_GONE = "deleted since"
_MADE = "made by the run and changed since"
_ANEW = "something else was made there since"


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
            state.leave(path, entry.path, _ANEW)
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
            leave(path, entry.path, _ANEW)
        elif origin is not None:
            self._moved_file(record, entry, path, origin, now)
        elif entry.before.kind == "absent":
            leave(path, entry.path, _MADE)
        elif entry.before.kind != "file":
            leave(path, entry.path, _ANEW)
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
            self.state.leave(origin, from_entry.path, _ANEW)
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
