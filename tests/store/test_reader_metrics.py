from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from tests.store.past import DAY, NOON, Past, definition, run_id
from tideate_core.errors import InvalidInput
from tideate_core.store.records import MetricsRow
from tideate_core.store.retention import Retention

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
