"""What changes while the checks run: a check that formats files, or a person at their desk.

Nobody can tell the one from the other, so the person is asked. What a check did belongs to the task, and is
taken back with it; what they did themselves stays.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from tideate_core.builtin.task.bench import root_of
from tideate_core.engine import momentary
from tideate_core.errors import SnapshotNotFound
from tideate_core.snapshots import SnapshotLimits, SnapshotManager
from tideate_core.workflows import MISSING

if TYPE_CHECKING:
    from tideate_core.builtin.task.bench import Bench
    from tideate_core.snapshots import ChangesSince
    from tideate_core.workflows import StepContext

__all__ = ["Bystanders"]

BEFORE: Final = "before_checks"
"""The key under which the step remembers the snapshot."""
MOST_NAMED: Final = 8
LONGEST_DIFF: Final = 20_000
"""Characters that are shown with the question."""


class Bystanders:
    """Of one verification.

    :param snapshot: of the files as they were before.
    """

    def __init__(self, step: StepContext, bench: Bench, manager: SnapshotManager, snapshot: str) -> None:
        self._step = step
        self._bench = bench
        self._manager = manager
        self._snapshot = snapshot

    @classmethod
    async def before(cls, step: StepContext, bench: Bench) -> Bystanders:
        """Note how the files are; after a crash, how they were before it.

        :raises WorkspaceError: no snapshot can be made.
        """
        workspace = step.workspace
        limits = SnapshotLimits.configured(bench.config.snapshots)
        manager = SnapshotManager(
            root_of(workspace), buffers=workspace.buffers, private=workspace.private, limits=limits
        )
        known = step.recall(BEFORE)
        if known is not MISSING and any(one.id == known for one in await manager.list()):
            return cls(step, bench, manager, str(known))
        name = f"before the checks of task {step.execution_id[:8]}"
        snapshot = await manager.create(name, pin=momentary(step.execution_id))
        await step.remember(BEFORE, snapshot)
        return cls(step, bench, manager, snapshot)

    async def settle(self) -> list[str]:
        """Ask about what was changed since; returns the files that belong to the task now.

        :raises WorkspaceError: what differs cannot be read or written down.
        """
        since = await self._manager.changes_since(self._snapshot)
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
        if self._bench.gated:
            decision = await self._step.confirm(
                "gate",
                f"Changed while the checks ran: {listed}. Did a check do that? Then it belongs to the task, "
                "and is taken back with it; no: it is yours, and stays.",
                details=_details(since),
            )
            if decision.accepted:
                return True
        self._step.notice(
            f"changed while the checks ran, and not counted as the task's: {listed}", level="warn"
        )
        return False


def _details(since: ChangesSince) -> str:
    parts: list[str] = []
    size = 0
    for diff in since.diffs:
        text = f"{diff.status} `{diff.path}`\n\n```diff\n{diff.changes.rstrip()}\n```\n"
        size += len(text)
        if size > LONGEST_DIFF:
            parts.append("More is not shown.")
            break
        parts.append(text)
    return "\n".join(parts)
