"""Runs that no process has, given up: ended as their owner would have ended them."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from tests.engine.test_loop import graph, step
from tests.engine.test_resumed_runs import Stop, events_of, row_of
from tests.engine.test_rollback import adds, content, rolled_back
from tideate_core.engine.ending import SUMMARY
from tideate_core.engine.recovery import (
    EndedRun,
    UnfinishedRollback,
    end_abandoned_run,
    roll_back_abandoned_run,
)
from tideate_core.errors import RunEnded, RunIsOwned, RunNotActive
from tideate_core.store import resumable_runs, state_of

if TYPE_CHECKING:
    from tests.harness.bench import Bench
    from tideate_core.store import RunRow
    from tideate_core.workflows import StepContext


class WritesAndStops(Stop):
    """Writes, and is cut off before it ends."""

    async def __call__(self, step: StepContext) -> str:
        await adds(step)
        return await super().__call__(step)


async def abandoned(bench: Bench) -> tuple[RunRow, RunRow]:
    """Return a run that wrote and was cut off in its nested one, which wrote in two steps, and that one."""
    bench.write("a.txt", "mine\n")
    bench.register("inner", {"whole": adds, "half": WritesAndStops(bench)})
    graph(bench, {"first": adds}, step("first"), {"id": "n", "workflow": "inner", "dependencies": ["first"]})
    left = await bench.run("g")
    assert left.reason == "interrupted"
    bench.runner = bench.make_runner(bench.config)
    reader = await bench.reader()
    runs = await asyncio.to_thread(reader.runs, parents_only=False)
    (parent,) = [run for run in runs if run.parent is None]
    (child,) = [run for run in runs if run.parent == parent.id]
    return parent, child


async def test_a_run_ends_as_cancelled_with_its_steps_runs_and_its_summary(bench: Bench) -> None:
    parent, child = await abandoned(bench)
    store = await bench.runner.store()
    assert state_of(parent) == state_of(child) == "interrupted"
    assert resumable_runs(store.reader()) == [parent]
    ended = {parent.id: EndedRun(frozenset({"first"})), child.id: EndedRun(frozenset({"whole"}))}
    assert await end_abandoned_run(store, parent) == ended
    for run in (parent, child):
        assert state_of(await row_of(bench.runner, run.id)) == "cancelled"
        last = (await events_of(bench.runner, run.id))[-1]
        assert last.name == "SD_EVENT_WORKFLOW_CANCELLED"
    assert resumable_runs(store.reader()) == []
    summary = json.loads((bench.private / SUMMARY).read_text())
    assert (summary["workflowId"], summary["status"]) == (parent.id, "partial")
    with pytest.raises(RunEnded):
        await end_abandoned_run(store, parent)


async def test_what_cut_off_steps_wrote_is_put_back_also_of_the_run_within(bench: Bench) -> None:
    parent, _ = await abandoned(bench)
    assert content(bench) == ["mine", "first", "whole", "half"]
    ended_runs = await end_abandoned_run(await bench.runner.store(), parent)
    assert await roll_back_abandoned_run(bench.workspace(), ended_runs) == UnfinishedRollback(["a.txt"], [])
    assert content(bench) == ["mine", "first", "whole"]


@pytest.mark.parametrize("within", [False, True], ids=["itself", "within"])
async def test_what_a_step_wrote_that_must_not_be_done_twice_stays_and_is_told_of(
    bench: Bench, within: bool
) -> None:
    bench.write("a.txt", "mine\n")
    bench.register("inner", {"half": WritesAndStops(bench)})
    once = {"id": "once", "idempotent": False, "dependencies": ["first"]}
    if within:
        graph(bench, {"first": adds}, step("first"), {**once, "workflow": "inner"})
    else:
        graph(bench, {"first": adds, "once": WritesAndStops(bench)}, step("first"), once)
    left = await bench.run("g")
    assert left.reason == "interrupted"
    bench.runner = bench.make_runner(bench.config)
    store = await bench.runner.store()
    ended_runs = await end_abandoned_run(
        store, await asyncio.to_thread(store.reader().run, left.execution_id)
    )
    assert await roll_back_abandoned_run(bench.workspace(), ended_runs) == UnfinishedRollback([], ["a.txt"])
    assert content(bench) == ["mine", "first", "half" if within else "once"]
    assert (await rolled_back(bench, left.execution_id)).restored == ["a.txt"]
    assert content(bench) == ["mine"]


async def test_a_steps_run_is_not_given_up_without_the_run_it_belongs_to(bench: Bench) -> None:
    parent, child = await abandoned(bench)
    with pytest.raises(RunNotActive, match=f"cancel {parent.id[:8]}, that ends both"):
        await end_abandoned_run(await bench.runner.store(), child)
    assert (await row_of(bench.runner, child.id)).resumable


async def test_a_run_that_a_process_has_is_not_given_up(bench: Bench) -> None:
    parent, _ = await abandoned(bench)
    log = await (await bench.runner.store()).adopt(parent.id)
    with pytest.raises(RunIsOwned):
        await end_abandoned_run(await bench.make_runner(bench.config).store(), parent)
    await log.release()


async def test_where_a_steps_run_cannot_be_ended_it_is_told_why(bench: Bench) -> None:
    parent, child = await abandoned(bench)
    log = await (await bench.runner.store()).adopt(child.id)
    with pytest.raises(RunIsOwned, match=child.id):
        await end_abandoned_run(await bench.make_runner(bench.config).store(), parent)
    await log.release()


async def test_a_run_without_a_summary_ends_all_the_same(bench: Bench) -> None:
    parent, child = await abandoned(bench)
    (bench.private / SUMMARY).unlink(missing_ok=True)
    (bench.private / SUMMARY).mkdir(parents=True)  # nothing can take the place of a directory
    await end_abandoned_run(await bench.runner.store(), parent)
    for run in (parent, child):
        assert (await row_of(bench.runner, run.id)).status == "cancelled"
