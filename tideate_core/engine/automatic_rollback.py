"""Automatic rollback of an all-or-nothing run that breaks off."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from tideate_core.engine.events import Event, EventName, error_fields
from tideate_core.engine.memory import MISSING, PENDING_END, RUN
from tideate_core.errors import TideateError, WorkspaceError
from tideate_core.workspace import RollbackResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.engine.driver import Reversible
    from tideate_core.engine.memory import Memory
    from tideate_core.engine.recording import Recorder
    from tideate_core.engine.result import WorkflowResult
    from tideate_core.engine.run import Execution
    from tideate_core.snapshots import SnapshotManager
    from tideate_core.workspace import Workspace

__all__ = [
    "AutomaticRollback",
    "foreign_changes",
    "release_snapshots",
    "roll_back_run",
    "rollback_fields",
    "temporary_pin",
]


PATIENCE: Final = 3.0
"""Seconds that are spent on finding what else differs."""
MOST_KEPT: Final = 100
"""Paths of others' changes that the event names; of more it has the count."""

log = logging.getLogger(__name__)


class AutomaticRollback:
    """The end of one run that is all or nothing."""

    def __init__(
        self, execution: Execution, memory: Memory, recorder: Recorder, workspace: Workspace
    ) -> None:
        self._execution = execution
        self._memory = memory
        self._recorder = recorder
        self._workspace = workspace

    async def conclude(self, event: Event, result: WorkflowResult) -> tuple[Event, WorkflowResult]:
        """Return how the run ends: a completed one as it is, another one once what it wrote is rolled back.

        :param event: the last one, not told yet.
        :raises StoreError: that it is rolled back cannot be written down; nothing was rolled back.
        """
        reversible = self._execution.driver.reversible
        assert reversible is not None  # noqa: S101 or it would not be called
        result = replace(result, attempts=reversible.attempts)
        if result.ok:
            await release_snapshots(self._workspace, self._execution.id, reversible.snapshots)
            return event, replace(result, rollback_performed=False)
        return await self._break_off(reversible, event, result)

    async def _break_off(
        self, reversible: Reversible, event: Event, result: WorkflowResult
    ) -> tuple[Event, WorkflowResult]:
        if self._memory.recall(RUN, PENDING_END) is MISSING:
            # before the first file: a process that takes the run up must never go on with it
            await self._memory.remember(RUN, PENDING_END, _end(event, result))
        done, failure = await self._restored(reversible.snapshot)
        foreign: Sequence[str] = ()
        if not failure and reversible.checks_ran:
            snapshot, manager = reversible.snapshot, reversible.snapshots
            foreign = await foreign_changes(self._workspace, snapshot, done, manager)
        fields = rollback_fields(done, reversible.snapshot, failure, foreign)
        self._recorder.event(EventName.ROLLED_BACK, fields)
        reversible.reset()
        if failure:
            return self._stuck(event, result, failure)
        await release_snapshots(self._workspace, self._execution.id, reversible.snapshots)
        self._execution.files[:] = [*done.left]
        return event, replace(
            result,
            files=[*done.left],
            executed=[one for one in result.executed if one["path"] in done.left],
            rollback_performed=not done.left,
        )

    async def _restored(self, snapshot: str | None) -> tuple[RollbackResult, str]:
        """Return what came of it, and why it could not be done, else empty."""
        run = self._execution.id
        try:
            return await roll_back_run(self._workspace, run, self._execution.files, snapshot), ""
        except Exception as error:  # an editor that is gone, too: whatever it is, the run has to end
            log.exception("what run %s wrote could not be rolled back", run)
            return RollbackResult([], [], []), error_fields(error)["error"]

    def _stuck(self, event: Event, result: WorkflowResult, failure: str) -> tuple[Event, WorkflowResult]:
        """Return the end of a run of which something is left that was to be rolled back."""
        why = result.error or event.data.get("message") or f"the run was {result.reason}"
        words = (
            f"{why}\nWhat it wrote could not be rolled back: {failure}\n"
            f"Once that is mended, `tideate rollback {self._execution.id[:8]}` tries again"
        )
        code = result.error_code or WorkspaceError.__name__
        data = {
            "name": result.workflow,
            "step": self._execution.step,
            "error": words,
            "error_code": code,
            "duration_ms": result.duration_ms,
        }
        data |= {key: event.data[key] for key in ("stage", "cause") if key in event.data}
        failed = replace(
            result,
            cancelled=False,
            reason=None,
            error=words,
            error_code=code,
            rollback_performed=False,
        )
        return Event(EventName.WORKFLOW_FAILED, self._execution.id, data), failed


