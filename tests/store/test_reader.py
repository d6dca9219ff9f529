from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from tests.store.making import change
from tests.store.past import DAY, NOON, Past, big, definition, run_id
from tideate_core.errors import CheckpointNotFound, InvalidInput, RunNotFound
from tideate_core.store.objects import definition_hash
from tideate_core.store.records import (
    CheckpointRow,
    CostRow,
    Definition,
    EventRow,
    Graph,
    MetricsRow,
    NewRun,
    RunRow,
    StepRow,
    StepStart,
    Tokens,
)
from tideate_core.store.retention import Retention

if TYPE_CHECKING:
    from tideate_core.store import Store
    from tideate_core.store.reader import Reader

A = run_id(0xA)


async def test_a_run_that_ended_is_read_as_it_was_written(store: Store, reader: Reader) -> None:
    past = Past(store)
    await past.begin()
    await past.step("a", {"said": "ä"})
    await past.end(
        status="failed",
        error="no",
        error_code="StepFailed",
        tokens=Tokens(3, 4, 0.25, 2),
        files=("x.py", "y.py"),
        completed_steps=1,
        failed_steps=2,
        reason="because",
        response={"text": "sorry"},
    )
    assert reader.run(run_id(1)) == RunRow(
        id=run_id(1),
        name="w",
        kind="graph",
        status="failed",
        started_at=NOON,
        completed_at=NOON + 10,
        duration_ms=10,
        completed_steps=1,
        failed_steps=2,
        total_steps=3,
        current_step=None,
        prompt="do it",
        error="no",
        error_code="StepFailed",
        reason="because",
        tokens=Tokens(3, 4, 0.25, 2),
        files=("x.py", "y.py"),
        parent=None,
        lease=None,
        workflow_id=definition().workflow_id,
        definition_hash=definition_hash(definition().text),
        path="/p/w.yaml",
        source="project",
    )
    assert reader.response(run_id(1)) == {"text": "sorry"}


async def test_a_run_under_way_tells_who_has_it(store: Store, reader: Reader) -> None:
    past = Past(store)
    log = await past.begin()
    log.status("executing_steps", "a")
    await log.flush()
    row = reader.run(run_id(1))
    assert (row.status, row.current_step, row.ended) == ("executing_steps", "a", False)
    assert row.lease is not None
    assert row.lease.alive
    assert not row.resumable
    assert reader.response(run_id(1)) is None


async def test_request_definition_and_graph_are_those_of_the_start(store: Store, reader: Reader) -> None:
    past = Past(store, request={"prompt": big("p"), "inputs": {"n": 1}})
    await past.begin()
    await Past(store, 2, text='{"steps": [1]}').begin()  # another version of the same workflow
    assert reader.request(run_id(1)) == {"prompt": big("p"), "inputs": {"n": 1}}
    assert reader.definition(run_id(1)) == definition()
    assert reader.definition(run_id(2)).text == '{"steps": [1]}'
    assert reader.graph(run_id(1)) == Graph(
        ("a", "b", "c"), (("a", "b"), ("b", "c")), (("a",), ("b",), ("c",))
    )


async def test_a_machine_has_no_graph(store: Store, reader: Reader) -> None:
    machine = Definition("id", "m", "machine", "state a:", source="project")
    await store.begin(NewRun(run_id(1), machine, {}, 0, NOON))
    assert reader.graph(run_id(1)) is None
    assert reader.definition(run_id(1)) == machine
    assert reader.run(run_id(1)).kind == "machine"


async def test_steps_are_read_as_they_were_written(store: Store, reader: Reader) -> None:
    past = Past(store)
    log = await past.begin()
    await past.step("a", {"said": big("x")}, tokens=Tokens(5, 6, 0.5, 5), files=("x.py",))
    past.start("b", attempt=2)
    await log.flush()
    assert reader.steps(run_id(1)) == [
        StepRow(
            "a", "A", "assistant", "do it", "completed", 1, (), {"said": big("x")}, None, None,
            NOON + 1, NOON + 5, 4, Tokens(5, 6, 0.5, 5), ("x.py",), 1,
        ),
        StepRow(
            "b", "B", "assistant", "do it", "running", 2, ("a",), None, None, None,
            NOON + 1, None, None, Tokens(), (), None,
        ),
        StepRow(
            "c", "C", "assistant", "", "pending", 0, ("b",), None, None, None,
            None, None, None, Tokens(), (), None,
        ),
    ]  # fmt: skip


