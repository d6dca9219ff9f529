"""The task as a run of tideate with all that a run has: events, retries, checkpoints, the summary."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from tideate_core.adapters import AdapterPool
from tideate_core.config import Config
from tideate_core.engine import PolicyFrontEnd, RunRequest, WorkflowRunner
from tideate_core.store import Store
from tideate_core.workflows import PromptLibrary, WorkflowDefinition, WorkflowRegistry
from tideate_core.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from benchmarks.engine_probe import Probe, Task
    from tideate_core.engine import Event
    from tideate_core.workflows import StepContext

RUN: Final = "0" * 31 + "1"
NAME: Final = "bench"


def new_runner(registry: WorkflowRegistry, place: Path, sink: Callable[[Event], None]) -> WorkflowRunner:
    """Return a runner with its store, adapters and workspace as the shell has them."""
    config, workspace = Config(), Workspace(place, private=place)
    return WorkflowRunner(
        registry,
        AdapterPool(config),
        config,
        PolicyFrontEnd(True, sink),
        lambda _request: workspace,
        PromptLibrary(),
        lambda: Store.open(place),
    )


def steps_of(task: Task) -> Iterator[dict[str, Any]]:
    """Return the steps of the task; each may be tried again."""
    if task.shape == "chain":
        for number in range(task.steps):
            yield {"id": f"s{number}", "dependencies": [f"s{number - 1}"] if number else [], "retries": 2}
        return
    middle = [f"s{number}" for number in range(1, task.steps + 1)]
    yield {"id": "s0", "retries": 2}
    for name in middle:
        yield {"id": name, "dependencies": ["s0"], "retries": 2}
    yield {"id": f"s{task.steps + 1}", "dependencies": middle, "retries": 2}


class Bench:
    """A runner with the task as its one workflow."""

    def __init__(self, task: Task, probe: Probe) -> None:
        self.events = 0
        definition = WorkflowDefinition.model_validate(
            {"name": NAME, "concurrency": 64, "steps": list(steps_of(task))}
        )
        registry = WorkflowRegistry()
        registry.register(definition, dict.fromkeys(definition.step_names, _handler_of(probe)))
        self.runner = new_runner(registry, task.place, self._count)

    async def run(self, run: str, *, resume: bool = False) -> int:
        """Run it to its end; returns how many results there are."""
        if resume:
            result = await self.runner.resume_run(run)
        else:
            result = await self.runner.run(RunRequest(name=NAME, execution_id=run))
        if not result.ok or not self.events:
            raise RuntimeError(f"the run failed: {result.error}")
        return len(result.results)

    def _count(self, _event: Event) -> None:
        self.events += 1


def _handler_of(probe: Probe) -> Callable[[StepContext], Any]:
    async def handler(step: StepContext) -> str:
        return await probe.wait_and_step_async(int(step.step[1:]))

    return handler


def prepare(task: Task, probe: Probe) -> tuple[Callable[[], int], Callable[[], None]]:
    """An `Engine`."""
    loop = asyncio.new_event_loop()
    bench = Bench(task, probe)
    loop.run_until_complete(bench.runner.store())
    return (
        lambda: loop.run_until_complete(bench.run(RUN, resume=task.resume)),
        lambda: loop.run_until_complete(bench.runner.aclose()),
    )
