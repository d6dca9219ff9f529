"""Names of workers: who has lost its lock ends its legs before others can have them."""

from __future__ import annotations

import asyncio
import os
import threading
from typing import TYPE_CHECKING

import pytest

from tests.fleet.test_serializing import RUN, add, connect, open_tables
from tideate_core.config import Config
from tideate_core.errors import ConfigError, FleetError, InvalidInput
from tideate_core.fleet import Fleet, Worker, WorkerOptions, client, names
from tideate_core.fleet.database import NameLock, open_engine
from tideate_core.fleet.mirrors import locked
from tideate_core.fleet.names import LegsLost, NameLost, WorkerName
from tideate_core.util.file_locks import take_lock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlalchemy import Engine

    from tests.fleet.site import Database

CUT = (
    "SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_database ON database = pg_database.oid "
    "WHERE locktype = 'advisory' AND datname = current_database()"
)


@pytest.fixture
def address(database: Database) -> str:
    made = database.new()
    open_tables(made)
    return made


@pytest.fixture
def engine(address: str) -> Iterator[Engine]:
    engine = open_engine(address)
    yield engine
    engine.dispose()


@pytest.fixture
def name(engine: Engine) -> Iterator[WorkerName]:
    name = WorkerName(NameLock(engine, "n"))
    name.take()
    yield name
    name.lock.release()


def cut(address: str) -> None:
    """End the sessions that have advisory locks."""
    with connect(address) as connection:
        connection.execute(CUT)


def test_a_name_is_taken_again_before_a_release_could_end(address: str, name: WorkerName) -> None:
    name.keep()
    cut(address)
    name.keep()
    assert name.lock.is_held()


def test_legs_are_given_up_if_a_release_could_have_ended(
    address: str, name: WorkerName, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut(address)
    monkeypatch.setattr(names, "HELD", 0.0)
    monkeypatch.setattr(names, "QUIET", 0.0)
    with pytest.raises(LegsLost, match="begins its runs again"):
        name.keep()
    name.keep()


def test_a_name_that_another_process_has_is_lost(address: str, name: WorkerName, engine: Engine) -> None:
    other = NameLock(engine, "n")
    with pytest.raises(FleetError, match="is running"):
        WorkerName(other).take()
    cut(address)
    assert other.take()
    with pytest.raises(NameLost):
        name.keep()
    other.release()


def test_a_release_holds_the_name_before_it_gives_legs_away(
    address: str, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(address, status="PENDING", executor_id="n")
    monkeypatch.setattr(client, "QUIET", 0.0)
    fleet, held = Fleet(address), []
    living = NameLock(engine, "n")

    def pause(seconds: float) -> None:
        held.append((seconds, living.take(), fleet.show(RUN).state))

    monkeypatch.setattr("tideate_core.fleet.client.time.sleep", pause)
    assert fleet.release("n") == [RUN]
    assert held == [(names.HELD, False, "running")]
    monkeypatch.setattr("tideate_core.fleet.client.time.sleep", lambda _: cut(address))
    with pytest.raises(FleetError, match="nothing of 'n' was released"):
        fleet.release("n")
    fleet.close()


def test_a_leg_that_is_cancelled_during_a_release_stays_cancelled(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(address, status="PENDING", executor_id="n")
    monkeypatch.setattr(client, "QUIET", 0.0)
    monkeypatch.setattr("tideate_core.fleet.client.time.sleep", lambda _: None)
    fleet, other = Fleet(address), Fleet(address)
    with fleet._alone():
        releasing = threading.Thread(target=other.release, args=("n",))
        releasing.start()
        fleet._client.cancel_workflow(f"{RUN}-1")
    releasing.join()
    assert fleet.show(RUN).state == "cancelled"
    fleet.close()
    other.close()


@pytest.mark.parametrize("name", [".", "..", "-x", "a/b", "../a", "é", "a\n", ""])
def test_a_name_of_a_worker_is_never_a_path(name: str) -> None:
    with pytest.raises(InvalidInput, match="--name"):
        WorkerOptions(name).check()
    WorkerOptions("a.b-c_1").check()


@pytest.mark.parametrize("allow", [[], ["junk"]])
async def test_a_worker_without_a_usable_key_does_not_start(address: str, allow: list[str]) -> None:
    config = Config.model_validate({"fleet": {"allow": allow}})
    said: list[str] = []
    with pytest.raises(ConfigError, match=r"\[fleet\] allow"):
        await Worker(config, address, "secret", WorkerOptions("n"), said.append).serve(asyncio.Event())
    assert said == []


async def test_a_cancelled_task_leaves_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    held = take_lock(path)
    assert held is not None

    async def hold() -> None:
        async with locked(path):
            raise AssertionError

    task = asyncio.create_task(hold())
    for _ in range(5):
        await asyncio.sleep(0)
    task.cancel()
    os.close(held)
    with pytest.raises(asyncio.CancelledError):
        await task
    left = take_lock(path)
    assert left is not None
    os.close(left)
