"""Workspace of a run: the files and buffers that it reads, changes and rolls back."""

from __future__ import annotations

import asyncio
import contextlib
import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tideate_core.errors import OutsideRoot, WorkspaceError
from tideate_core.project import make_project_state, project_state, real_path
from tideate_core.util.escaping import label
from tideate_core.util.uncancelled import run_uncancelled
from tideate_core.workspace.changes import apply_hunks, rebase_each, unified_diff
from tideate_core.workspace.documents import Document
from tideate_core.workspace.file_images import read_image_nofollow
from tideate_core.workspace.listing import list_files
from tideate_core.workspace.paths import Root, journal_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from tideate_core.workspace.buffers import Buffers, BufferText
    from tideate_core.workspace.changes import FileChange, OutsideChanges
    from tideate_core.workspace.journal import Journal
    from tideate_core.workspace.rollback import Rollback, RollbackResult
    from tideate_core.workspace.transaction import AppliedChanges, Committer

    _Changes = list[FileChange]

MAX_BYTES = 2048 * 1024

_Names = list[str]  # in the class below, `list` is a method


@dataclass(frozen=True, slots=True)
class Source:
    """Text of a loaded buffer, saved or not, or else of the file."""

    path: str
    """Relative to the root, links followed."""
    text: str
    """Lines joined by ``\\n``, without the last line end."""
    buffer: int | None = None
    tick: int | None = None
    modified: bool = False
    """The text is an unsaved buffer's."""


@dataclass(frozen=True, slots=True)
class SavedFiles:
    """Outcome of saving buffers; paths are relative to the root."""

    saved: tuple[str, ...] = ()
    unsaved: dict[str, str] = field(default_factory=dict)
    """Files that were not saved, with the reason; their changes are in their buffers."""

    @property
    def unsaved_words(self) -> str:
        """Sentence that names the unsaved files."""
        many = len(self.unsaved) > 1
        count = f"{len(self.unsaved)} files are" if many else "1 file is"
        names = ", ".join(f"{label(path)} ({why})" for path, why in sorted(self.unsaved.items()))
        return f"{count} changed in {'their buffers' if many else 'its buffer'} and not saved: {names}"


