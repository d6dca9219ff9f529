from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.store.making import DAY, change, ending, new_run, outcome, query, start, until
from tideate_core.errors import (
    InvalidInput,
    RunEnded,
    RunIsOwned,
    RunLost,
    RunNotActive,
    RunNotFound,
    StoreError,
)
from tideate_core.store import Graph, Store, Tokens, held
from tideate_core.store.objects import DEEPEST

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

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


async def test_what_finished_returned_of_is_durable_with_all_that_was_before(
    store: Store, private: Path
) -> None:
    run = new_run()
    log = await store.begin(run)
    assert [log.event("E", DAY, {"n": number}) for number in (1, 2)] == [1, 2]
    log.status("executing_steps", "a")
    log.started(start("a", attempt=2))
    log.note("a", "2.ask:1", {"text": "yes"})
    row = await log.finished(outcome("a", [1], tokens=Tokens(5, 7, 0.5), files=("x.py",)))
    assert row is not None
    assert query(private, "SELECT sequence, name, data FROM workflow_events") == [
        (1, "E", '{"n":1}'),
        (2, "E", '{"n":2}'),
    ]
    assert query(
        private, "SELECT status, attempts, result, ordinal, files, input_tokens, cost FROM workflow_steps"
    ) == [("completed", 2, "[1]", 1, '["x.py"]', 5, 0.5)]
    assert query(private, "SELECT step_id, key, value, cursor FROM workflow_memos") == [
        ("a", "2.ask:1", '{"text":"yes"}', 0)
    ]
    assert query(private, "SELECT id, step_id, cursor, manual FROM all_checkpoints") == [(row.id, "a", 1, 0)]
    assert query(
        private, "SELECT status, current_step, completed_steps, output_tokens, cost FROM workflow_executions"
    ) == [("executing_steps", "a", 1, 7, 0.5)]


@pytest.mark.parametrize("status", ["failed", "skipped"])
async def test_only_a_completed_step_makes_a_checkpoint(store: Store, private: Path, status: str) -> None:
    log = await store.begin(new_run())
    assert await log.finished(outcome("a", status=status, error="no")) is None
    assert query(private, "SELECT step_id, status, error FROM workflow_steps") == [("a", status, "no")]
    assert query(private, "SELECT failed_steps FROM workflow_executions") == [(int(status == "failed"),)]


async def test_steps_that_end_at_once_get_places_without_gaps(store: Store, private: Path) -> None:
    log = await store.begin(new_run())
    rows = await asyncio.gather(*(log.finished(outcome(f"s{number}")) for number in range(20)))
    assert [row.cursor for row in rows if row is not None] == list(range(1, 21))
    assert query(private, "SELECT max(ordinal), count(DISTINCT ordinal) FROM workflow_steps") == [(20, 20)]


async def test_what_is_changed_after_it_was_buffered_is_written_as_it_was(
    store: Store, private: Path
) -> None:
    log = await store.begin(new_run())
    data = {"step": "a"}
    log.event("E", DAY, data)
    data["step"] = "b"
    await log.flush()
    assert query(private, "SELECT data FROM workflow_events") == [('{"step":"a"}',)]


async def test_what_nobody_waits_for_is_committed_soon(
    store: Store, private: Path, open_store: Callable[[], Store]
) -> None:
    log = await store.begin(new_run())
    log.event("E", DAY, {})
    await until(lambda: bool(query(private, "SELECT 1 FROM workflow_events")), within=2)


async def test_forgotten_memos_are_gone_and_later_ones_stay(store: Store, private: Path) -> None:
    log = await store.begin(new_run())
    await log.remember("a", "k", 1)
    log.forget("a")
    await log.remember("a", "l", 2)
    assert query(private, "SELECT key, value FROM workflow_memos") == [("l", "2")]


async def test_an_end_is_final(store: Store, private: Path) -> None:
    run = new_run()
    log = await store.begin(run)
    log.started(start("a"))
    log.status("completed", None)  # an end is written by `ended`, with its duration
    await log.flush()
    assert query(private, "SELECT status FROM workflow_executions") == [("idle",)]
    await log.ended(ending("cancelled", duration=40, steps=0, reason="declined", response={"r": 1}))
    assert query(private, "SELECT status, duration, reason, results FROM workflow_executions") == [
        ("cancelled", 40, "declined", '{"r":1}')
    ]
    assert query(private, "SELECT status FROM workflow_steps") == [("failed",)]
    assert query(private, "SELECT count(*) FROM workflow_leases") == [(0,)]
    with pytest.raises(RunLost):
        log.event("E", DAY, {})
    with pytest.raises(RunEnded):
        await store.adopt(run.id)


