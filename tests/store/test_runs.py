"""Start, takeover and change of definition of runs."""

from __future__ import annotations

import asyncio
import signal
import socket
from typing import TYPE_CHECKING

import pytest

from tests.store.conftest import line
from tests.store.making import DAY, ending, new_run, outcome, query, start
from tideate_core.errors import (
    RunIsOwned,
    RunLost,
    RunNotActive,
    RunNotFound,
    StoreError,
)
from tideate_core.store import Graph, Store

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    Child = Callable[..., subprocess.Popen[str]]

pytestmark = pytest.mark.concurrency


async def test_a_run_is_there_when_begin_returns(store: Store, private: Path) -> None:
    graph = Graph(("a", "b"), (("a", "b"),), (("a",), ("b",)))
    run = new_run(graph=graph, steps=(("a", "A", "assistant"), ("b", "B", "handler")))
    await store.begin(run)
    assert query(private, "SELECT id, status, prompt, total_steps FROM workflow_executions") == [
        (run.id, "idle", "look at it", 3)
    ]
    assert query(
        private, "SELECT step_id, status, dependencies, position FROM workflow_steps ORDER BY id"
    ) == [
        ("a", "pending", "[]", 0),
        ("b", "pending", '["a"]', 1),
    ]
    assert query(private, "SELECT edges FROM workflow_graphs") == [('[["a","b"]]',)]
    assert query(private, "SELECT count(*) FROM workflow_leases") == [(1,)]


async def test_an_id_is_used_once(store: Store) -> None:
    run = new_run()
    await store.begin(run)
    with pytest.raises(StoreError, match="already"):
        await store.begin(run)


async def test_a_definition_is_kept_once_for_many_runs(store: Store, private: Path) -> None:
    for _ in range(3):
        await store.begin(new_run())
    assert query(private, "SELECT count(*) FROM workflow_definitions") == [(1,)]
    assert query(private, "SELECT count(*) FROM workflows") == [(1,)]


async def test_a_released_run_goes_on_where_it_was(store: Store, private: Path) -> None:
    run = new_run()
    log = await store.begin(run)
    log.event("E", DAY, {})
    await log.finish(outcome("a")).future
    await log.release()
    log = await store.adopt(run.id)
    assert log.event("E", DAY, {}) == 2
    row = await log.finish(outcome("b")).future
    assert row is not None
    assert row.cursor == 2


async def test_a_run_that_nobody_has_can_be_asked_for_nothing(store: Store) -> None:
    run = new_run()
    log = await store.begin(run)
    await log.release()
    with pytest.raises(RunNotActive, match="tideate resume"):
        await store.send_control_request(run.id, "cancel")
    with pytest.raises(RunNotFound):
        await store.send_control_request("0" * 32, "cancel")
    log = await store.adopt(run.id)
    await log.ended(ending())
    with pytest.raises(RunNotActive, match="is completed"):
        await store.send_control_request(run.id, "cancel")


async def test_a_run_gets_another_definition_and_keeps_what_its_steps_did(store: Store) -> None:
    steps = tuple((step, step.upper(), "handler") for step in ("a", "b", "c"))
    graph = Graph(("a", "b", "c"), (("a", "b"),), (("a", "c"), ("b",)))
    log = await store.begin(new_run(graph=graph, steps=steps))
    log.started(start("a"))
    await log.finish(outcome("a", "done")).future
    log.started(start("b"))
    await log.flush()
    other = Graph(("d", "a"), (("a", "d"),), (("a",), ("d",)))
    new_steps = (("d", "D", "handler"), ("a", "first", "tool"))
    await store.change_definition(new_run(log.run_id, workflow="w2", graph=other, steps=new_steps))
    reader = store.reader()
    assert [(row.step, row.name, row.status, row.result) for row in reader.steps(log.run_id)] == [
        ("d", "D", "pending", None),
        ("a", "first", "completed", "done"),
    ]
    assert reader.graph(log.run_id) == other
    assert (reader.run(log.run_id).workflow_id, reader.run(log.run_id).completed_steps) == ("w2", 1)


async def test_a_run_gets_a_machine_in_place_of_its_steps(store: Store) -> None:
    graph = Graph(("a", "b"), (("a", "b"),), (("a",), ("b",)))
    log = await store.begin(new_run(graph=graph, steps=(("a", "A", "handler"), ("b", "B", "handler"))))
    log.started(start("a"))
    await log.finish(outcome("a", "done")).future
    await store.change_definition(new_run(log.run_id, workflow="w2"))
    reader = store.reader()
    assert [(row.step, row.status, row.result) for row in reader.steps(log.run_id)] == [
        ("a", "completed", "done")
    ]
    assert reader.graph(log.run_id) is None


async def test_a_run_of_another_process_does_not_get_another_definition(store: Store) -> None:
    run = new_run()
    log = await store.begin(run)
    await log.release()
    with pytest.raises(RunLost):
        await store.change_definition(run)


RUN = "a" * 32


@pytest.mark.slow
async def test_a_dead_processs_run_is_taken_over_at_once(private: Path, child: Child) -> None:
    process = child("chain", RUN)
    line(process)
    store = Store.open(private)
    with pytest.raises(RunIsOwned, match=f"process {process.pid} on {socket.gethostname()}"):
        await store.adopt(RUN)
    process.kill()
    process.wait()
    log = await store.adopt(RUN)
    (cursor,) = query(private, "SELECT max(ordinal) FROM workflow_steps")[0]
    row = await log.finish(outcome("next")).future
    assert row is not None
    assert row.cursor == cursor + 1
    store.close()


@pytest.mark.slow
async def test_a_stopped_process_keeps_its_run_and_stops_when_it_was_taken_by_force(
    private: Path, child: Child
) -> None:
    process = child("hold", RUN)
    assert line(process) == "begun"
    process.send_signal(signal.SIGSTOP)
    store = Store.open(private)
    with pytest.raises(RunIsOwned, match="end that process"):
        await store.adopt(RUN, takeover_after=0.0)
    log = await store.adopt(RUN, takeover_after=-1)
    process.send_signal(signal.SIGCONT)
    assert await asyncio.to_thread(line, process) == "RunLost"
    await log.finish(outcome("mine")).future
    assert query(private, "SELECT step_id FROM workflow_steps") == [("mine",)]
    store.close()
