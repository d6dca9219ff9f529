from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.store.making import DAY, new_run, outcome, query
from tests.store.past import NOON, Past, big, definition, run_id
from tideate_core.errors import (
    CheckpointNotFound,
    InvalidInput,
    RunNotFound,
    StoreError,
)
from tideate_core.store import Store
from tideate_core.store.records import StepOutcome, StepStart, Tokens
from tideate_core.store.retention import Retention

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.store import CheckpointRow, Store


OLD, NEW = run_id(1), run_id(2)

LATER = NOON + 1000


async def ran(store: Store) -> list[CheckpointRow]:
    """Record a run with completed steps `a` and `b` and a failed step `c`."""
    past = Past(store, request={"prompt": big("p")})
    log = await past.begin()
    rows = []
    for step in ("a", "b"):
        await log.remember(step, "1.ask:0", f"yes to {step}")
        row = await past.step(step, {"said": big(step)}, tokens=Tokens(1, 2, 0.5, 1), files=(f"{step}.py",))
        assert row is not None
        rows.append(row)
    await log.remember("c", "1.ask:0", "yes to c")
    await past.step("c", status="failed", error="no", error_code="StepFailed")
    await past.end(status="failed", error="no", completed_steps=2, failed_steps=1)
    return rows


async def test_a_fork_is_paused_where_the_checkpoint_was_made(store: Store) -> None:
    rows = await ran(store)
    await store.fork(f"{OLD[:-3]}.1", NEW, LATER)  # the beginning of the id
    reader = store.reader()
    run = reader.run(NEW)
    assert (run.status, run.started_at, run.completed_at, run.error) == ("paused", LATER, None, None)
    assert (run.restored_from, run.lease, run.resumable) == (rows[0].id, None, True)
    assert (run.completed_steps, run.failed_steps, run.total_steps) == (1, 0, 3)
    assert run.tokens == Tokens(1, 2, 0.5, 1)
    assert reader.events(NEW) == []
    assert [(row.id, row.step) for row in reader.checkpoints(NEW)] == [(f"{NEW}.1", "a")]
    assert reader.request(NEW) == {"prompt": big("p")}
    assert reader.definition(NEW) == definition()
    assert reader.graph(NEW) == reader.graph(OLD)
    assert run.prompt == reader.run(OLD).prompt


@pytest.mark.parametrize("ended", [1, 2])
async def test_a_fork_has_the_steps_that_had_ended_and_the_others_untouched(store: Store, ended: int) -> None:
    rows = await ran(store)
    old = store.reader().steps(OLD)
    await store.fork(rows[ended - 1].id, NEW, LATER)
    new = store.reader().steps(NEW)
    assert new[:ended] == old[:ended]
    assert [row.step for row in new] == ["a", "b", "c"]
    for before, after in zip(old[ended:], new[ended:], strict=True):
        assert (after.status, after.attempts, after.order, after.started_at) == ("pending", 0, None, None)
        assert (after.result, after.error, after.error_code, after.files) == (None, None, None, ())
        assert (after.tokens, after.completed_at, after.duration_ms) == (Tokens(), None, None)
        assert (after.name, after.agent, after.dependencies) == (
            before.name,
            before.agent,
            before.dependencies,
        )


async def test_a_fork_remembers_what_had_been_learned_by_then_and_no_more(store: Store) -> None:
    past = Past(store)
    log = await past.begin()
    await log.remember("b", "1.ask:0", "while a ran")
    await log.remember("a", "1.ask:0", big("a"))
    row = await past.step("a")
    await log.remember("a", "1.way:0", "the way from a")
    await log.remember("b", "1.ask:1", "after a")
    await past.step("b")
    assert row is not None
    await store.fork(row.id, NEW, LATER)
    assert store.reader().memos(NEW) == {
        "a": {"1.ask:0": big("a"), "1.way:0": "the way from a"},
        "b": {"1.ask:0": "while a ran"},
    }


async def test_steps_that_the_definition_does_not_have_come_only_if_they_had_ended(store: Store) -> None:
    past = Past(store, steps=())
    log = await past.begin()
    for step in ("s", "s#2", "t"):
        log.started(StepStart(step, step, "machine", "", 1, NOON))
    rows = [await log.finish(StepOutcome(step, "completed", NOON)).future for step in ("s", "s#2")]
    assert rows[0] is not None
    await store.fork(rows[0].id, NEW, LATER)
    assert [(row.step, row.order) for row in store.reader().steps(NEW)] == [("s", 1)]


async def test_a_fork_of_a_run_under_way_leaves_it_running(store: Store) -> None:
    past = Past(store)
    await past.begin()
    row = await past.step("a")
    assert row is not None
    await store.fork(row.id, NEW, LATER)
    assert await past.step("b") is not None
    lease = store.reader().run(OLD).lease
    assert lease is not None
    assert [row.status for row in store.reader().steps(NEW)] == ["completed", "pending", "pending"]


