"""Changes of others while a task's checks run: found, asked about, counted as the task's or not."""

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

__all__ = ["ForeignChanges", "without_caches"]

BEFORE: Final = "before_checks"
"""The key under which the step remembers the snapshot."""
MOST_NAMED: Final = 8
LONGEST_DIFF: Final = 20_000
"""Characters that are shown with the question."""


class ForeignChanges:
    """Changes of one verification that the task did not make.

    :param snapshot: of the files as they were before.
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
        """Note how the files are; after a crash, how they were before it.

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
        """Ask about what was changed since; returns the files that belong to the task now.

        :raises WorkspaceError: what differs cannot be read or written down.
        """
        found = await self._manager.changes_since(self._snapshot)
        since = await asyncio.to_thread(without_caches, found, root_of(self._step.workspace))
        adopted: list[str] = []
        if since and await self._were_checks(since):
            adopted = await self._step.workspace.record_outside_changes(
                since, execution_id=self._step.execution_id
            )
            self._step.changed(adopted)
        with suppress(SnapshotNotFound):  # the person was faster
            await self._manager.delete(self._snapshot)
        return adopted

    async def _were_checks(self, since: ChangesSince) -> bool:
        names = sorted({*since.files, *since.modes, *(f"{path}/" for path in (*since.made, *since.removed))})
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        listed = f"{', '.join(names[:MOST_NAMED])}{more}"
        if self._environment.gated:
            decision = await self._step.confirm(
                "gate",
                f"Changed while the checks ran: {listed}. Did a check do that? Then it belongs to the task, "
                "and is rolled back with it; no: it is yours, and stays.",
                details=_details(since),
            )
            return decision.accepted
        self._step.notice(
            f"changed while the checks ran, and not counted as the task's: {listed}", level="warn"
        )
        return False


def without_caches(since: ChangesSince, root: Path) -> ChangesSince:
    """Return changes without those in caches, which are nobody's; blocking."""
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
    """Return a text's difference as a block; of anything else what differs, on the line of its name."""
    if "\n" in changes:
        return f"\n\n```diff\n{changes}\n```"
    return f": {changes}" if changes else ""