class Workspace:
    """Access to a project's files and buffers for a run.

    :param root: of the project; None allows only buffers to be changed.
    :param buffers: the editor's; None outside of an editor.
    :param private: directory of the journal; None for the project's own private directory.
    :param max_bytes: of a file that is read.
    """

    def __init__(
        self,
        root: Path | None,
        *,
        buffers: Buffers | None = None,
        private: Path | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self._root = Root(root)
        self._buffers = buffers
        self._private = private
        self._max_bytes = max_bytes
        self._step: str | None = None
        self._is_stopped: Callable[[], bool] | None = None

    def of_step(self, step: str, is_stopped: Callable[[], bool] | None = None) -> Workspace:
        """Return this workspace for one step; its writes are recorded for the step.

        :param is_stopped: called before every write; once true, writes are rejected.
        """
        same = copy.copy(self)
        same._step, same._is_stopped = step, is_stopped
        return same

    def _refuse_stopped(self) -> None:
        if self._is_stopped is not None and self._is_stopped():
            raise WorkspaceError(f"the step {self._step!r} was stopped; nothing more of it is written")

    @property
    def root(self) -> Path | None:
        """Project root, with links resolved."""
        return self._root.path

    @property
    def buffers(self) -> Buffers | None:
        """The editor's buffers; None outside of an editor."""
        return self._buffers

    @property
    def private(self) -> Path | None:
        """Directory of the journal; None for the project's own private directory."""
        return self._private

    def has_journal(self, execution_id: str) -> bool:
        """Return whether a run has a journal; blocking."""
        private = self._private or project_state(self._root.path)
        return journal_directory(private, execution_id).is_dir()

    @property
    def max_bytes(self) -> int:
        """Largest file that is read, in bytes."""
        return self._max_bytes

    def resolve(self, path: str | Path) -> Path:
        """Return the absolute path of a file that need not exist, all links followed.

        :raises OutsideRoot: the path leaves the root or is protected.
        """
        return self._root.resolve(path)

    def entry(self, path: str | Path) -> Path:
        """Resolve a path without following its last component."""
        return self._root.entry(path)

    def lexical(self, path: str | Path) -> Path:
        """Resolve a path without following any link below the root."""
        return self._root.lexical(path)

    def is_regular_file(self, path: str) -> bool:
        """Return whether a path is a regular file of the project and not a link; blocking."""
        try:
            file = self._root.lexical(path)
        except OutsideRoot:
            return False
        return file.is_file() and not file.is_symlink()

    def has_other_names(self, path: str) -> bool:
        """Return whether a file has other hard links, which a write would detach; blocking."""
        try:
            file = self._root.resolve(path)
            return file.is_file() and file.stat().st_nlink > 1
        except (OutsideRoot, OSError):
            return False

    def name_of(self, path: Path) -> str:
        """Return a resolved path relative to the root, with ``/``."""
        return self._root.relative(path)

    async def unsaved(self, path: Path) -> BufferText | None:
        """Return the buffer of a resolved path if it has unsaved changes."""
        buffer = None if self._buffers is None else await self._buffers.find(path)
        return buffer if buffer is not None and buffer.modified else None

    async def read(self, path: str | Path) -> Source:
        """Read a text, from the editor if it is loaded.

        :raises OutsideRoot: the path is outside of the project.
        :raises NotText: the file is binary or not UTF-8.
        :raises WorkspaceError: the file is missing, too large, or cannot be read.
        """
        real_path = self._root.resolve(path)
        name = self._root.relative(real_path)
        buffer = None if self._buffers is None else await self._buffers.find(real_path)
        if buffer is not None:
            return Source(name, buffer.text, buffer.number, buffer.tick, buffer.modified)
        data = await asyncio.to_thread(_read, real_path, name, self._max_bytes)
        return Source(name, Document.decode(data, name).text)

    async def list(self, *, notice: Callable[[str], None] | None = None) -> _Names:
        """Return the project's files, relative to the root, sorted; empty without a project.

        Files that git ignores are left out; files of nested repositories are included.

        :param notice: called on the caller's event loop with the reason if git fails.
        """
        if self._root.path is None:
            return []
        notices: _Names = []
        files = await asyncio.to_thread(list_files, self._root.path, notices.append)
        if notice is not None:
            for words in notices:
                notice(words)
        return files

    async def stage(self, changes: Sequence[FileChange]) -> _Changes:
        """Check changes like `apply`, without writing.

        :returns: the changes that have an effect.
        :raises EditConflict: a file or buffer does not match its change.
        :raises OutsideRoot: a path is outside of the root or protected.
        :raises WorkspaceError: a file cannot be written.
        """
        from tideate_core.workspace.staging import Stager

        await Stager(self._root, self._buffers).stage(changes)
        return [change for change in changes if change.changes_something]

    async def refuse_unwritable(self, change: FileChange) -> None:
        """Reject new text that the file cannot hold, in the open buffer's encoding or else in UTF-8.

        :raises EditConflict: the encoding of the buffer's file lacks a character.
        :raises NotText: the text contains a NUL or a lone surrogate.
        :raises OutsideRoot: the path is outside of the project.
        """
        from tideate_core.workspace.staging import refuse_missing_characters

        buffer = None
        if self._buffers is not None and change.buffer is not None:
            buffer = await self._buffers.read(change.buffer)
        elif self._buffers is not None and change.path:
            buffer = await self._buffers.find(self._root.resolve(change.path))
        if self._buffers is not None and buffer is not None:
            await refuse_missing_characters(self._buffers, change, buffer)
        else:
            Document().encode(change.after or "")

    async def for_text_now(self, change: FileChange, text: str | None = None) -> FileChange:
        """Rebase a modification onto the current text, keeping the hunks that still apply.

        A deletion takes the current text. Other whole changes, and changes of unreadable files, are returned
        unchanged.

        :param text: the current text, if known.
        """
        deleted = change.action == "delete" and change.before is not None and change.images is None
        if not change.path or (change.whole and not deleted):
            return change
        try:
            source = await self._text_now(change) if text is None else Source(change.path, text)
        except (WorkspaceError, UnicodeDecodeError):
            return change
        if source.text == change.before:
            return change
        now = replace(change, before=source.text, buffer=source.buffer, tick=source.tick)
        if deleted:
            return now
        parts = tuple(filter(None, rebase_each(change.hunks, change.before or "", source.text)))
        after = "\n".join(apply_hunks(source.text.split("\n"), parts))
        return replace(now, after=after, parts=parts)

    async def _text_now(self, change: FileChange) -> Source:
        """Read the current text for a change; the exact bytes if the change is exact."""
        if not change.exact:
            return await self.read(change.path)
        data = await asyncio.to_thread(_read, self._root.resolve(change.path), change.path, self._max_bytes)
        return Source(change.path, data.decode())

    def diff(self, changes: Sequence[FileChange]) -> str:
        """Return changes as one patch set, in the unified format."""
        return "".join(unified_diff(change) for change in changes)

    async def apply(self, changes: Sequence[FileChange], *, execution_id: str) -> AppliedChanges:
        """Apply all changes or none.

        A file loaded in the editor is changed in its buffer and not saved; an edit is rebased over text typed
        or saved elsewhere in the file. The pre-images are journalled first, so that `rollback` works even
        after a kill. If the task is cancelled while writing, everything is rolled back before the
        cancellation continues.

        :raises EditConflict: a file or buffer does not match its change; nothing was written.
        :raises OutsideRoot: a path is outside of the root or protected; nothing was written.
        :raises WorkspaceError: a file cannot be written; everything was rolled back.
        """
        self._refuse_stopped()
        return await self._committer().apply(changes, execution_id)

    async def record_outside_changes(self, changes: OutsideChanges, *, execution_id: str) -> _Names:
        """Record outside changes as a run's writes, so that its rollback restores them.

        Only the journal is written. The editor is told to reload the files.

        :param changes: differences from an earlier snapshot.
        :returns: the files, relative to the root.
        :raises OutsideRoot: a path is protected.
        :raises WorkspaceError: the journal cannot be written; nothing is recorded.
        """
        self._refuse_stopped()
        return await self._committer().record_outside_changes(changes, execution_id)

    async def revert(self, applied: AppliedChanges) -> None:
        """Revert one apply, keeping later changes elsewhere in its buffers.

        :raises RollbackConflict: written content was changed; the rest is reverted.
        """
        if applied.committed is not None:
            await run_uncancelled(self._committer().revert(applied.committed))

    async def attach(self, changes: Sequence[FileChange]) -> _Changes:
        """Return the changes bound to the buffers that have their files loaded."""
        if self._buffers is None:
            return [*changes]
        return [await self._attached(change, self._buffers) for change in changes]

    async def _attached(self, change: FileChange, buffers: Buffers) -> FileChange:
        by_bytes = change.exact or change.images is not None
        if by_bytes or change.action == "create" or change.buffer is not None or not change.path:
            return change
        buffer = await buffers.find(self._root.resolve(change.path))
        return change if buffer is None else replace(change, buffer=buffer.number, tick=buffer.tick)

    async def save(self, paths: Sequence[str]) -> SavedFiles:
        """Save the modified buffers of these files byte for byte; outside of an editor, save none.

        A buffer stays unsaved if its file would get another text, was changed by another program, or is
        outside of the project.
        """
        self._refuse_stopped()
        names: dict[int, str] = {}
        outside: dict[str, str] = {}
        for path in paths if self._buffers is not None else ():
            try:
                found = self._root.resolve(path)
            except OutsideRoot:
                outside[path] = "a link leads out of the project there"
                continue
            if (buffer := await self.unsaved(found)) is not None:
                names[buffer.number] = self._root.relative(found)
        if not names or self._buffers is None:
            return SavedFiles(unsaved=outside)
        unsaved = await self._buffers.save(list(names))
        saved = tuple(name for number, name in names.items() if number not in unsaved)
        return SavedFiles(saved, outside | {names[number]: reason for number, reason in unsaved.items()})

    async def unsaved_of(self, execution_id: str) -> dict[str, bool]:
        """Return the files that a run changed in buffers that are still unsaved.

        :returns: file → whether the run's text is its only unsaved change.
        :raises OutsideRoot: a path is protected.
        :raises WorkspaceError: the journal is damaged.
        """
        if self._buffers is None or not await asyncio.to_thread(self.has_journal, execution_id):
            return {}
        return await self._committer().unsaved(execution_id)

    async def unsaved_files(self) -> _Names:
        """Return the project's files with unsaved changes, sorted."""
        if self._buffers is None or self._root.path is None:
            return []
        names: list[str] = []
        for path in await self._buffers.modified(self._root.path):
            with contextlib.suppress(OutsideRoot):  # protected paths are left out
                names.append(self._root.relative(self._root.resolve(path)))
        return sorted(names)

    async def rollback(self, execution_id: str) -> _Names:
        """Roll back all writes of a run, even if its process was killed while writing.

        Later changes elsewhere in a file stay.

        :returns: the restored names; empty if there is nothing to restore.
        :raises RollbackConflict: later changes conflict; nothing was restored.
        :raises WorkspaceError: the journal is damaged, or a file cannot be written.
        """
        done = await self._rollback().rollback_all([execution_id])
        return [*done.restored, *done.merged]

    async def rollback_best_effort(self, execution_id: str) -> RollbackResult:
        """Roll back a run's writes, except for conflicting later changes.

        Repeated, even after a kill, it has the same effect and reports the same result.

        :raises WorkspaceError: the journal is damaged, or a file cannot be written; try again.
        """
        return await run_uncancelled(self._rollback().rollback_best_effort(execution_id))

    async def rollback_unfinished_steps(
        self,
        execution_id: str,
        finished: Collection[str],
        *,
        only: str | None = None,
        on_left: Callable[[str], None] | None = None,
    ) -> _Names:
        """Roll back the writes of a run's unfinished steps, so that they can start again.

        The restored writes no longer belong to the run: its rollback ignores them.

        :param finished: finished steps, and finished items (`step[0]`) of other steps.
        :param only: restrict to this step.
        :param on_left: called with each name left unchanged because a finished step wrote it later.
        :returns: the restored names; empty if there is nothing to restore.
        :raises RollbackConflict: later changes conflict; nothing was restored.
        :raises WorkspaceError: the journal is damaged, or a file cannot be written.
        """
        if not self.has_journal(execution_id):
            return []
        work = self._rollback().rollback_unfinished_steps(execution_id, finished, only, on_left)
        return await run_uncancelled(work)

    async def written_by(self, execution_id: str, steps: Collection[str]) -> _Names:
        """Return the files that steps of a run wrote, as far as its journal knows.

        :raises WorkspaceError: the journal is damaged.
        """
        if not steps or not self.has_journal(execution_id):
            return []
        return await asyncio.to_thread(self._rollback().written_by, execution_id, steps)

    async def find_again(self, path: str, number: int | None, text: str) -> tuple[int, int] | None:
        """Return the number and changedtick of a buffer that the editor may have reloaded.

        :param path: absolute; an unnamed buffer is only recognised by its unchanged text.
        :returns: None if it is not loaded.
        """
        if self._buffers is None:
            return None
        if path:
            buffer = await self._buffers.find(real_path(Path(path)))
        else:
            buffer = None if number is None else await self._buffers.read(number)
            if buffer is not None and (buffer.path or buffer.text != text):
                buffer = None
        return None if buffer is None else (buffer.number, buffer.tick)

    def _journal(self) -> Journal:
        # imported here: most runs only read
        from tideate_core.workspace.journal import Journal

        return Journal(self._private or make_project_state(self._root.path))

    def _committer(self) -> Committer:
        from tideate_core.workspace.transaction import Committer

        return Committer(self._root, self._buffers, self._journal(), self._step, merges=True)

    def _rollback(self) -> Rollback:
        from tideate_core.workspace.rollback import Rollback

        return Rollback(self._root, self._buffers, self._journal())


def _read(path: Path, name: str, limit: int) -> bytes:
    try:
        size = path.stat().st_size
        found = read_image_nofollow(path) if size <= limit else None
    except FileNotFoundError as error:
        raise WorkspaceError(f"{name} does not exist") from error
    except OSError as error:
        raise WorkspaceError(f"{name} cannot be read: {error.strerror}") from error
    if found is None:
        raise WorkspaceError(f"{name} has {size // 1024} KiB; files over {limit // 1024} KiB are not read")
    if found.state.kind == "absent":
        raise WorkspaceError(f"{name} does not exist")
    if found.state.kind != "file":
        raise WorkspaceError(f"{name} is not a regular file")
    return found.data