async def test_a_fork_goes_on_by_itself_and_counts_on(store: Store) -> None:
    rows = await ran(store)
    await store.fork(rows[0].id, NEW, LATER)
    log = await store.adopt(NEW)
    assert log.event("SD_EVENT_WORKFLOW_RESTORED", LATER, {}) == 1
    log.started(StepStart("b", "B", "assistant", "", 1, LATER))
    row = await log.finish(StepOutcome("b", "completed", LATER, result="other")).future
    assert row is not None
    assert row.cursor == 2
    assert [step.result for step in store.reader().steps(NEW)] == [{"said": big("a")}, "other", None]
    assert store.reader().steps(OLD)[1].result == {"said": big("b")}
    assert store.reader().run(NEW).completed_steps == 2


async def test_a_fork_from_before_the_first_step_has_done_nothing(store: Store) -> None:
    await Past(store).begin()
    row = await store.checkpoint(OLD, at=NOON)
    await store.fork(row.id, NEW, LATER)
    run = store.reader().run(NEW)
    assert (run.completed_steps, run.tokens) == (0, Tokens(0, 0, None))
    assert {step.status for step in store.reader().steps(NEW)} == {"pending"}


async def test_a_fork_knows_nothing_of_steps_that_it_is_to_run_again(store: Store) -> None:
    await ran(store)
    row = await store.checkpoint(OLD, at=LATER)
    assert row.cursor == 3
    await store.fork(row.id, NEW, LATER, again=["c"])
    reader = store.reader()
    run, (*_, c) = reader.run(NEW), reader.steps(NEW)
    assert (run.completed_steps, run.failed_steps) == (2, 0)
    assert (c.step, c.status, c.order, c.error, c.attempts) == ("c", "pending", None, None, 0)
    assert "c" not in reader.memos(NEW)
    log = await store.adopt(NEW)
    log.started(StepStart("c", "C", "assistant", "", 1, LATER))
    done = await log.finish(StepOutcome("c", "completed", LATER)).future
    assert done is not None
    assert done.cursor == 3
    await store.fork(done.id, run_id(3), LATER + 1)
    assert reader.memos(run_id(3)) == reader.memos(NEW)


async def test_a_fork_of_a_step_of_another_run_is_a_run_by_itself(store: Store) -> None:
    await Past(store, 8).begin()
    past = Past(store, parent=run_id(8))
    await past.begin()
    row = await past.step("a")
    assert row is not None
    await store.fork(row.id, NEW, LATER)
    assert store.reader().run(NEW).parent is None


async def test_the_old_run_may_go_and_the_fork_still_has_its_values(store: Store) -> None:
    past = Past(store, request={"prompt": big("p")})
    log = await past.begin()
    await log.remember("a", "1.ask:0", big("m"))
    rows = [row for step in ("a", "b") if (row := await past.step(step, {"said": big(step)}))]
    await past.end()
    await store.fork(rows[0].id, NEW, LATER)
    pruned = await store.prune(Retention(keep_runs=0), at=LATER)
    assert (pruned.ids, pruned.objects) == ((OLD,), 1)
    reader = store.reader()
    assert reader.steps(NEW)[0].result == {"said": big("a")}
    assert reader.memos(NEW) == {"a": {"1.ask:0": big("m")}}
    assert reader.request(NEW) == {"prompt": big("p")}
    assert reader.run(NEW).restored_from == rows[0].id


async def test_a_fork_that_cannot_be_made_leaves_nothing(store: Store) -> None:
    rows = await ran(store)
    with pytest.raises(CheckpointNotFound):
        await store.fork("f" * 31, NEW, LATER)
    with pytest.raises(StoreError, match="there is a run"):
        await store.fork(rows[0].id, OLD, LATER)
    with pytest.raises(InvalidInput):
        await store.fork("", NEW, LATER)
    assert [row.id for row in store.reader().runs()] == [OLD]


async def test_a_fork_is_no_run_that_ended_in_the_metrics(store: Store) -> None:
    rows = await ran(store)
    before = store.reader().metrics()
    await store.fork(rows[0].id, NEW, LATER)
    assert store.reader().metrics() == before
    assert query(store.private, "PRAGMA foreign_key_check") == []


pytestmark = pytest.mark.concurrency


async def test_a_manual_checkpoint_is_where_the_run_is(store: Store, private: Path) -> None:
    run = new_run()
    log = await store.begin(run)
    assert (await store.checkpoint(run.id, at=DAY)).cursor == 0
    await log.finish(outcome("a")).future
    row = await store.checkpoint(run.id, at=DAY)
    assert (row.step, row.cursor, row.manual) == ("a", 1, True)
    assert query(private, "SELECT count(*) FROM workflow_checkpoints WHERE manual") == [(2,)]
    with pytest.raises(RunNotFound):
        await store.checkpoint("0" * 32, at=DAY)
