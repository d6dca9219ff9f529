"""Lookup of runs and checkpoints by the beginning of their ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.store.past import NOON, Past, definition, run_id
from tideate_core.errors import CheckpointNotFound, InvalidInput, RunNotFound
from tideate_core.store.records import NewRun

if TYPE_CHECKING:
    from tideate_core.store import Store
    from tideate_core.store.reader import Reader


async def test_a_run_is_found_by_the_beginning_of_its_id(store: Store, reader: Reader) -> None:
    for number in (0xAB << 120, 0xAC << 120, 0xAC1 << 116):
        await Past(store, number).begin()
    assert reader.run("ab").id == run_id(0xAB << 120)
    assert reader.run(" AB0 ").id == run_id(0xAB << 120)
    assert reader.run(run_id(0xAC << 120)).id == run_id(0xAC << 120)
    with pytest.raises(InvalidInput, match=r"several runs begin with 'ac': ac0+, ac10+; give more digits"):
        reader.run("ac")
    with pytest.raises(InvalidInput, match="which of the runs is meant"):
        reader.run("")


async def test_a_run_that_is_deleted_during_the_look_up_is_not_found(
    store: Store, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    await Past(store, 0xAB << 120).begin()
    monkeypatch.setattr("tideate_core.store.reader.find_run_id", lambda *_, **__: run_id(0xAC << 120))
    with pytest.raises(RunNotFound):
        reader.run("ab")


async def test_last_is_the_run_that_began_last_whatever_the_clock_was(store: Store, reader: Reader) -> None:
    with pytest.raises(RunNotFound):
        reader.run("last")
    await Past(store, 0xA << 124).begin()  # where the clock is ahead
    await Past(store, 0xB << 124, at=NOON - 86_400_000).begin()
    await Past(store, 0xC << 124, parent=run_id(0xB << 124)).begin()
    assert reader.run("last").id == run_id(0xB << 124)
    assert reader.run("last", asking=run_id(0xC << 124)).id == run_id(0xA << 124)
    assert reader.run(" Last ").id == run_id(0xB << 124)


async def test_more_runs_than_are_worth_naming_are_not_all_named(store: Store, reader: Reader) -> None:
    for number in range(7):
        await Past(store, number).begin()
    with pytest.raises(InvalidInput) as raised:
        reader.run("000")
    assert str(raised.value).count(run_id(0)[:20]) == 5
    assert ", …; give more digits" in str(raised.value)


async def test_an_id_that_no_run_has_names_the_nearest(store: Store, reader: Reader) -> None:
    near = "0123456789abcdef" * 2
    await Past(store, int(near, 16), "review").begin()
    with pytest.raises(RunNotFound, match=f"no run has the id '01234657'; did you mean '{near}'"):
        reader.run("01234657")
    with pytest.raises(RunNotFound, match=f"the newest run of 'review' is '{near}'"):
        reader.run("review")
    with pytest.raises(RunNotFound, match="`tideate history` lists the runs"):
        reader.run("ffffffff")


def test_an_id_that_is_not_utf8_is_that_of_no_run(store: Store, reader: Reader) -> None:
    with pytest.raises(RunNotFound, match="no run has the id"):
        reader.run("\udcff")
    with pytest.raises(CheckpointNotFound):
        reader.checkpoint("\udcff")


async def test_a_whole_id_is_that_run_also_where_others_begin_so(store: Store, reader: Reader) -> None:
    for whole in ("ab", "abc"):
        await store.begin(NewRun(whole, definition(), {}, 0, NOON))
    assert reader.run("ab").id == "ab"
