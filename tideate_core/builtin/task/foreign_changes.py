"""Changes made by other programs during a task's checks: detected, and attributed by asking."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from tideate_core.builtin.task.environment import root_of
from tideate_core.engine import temporary_pin
from tideate_core.errors import SnapshotNotFound
from tideate_core.snapshots import CacheDirectories, ChangesSince
from tideate_core.workflows import MISSING

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.builtin.task.environment import TaskEnvironment
    from tideate_core.snapshots import SnapshotManager
    from tideate_core.workflows import StepContext

BEFORE: Final = "before_checks"
"""Key of the snapshot in the step's memory."""
MOST_NAMED: Final = 8
LONGEST_DIFF: Final = 20_000
"""Characters of the diff shown with the question."""


class ForeignChanges:
    """Changes during one verification that the task did not make.

    :param snapshot: snapshot of the files before the checks.
    """

    def __init__(
        self, step: StepContext, environment: TaskEnvironment, manager: SnapshotManager, snapshot: str
    ) -> None:
        self._step = step
        self._environment = environment
        self._manager = manager
        self._snapshot = snapshot

    @classmethod
    async def before(cls, step: StepContext, environment: TaskEnvironment) -> ForeignChanges:
        """Record the state of the files before the checks; after a crash, reuse the recorded state.

        :raises WorkspaceError: no snapshot can be made.
        """
        manager = environment.snapshots(step.workspace)
        known = step.recall(BEFORE)
        if known is not MISSING and any(one.id == known for one in await manager.list()):
            return cls(step, environment, manager, str(known))
        name = f"before the checks of task {step.execution_id[:8]}"
        snapshot = await manager.create(name, pin=temporary_pin(step.execution_id))
        await step.remember(BEFORE, snapshot)
        return cls(step, environment, manager, snapshot)

    async def settle(self) -> list[str]:
        """Ask who made the changes since then; return the files that now belong to the task.

        :raises WorkspaceError: the difference cannot be read or recorded.
        """
        found = await self._manager.changes_since(self._snapshot)
        since = await asyncio.to_thread(without_caches, found, root_of(self._step.workspace))
        adopted: list[str] = []
        if since and await self._were_checks(since):
            adopted = await self._step.workspace.record_outside_changes(
                since, execution_id=self._step.execution_id
            )
            self._step.changed(adopted)
        with suppress(SnapshotNotFound):  # the user deleted it
            await self._manager.delete(self._snapshot)
        return adopted

    async def _were_checks(self, since: ChangesSince) -> bool:
        names = sorted({*since.files, *since.modes, *(f"{path}/" for path in (*since.made, *since.removed))})
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        listed = f"{', '.join(names[:MOST_NAMED])}{more}"
        if self._environment.gated:
            decision = await self._step.confirm(
                "gate",
                f"Changed while the checks ran: {listed}. Did a check do that? Yes: the changes belong to "
                "the task and are rolled back with it. No: they are yours and stay.",
                details=_details(since),
            )
            return decision.accepted
        self._step.notice(
            f"changed while the checks ran, and not counted as the task's: {listed}", level="warn"
        )
        return False


def without_caches(since: ChangesSince, root: Path) -> ChangesSince:
    """Return the changes outside tool caches; blocking."""
    caches = CacheDirectories(root)

    def counts(path: str) -> bool:
        return not caches.contain(path)

    return ChangesSince(
        {path: images for path, images in since.files.items() if counts(path)},
        {path: modes for path, modes in since.modes.items() if counts(path)},
        [path for path in since.made if counts(path)],
        {path: mode for path, mode in since.removed.items() if counts(path)},
        [diff for diff in since.diffs if counts(diff.path)],
    )


def _details(since: ChangesSince) -> str:
    parts: list[str] = []
    size = 0
    for diff in since.diffs:
        text = f"{diff.status} `{diff.path}`{_shown(diff.changes.rstrip())}\n"
        size += len(text)
        if size > LONGEST_DIFF:
            parts.append("More is not shown.")
            break
        parts.append(text)
    return "\n".join(parts)


def _shown(changes: str) -> str:
    """Return a text diff as a code block, or other changes as a short note."""
    if "\n" in changes:
        return f"\n\n```diff\n{changes}\n```"
    return f": {changes}" if changes else ""
