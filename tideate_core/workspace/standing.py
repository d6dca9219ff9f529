"""What stands in files and buffers, and what it would be if some of it were taken back."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from tideate_core.errors import OutsideRoot, WorkspaceError
from tideate_core.workspace.buffers import BufferEdit
from tideate_core.workspace.edits import diff_lines, lines_of
from tideate_core.workspace.files import FileImage, standing_at
from tideate_core.workspace.traces import states_of, text_state
from tideate_core.workspace.unwound import Mark, Restore, Save, Unwound

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tideate_core.workspace.buffers import BufferText
    from tideate_core.workspace.journal import BufferEntry, Record
    from tideate_core.workspace.paths import Root

__all__ = ["Key", "Standing"]

Key: TypeAlias = Path | int
"""A file, or a loaded buffer by its number."""


class Standing:
    """Files and buffers as they are found, changed in memory.

    :param loaded: the editor's buffers, by what changed them: an entry, or a file that was written on disk.
    """

    def __init__(self, root: Root, loaded: Mapping[BufferEntry | Path, BufferText]) -> None:
        self.root = root
        self.texts = {buffer.number: buffer.text for buffer in loaded.values()}
        self.temps: dict[Path, str] = {}
        self.merged: set[Key] = set()
        self._loaded = loaded
        self._buffers = {buffer.number: buffer for buffer in loaded.values()}
        self._own = {buffer.number for key, buffer in loaded.items() if not isinstance(key, Path)}
        self._own |= {buffer.number for buffer in loaded.values() if buffer.modified}
        self._found: dict[Path, FileImage] = {}
        self._now: dict[Path, FileImage] = {}
        self._before: dict[Key, bool] = {}
        self._saves: dict[int, Path] = {}
        self._reasons: dict[Key, tuple[str, str]] = {}
        self._ties: list[tuple[Key, Key]] = []
        self._marks: list[tuple[Record, str, Key]] = []

    # -- what is there ----------------------------------------------------------------------------

    def at(self, name: str) -> Path | None:
        """Return where an entry's file is; None, and it is said, where that is outside by now."""
        try:
            return self.root.entry(name)
        except OutsideRoot:
            self.stop(Path(name), name, "a link leads out of the project there")
            return None

    def look(self, path: Path) -> FileImage:
        """Return what stands at a path.

        :raises WorkspaceError: it cannot be read.
        """
        if path not in self._found:
            try:
                self._found[path] = standing_at(path)
            except OSError as error:
                raise WorkspaceError(f"{path} cannot be read: {error.strerror}") from error
        return self._now.get(path, self._found[path])

    def number_of(self, entry: BufferEntry) -> int | None:
        """Return the number that a changed buffer has now, None if it is not loaded."""
        buffer = self._loaded.get(entry)
        return None if buffer is None else buffer.number

    def number_at(self, path: Path) -> int | None:
        """Return the number of the buffer of a file that was written on disk, None if it is not loaded."""
        buffer = self._loaded.get(path)
        return None if buffer is None else buffer.number

    def is_own(self, number: int) -> bool:
        """Whether a buffer has something that the editor does not load again from its file."""
        return number in self._own

    def is_modified(self, number: int) -> bool:
        return self._buffers[number].modified

    def is_named(self, number: int) -> bool:
        return bool(self._buffers[number].path)

    # -- what becomes of it -----------------------------------------------------------------------

    def become(self, path: Path, wanted: FileImage, *, merged: bool = False) -> None:
        """Let a path hold something.

        :param merged: there is something to keep in it.
        """
        self._now[path] = wanted
        if merged:
            self.merged.add(path)

    def save(self, number: int, path: Path) -> None:
        """Have a buffer saved, because its file has to change."""
        self._saves[number] = path

    def undone_before(self, key: Key, *, merged: bool) -> None:
        """Note that an earlier rollback was here."""
        self._before[key] = self._before.get(key, False) or merged

    def mark(self, record: Record, name: str, key: Key) -> None:
        """Note that a record is undone in a file or buffer, unless it is stopped in the end."""
        self._marks.append((record, name, key))

    # -- what cannot be ---------------------------------------------------------------------------

    def tie(self, one: Key, other: Key) -> None:
        """Restore one only along with the other."""
        self._ties.append((one, other))

    def stop(self, key: Key, name: str, why: str) -> None:
        """Leave something as it is."""
        self._reasons.setdefault(key, (name, why))

    def is_stopped(self, key: Key) -> bool:
        return key in self._reasons

    # -- the result -------------------------------------------------------------------------------

    def result(self) -> Unwound:
        stopped = self._stopped()
        unwound = Unwound(reasons=dict(self._reasons.values()))
        self._add_buffers(unwound, stopped)
        saved = self._add_saves(unwound, stopped)
        for path, wanted in self._now.items():
            expected = self._found[path].state
            if not self._changes(path):
                continue
            if path not in stopped and path not in saved:
                temp = path.with_name(self.temps.get(path, f".tideate-{os.getpid()}.tmp"))
                unwound.files.append(Restore(path, wanted, expected, temp))
            self._tell(unwound, path, stopped)
        left = [*unwound.reasons, *unwound.left]
        unwound.left = list(dict.fromkeys(left))
        for key, merged in self._before.items():
            if key not in stopped:
                name = self._name(key)
                unwound.before[name] = unwound.before.get(name, False) or merged
        unwound.marks = [
            self._mark(*mark) for mark in self._marks if mark[2] not in stopped and self._changes(mark[2])
        ]
        return unwound

    def _changes(self, key: Key) -> bool:
        if isinstance(key, int):
            return self.texts[key] != self._buffers[key].text
        return not self.look(key).state.holds_same_as(self._found[key].state)

    def _stopped(self) -> set[Key]:
        stopped = set(self._reasons)
        while more := {
            key for tie in self._ties if not stopped.isdisjoint(tie) for key in tie if key not in stopped
        }:
            stopped |= more
        return stopped

    def _add_buffers(self, unwound: Unwound, stopped: set[Key]) -> None:
        for number, text in self.texts.items():
            buffer = self._buffers[number]
            if text != buffer.text:
                if number not in stopped:
                    hunks = diff_lines(lines_of(buffer.text), lines_of(text))
                    unwound.edits.append(BufferEdit(buffer.number, buffer.tick, tuple(hunks)))
                self._tell(unwound, number, stopped)

    def _add_saves(self, unwound: Unwound, stopped: set[Key]) -> set[Path]:
        saved: set[Path] = set()
        for number, path in self._saves.items():
            wanted = self.look(path)
            if number not in stopped and self._changes(path):
                unwound.saves.append(Save(number, path, wanted, self.texts[number]))
                saved.add(path)
        return saved

    def _tell(self, unwound: Unwound, key: Key, stopped: set[Key]) -> None:
        name = self._name(key)
        if key in stopped:
            unwound.left.append(name)
            return
        if name not in unwound.names:
            unwound.names.append(name)
        if key in self.merged and name not in unwound.merged:
            unwound.merged.append(name)

    def _mark(self, record: Record, name: str, key: Key) -> Mark:
        if isinstance(key, int):
            states: tuple[str, ...] = (text_state(self.texts[key]),)
        else:
            states = states_of(self.look(key))
            # its file will hold what is unsaved in the buffer, too
            states += tuple(
                text_state(self.texts[number]) for number, path in self._saves.items() if path == key
            )
        return Mark(record, name, states, key in self.merged)

    def _name(self, key: Key) -> str:
        if isinstance(key, Path):
            return self.root.relative(key)
        buffer = self._buffers[key]
        if not buffer.path:
            return f"buffer {key}"
        with contextlib.suppress(OutsideRoot):
            return self.root.relative(self.root.resolve(buffer.path))
        return buffer.path
