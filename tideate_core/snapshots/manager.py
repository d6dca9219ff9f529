"""`SnapshotManager`: API of snapshots; takes the lock, calls capture, compare, restore and retention."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from tideate_core.errors import OutsideRoot, RollbackConflict, SnapshotNotFound, WorkspaceError
from tideate_core.project import make_project_state, project_state, real_path
from tideate_core.snapshots.capture import Capture
from tideate_core.snapshots.compare import ChangesSince, changes_since, compare, file_diffs, limited_to
from tideate_core.snapshots.limits import SnapshotLimits
from tideate_core.snapshots.locking import hold_lock, run_in_thread
from tideate_core.snapshots.manifest import find_manifest, load_manifest, read_header, read_headers
from tideate_core.snapshots.restore import RecoveryResult, Restorer, plan_restore, restore_result
from tideate_core.snapshots.retention import (
    drop_equal,
    evict,
    pin_snapshot,
    release_pins,
    remove_copies,
    remove_unneeded,
    shrink,
    write_copy,
)
from tideate_core.util.escaping import counted
from tideate_core.util.file_locks import is_locked
from tideate_core.util.private_files import make_private_directory
from tideate_core.util.uncancelled import run_uncancelled

if TYPE_CHECKING:
    import threading
    from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence

    from tideate_core.snapshots.compare import Comparison, FileDiff, Tree
    from tideate_core.snapshots.file_reader import Progress
    from tideate_core.snapshots.manifest import Snapshot
    from tideate_core.snapshots.packs import Packs
    from tideate_core.snapshots.restore import RestorePlan, RestoreResult
    from tideate_core.workspace import Buffers


log = logging.getLogger(__name__)

# in the class below, `list` is a method
_Names: TypeAlias = list[str]
_Snapshots: TypeAlias = "list[Snapshot]"
_Diffs: TypeAlias = "list[FileDiff]"
_T = TypeVar("_T")

PATIENCE: Final = 60.0
"""Seconds to wait for another process that creates or restores a snapshot."""


def _no_progress(_done: int, _total: int) -> None:
    """Report no progress."""


class SnapshotManager:
    """Snapshots of one project.

    A restore that was killed is rolled back by `recover` and before the next restore.

    :param root: of the project.
    :param buffers: the editor's; None outside of an editor.
    :param private: parent of the directory `snapshots`; None for the project's own private directory.
    """

    def __init__(
        self,
        root: Path,
        *,
        buffers: Buffers | None = None,
        private: Path | None = None,
        limits: SnapshotLimits | None = None,
    ) -> None:
        self._root = real_path(root)
        self._buffers = buffers
        self._given = private
        self._limits = limits or SnapshotLimits()
        self._directory = (private or project_state(self._root)) / "snapshots"

    @property
    def root(self) -> Path:
        """Real path of the project."""
        return self._root

    async def create(
        self,
        name: str,
        *,
        pin: str | None = None,
        progress: Progress = _no_progress,
        series: str = "",
    ) -> str:
        """Create a snapshot durably and evict the oldest ones over the limit.

        Unreadable files and files over the limits are left out and listed in `Snapshot.skipped`.

        :param pin: id of a run that may need it: it is not evicted until `release(pin)`.
        :param progress: called with the bytes read and the total, from one thread.
        :param series: name of a series with its own retention; a snapshot that equals the newest one of the
            series is dropped.
        :returns: the snapshot's id, or the id of the equal one.
        :raises OutsideRoot: the root is the home directory or above it, or a link leads out of it.
        :raises WorkspaceError: it cannot be written; no part of it is left.
        """
        async with self._locked() as lock:

            def work(stop: threading.Event) -> str:
                capture = self._capture(lock, progress)
                try:
                    header = capture.create(name, stop, () if pin is None else (pin,), series)
                finally:
                    capture.close()
                if series:
                    header = drop_equal(self._directory, header)
                else:
                    write_copy(self._root, self._directory, header.id)
                self._apply_retention(header.id, series)
                return header.id

            return await run_in_thread(work)

    async def list(self) -> _Snapshots:
        """Return all readable snapshots without their files, the oldest first."""
        found, _ = await asyncio.to_thread(read_headers, self._directory)
        return [header.snapshot() for header in found]

    async def damaged(self) -> _Names:
        """Return the reasons why snapshots are unreadable."""
        _, damaged = await asyncio.to_thread(read_headers, self._directory)
        return damaged

    async def get(self, snapshot_id: str) -> Snapshot:
        """Return a snapshot with its entries, without contents.

        :raises SnapshotNotFound: no snapshot has this id.
        :raises WorkspaceError: it is damaged.
        """
        manifest = await asyncio.to_thread(lambda: load_manifest(find_manifest(self._directory, snapshot_id)))
        return manifest.snapshot()

    async def get_latest(self) -> Snapshot | None:
        """Return the newest snapshot, or None.

        :raises WorkspaceError: it is damaged.
        """
        known = await self.list()
        return await self.get(known[-1].id) if known else None

    async def delete(self, snapshot_id: str) -> None:
        """Delete a snapshot, damaged or not, and the contents that only it needs.

        :raises SnapshotNotFound: no snapshot has this id.
        :raises WorkspaceError: it cannot be deleted.
        """
        await asyncio.to_thread(find_manifest, self._directory, snapshot_id)
        async with self._locked():

            def work(_stop: threading.Event) -> None:
                find_manifest(self._directory, snapshot_id).unlink()
                remove_copies(self._root, [snapshot_id])
                remove_unneeded(self._directory)

            await run_in_thread(work)

    async def pin(self, snapshot_id: str, by: str) -> None:
        """Protect a snapshot from eviction until `release(by)`. It can still be deleted.

        :param by: id of a run that may need it; several runs may pin it.
        :raises SnapshotNotFound: no snapshot has this id.
        :raises WorkspaceError: it is damaged, or cannot be written.
        """
        await asyncio.to_thread(find_manifest, self._directory, snapshot_id)
        async with self._locked():
            await run_in_thread(lambda _stop: pin_snapshot(self._directory, snapshot_id, by))

    async def release(self, by: str) -> None:
        """Release all pins of a run; the next new snapshot may evict the released ones.

        :raises WorkspaceError: a snapshot is damaged, or cannot be written.
        """
        found, _ = await asyncio.to_thread(read_headers, self._directory)
        if any(by in header.pinned for header in found):
            async with self._locked():
                await run_in_thread(lambda _stop: release_pins(self._directory, by))

    async def drop(self, by: str) -> None:
        """Delete the snapshots that only this run pins.

        :raises WorkspaceError: one cannot be deleted.
        """
        found, _ = await asyncio.to_thread(read_headers, self._directory)
        for header in found:
            if header.pinned == (by,):
                with suppress(SnapshotNotFound):  # another process deleted it
                    await self.delete(header.id)

    async def diff(
        self,
        snapshot_id: str,
        *,
        changes: bool = True,
        paths: Collection[str] = (),
        progress: Progress = _no_progress,
    ) -> _Diffs:
        """Return the differences from a snapshot, sorted by path.

        :param changes: include the changed lines.
        :param paths: files and directories to compare, relative to the root; empty: the whole project.
        :raises SnapshotNotFound: no snapshot has this id.
        :raises WorkspaceError: it is damaged.
        """
        return await self._compare(
            snapshot_id,
            lambda found, _, packs: file_diffs(
                self._root, limited_to(found, paths) if paths else found, packs if changes else None
            ),
            progress,
        )

    async def changes_since(self, snapshot_id: str) -> ChangesSince:
        """Return the differences from a snapshot, with the images of both sides.

        :raises SnapshotNotFound: no snapshot has this id.
        :raises WorkspaceError: it is damaged, or a file cannot be read.
        """
        return await self._compare(
            snapshot_id, lambda found, tree, packs: changes_since(self._root, found, tree, packs)
        )

    async def _compare(
        self,
        snapshot_id: str,
        read: Callable[[Comparison, Tree, Packs], _T],
        progress: Progress = _no_progress,
    ) -> _T:
        await asyncio.to_thread(find_manifest, self._directory, snapshot_id)
        async with self._locked() as lock:

            def work(stop: threading.Event) -> _T:
                capture = self._capture(lock, progress, snapshot_id)
                target, tree = capture.read_changes(stop, snapshot_id, store=False)
                return read(compare(target, tree), tree, capture.packs)

            return await run_in_thread(work)

    async def restore(
        self,
        snapshot_id: str,
        *,
        delete_added: bool = False,
        paths: Collection[str] = (),
        progress: Progress = _no_progress,
        on_write: Callable[[], object] = lambda: None,
    ) -> RestoreResult:
        """Restore all differences from a snapshot, or none. A snapshot is created first.

        Newer files stay unless `delete_added` is set; ignored files are never deleted. A cancellation during
        the writes takes effect after them.

        :param paths: files and directories to restore, relative to the root; empty: the whole project.
        :param on_write: called before the first write.
        :raises SnapshotNotFound: no snapshot has this id.
        :raises RollbackConflict: a file has unsaved changes in the editor; nothing was restored.
        :raises EditConflict: a file changed meanwhile; everything was rolled back.
        :raises WorkspaceError: the snapshot is damaged, or a file cannot be written; everything was rolled
            back.
        """
        await asyncio.to_thread(find_manifest, self._directory, snapshot_id)
        async with self._locked() as lock:
            await self._recover()
            capture = await asyncio.to_thread(self._capture, lock, progress, snapshot_id)
            try:
                target, tree = await run_in_thread(lambda stop: capture.read_changes(stop, snapshot_id))
                found = compare(target, tree)
                if paths:
                    found = limited_to(found, paths)
                plan = plan_restore(found, tree, delete_added=delete_added)
                if not plan:
                    return restore_result(snapshot_id, None, plan)
                await self._refuse_unsaved(plan)
                name = f"before the restore of {target.header.name}"
                before = await run_in_thread(lambda _stop: capture.save(name, tree).id)
                await run_in_thread(lambda _stop: write_copy(self._root, self._directory, before))
            finally:
                await asyncio.to_thread(capture.close)
            restorer = Restorer(self._root, self._directory, self._buffers)

            async def write() -> None:
                await restorer.restore(plan, capture.packs, before)
                await run_in_thread(lambda _stop: self._apply_retention(snapshot_id))

            on_write()
            await run_uncancelled(write())
            result = restore_result(snapshot_id, before, plan)
            _log(f"restore of snapshot {snapshot_id}", result.written, result.deleted, [*result.left])
            return result

    async def interrupted(self) -> _Names:
        """Return the paths that `recover` would roll back, without writing.

        Empty while another process restores.

        :raises WorkspaceError: the journal of a restore is damaged.
        """
        if not (self._directory / "journal").is_dir():
            return []

        def look() -> _Names:
            if is_locked(self._directory / "lock"):
                return []
            return Restorer(self._root, self._directory, None).interrupted_paths()

        return await asyncio.to_thread(look)

    async def recover(self) -> RecoveryResult | None:
        """Roll back restores of killed processes; None if there are none."""
        if not (self._directory / "journal").is_dir():
            return None
        async with self._locked():
            return await self._recover()

    async def _recover(self) -> RecoveryResult | None:
        restorer = Restorer(self._root, self._directory, self._buffers)
        names, left = await run_uncancelled(restorer.recover())
        _log("rollback of an interrupted restore", names, (), left)
        return RecoveryResult(tuple(names), tuple(left)) if names or left else None

    def _capture(self, lock: int, progress: Progress, target: str | None = None) -> Capture:
        """Return a capture; for a comparison with a snapshot, use the snapshot's filter."""
        limits = self._limits
        if target is not None:
            limits = limits.with_filter(read_header(find_manifest(self._directory, target)).filter)
        return Capture(self._root, self._directory, limits, lock, progress)

    def _apply_retention(self, spare: str, series: str = "") -> None:
        try:
            evicted = evict(self._directory, self._limits.keep, spare, series)
            remove_copies(self._root, evicted)
            remove_unneeded(self._directory)
            if series and self._limits.max_stored is not None:
                shrink(self._directory, self._limits.max_stored, series)
        except OSError as error:
            raise WorkspaceError(
                f"all was done, but older snapshots cannot be removed: {error.strerror}: {error.filename}"
            ) from error

    async def _refuse_unsaved(self, plan: RestorePlan) -> None:
        if self._buffers is None:
            return
        unsaved: list[str] = []
        for path in plan.touched:
            buffer = await self._buffers.find(self._root / path)
            if buffer is not None and buffer.modified:
                unsaved.append(path)
        if unsaved:
            raise RollbackConflict(
                f"unsaved in the editor, so nothing was restored: {', '.join(unsaved)}. "
                "Save or discard these buffers first"
            )

    @asynccontextmanager
    async def _locked(self) -> AsyncIterator[int]:
        """Hold the lock of the snapshots.

        :raises WorkspaceError: another process holds it, or the directory cannot be used.
        """
        with _system_errors_translated():
            await asyncio.to_thread(self._prepare)
            async with hold_lock(self._directory / "lock", PATIENCE) as lock:
                yield lock

    def _prepare(self) -> None:
        home = real_path(Path.home())
        if home.is_relative_to(self._root):
            raise OutsideRoot(
                f"{self._root} is your home directory or one above it; a snapshot would take in all that you "
                "have. Name a project's directory"
            )
        if self._given is None:
            make_project_state(self._root)
        make_private_directory(self._directory / "packs")


def _log(what: str, written: Sequence[str], deleted: Sequence[str], left: Sequence[str]) -> None:
    """Log the restored files as a warning: the user may look for these changes."""
    if words := counted(written=written, deleted=deleted, left=left):
        log.warning("%s: %s", what, words)


@contextmanager
def _system_errors_translated() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise WorkspaceError(f"snapshots cannot be used: {where}{error.strerror}") from error
