"""Measurements of tideate alone: start of a run, checkpoints, concurrent steps."""

from __future__ import annotations

import asyncio
import random
import time
from typing import TYPE_CHECKING, Any

from benchmarks.engine_ours import RUN, Bench, new_runner
from benchmarks.engine_probe import Probe, Task
from tideate_core.engine import RunRequest
from tideate_core.workflows import WorkflowDefinition, WorkflowRegistry

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.workflows import StepContext

WARM_UP = 3
"""Runs before the first that counts."""


def initiations(place: Path, count: int) -> list[float]:
    """Return milliseconds from the wish to run until the run is durable and its first step runs, warm."""
    return asyncio.run(_initiations(Task("chain", 1, place), count))


def checkpoints(place: Path, count: int) -> list[float]:
    """Return milliseconds that a checkpoint takes which a person wants while a step runs."""
    return asyncio.run(_checkpoints(place, count))


def makespan(place: Path, steps: int = 40) -> float:
    """Return how long a graph of waiting steps takes, divided by its longest path."""
    return asyncio.run(_makespan(place, steps))


def side_by_side(place: Path, steps: int = 50, nap: float = 0.1) -> float:
    """Return milliseconds of independent steps that wait, with the limits of a fresh configuration."""
    return asyncio.run(_side_by_side(place, steps, nap))


async def _initiations(task: Task, count: int) -> list[float]:
    probe, begun = Probe(task), []
    bench = Bench(task, probe)
    for number in range(count + WARM_UP):
        begun.append(time.monotonic())
        await bench.run(f"{number:032x}")
    await bench.runner.aclose()
    took = [(at - start) * 1000 for start, at in zip(begun, probe.at, strict=True)]
    return took[WARM_UP:]


async def _checkpoints(place: Path, count: int) -> list[float]:
    took: list[float] = []

    async def takes_them(_step: StepContext) -> int:
        for _ in range(count):
            begun = time.monotonic()
            await runner.persist_checkpoint(RUN)
            took.append((time.monotonic() - begun) * 1000)
        return count

    registry = WorkflowRegistry()
    registry.register(WorkflowDefinition.chain("saved", ["s0"]), {"s0": takes_them})
    runner = new_runner(registry, place, lambda _event: None)
    result = await runner.run(RunRequest(name="saved", execution_id=RUN))
    await runner.aclose()
    if not result.ok:
        raise RuntimeError(f"the run failed: {result.error}")
    return took


async def _makespan(place: Path, count: int) -> float:
    """A graph in which every step waits for two random earlier ones."""
    chance, naps, ends = random.Random(4), dict[str, float](), dict[str, float]()
    steps: list[dict[str, Any]] = []
    for number in range(count):
        name, before = f"s{number}", chance.sample(list(naps), min(2, number))
        naps[name] = chance.uniform(0.02, 0.2)
        ends[name] = naps[name] + max((ends[other] for other in before), default=0.0)
        steps.append({"id": name, "dependencies": before, "duration": round(naps[name] * 1000)})

    async def waits(step: StepContext) -> int:
        await asyncio.sleep(naps[step.step])
        return 0

    definition = WorkflowDefinition.model_validate({"name": "waiting", "concurrency": 64, "steps": steps})
    registry = WorkflowRegistry()
    registry.register(definition, dict.fromkeys(definition.step_names, waits))
    runner = new_runner(registry, place, lambda _event: None)
    await runner.store()
    begun = time.monotonic()
    result = await runner.run(RunRequest(name="waiting", execution_id=RUN))
    took = time.monotonic() - begun
    await runner.aclose()
    if not result.ok:
        raise RuntimeError(f"the run failed: {result.error}")
    return took / max(ends.values())


async def _side_by_side(place: Path, steps: int, nap: float) -> float:
    async def waits(_: StepContext) -> int:
        await asyncio.sleep(nap)
        return 0

    names = [f"s{number}" for number in range(steps)]
    definition = WorkflowDefinition.model_validate(
        {"name": "wide", "steps": [{"id": name} for name in names]}
    )
    registry = WorkflowRegistry()
    registry.register(definition, dict.fromkeys(names, waits))
    runner = new_runner(registry, place, lambda _event: None)
    await runner.store()
    took = list[float]()
    for _ in range(2 * WARM_UP):
        begun = time.monotonic()
        result = await runner.run(RunRequest(name="wide"))
        took.append((time.monotonic() - begun) * 1000)
        if not result.ok:
            raise RuntimeError(f"the run failed: {result.error}")
    await runner.aclose()
    return min(took)