async def test_steps_that_the_definition_does_not_have_come_behind_by_their_start(
    store: Store, reader: Reader
) -> None:
    past = Past(store, steps=("z", "a"))
    log = await past.begin()
    for step, after in (("late", 30), ("early", 20), ("m#2", 20)):
        log.started(StepStart(step, step, "assistant", "", 1, NOON + after))
    past.start("a")
    await log.flush()
    assert [row.step for row in reader.steps(run_id(1))] == ["z", "a", "early", "m#2", "late"]


async def test_events_are_read_in_order_and_in_parts(store: Store, reader: Reader) -> None:
    log = await Past(store).begin()
    for number in range(1, 6):
        log.event("E", NOON + number, {"n": number, "text": big("t")})
    await log.flush()
    assert [row.sequence for row in reader.events(run_id(1))] == [1, 2, 3, 4, 5]
    assert reader.events(run_id(1), after=2, limit=2) == [
        EventRow(number, "E", NOON + number, {"n": number, "text": big("t")}) for number in (3, 4)
    ]
    assert reader.events(run_id(1), after=5) == []


async def test_memos_are_read_by_step_and_key(store: Store, reader: Reader) -> None:
    log = await Past(store).begin()
    log.note("a", "1.ask:0", {"digest": "d", "value": [1]})
    log.note("a", "1.ask:1", None)
    await log.remember("b", "1.way:0", "first")
    await log.remember("b", "1.way:0", big("w"))
    assert reader.memos(run_id(1)) == {
        "a": {"1.ask:0": {"digest": "d", "value": [1]}, "1.ask:1": None},
        "b": {"1.way:0": big("w")},
    }


async def test_memos_of_the_whole_run_are_found_by_the_beginning_of_their_keys(
    store: Store, reader: Reader
) -> None:
    log = await Past(store, 1, request={"prompt": "more", "continues": run_id(9)}).begin()
    log.note("", "said:a", big("w"))
    log.note("", "other", 1)
    log.note("a", "said:b", 2)
    await log.flush()
    await (await Past(store, 2).begin()).remember("a", "said:a", 3)
    assert reader.memos_of(run_id(1), "", "said:") == {"a": big("w")}
    assert reader.memos_of(run_id(3), "", "said:") == {}
    found = reader.runs(with_memo="said:")
    assert [(row.id, row.continues) for row in found] == [(run_id(1), run_id(9))]
    assert [row.id for row in reader.runs(with_memo="said:", limit=1, name="w")] == [run_id(1)]
    later = await Past(store, 4, at=NOON - 86_400_000).begin()  # the clock was set back
    later.note("", "said:a", 1)
    await later.flush()
    assert [row.id for row in reader.runs(with_memo="said:", as_begun=True)] == [run_id(4), run_id(1)]
    assert reader.run(run_id(2)).continues is None


async def test_what_is_asked_of_an_unknown_run_is_refused(store: Store, reader: Reader) -> None:
    await Past(store).begin()
    for ask in (
        reader.request, reader.response, reader.definition, reader.graph,
        reader.steps, reader.events, reader.memos, reader.checkpoints,
    ):  # fmt: skip
        with pytest.raises(RunNotFound):
            ask(run_id(2))
    with pytest.raises(CheckpointNotFound, match="tideate checkpoint list"):
        reader.checkpoint("abc")


async def test_checkpoints_are_listed_newest_first(store: Store, reader: Reader) -> None:
    past, other = Past(store), Past(store, 2, at=NOON + 1000)
    await past.begin()
    made = [await past.step(step) for step in ("a", "b")]
    await past.step("c", status="failed", error="no")
    manual = await store.checkpoint(run_id(1), at=NOON + 50)
    await other.begin()
    later = await other.step("a")
    assert manual == CheckpointRow(manual.id, run_id(1), "c", 3, NOON + 50, manual.memory, True)
    assert reader.checkpoints(run_id(1)) == [manual, *reversed(made)]
    assert reader.checkpoints(run_id(1), limit=2) == [manual, made[1]]
    assert reader.checkpoints() == [later, manual, *reversed(made)]
    assert reader.checkpoint(manual.id) == manual
    assert reader.checkpoint(manual.id[:12].upper()) == manual
    assert [reader.checkpoint(f"{run_id(1)}.{ordinal}") for ordinal in (1, 2)] == made


