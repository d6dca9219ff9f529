"""Files of a run in memory: their texts as read and as staged; nothing is written to disk."""

from __future__ import annotations

import asyncio
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypedDict

from tideate_core.agents.model_input import ShownFile, read_if_there, why_not_shown
from tideate_core.errors import UnusableAnswer, WorkspaceError
from tideate_core.workspace import (
    FileChange,
    Hunk,
    Source,
    apply_hunks,
    diff_lines,
    language_of,
    lines_of,
    text_digest,
    with_kept_line_ends,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tideate_core.workflows import StepContext

NOTHING: Final[Mapping[str, str | None]] = MappingProxyType({})


class StagedFiles:
    """Texts by path, read from the workspace and changed by staged edits. Only loaded files are known.

    Paths are the workspace's names: relative to the root, links resolved.
    """

    def __init__(self) -> None:
        self._sources: dict[str, Source | None] = {}
        self._now: dict[str, str | None] = {}
        self._moved: dict[str, str] = {}
        """Old paths of moved files, by new path."""
        self._hidden: dict[str, str] = {}
        """Reasons why files can be neither shown nor edited, by path."""
        self._no_text: set[str] = set()
        """Hidden files that are binary, in another encoding, or too large to read."""
        self._bytes_to: dict[str, str] = {}
        """New paths of moved binary files, by old path; empty if the file is deleted."""
        self._seen: dict[str, str] = {}
        """Digests of the texts shown to a model, by path."""
        self._recorded: dict[str, tuple[str | None, str | None]] = {}
        """First and last text of each file in the exported changes."""
        self._touched: dict[str, None] = {}
        """Files with changes that are not exported yet, in order."""

    async def load(
        self, step: StepContext, paths: Iterable[str], kept: Mapping[str, str | None] = NOTHING
    ) -> None:
        """Read files with unsaved changes of the editor; keep the reason for a file that cannot be used.

        Files that are already loaded stay unchanged.

        :param kept: texts to use instead, by path; None for a file that did not exist.
        """
        for path in paths:
            if path in kept:
                self.take(path, kept[path])
            elif path not in self._now and path not in self._hidden:
                await self._load(step, path)

    def take(self, path: str, text: str | None) -> None:
        """Load a text without reading the file; None for a file that does not exist."""
        self._hidden.pop(path, None)
        self._sources[path], self._now[path] = None if text is None else Source(path, text), text

    async def read(self, step: StepContext, path: str) -> str | None:
        """Return a file's text with staged edits; None if it does not exist.

        A file without staged edits is read again each time.

        :raises UnusableAnswer: the file cannot be used; gives the reason.
        """
        if not self._is_changed(path):
            await self._load(step, path)
        if path in self._hidden:
            why = self._hidden[path]
            raise UnusableAnswer(why if path in why else f"{path}: {why}")
        return self._now[path]

    async def _load(self, step: StepContext, path: str) -> None:
        source, hidden, is_text = None, "", True
        try:
            source = await read_if_there(step.workspace, path)
            if source is not None and (why := await why_not_shown(step, path, source.text)):
                hidden = f"{why}, and no person agreed to send it to the model"
        except WorkspaceError as error:
            hidden = str(error)
            is_text = not await asyncio.to_thread(step.workspace.is_regular_file, path)
        if self._is_changed(path):
            return  # changed meanwhile
        # no await from here on: calls that only read run concurrently
        self._forget(path)
        if hidden:
            self._hidden[path] = hidden
            if not is_text:
                self._no_text.add(path)
        else:
            self._sources[path] = source
            self._now[path] = source.text if source else None

    @property
    def hidden(self) -> dict[str, str]:
        """Reasons why files can be neither shown nor edited, by path."""
        return dict(self._hidden)

    def knows(self, path: str) -> bool:
        """Return whether a file was loaded and can be edited."""
        return path in self._now

    def is_no_text(self, path: str) -> bool:
        """Return whether a file is binary, so that it can only be moved or deleted."""
        return path in self._no_text

    def stage_bytes(self, path: str, move_to: str | None) -> None:
        """Stage the move or deletion of a binary file.

        :param move_to: new path; None to delete the file.
        """
        old = next((old for old, new in self._bytes_to.items() if new == path), path)
        why = self._hidden.get(path, "it is no text")
        self._put_bytes(old, move_to or "", why)
        if path != old:
            self._forget(path)
        self._touched.update(dict.fromkeys((old, path)))

    def _put_bytes(self, old: str, new: str, why: str) -> None:
        self._bytes_to[old] = new
        self._forget(old)
        self._sources[old], self._now[old] = None, None
        if new:
            self._forget(new)
            self._hidden[new] = why
            self._no_text.add(new)

    def _forget(self, path: str) -> None:
        for known in (self._hidden, self._sources, self._now):
            known.pop(path, None)
        self._no_text.discard(path)

    def text(self, path: str) -> str | None:
        """Return a file's text with staged edits; None if it does not exist.

        :raises UnusableAnswer: the file was not loaded, or cannot be used.
        """
        if path in self._hidden:
            raise UnusableAnswer(f"it cannot be changed: {self._hidden[path]}")
        if path not in self._now:
            raise UnusableAnswer("it is none of the files that may be changed now")
        return self._now[path]

    def note_shown(self, path: str) -> None:
        """Record that the current text of a loaded file was shown to a model."""
        text = self._now.get(path)
        digest = "" if text is None else text_digest(text)
        if digest and self._seen.get(path) != digest:
            self._seen[path] = digest
            self._touched[path] = None

    def forget_shown(self) -> None:
        """Record that the model no longer has the shown texts."""
        self._seen.clear()

    def was_shown(self, path: str) -> bool:
        """Return whether a model was shown a file's current text, or wrote it."""
        text = self._now.get(path)
        return text is not None and self._seen.get(path) == text_digest(text)

    def stage(self, changes: Sequence[FileChange]) -> None:
        """Apply changes, made for the texts returned by `text`."""
        for change in map(with_kept_line_ends, changes):
            self._touched[change.path] = None
            if change.action == "move" and change.move_to is not None:
                self._now[change.path] = None
                self._now[change.move_to] = change.after
                self._moved[change.move_to] = self._moved.pop(change.path, change.path)
                self._touched[change.move_to] = None
            else:
                self._now[change.path] = change.after
                if change.after is None:
                    self._moved.pop(change.path, None)

    def adopt(self, changes: Sequence[FileChange]) -> None:
        """Take over changes of an earlier model, together with their original texts."""
        for change in changes:
            self.take(change.path, change.before)
            if change.move_to is not None:
                self.take(change.move_to, None)
        self.stage(changes)
        for change in changes:
            self.note_shown(change.move_to or change.path)

    def changes(self) -> list[FileChange]:
        """Return the changes that turn the files as read into the staged ones."""
        moves = {
            old: new
            for new, old in self._moved.items()
            if self._sources.get(old) and not self._sources.get(new) and self._now.get(old) is None
        }
        targets = set(moves.values())
        found = (self._change(path, moves.get(path)) for path in self._now if path not in targets)
        as_bytes = [
            FileChange(old, "move" if new else "delete", None, None, move_to=new or None)
            for old, new in self._bytes_to.items()
        ]
        return [*(change for change in found if change is not None), *as_bytes]

    def _change(self, path: str, move_to: str | None) -> FileChange | None:
        source, after = self._sources.get(path), self._now[path]
        if source is None:
            return None if after is None else FileChange(path, "create", None, after)
        if move_to is None and after == source.text:
            return None
        action = "move" if move_to else "delete" if after is None else "modify"
        return FileChange(
            path,
            action,  # type: ignore[arg-type]
            source.text,
            self._now[move_to] if move_to else after,
            move_to=move_to,
            buffer=source.buffer,
            tick=source.tick,
        )

    def changed_texts(self) -> dict[str, str | None]:
        """Return the texts of all files with staged edits, None for a deleted one."""
        return {path: text for path, text in self._now.items() if self._is_changed(path)}

    @property
    def moved_bytes(self) -> list[str]:
        """New paths of moved binary files."""
        return [new for new in self._bytes_to.values() if new]

    def listed(self, files: Iterable[str]) -> list[str]:
        """Return the project's file names after the staged edits.

        :param files: sorted names of the project's files.
        """
        changed = self.changed_texts()
        if not changed:
            return list(files)
        coming = {path for path, text in changed.items() if text is not None}
        coming.update(self.moved_bytes)
        return sorted(coming.union(path for path in files if path not in changed))

    def _is_changed(self, path: str) -> bool:
        if path in self._bytes_to or path in self._bytes_to.values():
            return True
        if path not in self._now:
            return False
        source = self._sources.get(path)
        return self._now[path] != (source.text if source else None)

    def export_change(self) -> dict[str, Any]:
        """Return the edits and shown texts since the last export as JSON, for `restore` in the same order.

        The first export of a file has its original text; later ones have changed lines only.

        :returns: empty if nothing has changed.
        """
        files = {path: dict(self._record(path)) for path in self._touched}
        self._touched.clear()
        return {"files": files} if files else {}

    def _record(self, path: str) -> RecordedFile:
        record: RecordedFile = {}
        if path in self._seen:
            record["shown"] = self._seen[path]
        if path in self._bytes_to:
            record["bytes_to"] = self._bytes_to[path]
            return record
        known = self._recorded.get(path)
        if path not in self._now or (known is None and not self._is_changed(path)):
            return record  # shown, not edited
        source, now = self._sources.get(path), self._now[path]
        before = source.text if source else None
        if known is None or known[0] != before:
            record["before"] = before
            known = (before, before)
        record["now"] = recorded_text(known[1], now)
        if path in self._moved:
            record["moved_from"] = self._moved[path]
        self._recorded[path] = (before, now)
        return record

    def restore(self, change: Mapping[str, Any]) -> None:
        """Apply an exported change, which restores the state after the call that made it.

        The original text stays the one that was read then. Buffers are not known any more; `Workspace.attach`
        adds them to the `changes`.
        """
        for path, record in change.get("files", {}).items():
            self._restore(path, record)

    def _restore(self, path: str, record: RecordedFile) -> None:
        if "shown" in record:
            self._seen[path] = record["shown"]
        if "bytes_to" in record:
            self._put_bytes(path, record["bytes_to"], "it is no text")
        if "now" not in record:
            return
        if "before" in record:
            first = record["before"]
            self._sources[path] = None if first is None else Source(path, first)
            self._recorded[path] = (first, first)
        before, known = self._recorded[path]
        self._now[path] = text_of_record(known, record["now"])
        self._recorded[path] = (before, self._now[path])
        self._moved.pop(path, None)
        if "moved_from" in record:
            self._moved[path] = record["moved_from"]


def shown_of(staged: StagedFiles, files: Sequence[str]) -> list[ShownFile]:
    """Return files for a prompt, with staged edits."""
    return [ShownFile(path, staged.text(path), language_of(path)) for path in files]


RecordedText: TypeAlias = "str | list[dict[str, Any]] | None"
"""A whole text, the hunks that lead to it, or None if the file does not exist."""


class RecordedFile(TypedDict, total=False):
    """Part of an exported change about one file."""

    shown: str
    """Digest of the text shown to a model."""
    before: str | None
    """Original text of the file; only in its first change."""
    now: RecordedText
    """The new text, relative to that of the last export."""
    moved_from: str
    """Path of the file when it was read."""
    bytes_to: str
    """New path of a binary file; empty if it is deleted."""


def recorded_text(before: str | None, now: str | None) -> RecordedText:
    """Return a compact record of the change from one text to another."""
    if before is None or now is None:
        return now
    return [hunk.as_json() for hunk in diff_lines(lines_of(before), lines_of(now))]


def text_of_record(before: str | None, record: RecordedText) -> str | None:
    """Return the new text of a record made by `recorded_text`.

    :raises EditConflict: the record was made for another text.
    """
    if record is None or isinstance(record, str):
        return record
    hunks = [Hunk(one["start"], tuple(one["old"]), tuple(one["new"])) for one in record]
    return "\n".join(apply_hunks(lines_of(before), hunks))
