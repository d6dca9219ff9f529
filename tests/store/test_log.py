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
    StoreError,
)
from tideate_core.store import Store, Tokens
from tideate_core.store.objects import DEEPEST

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.concurrency


async def test_what_finished_returned_of_is_durable_with_all_that_was_before(
    store: Store, private: Path
) -> None:
    run = new_run()
    log = await store.begin(run)
    assert [log.event("E", DAY, {"n": number}) for number in (1, 2)] == [1, 2]
    log.status("executing_steps", "a")
    log.started(start("a", attempt=2))
    log.note("a", "2.ask:1", {"text": "yes"})
    row = await log.finish(outcome("a", [1], tokens=Tokens(5, 7, 0.5), files=("x.py",))).future
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
    await until(lambda: bool(query(private, "SELECT 1 FROM workflow_events")), within=60)


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
    log.status("paused", None)
    await log.flush()
    assert query(private, "SELECT status FROM workflow_executions") == [("paused",)]
    with pytest.raises(RunIsOwned, match="is being run by process"):
        await store.adopt(run.id)


async def test_what_is_no_json_is_refused_before_anything_is_written(store: Store, private: Path) -> None:
    log = await store.begin(new_run())
    with pytest.raises(StoreError, match="not JSON"):
        await log.finish(outcome("a", object())).future
    await log.finish(outcome("b")).future
    assert query(private, "SELECT step_id FROM workflow_steps") == [("b",)]


async def test_texts_that_are_no_utf_8_are_kept(store: Store, private: Path) -> None:
    log = await store.begin(new_run())
    await log.finish(
        outcome("a", {"file": "x\udc80"}, status="failed", error="bad \udc80", files=("\udc80",))
    ).future
    (row,) = query(private, "SELECT result, error, files FROM workflow_steps")
    assert json.loads(row[0]) == {"file": "x\udc80"}
    assert row[1] == "bad ?"
    assert json.loads(row[2]) == ["\udc80"]


async def test_a_big_value_is_a_file_that_is_named(store: Store, private: Path) -> None:
    log = await store.begin(new_run())
    await log.finish(outcome("a", "x" * 20_000)).future
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
    with pytest.raises(InvalidInput, match="not UTF-8"):
        await log.remember("a", "done:caf\udce9", True)
    with pytest.raises(InvalidInput, match="deeper than 500 levels"):
        log.note("a", "deep", {"x": deep})
    await log.flush()
    assert store.reader().memos(log.run_id) == {"a": {"deep": deep}}


async def test_of_a_lost_run_nothing_more_is_kept_and_those_who_wait_are_told_why(
    store: Store, private: Path
) -> None:
    log, lost = await store.begin(new_run()), asyncio.Event()
    log.on_lost = lost.set
    change(private, "UPDATE workflow_leases SET owner = 'another'")
    await asyncio.wait_for(lost.wait(), 60)
    log.event("E", DAY, {})
    log.status("executing_steps", "a")
    log.started(start("a"))
    log.note("a", "k", 1)
    with pytest.raises(RunLost, match="taken over"):
        await log.finish(outcome("a")).future
    with pytest.raises(RunLost, match="taken over"):
        await log.flush()
    counts = "SELECT (SELECT count(*) FROM workflow_events), (SELECT count(*) FROM workflow_memos)"
    assert query(private, counts) == [(0, 0)]
    assert query(private, "SELECT count(*) FROM workflow_steps WHERE status <> 'pending'") == [(0,)]
