"""A task in the test's own process: a site, the model, and the person at the desk, who is scripted."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.builtin.task.runs.site import Site
from tests.engine.conftest import LIMIT, Front
from tests.support.tally import TASK
from tests.support.tasks import Model
from tideate_core.app.wiring import build_catalog, open_project
from tideate_core.engine import EventName, RunRequest, WorkflowRunner
from tideate_core.store import Store
from tideate_core.workflows import Decision, PromptLibrary
from tideate_core.workspace import SnapshotManager

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.snapshots.trees import Node
    from tests.support.model_server import ModelServer
    from tideate_core.engine import ConfirmationRequest, Event, WorkflowHooks, WorkflowResult
    from tideate_core.workspace import FileDiff

__all__ = ["Desk"]


@dataclass
class Person(Front):
    """Does something when a step tells of something."""

    moments: list[tuple[EventName, str, Callable[[], object]]] = field(default_factory=list)

    def emit(self, event: Event) -> None:
        super().emit(event)
        for moment in self.moments[:]:
            name, step, act = moment
            if (event.name, event.data.get("step")) == (name, step):
                self.moments.remove(moment)
                act()


class Desk:
    """Needs to be that person while it is used: `with desk.site.person()`."""

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

    def runner(self, *, hooks: WorkflowHooks | None = None) -> WorkflowRunner:
        """Return a runner wired as the shell's is."""
        from tideate_core.adapters import AdapterPool

        project = open_project(str(self.root))
        runner = WorkflowRunner(
            build_catalog(self.root),
            AdapterPool(project.loaded.config),
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
        """Let an adapter of another server play a role; return its model."""
        home = self.site.home / "config_home" / "tideate"
        with (home / "config.toml").open("a") as config:
            config.write(f'[adapters.second]\nbase_url = "{server.base_url}"\nmodel = "scripted"\n')
            config.write("tools = false\n")
        (home / "agents").mkdir()
        (home / "agents" / f"{role}.md").write_text("---\nadapter: second\n---\n")
        return Model(server)

    async def run(self, prompt: str = TASK, **rest: Any) -> WorkflowResult:
        """Run a task to its end."""
        request = RunRequest(name="task", prompt=prompt, **rest)
        return await asyncio.wait_for(self.runner().run(request), LIMIT)

    async def aclose(self) -> None:
        for runner in self._runners:
            await runner.aclose()

    # -- the person -------------------------------------------------------------------------------

    def answers(self, **by_kind: Decision | Callable[[ConfirmationRequest], Decision]) -> None:
        """Let the person say this to questions of these kinds, and yes to all others."""

        def answer(request: ConfirmationRequest) -> Decision:
            given = by_kind.get(request.kind, Decision(True))
            return given(request) if callable(given) else given

        self.front.answer = answer

    def when(self, event: str, step: str, act: Callable[[], object]) -> None:
        """Let the person do something once, as soon as a step tells this."""
        self.front.moments.append((EventName[event], step, act))

    # -- what came of it --------------------------------------------------------------------------

    def kinds(self) -> list[str]:
        """Return what kinds of questions were asked."""
        return [request.kind for request in self.front.requests]

    def steps(self) -> list[str]:
        """Return the steps that began."""
        return [data["step"] for data in self.front.data(EventName.STEP_STARTED)]

    def gates(self) -> list[tuple[str, bool]]:
        """Return each gate that decided, and whether it passed."""
        numbers = [event for event in self.front.events if "number" in event.data]
        return [(event.data["gate"], event.name is EventName.GATE_PASSED) for event in numbers]

    def changed(self) -> dict[str, Node | None]:
        """Return what is other than at first, None where something is gone."""
        return self.site.changed()

    async def since_snapshot(self) -> list[FileDiff]:
        """Return what is other than in the snapshot that the task made."""
        snapshots = SnapshotManager(self.root)
        latest = await snapshots.get_latest()
        assert latest is not None
        return await snapshots.diff(latest.id)
