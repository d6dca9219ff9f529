"""Task run in the test's process, with a scripted model and a scripted user."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.builtin.task.runs.site import Site
from tests.harness.front import LIMIT, Front
from tests.harness.tally import TASK
from tests.harness.tasks import Model
from tideate_core.app.wiring import build_catalog, open_project
from tideate_core.engine import EventName, RunRequest, WorkflowRunner
from tideate_core.snapshots import SnapshotManager
from tideate_core.store import Store
from tideate_core.workflows import Decision, PromptLibrary

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.harness.model_server import ModelServer
    from tests.snapshots.trees import Node
    from tideate_core.engine import ConfirmationRequest, Event, WorkflowHooks, WorkflowResult
    from tideate_core.snapshots import FileDiff

__all__ = ["Desk"]


@dataclass
class Person(Front):
    """Front end that acts at given events of steps."""

    moments: list[tuple[EventName, str, Callable[[], object]]] = field(default_factory=list)

    def emit(self, event: Event) -> None:
        super().emit(event)
        for moment in self.moments[:]:
            name, step, act = moment
            if (event.name, event.data.get("step")) == (name, step):
                self.moments.remove(moment)
                act()


class Desk:
    """Task project with model and user; use it within `desk.site.person()`."""

    def __init__(
        self,
        home: Path,
        server: ModelServer,
        *,
        real: bool = False,
        leave_out: str = "",
        trusted: bool = True,
    ) -> None:
        self.site = Site(home, server, real=real, leave_out=leave_out)
        self.model = Model(server)
        self.front = Person()
        self._runners: list[WorkflowRunner] = []
        if trusted:
            self.site.trust()

    @property
    def root(self) -> Path:
        return self.site.root

    @property
    def config(self) -> Path:
        """Directory of the user's configuration."""
        return self.site.home / "config_home" / "tideate"

    def configure(self, text: str) -> None:
        """Append to the user's configuration."""
        with (self.config / "config.toml").open("a") as file:
            file.write(text)

    def runner(self, *, hooks: WorkflowHooks | None = None) -> WorkflowRunner:
        """Return a runner wired like the shell's."""
        from tideate_core.adapters import AdapterPool

        project = open_project(str(self.root))
        runner = WorkflowRunner(
            build_catalog(self.root),
            AdapterPool(project.loaded.config, root=self.root),
            project.loaded.config,
            self.front,
            lambda _request: project.workspace,
            PromptLibrary(),
            lambda: Store.open(self.site.private),
            hooks=hooks,
        )
        self._runners.append(runner)
        return runner

    def gives_role_to(self, role: str, server: ModelServer) -> Model:
        """Assign a role to another server's adapter; return its model."""
        address = f'[adapters.second]\nbase_url = "{server.base_url}"\nmodel = "scripted"\n'
        self.configure(f"{address}tools = false\n")
        (self.config / "agents").mkdir()
        (self.config / "agents" / f"{role}.md").write_text("---\nadapter: second\n---\n")
        return Model(server)

    async def run(self, prompt: str = TASK, **rest: Any) -> WorkflowResult:
        """Run a task to its end."""
        request = RunRequest(name="task", prompt=prompt, **rest)
        return await asyncio.wait_for(self.runner().run(request), LIMIT)

    async def succeed(self, prompt: str = TASK, **rest: Any) -> WorkflowResult:
        """Run a task that must succeed."""
        result = await self.run(prompt, **rest)
        assert result.ok, (result.error, self.model.server.unmatched)
        return result

    async def resume(self, run: str) -> WorkflowResult:
        """Resume a run that must succeed, with another runner."""
        result = await asyncio.wait_for(self.runner().resume_run(run), LIMIT)
        assert result.ok, (result.error, self.model.server.unmatched)
        return result

    async def fail(self, **rest: Any) -> WorkflowResult:
        """Run a task that must fail and be rolled back completely."""
        result = await self.run(**rest)
        assert (result.ok, result.rollback_performed, self.changed()) == (False, True, {})
        assert await self.since_snapshot() == []
        assert len(self.front.data(EventName.ROLLED_BACK)) == 1
        return result

    async def rolls_back(self, run: str) -> None:
        """Roll back a run, which must leave no change."""
        await open_project(str(self.root)).workspace.rollback(run)
        assert self.changed() == {}

    async def aclose(self) -> None:
        for runner in self._runners:
            await runner.aclose()

    # -- the person -------------------------------------------------------------------------------

    def answers(self, **by_kind: Decision | Callable[[ConfirmationRequest], Decision]) -> None:
        """Answer questions of these kinds as given, and all others with yes."""

        def answer(request: ConfirmationRequest) -> Decision:
            given = by_kind.get(request.kind, Decision(True))
            return given(request) if callable(given) else given

        self.front.answer = answer

    def when(self, event: str, step: str, act: Callable[[], object]) -> None:
        """Act once, at a step's event."""
        self.front.moments.append((EventName[event], step, act))

    # -- what came of it --------------------------------------------------------------------------

    def kinds(self) -> list[str]:
        """Return the kinds of the questions asked."""
        return [request.kind for request in self.front.requests]

    def steps(self) -> list[str]:
        """Return the steps that began."""
        return [data["step"] for data in self.front.data(EventName.STEP_STARTED)]

    def gates(self) -> list[tuple[str, bool]]:
        """Return each gate decision, and whether it passed."""
        numbers = [event for event in self.front.events if "number" in event.data]
        return [(event.data["gate"], event.name is EventName.GATE_PASSED) for event in numbers]

    def changed(self) -> dict[str, Node | None]:
        """Return the files that differ from the initial state; None for removed ones."""
        return self.site.changed()

    async def since_snapshot(self) -> list[FileDiff]:
        """Return the differences from the task's snapshot."""
        snapshots = SnapshotManager(self.root)
        latest = await snapshots.get_latest()
        assert latest is not None
        return await snapshots.diff(latest.id)