async def test_checkpoints_of_one_millisecond_are_in_the_order_in_which_they_were_made(
    store: Store, reader: Reader
) -> None:
    past = Past(store)
    await past.begin()
    step = await past.step("a")
    assert step is not None
    made = [await store.checkpoint(run_id(1), at=step.created_at) for _ in range(12)]
    wanted = [*reversed(made), step]
    assert reader.checkpoints(run_id(1)) == wanted
    assert reader.checkpoints() == wanted
    assert reader.checkpoints(limit=4) == wanted[:4]


@pytest.mark.parametrize("wanted", ["1.3", "1.4", "1.0", "1.", "1.x", "1.1.1", "9.1"])
async def test_only_completed_steps_are_checkpoints(store: Store, reader: Reader, wanted: str) -> None:
    past = Past(store)
    await past.begin()
    for step in ("a", "b"):
        await past.step(step)
    await past.step("c", status="failed", error="no")
    run, _, ordinal = wanted.partition(".")
    with pytest.raises(CheckpointNotFound):
        reader.checkpoint(f"{run_id(int(run))}.{ordinal}")


async def test_runs_are_listed_newest_first_in_pages(store: Store, reader: Reader) -> None:
    for number, at in enumerate((0, 1, 1, 1, 2)):
        await Past(store, number, at=NOON + at).begin()
    everything = [run_id(number) for number in (4, 3, 2, 1, 0)]
    assert [row.id for row in reader.runs()] == everything
    listed: list[str] = []
    before, before_id = None, None
    while page := reader.runs(limit=2, before=before, before_id=before_id):
        assert len(page) <= 2
        listed += [row.id for row in page]
        before, before_id = page[-1].started_at, page[-1].id
    assert listed == everything
    assert [row.id for row in reader.runs(before=NOON + 1)] == [run_id(0)]


async def test_runs_are_listed_by_what_they_are(store: Store, reader: Reader) -> None:
    await Past(store, 1, "review", NOON).whole()
    await Past(store, 2, "review", NOON + 1).whole(status="failed")
    log = await Past(store, 3, "test", NOON + 2).begin()
    log.status("paused", None)
    await log.flush()
    await Past(store, 4, "test", NOON + 3, parent=run_id(3)).begin()

    def listed(**filters: object) -> list[int]:
        return [int(row.id, 16) for row in reader.runs(**filters)]  # type: ignore[arg-type]

    assert listed() == [3, 2, 1]
    assert listed(parents_only=False) == [4, 3, 2, 1]
    assert listed(name="review") == [2, 1]
    assert listed(name="review", status="completed") == [1]
    assert listed(name="nothing") == []
    assert listed(status="failed") == [2]
    assert listed(status="paused") == [3]
    assert listed(unfinished=True) == [3]
    assert listed(unfinished=True, parents_only=False) == [4, 3]
    assert listed(unfinished=True, before=NOON + 2) == []
    assert listed(limit=0) == []


@pytest.mark.parametrize("call", ["runs", "checkpoints"])
def test_a_limit_below_nothing_is_refused(reader: Reader, call: str) -> None:
    with pytest.raises(InvalidInput, match="a limit of -1"):
        getattr(reader, call)(limit=-1)


async def test_of_the_checkpoints_of_many_runs_the_newest_are_listed(store: Store, reader: Reader) -> None:
    made = []
    for number in (1, 2, 3):
        past = Past(store, number, at=NOON + 1000 * number)
        await past.begin()
        made += [await past.step(step) for step in ("a", "b")]
    assert reader.checkpoints(limit=3) == made[:-4:-1]


def day(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).date().isoformat()


async def test_averages_are_right_from_the_second_run_on(store: Store) -> None:
    for number, (duration, steps) in enumerate([(100, 3), (200, 1), (600, 2)]):
        past = Past(store, number, at=NOON + number)
        await past.begin()
        await past.end(duration_ms=duration, completed_steps=steps)
    [row] = store.reader().metrics()
    assert (row.total, row.avg_duration_ms, row.avg_steps_completed) == (3, 300.0, 2.0)


async def test_endings_are_counted_by_what_they_were(store: Store) -> None:
    for number, status in enumerate(["completed", "completed", "failed", "cancelled"]):
        past = Past(store, number, at=NOON + number)
        await past.begin()
        await past.end(status=status)
    assert store.reader().metrics() == [
        MetricsRow(definition().workflow_id, "w", day(NOON), 4, 2, 1, 10.0, 0.0, 0, NOON + 3 + 10)
    ]


async def test_an_ended_run_is_counted_once(store: Store) -> None:
    await Past(store).whole()
    before = store.reader().metrics()
    for _ in range(2):
        change(store.private, "UPDATE workflow_executions SET status = 'failed'")
    assert store.reader().metrics() == before


