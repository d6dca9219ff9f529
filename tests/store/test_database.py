from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.store.conftest import line
from tests.store.making import query
from tideate_core.errors import StoreError, StoreIsNewer
from tideate_core.store import Store
from tideate_core.store.database import (
    connect_to_read,
    is_of_the_database,
    migrate,
    open_to_write,
    translated,
)

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable


def test_a_new_database_has_all_migrations(private: Path) -> None:
    Store.open(private).close()
    assert query(private, "SELECT version FROM schema_version ORDER BY version") == versions()
    assert query(private, "PRAGMA journal_mode") == [("wal",)]
    assert query(private, "PRAGMA integrity_check") == [("ok",)]


def test_opening_again_changes_nothing(private: Path) -> None:
    Store.open(private).close()
    before = (private / "tideate.db").read_bytes()
    Store.open(private).close()
    assert (private / "tideate.db").read_bytes() == before


def test_a_new_database_and_the_files_beside_it_are_for_their_owner_alone(private: Path) -> None:
    before = os.umask(0o022)
    try:
        store = Store.open(private)
    finally:
        os.umask(before)
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in private.glob("tideate.db*")}
    store.close()
    assert modes == dict.fromkeys(("tideate.db", "tideate.db-wal", "tideate.db-shm"), 0o600)


def test_a_database_that_is_there_keeps_the_mode_that_its_owner_gave_it(private: Path) -> None:
    Store.open(private).close()
    (private / "tideate.db").chmod(0o640)
    Store.open(private).close()
    assert stat.S_IMODE((private / "tideate.db").stat().st_mode) == 0o640


def test_an_older_database_is_brought_up_to_date(private: Path) -> None:
    connection = connect_with_only(private, 11)
    connection.close()
    open_to_write(private / "tideate.db").close()
    assert query(private, "SELECT version FROM schema_version ORDER BY version") == versions()
    assert query(private, "SELECT count(*) FROM workflow_events") == [(0,)]


def versions() -> list[tuple[int]]:
    from tideate_core.store import database

    return [(number,) for number, _ in database._files()]


def connect_with_only(private: Path, newest: int) -> sqlite3.Connection:
    with pytest.MonkeyPatch.context() as patch:
        from tideate_core.store import database

        files = [file for file in database._files() if file[0] <= newest]
        patch.setattr(database, "_files", lambda: files)
        return open_to_write(private / "tideate.db")