async def test_an_end_and_its_event_are_one_commit(store: Store, private: Path) -> None:
    run = new_run()
    log = await store.begin(run)
    log.event("STARTED", DAY, {})
    change(
        private,
        "CREATE TRIGGER no BEFORE UPDATE OF duration ON workflow_executions"
        " BEGIN SELECT RAISE(ABORT, 'not now'); END",
    )
    with pytest.raises(StoreError):
        await log.ended(ending(), ("COMPLETED", DAY, {}))
    change(private, "DROP TRIGGER no")
    assert query(private, "SELECT count(*) FROM workflow_events WHERE name = 'COMPLETED'") == [(0,)]
    log = await store.adopt(run.id)
    last = await log.ended(ending(), ("COMPLETED", DAY, {"a": 1}))
    assert query(private, "SELECT sequence, data FROM workflow_events WHERE name = 'COMPLETED'") == [
        (last, '{"a":1}')
    ]


async def test_a_paused_run_stays_with_its_process(store: Store, private: Path) -> None:
    run = new_run()
    log = await store.begin(run)
    await log.paused_here()
    assert query(private, "SELECT status FROM workflow_executions") == [("paused",)]
    with pytest.raises(RunIsOwned, match="is being run by process"):
        await store.adopt(run.id)


async def test_a_released_run_goes_on_where_it_was(store: Store, private: Path) -> None:
    run = new_run()
    log = await store.begin(run)
    log.event("E", DAY, {})
    await log.finished(outcome("a"))
    await log.release()
    log = await store.adopt(run.id)
    assert log.event("E", DAY, {}) == 2
    row = await log.finished(outcome("b"))
    assert row is not None
    assert row.cursor == 2


async def test_closing_gives_runs_up(open_store: Callable[[], Store]) -> None:
    first = open_store()
    run = new_run()
    log = await first.begin(run)
    log.event("E", DAY, {})
    first.close()
    with pytest.raises(StoreError, match="closed"):
        await log.flush()
    adopted = await open_store().adopt(run.id)
    assert adopted.event("E", DAY, {}) == 2  # the one that was buffered was written


async def test_a_begin_that_nobody_waits_for_any_more_keeps_no_run(store: Store) -> None:
    run = new_run()
    task = asyncio.create_task(store.begin(run))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with asyncio.timeout(5):
        while True:
            try:
                await store.adopt(run.id)
                return
            except (RunIsOwned, RunNotFound):
                await asyncio.sleep(0)


async def test_a_manual_checkpoint_is_where_the_run_is(store: Store, private: Path) -> None:
    run = new_run()
    log = await store.begin(run)
    assert (await store.checkpoint(run.id, at=DAY)).cursor == 0
    await log.finished(outcome("a"))
    row = await store.checkpoint(run.id, at=DAY)
    assert (row.step, row.cursor, row.manual) == ("a", 1, True)
    assert query(private, "SELECT count(*) FROM workflow_checkpoints WHERE manual") == [(2,)]
    with pytest.raises(RunNotFound):
        await store.checkpoint("0" * 32, at=DAY)


async def test_what_is_asked_within_the_process_is_heard(store: Store) -> None:
    run = new_run()
    log = await store.begin(run)
    await store.wish(run.id, "pause")
    await log.flush()  # by now it was told
    heard: asyncio.Queue[str] = asyncio.Queue()
    log.on_wish = heard.put_nowait  # set late: it was not lost
    await store.wish(run.id, "cancel")
    async with asyncio.timeout(5):
        assert [await heard.get(), await heard.get()] == ["pause", "cancel"]