async def test_checkpoints_count_before_the_first_run_of_the_day_ends(store: Store) -> None:
    past = Past(store)
    await past.begin()
    await past.step("a")
    await past.step("b")
    await store.checkpoint(run_id(1), at=NOON)
    [row] = store.reader().metrics()
    assert (row.checkpoints, row.total, row.avg_duration_ms, row.last_executed_at) == (1, 0, None, None)
    await past.end(completed_steps=2)
    [row] = store.reader().metrics()
    assert (row.checkpoints, row.total, row.avg_duration_ms, row.avg_steps_completed) == (3, 1, 10.0, 2.0)


async def test_metrics_are_told_of_each_workflow_and_day_the_newest_first(store: Store) -> None:
    for number, (name, at) in enumerate([("b", NOON), ("a", NOON), ("a", NOON + DAY)]):
        await Past(store, number, name, at).whole()
    told = [(row.date, row.name) for row in store.reader().metrics()]
    assert told == [(day(NOON + DAY), "a"), (day(NOON), "a"), (day(NOON), "b")]
    assert [row.date for row in store.reader().metrics(name="a")] == [day(NOON + DAY), day(NOON)]
    assert store.reader().metrics(name="c") == []


async def test_metrics_of_some_days_are_those_up_to_today(store: Store) -> None:
    noon_today = int(datetime.now(UTC).replace(hour=12).timestamp() * 1000)
    for number in range(3):
        await Past(store, number, at=noon_today - number * DAY).whole()
    reader = store.reader()
    assert [len(reader.metrics(days=days)) for days in (1, 2, 3, 30)] == [1, 2, 3, 3]
    with pytest.raises(InvalidInput, match="give 1 for today"):
        reader.metrics(days=0)


async def test_what_was_counted_outlives_the_runs(store: Store) -> None:
    await Past(store).whole()
    before = store.reader().metrics()
    assert (await store.prune(Retention(keep_runs=0), at=NOON)).ids == (run_id(1),)
    assert store.reader().metrics() == before


def answered(
    model: str, read: int, written: int, cost: float | None = None, cached: int = 0
) -> dict[str, Any]:
    usage: dict[str, Any] = {"input_tokens": read, "output_tokens": written}
    usage |= {"cost": cost} if cost is not None else {}
    return {"step": "a", "model": model, "usage": usage | ({"cached_tokens": cached} if cached else {})}


async def test_costs_are_summed_up_by_day_and_model_the_dearest_first(store: Store) -> None:
    for number, at in enumerate([NOON, NOON, NOON + DAY]):
        past = Past(store, number, at=at)
        log = await past.begin()
        log.event("ANSWERED", at + 1, answered("small", 10, 1))
        log.event("ANSWERED", at + 2, answered("large", 100, 10, 0.25, 80))
        log.event("ANSWERED", at + 2, answered("large", 100, 10))
        log.event("OTHER", at + 3, answered("large", 7, 7, 7.0))
        await past.end()
    assert store.reader().costs("ANSWERED") == [
        CostRow(day(NOON + DAY), "large", 1, 2, Tokens(200, 20, 0.25, 80), 1),
        CostRow(day(NOON + DAY), "small", 1, 1, Tokens(10, 1), 1),
        CostRow(day(NOON), "large", 2, 4, Tokens(400, 40, 0.5, 160), 2),
        CostRow(day(NOON), "small", 2, 2, Tokens(20, 2), 2),
    ]


async def test_costs_of_the_last_days_are_those_of_no_day_before(store: Store) -> None:
    now = datetime.now(UTC).timestamp() * 1000
    for number, at in enumerate([int(now) - 3 * DAY, int(now)]):
        log = await Past(store, number, at=at).begin()
        log.event("ANSWERED", at, answered("m", 1, 1))
        await log.flush()
    assert [row.date for row in store.reader().costs("ANSWERED", days=1)] == [day(int(now))]
    assert len(store.reader().costs("ANSWERED", days=30)) == 2
    with pytest.raises(InvalidInput, match="costs of 0 days"):
        store.reader().costs("ANSWERED", days=0)


async def test_what_has_no_small_data_is_no_answer(store: Store) -> None:
    log = await Past(store).begin()
    log.event("ANSWERED", NOON, answered("m" * 40_000, 1, 1))
    await log.flush()
    assert store.reader().costs("ANSWERED") == []