def test_a_migration_that_fails_leaves_the_database_as_it_was(
    private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tideate_core.store import database

    connection = connect_with_only(private, 11)
    broken = [(12, "CREATE TABLE half (a);\nINSERT INTO nowhere VALUES (1);\n")]
    monkeypatch.setattr(database, "_missing", lambda version: broken)
    with pytest.raises(sqlite3.OperationalError, match="nowhere"):
        migrate(private / "tideate.db", connection)
    assert connection.execute("SELECT max(version) FROM schema_version").fetchone() == (11,)
    assert connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'half'").fetchone() == (0,)
    connection.close()


@pytest.mark.parametrize("opening", [open_to_write, connect_to_read])
def test_a_newer_database_is_refused_and_left_alone(
    private: Path, opening: Callable[[Path], sqlite3.Connection]
) -> None:
    Store.open(private).close()
    path = private / "tideate.db"
    other = sqlite3.connect(path)
    other.execute("INSERT INTO schema_version VALUES (999, 0)")
    other.commit()
    other.close()
    before = path.read_bytes()
    with pytest.raises(StoreIsNewer, match=r"version 999.*update tideate"):
        opening(path)
    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_told_and_left_alone(private: Path) -> None:
    private.mkdir()
    (private / "tideate.db").write_bytes(b"my diary, do not touch\n" * 100)
    with pytest.raises(StoreError, match="is not a database; move it away"):
        Store.open(private)
    assert (private / "tideate.db").read_bytes().startswith(b"my diary")


def test_a_damaged_database_is_told(private: Path) -> None:
    Store.open(private).close()
    path = private / "tideate.db"
    content = bytearray(path.read_bytes())
    content[2048:] = b"\xff" * (len(content) - 2048)
    content[100:2048] = b"\xff" * 1948
    path.write_bytes(content)
    with pytest.raises(StoreError, match="is damaged; move it"):
        Store.open(private)


def test_a_file_in_the_place_of_the_directory_is_told(private: Path) -> None:
    private.write_text("here")
    with pytest.raises(StoreError, match="cannot be used: File exists"):
        Store.open(private)


@pytest.mark.parametrize("made", [False, True], ids=["new", "made"])
def test_a_directory_that_may_not_be_written_is_told(
    private: Path, child: Callable[..., subprocess.Popen[str]], made: bool
) -> None:
    if made:
        Store.open(private).close()
    else:
        private.mkdir()
    for directory in (private, *private.parents):
        if directory.stat().st_uid == 0 and directory != Path("/tmp"):
            directory.chmod(directory.stat().st_mode | stat.S_IXOTH | stat.S_IROTH)
    if os.getuid() != 0:  # nobody else can be become: it is taken away from this one
        private.chmod(stat.S_IRUSR | stat.S_IXUSR)
        for file in private.iterdir():
            file.chmod(stat.S_IRUSR)
    said = line(child("nobody"))
    assert said.startswith(f"StoreError: {private / 'tideate.db'} cannot be ")
    assert "writ" in said


@pytest.mark.concurrency
def test_processes_that_open_a_new_store_at_once_all_can(
    private: Path, child: Callable[..., subprocess.Popen[str]]
) -> None:
    children = [child("open") for _ in range(4)]
    assert [line(process) for process in children] == ["opened"] * 4
    assert [process.wait(timeout=20) for process in children] == [0] * 4
    assert query(private, "SELECT version FROM schema_version ORDER BY version") == versions()


@pytest.mark.parametrize(
    ("code", "words", "of_the_database"),
    [
        (sqlite3.SQLITE_BUSY, "locked", True),
        (sqlite3.SQLITE_FULL, "the disk is full; free some space", True),
        (sqlite3.SQLITE_READONLY_DIRECTORY, "read-only", True),
        (sqlite3.SQLITE_IOERR_WRITE, "check the disk", True),
        (sqlite3.SQLITE_CORRUPT_INDEX, "is damaged", True),
        (sqlite3.SQLITE_CANTOPEN, "cannot be opened", True),
        (sqlite3.SQLITE_TOOBIG, "as big as this", False),
        (sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY, "please report it", False),
    ],
)
def test_every_failure_says_what_to_do(code: int, words: str, of_the_database: bool) -> None:
    error = sqlite3.OperationalError("as SQLite says it")
    error.sqlite_errorcode = code
    told = str(translated(Path("/p/tideate.db"), error))
    assert told.startswith("/p/tideate.db ")
    assert words in told
    assert "as SQLite says it" in told
    assert is_of_the_database(error) is of_the_database


def test_migrations_are_numbered_without_doubles_and_are_in_the_package() -> None:
    from tideate_core.store.database import _files

    numbers = [number for number, _ in _files()]
    assert numbers == sorted(set(numbers))
    assert numbers[0] == 11


def test_checkpoints_of_a_run_that_is_under_way_are_counted_once(private: Path) -> None:
    connection = connect_with_only(private, 13)
    connection.execute("INSERT INTO workflows VALUES ('w', 'w', '', '1', 'hash', 0, 0, NULL)")
    for run, status in (("a", "completed"), ("b", "executing_steps")):
        connection.execute(
            "INSERT INTO workflow_executions (id, workflow_id, total_steps, started_at, status)"
            " VALUES (?, 'w', 1, 86400000, ?)",
            (run, status),
        )
        connection.execute(
            "INSERT INTO workflow_steps (execution_id, step_id, step_name, agent_id, task, status, ordinal,"
            " completed_at) VALUES (?, 's', 's', 'x', '', 'completed', 1, 86400000)",
            (run,),
        )
        for manual in (0, 1):
            connection.execute(
                "INSERT INTO workflow_checkpoints VALUES (?, ?, 's', 1, ?, 86400000)",
                (f"{run}{manual}", run, manual),
            )
    connection.close()
    migrated = open_to_write(private / "tideate.db")
    counts = "SELECT checkpoints_created FROM workflow_metrics"
    assert migrated.execute(counts).fetchall() == [(3,)]
    migrated.execute("UPDATE workflow_executions SET status = 'completed' WHERE id = 'b'")
    assert migrated.execute(counts).fetchall() == [(4,)]
    points = migrated.execute("SELECT id FROM all_checkpoints ORDER BY id").fetchall()
    migrated.close()
    assert points == [("a.1",), ("a1",), ("b.1",), ("b1",)]
