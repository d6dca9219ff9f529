from __future__ import annotations

import errno
import os
import sqlite3
import stat
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.modes import umask
from tests.store.conftest import line
from tests.store.making import locked, query, versions
from tideate_core.errors import StoreError
from tideate_core.store import Store, database
from tideate_core.store.database import (
    FILE,
    begin_transaction,
    is_of_the_database,
    translated,
)

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable


def test_opening_again_changes_nothing(private: Path) -> None:
    Store.open(private).close()
    before = (private / "tideate.db").read_bytes()
    Store.open(private).close()
    assert (private / "tideate.db").read_bytes() == before


def test_a_new_database_and_the_files_beside_it_are_for_their_owner_alone(private: Path) -> None:
    with umask(0o002):
        store = Store.open(private)
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in private.glob("tideate.db*")}
    store.close()
    assert modes == dict.fromkeys(("tideate.db", "tideate.db-wal", "tideate.db-shm"), 0o600)


def test_a_database_that_others_may_read_is_taken_from_them(private: Path) -> None:
    Store.open(private).close()
    (private / "tideate.db").chmod(0o664)
    Store.open(private).close()
    assert stat.S_IMODE((private / "tideate.db").stat().st_mode) == 0o600


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


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.concurrency
def test_processes_that_open_a_new_store_at_once_all_can(
    private: Path, child: Callable[..., subprocess.Popen[str]]
) -> None:
    children = [child("open") for _ in range(4)]
    assert [line(process) for process in children] == ["opened"] * 4
    assert [process.wait(timeout=60) for process in children] == [0] * 4
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


@pytest.mark.concurrency
def test_a_new_database_that_somebody_writes_to_is_waited_for(
    private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private.mkdir()
    waited: list[float] = []
    with closing(sqlite3.connect(private / FILE, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")

        def ends(seconds: float) -> None:
            waited.append(seconds)
            if other.in_transaction:
                other.execute("ROLLBACK")

        monkeypatch.setattr(time, "sleep", ends)
        Store.open(private).close()
    assert len(waited) == 1


@pytest.mark.concurrency
def test_a_new_database_that_somebody_keeps_is_given_up(
    private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private.mkdir()
    monkeypatch.setattr(database, "BUSY", 0.01)
    with closing(sqlite3.connect(private / FILE, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="is kept locked by another process"):
            Store.open(private)
    Store.open(private).close()


def test_where_a_write_ahead_log_cannot_be_is_told(private: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = sqlite3.connect

    def in_memory(_path: Path, **how: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(":memory:", **how)  # has no write-ahead log either
        return connection

    monkeypatch.setattr(sqlite3, "connect", in_memory)
    with pytest.raises(StoreError, match=r"no shared memory for a write-ahead log .* on a local disk"):
        Store.open(private)


def test_while_the_lock_is_waited_for_something_else_is_done(store: Store, private: Path) -> None:
    calls: list[int] = []

    def free_it() -> None:
        calls.append(1)
        if len(calls) == 3:
            other.execute("ROLLBACK")

    with (
        closing(sqlite3.connect(private / FILE, isolation_level=None)) as mine,
        closing(locked(private)) as other,
    ):
        mine.execute("PRAGMA busy_timeout = 50")
        begin_transaction(mine, 10, free_it)
        assert (mine.in_transaction, len(calls)) == (True, 3)


def test_one_that_stays_locked_is_told(store: Store, private: Path) -> None:
    with closing(sqlite3.connect(private / FILE, isolation_level=None)) as mine, closing(locked(private)):
        mine.execute("PRAGMA busy_timeout = 50")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            begin_transaction(mine, 0.12, lambda: None)


@pytest.mark.parametrize("code", [sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_CANTOPEN])
def test_an_error_of_input_and_output_on_a_full_disk_is_told_as_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    found = list(os.statvfs(tmp_path))
    found[4] = 0  # f_bavail
    monkeypatch.setattr(os, "statvfs", lambda _: os.statvfs_result(found))
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = code
    assert "the disk is full; free some space" in str(translated(tmp_path / "tideate.db", error))


def test_an_error_of_the_system_names_a_full_disk() -> None:
    error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert "the disk is full; free some space" in str(translated(Path("/p/tideate.db"), error))
