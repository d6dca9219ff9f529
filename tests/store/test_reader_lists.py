from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.store.past import NOON, Past, run_id
from tideate_core.errors import CheckpointNotFound, InvalidInput
from tideate_core.store.reader import Reader
from tideate_core.store.records import CheckpointRow, StepStart

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.store import Store


@pytest.fixture
def reader(private: Path) -> Reader:
    return Reader(private)


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


async def test_steps_without_a_place_that_started_in_one_millisecond_are_in_their_order(
    store: Store, reader: Reader
) -> None:
    past = Past(store)
    await past.begin()
    names = [f"s{number * 7 % 12}" for number in range(12)]
    for name in names:
        past.log.started(StepStart(name, name, "tool", "do it", 1, NOON))
    await past.log.flush()
    steps = [row.step for row in reader.steps(run_id(1)) if row.started_at == NOON]
    assert steps == names


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
