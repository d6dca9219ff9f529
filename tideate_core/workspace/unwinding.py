"""Going back through the journal, in memory, from what stands now.

What stands there is what was written: what was there before comes back. It is what was there before: nothing
to do. Else a person, or another run, changed it since: their changes go on top of what was there before, as
far as nothing has to be guessed; where that is not possible the whole file is left.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tideate_core.errors import NotText, OutsideRoot
from tideate_core.workspace.documents import Document
from tideate_core.workspace.files import ABSENT, FileImage, text_digest
from tideate_core.workspace.images import file_before, image, kept_text, text_before, took_buffer
from tideate_core.workspace.journal import BufferEntry, FileEntry
from tideate_core.workspace.merging import merge_bytes, merge_text
from tideate_core.workspace.standing import Standing
from tideate_core.workspace.traces import Traces, states_of, text_state

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from tideate_core.workspace.buffers import BufferText
    from tideate_core.workspace.journal import Record
    from tideate_core.workspace.paths import Root
    from tideate_core.workspace.unwound import Unwound

__all__ = ["buffer_entries", "unwind"]

_EDITED = "changed where the run wrote"
_CHANGED = "changed since"
_GONE = "deleted since"
_MADE = "made by the run and changed since"
_ANEW = "something else was made there since"


def buffer_entries(records: Sequence[Record]) -> list[BufferEntry]:
    """Return the buffers that a run changed, in the order of its applies."""
    return [
        entry for record in records for entry in record.manifest.entries if isinstance(entry, BufferEntry)
    ]


def unwind(
    root: Root,
    records: Sequence[Record],
    loaded: Mapping[BufferEntry | Path, BufferText] | None,
    *,
    whole: Collection[str] = (),
) -> Unwound:
    """Find what every file and buffer of the records has to become; nothing is written.

    :param loaded: the buffers that are still there, also of files that were changed on disk; None leaves
        buffers out.
    :param whole: names of what is not merged.
    :raises WorkspaceError: something cannot be read, or the journal is damaged.
    """
    unwinding = _Unwinding(Standing(root, loaded or {}), whole)
    for record in reversed(records):
        for entry in reversed(record.manifest.entries):
            if isinstance(entry, FileEntry):
                unwinding.file(record, entry)
            elif isinstance(entry, BufferEntry) and loaded is not None:
                unwinding.buffer(record, entry)
    return unwinding.standing.result()


class _Unwinding:
    def __init__(self, standing: Standing, whole: Collection[str]) -> None:
        self.standing = standing
        self._whole = whole
        self._traces = Traces()

    def file(self, record: Record, entry: FileEntry) -> None:
        standing = self.standing
        path = standing.at(entry.path)
        origin = standing.at(entry.moved_from) if entry.moved_from else None
        if path is None or standing.is_stopped(path):
            return
        if origin is not None:
            standing.tie(path, origin)
        standing.temps[path] = entry.temp
        now = standing.look(path)
        if now.state.holds_same_as(entry.after):
            # the mode of a file that still stands may be the person's choice since
            mode = now.state.mode if now.state.kind == "file" else entry.before.mode
            standing.become(path, FileImage(replace(entry.before, mode=mode), image(record, entry)))
        elif (merged := self._traces.merged(record, entry.path, states_of(now))) is not None:
            standing.undone_before(path, merged=merged)
        elif not now.state.holds_same_as(entry.before):
            self._changed_file(record, entry, path, origin, now)
        if number := standing.number_at(path):
            self._loaded_file(record, entry, path, number)
        standing.mark(record, entry.path, path)

    def _changed_file(
        self, record: Record, entry: FileEntry, path: Path, origin: Path | None, now: FileImage
    ) -> None:
        stop = self.standing.stop
        if now.state.kind == "absent":
            stop(path, entry.path, _GONE)
        elif now.state.kind != "file" or entry.after.kind != "file":
            stop(path, entry.path, _ANEW)
        elif origin is not None:
            self._moved_file(record, entry, path, origin, now)
        elif entry.before.kind == "absent":
            stop(path, entry.path, _MADE)
        elif entry.before.kind != "file":
            stop(path, entry.path, _ANEW)
        else:
            merged, why = self._merged(record, entry, entry.path, now.data, image(record, entry))
            if merged is None:
                stop(path, entry.path, why)
            else:
                self.standing.become(path, FileImage.of_file(merged, now.state.mode), merged=True)

    def _moved_file(self, record: Record, entry: FileEntry, path: Path, origin: Path, now: FileImage) -> None:
        """Take what was changed in a moved file back to where it came from."""
        from_entry = next(
            other
            for other in record.manifest.entries
            if isinstance(other, FileEntry) and other.path == entry.moved_from
        )
        before = image(record, from_entry)
        merged, why = self._merged(record, entry, entry.path, now.data, before)
        there = self.standing.look(origin)
        if merged is None:
            self.standing.stop(path, entry.path, why)
        elif there.state.kind != "file" or there.data not in (before, merged):
            self.standing.stop(origin, from_entry.path, _ANEW)
        else:
            self.standing.become(origin, FileImage.of_file(merged, there.state.mode), merged=True)
            self.standing.become(path, FileImage(ABSENT))

    def _merged(
        self, record: Record, entry: FileEntry, name: str, now: bytes, before: bytes
    ) -> tuple[bytes | None, str]:
        base = None if name in self._whole else record.after(entry)
        if base is None:
            return None, _CHANGED
        return merge_bytes(base, now, before), _EDITED

    def _loaded_file(self, record: Record, entry: FileEntry, path: Path, number: int) -> None:
        """Take the change of a file out of its buffer, too, where the editor would not load it again."""
        standing = self.standing
        if not standing.is_own(number) or entry.after.kind != "file":
            return
        if entry.moved_from:
            if standing.is_modified(number) and not took_buffer(record, entry):
                standing.stop(path, entry.path, "unsaved changes")
            return
        if entry.before.kind != "file":
            standing.stop(number, entry.path, f"{_MADE}, unsaved")
            return
        after = record.after(entry)
        try:
            texts = [Document.decode(data or b"").text for data in (after, image(record, entry))]
        except NotText:
            after = None
        if after is None:
            standing.stop(number, entry.path, "unsaved changes")
            return
        standing.tie(path, number)
        self._buffer_text(record, entry.path, number, texts[0], texts[1])
        standing.save(number, path)

    def buffer(self, record: Record, entry: BufferEntry) -> None:
        before = text_before(record, entry)
        number = self.standing.number_of(entry)
        if number is not None:
            after = kept_text(record, entry)
            self._buffer_text(record, _name(entry, number), number, after, before, entry.after)
        if entry.path:
            self._file_of_buffer(record, entry, before, number)

    def _buffer_text(
        self, record: Record, name: str, number: int, after: str | None, before: str, digest: str = ""
    ) -> None:
        standing = self.standing
        if standing.is_stopped(number):
            return
        now, key = standing.texts[number], f"buffer {name}"
        if text_digest(now) == (digest or text_digest(after or "")):
            standing.texts[number] = before
        elif (merged := self._traces.merged(record, key, [text_state(now)])) is not None:
            standing.undone_before(number, merged=merged)
        elif now != before and (now or standing.is_named(number)):
            after = None if name in self._whole else after
            kept = None if after is None else merge_text(after, now, before)
            if kept is None:
                standing.stop(number, name, _CHANGED if after is None else _EDITED)
            else:
                standing.texts[number] = kept
                standing.merged.add(number)
        standing.mark(record, key, number)

    def _file_of_buffer(self, record: Record, entry: BufferEntry, before: str, number: int | None) -> None:
        """Restore the file of a buffer that was saved; unsaved, nothing of the edit is in it."""
        standing = self.standing
        try:
            path = standing.root.entry(entry.path)
        except OutsideRoot:
            if number is None:
                self._file_outside(entry)
            return
        if number is not None:
            standing.tie(path, number)
        if standing.is_stopped(path):
            return
        now = standing.look(path)
        if (merged := self._traces.merged(record, f"file {entry.path}", states_of(now))) is not None:
            standing.undone_before(path, merged=merged)
            return
        if now.state.kind != "file" or (entry.disk is not None and now.state.holds_same_as(entry.disk)):
            return
        try:
            document = Document.decode(now.data)
        except NotText:
            if number is None:
                standing.stop(path, entry.path, _CHANGED)
            elif not standing.is_modified(number):
                standing.save(number, path)
            return
        self._text_of_file(record, entry, path, document, before, number)

    def _text_of_file(
        self,
        record: Record,
        entry: BufferEntry,
        path: Path,
        document: Document,
        before: str,
        number: int | None,
    ) -> None:
        standing = self.standing
        mode = standing.look(path).state.mode
        if text_digest(document.text) == entry.after:
            standing.become(path, file_before(record, entry, document, before, mode))
        elif document.text == before or (
            entry.disk is None and number is not None and standing.is_modified(number)
        ):
            return  # or nobody knows whether it was ever saved
        else:
            after = None if entry.path in self._whole else kept_text(record, entry)
            kept = None if after is None else merge_text(after, document.text, before)
            if kept is None:
                standing.stop(path, entry.path, _CHANGED if after is None else _EDITED)
                return
            standing.become(path, FileImage.of_file(document.encode(kept), mode), merged=True)
        standing.mark(record, f"file {entry.path}", path)
        if number is not None:
            standing.save(number, path)

    def _file_outside(self, entry: BufferEntry) -> None:
        """Look at a file that is the person's to write."""
        path = Path(entry.moved_to or entry.path)
        now = self.standing.look(path)
        if now.state.kind == "absent":
            return
        try:
            if text_digest(Document.decode(now.data).text) == entry.before:
                return
        except NotText:
            pass
        self.standing.stop(path, str(path), "outside the project")


def _name(entry: BufferEntry, number: int) -> str:
    return entry.path or f"buffer {number}"
