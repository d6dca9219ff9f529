"""Environment of a task's stages and gates: configuration, roles, events, gate statistics."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from tideate_core.agents import TaskBrief
from tideate_core.builtin.surroundings import project_memory
from tideate_core.engine import material

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from tideate_core.agents import Role
    from tideate_core.config import Config
    from tideate_core.engine import EventName, Services
    from tideate_core.store import GateCount, GateOutcome, Store
    from tideate_core.workflows import StepContext
    from tideate_core.workspace import Workspace

__all__ = ["TaskEnvironment", "root_of"]


class TaskEnvironment:
    """Of one run."""

    def __init__(self, config: Config, services: Services) -> None:
        self.config = config
        self.emit = services.emit
        self._services = services

    @property
    def gated(self) -> bool:
        """A person is asked."""
        return self._services.gated

    @cached_property
    def ledger(self) -> _Ledger | None:
        """The counts of the gates' decisions."""
        store = self._services.store
        return None if store is None else _Ledger(store)

    def report(self, step: StepContext, name: EventName, data: dict[str, Any]) -> None:
        """Tell an event of a step."""
        self.emit(name, {"step": step.step, **data})

    def role(self, step: StepContext, name: str) -> Role:
        """Return who does a stage.

        :raises InvalidDefinition: a file of the role has mistakes.
        """
        from tideate_core.agents import Roles

        return Roles(step.workspace.root).get(name)

    async def brief(self, step: StepContext) -> TaskBrief:
        """Return what the person wants, with what their mentions bring and the project's memory."""
        parts = (await material(step, step.prompt), await project_memory(step))
        return TaskBrief(step.prompt, "\n\n".join(filter(None, parts)))


class _Ledger:
    """A `GateLedger` of a store that is opened when a gate decides."""

    def __init__(self, store: Callable[[], Awaitable[Store]]) -> None:
        self._store = store

    async def record(self, outcome: GateOutcome) -> None:
        from tideate_core.store import GateLedger

        await GateLedger(await self._store()).record(outcome)

    async def counts(self) -> list[GateCount]:
        from tideate_core.store import GateLedger

        return await GateLedger(await self._store()).counts()


def root_of(workspace: Workspace) -> Path:
    """Return the project's root; the first step refuses a task without one."""
    assert workspace.root is not None  # noqa: S101 see above
    return workspace.root
