"""Rows of the database never run code: pickles are refused, and lists name malformed rows."""

from __future__ import annotations

import base64
import os
import pickle
from typing import TYPE_CHECKING, Any

import pytest

from tests.fleet.site import eventually
from tideate_core.errors import FleetError, SubmissionRefused
from tideate_core.fleet import Fleet
from tideate_core.fleet.database import open_client
from tideate_core.fleet.legs import START
from tideate_core.fleet.serializing import PickleRefused, json_serializer
from tideate_core.fleet.views import MALFORMED

if TYPE_CHECKING:
    from pathlib import Path

    import psycopg

    from tests.fleet.site import Database, Site

RUN = "e" * 32
NEW = "INSERT INTO dbos.workflow_status (workflow_uuid, status, name, queue_name, created_at, updated_at, "
APPLY = ("apply", "-i", "path=a.txt", "-i", "how=replace", "-i", "text=two")


class Hostile:
    """A value whose pickle creates a file when it is read."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self.mark}",)

    def pickled(self) -> str:
        return base64.b64encode(pickle.dumps(self)).decode()


def connect(address: str) -> psycopg.Connection[Any]:
    import psycopg

    return psycopg.connect(address)


def add(address: str, run: str = RUN, status: str = "SUCCESS", **columns: str) -> None:
    """Write a leg's row as another program would."""
    given = {"serialization": "py_pickle", "application_name": "tideate", **columns}
    values = ", ".join(["%s"] * len(given))
    with connect(address) as connection:
        connection.execute(
            f"{NEW}{', '.join(given)}) VALUES (%s, %s, %s, 'tideate', 1, 1, {values})",
            (f"{run}-1", status, START, *given.values()),
        )


def test_a_library_that_would_read_pickles_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from dbos import _core

    json_serializer()
    monkeypatch.setattr(_core, "deserialize_value", lambda text, *_: pickle.loads(base64.b64decode(text)))
    with pytest.raises(FleetError, match=r"version \d.* of the library dbos reads pickles"):
        json_serializer()
    monkeypatch.delattr(_core, "deserialize_value")
    with pytest.raises(FleetError, match="reads pickles"):
        json_serializer()


COLUMNS = {"output": "SUCCESS", "error": "ERROR", "inputs": "SUCCESS"}


@pytest.mark.parametrize("column", COLUMNS)
def test_a_pickle_in_a_leg_is_not_read_and_the_row_is_called_malformed(
    database: Database, tmp_path: Path, column: str
) -> None:
    address = database.new()
    open_tables(address)
    mark = tmp_path / "mark"
    add(address, status=COLUMNS[column], **{column: Hostile(mark).pickled()})
    fleet = Fleet(address)
    assert [one.message for one in fleet.page()] == [MALFORMED]
    assert fleet.show(RUN).message == MALFORMED
    with pytest.raises(FleetError, match="has ended"):
        fleet.cancel(RUN)
    with pytest.raises(SubmissionRefused, match="malformed"):
        fleet.retry(RUN)
    fleet.close()
    assert not mark.exists()


def open_tables(address: str) -> None:
    """Create DBOS's tables, as a worker does."""
    from dbos import run_dbos_database_migrations

    run_dbos_database_migrations(system_database_url=address)


def test_a_pickle_in_a_step_or_an_event_is_not_read(database: Database, tmp_path: Path) -> None:
    address, mark = database.new(), tmp_path / "mark"
    open_tables(address)
    add(address)
    with connect(address) as connection:
        connection.execute(
            "INSERT INTO dbos.operation_outputs (workflow_uuid, function_id, function_name, output, "
            "serialization) VALUES (%s, 1, 'prepare', %s, 'py_pickle')",
            (f"{RUN}-1", Hostile(mark).pickled()),
        )
        connection.execute(
            "INSERT INTO dbos.workflow_events (workflow_uuid, key, value, serialization) "
            "VALUES (%s, 'question', %s, 'py_pickle')",
            (f"{RUN}-1", Hostile(mark).pickled()),
        )
    fleet = Fleet(address)
    assert fleet.show(RUN).steps == ("prepare",)
    fleet.close()
    client = open_client(address)
    with pytest.raises(PickleRefused):
        client.get_event(f"{RUN}-1", "question")
    client.destroy()
    assert not mark.exists()


ODD = {"attributes": "[1]", "output": "[1]", "inputs": '"text"'}


@pytest.mark.parametrize("column", ODD)
def test_a_row_of_another_shape_does_not_hide_the_others(database: Database, column: str) -> None:
    address = database.new()
    open_tables(address)
    add(address, serialization="portable_json", **{column: ODD[column]})
    add(address, run="d" * 32, serialization="portable_json")
    fleet = Fleet(address)
    assert {one.run: one.message for one in fleet.page()} == {RUN: MALFORMED, "d" * 32: MALFORMED}
    fleet.close()


def test_a_worker_survives_pickled_inputs_and_steps(site: Site, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    address = site.remote("one", {"a.txt": "one\n"})
    worker = site.worker("first").wait_ready()
    add(site.database, run="c" * 32, status="ENQUEUED", inputs=Hostile(mark).pickled())
    forged = f"{RUN}-1"
    with connect(site.database) as connection:
        connection.execute(
            f"{NEW}serialization, application_name, inputs, priority) VALUES (%s, 'ENQUEUED', %s, 'tideate', "
            "1, 1, 'portable_json', 'tideate', %s, 0)",
            (forged, START, '{"positionalArgs": [{"cancel": true}], "namedArgs": {}}'),
        )
        connection.execute(
            "INSERT INTO dbos.operation_outputs (workflow_uuid, function_id, function_name, output, "
            "serialization) VALUES (%s, 1, 'finish', %s, 'py_pickle')",
            (forged, Hostile(mark).pickled()),
        )
    run = site.submit(*APPLY, "--repo", address)
    assert site.wait_for(run, "waiting")
    eventually(lambda: site.show("c" * 32)["state"] == "failed")
    assert "Python pickle" in site.wait_for(RUN, "failed")["message"]
    assert worker.process.poll() is None
    assert not mark.exists()
