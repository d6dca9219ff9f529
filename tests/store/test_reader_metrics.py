from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from tests.store.past import DAY, NOON, Past, definition, run_id
from tideate_core.errors import InvalidInput
from tideate_core.store.records import Tokens
from tideate_core.store.retention import Retention
from tideate_core.store.statistics import CostRow, MetricsRow

if TYPE_CHECKING:
    from tideate_core.store import Store


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