async def roll_back_run(
    workspace: Workspace, run: str, files: Sequence[str], snapshot: str | None
) -> RollbackResult:
    """Roll back what a run wrote.

    :param files: that it wrote, as its steps say.
    :raises WorkspaceError: its journal is gone or damaged, or a file cannot be written.
    """
    if files and not await asyncio.to_thread(workspace.has_journal, run):
        raise WorkspaceError(
            f"the journal of what it wrote is gone, and {', '.join(files)} may be as it left them; "
            f"`tideate snapshot diff {snapshot}` shows what differs from before"
        )
    return await workspace.rollback_best_effort(run)


def rollback_fields(
    done: RollbackResult, snapshot: str | None, failure: str, foreign: Sequence[str]
) -> dict[str, Any]:
    """Return what the event says of it.

    :param foreign: paths that others changed.
    """
    return {
        "count": len(done.restored) + len(done.merged),
        "restored": done.restored,
        "merged": done.merged,
        "left": done.left,
        "foreign": [*foreign[:MOST_KEPT]],
        "more_foreign": len(foreign[MOST_KEPT:]),
        "snapshot": snapshot,
        "error": failure or None,
    }


async def foreign_changes(
    workspace: Workspace, snapshot: str | None, done: RollbackResult, manager: SnapshotManager | None = None
) -> list[str]:
    """Return paths that are not as before though the run did not write them.

    Who changed them, nobody can say: a check may have, as one that formats files; or the person, whose text
    is never replaced unasked. The end of the run does not wait for it long. What is in a cache is nobody's
    change.

    :param manager: that made the snapshot; None: the project's.
    """
    if snapshot is None or workspace.root is None:
        return []
    from tideate_core.snapshots import CacheDirectories, SnapshotManager

    root = workspace.root
    manager = manager or SnapshotManager(root, private=workspace.private)
    try:
        async with asyncio.timeout(PATIENCE):
            found = await manager.diff(snapshot, changes=False)
    except (TideateError, OSError):  # a TimeoutError is one
        log.warning("what differs from the snapshot %s is not known", snapshot, exc_info=True)
        return []
    known, caches = {*done.left, *done.merged}, CacheDirectories(root)
    paths = [file.path for file in found if file.path not in known]
    return await asyncio.to_thread(lambda: [path for path in paths if not caches.contain(path)])


def temporary_pin(run: str) -> str:
    """Return the pin of a run's snapshots that are of no use after its end."""
    return f"{run}/moment"


async def release_snapshots(workspace: Workspace, run: str, manager: SnapshotManager | None = None) -> None:
    """Leave the run's snapshots to retention, and delete its temporary ones at once.

    :param manager: that made them; None: the project's.
    """
    if workspace.root is None:
        return
    from tideate_core.snapshots import SnapshotManager

    try:
        snapshots = manager or SnapshotManager(workspace.root, private=workspace.private)
        await snapshots.drop(temporary_pin(run))
        await snapshots.release(run)
    except WorkspaceError:
        # the run has ended as it has; the snapshot only stays longer
        log.warning("the snapshots of run %s stay pinned", run, exc_info=True)


def _end(event: Event, result: WorkflowResult) -> dict[str, Any]:
    return {
        "step": event.data.get("step"),
        "reason": result.reason,
        "message": event.data.get("message") or "",
        "error": result.error,
        "error_code": result.error_code,
    }