async def test_what_another_process_asks_for_is_heard_before_a_step_is_told_to_have_ended(
    store: Store, private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = await store.begin(new_run())
    await asyncio.sleep(2 * held.TICK)  # it looked, and does not again by itself
    monkeypatch.setattr(held, "TICK", 3600)
    await log.flush()
    await asyncio.sleep(0.1)
    heard: list[str] = []
    log.on_wish = heard.append
    another = Store.open(private)
    await another.wish(log.run_id, "pause")
    assert heard == []
    await log.finished(outcome("a"))
    assert heard == ["pause"]
    another.close()


async def test_a_run_that_nobody_has_can_be_asked_for_nothing(store: Store) -> None:
    run = new_run()
    log = await store.begin(run)
    await log.release()
    with pytest.raises(RunNotActive, match="tideate resume"):
        await store.wish(run.id, "cancel")
    with pytest.raises(RunNotFound):
        await store.wish("0" * 32, "cancel")
    log = await store.adopt(run.id)
    await log.ended(ending())
    with pytest.raises(RunNotActive, match="is completed"):
        await store.wish(run.id, "cancel")


async def test_what_is_no_json_is_refused_before_anything_is_written(store: Store, private: Path) -> None:
    log = await store.begin(new_run())
    with pytest.raises(StoreError, match="not JSON"):
        await log.finished(outcome("a", object()))
    await log.finished(outcome("b"))
    assert query(private, "SELECT step_id FROM workflow_steps") == [("b",)]


async def test_texts_that_are_no_utf_8_are_kept(store: Store, private: Path) -> None:
    log = await store.begin(new_run())
    await log.finished(
        outcome("a", {"file": "x\udc80"}, status="failed", error="bad \udc80", files=("\udc80",))
    )
    (row,) = query(private, "SELECT result, error, files FROM workflow_steps")
    assert json.loads(row[0]) == {"file": "x\udc80"}
    assert row[1] == "bad ?"
    assert json.loads(row[2]) == ["\udc80"]


async def test_a_big_value_is_a_file_that_is_named(store: Store, private: Path) -> None:
    log = await store.begin(new_run())
    await log.finished(outcome("a", "x" * 20_000))
    await log.remember("a", "k", "x" * 20_000)
    ((text,),) = query(private, "SELECT result FROM workflow_steps")
    assert text.startswith("@")
    files = [path for path in (private / "objects").rglob("*") if path.is_file()]
    assert [path.name for path in files] == [text[1:]]
    assert query(private, "SELECT hash FROM workflow_objects") == [(text[1:],)]


async def test_a_memo_that_cannot_be_kept_is_refused_and_harms_no_run(store: Store, private: Path) -> None:
    log = await store.begin(new_run())
    deep: Any = None
    for _ in range(DEEPEST):
        deep = [deep]
    await log.remember("a", "deep", deep)
    with pytest.raises(InvalidInput, match="no UTF-8"):
        await log.remember("a", "done:caf\udce9", True)
    with pytest.raises(InvalidInput, match="deeper than 500 levels"):
        log.note("a", "deep", {"x": deep})
    await log.flush()
    assert store.reader().memos(log.run_id) == {"a": {"deep": deep}}


async def test_counts_beyond_what_a_column_holds_are_the_most_it_does(store: Store, private: Path) -> None:
    log = await store.begin(new_run())
    for name in "ab":
        await log.finished(outcome(name, tokens=Tokens(10**20, -1)))
    total = "SELECT input_tokens, output_tokens, typeof(input_tokens) FROM workflow_executions"
    assert query(private, total) == [(2 * (2**53 - 1), 0, "integer")]
    await log.ended(ending(tokens=Tokens(10**20, 1)))
    assert query(private, total) == [(2**53 - 1, 1, "integer")]


async def test_a_run_gets_another_definition_and_keeps_what_its_steps_did(store: Store) -> None:
    steps = tuple((step, step.upper(), "handler") for step in ("a", "b", "c"))
    graph = Graph(("a", "b", "c"), (("a", "b"),), (("a", "c"), ("b",)))
    log = await store.begin(new_run(graph=graph, steps=steps))
    log.started(start("a"))
    await log.finished(outcome("a", "done"))
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
    await log.finished(outcome("a", "done"))
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


async def test_of_a_lost_run_nothing_more_is_kept_and_those_who_wait_are_told_why(
    store: Store, private: Path
) -> None:
    log, lost = await store.begin(new_run()), asyncio.Event()
    log.on_lost = lost.set
    change(private, "UPDATE workflow_leases SET owner = 'another'")
    await asyncio.wait_for(lost.wait(), 10)
    log.event("E", DAY, {})
    log.status("executing_steps", "a")
    log.started(start("a"))
    log.note("a", "k", 1)
    with pytest.raises(RunLost, match="taken over"):
        await log.finished(outcome("a"))
    with pytest.raises(RunLost, match="taken over"):
        await log.flush()
    counts = "SELECT (SELECT count(*) FROM workflow_events), (SELECT count(*) FROM workflow_memos)"
    assert query(private, counts) == [(0, 0)]
    assert query(private, "SELECT count(*) FROM workflow_steps WHERE status <> 'pending'") == [(0,)]


async def test_a_step_that_starts_and_ends_in_one_commit_has_all_of_both(store: Store, private: Path) -> None:
    run = new_run()
    log = await store.begin(run)
    log.started(start("a", attempt=1))
    log.started(start("a", attempt=2))
    log.started(start("b"))
    await asyncio.gather(log.finished(outcome("a", 1)), log.finished(outcome("c", status="skipped")))
    columns = "step_id, status, attempts, started_at IS NULL, ordinal"
    assert query(private, f"SELECT {columns} FROM workflow_steps ORDER BY step_id") == [
        ("a", "completed", 2, 0, 1),
        ("b", "running", 1, 0, None),
        ("c", "skipped", 0, 1, 2),
    ]
