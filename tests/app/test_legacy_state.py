"""State that earlier versions kept in the project: moved once if its seal is the person's, else left."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tideate_core.app.legacy_state import earlier_state, move_earlier_state
from tideate_core.project import make_project_state, state_dir
from tideate_core.store import Reader, Store
from tideate_core.store.objects import Objects, Packed
from tideate_core.workspace.journal import Journal

if TYPE_CHECKING:
    from pathlib import Path

RUN = "0123456789abcdef" * 2
NAME = "f" * 32
KEY = b"k" * 32
BEFORE = b"what stood there\n"


def digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=20).hexdigest()


def manifest(run: str, *, seal: bool = True) -> str:
    """A manifest as the version before wrote it."""
    shape = {
        "version": 1,
        "step": "refactor",
        "entries": [
            {
                "kind": "file",
                "path": "a.py",
                "before": {"kind": "file", "digest": digest(BEFORE), "mode": 0o644},
                "after": {"kind": "absent", "digest": "", "mode": 0},
                "temp": ".tideate-0123456789abcdef.tmp",
                "offset": 0,
                "length": len(BEFORE),
            }
        ],
        "seal": "",
    }
    text = json.dumps(shape, separators=(",", ":"))
    if seal:
        shape["seal"] = hmac.new(KEY, f"{run}\n{text}".encode(), hashlib.sha256).hexdigest()
    return json.dumps(shape, separators=(",", ":"))


def journalled(root: Path, run: str, text: str) -> None:
    folder = root / ".tideate/journal" / run / "0001"
    folder.mkdir(parents=True)
    (folder / "before").write_bytes(BEFORE)
    (folder / "manifest.json").write_text(text)


NEWER = (
    ("workflow_executions", "continues"),
    ("workflow_executions", "cached_tokens"),
    ("workflow_steps", "cached_tokens"),
    ("workflow_executions", "forked_from"),
    ("workflow_executions", "forked_step"),
    ("workflow_executions", "reused"),
    ("workflow_executions", "compared"),
    ("workflow_memos", "event"),
)
"""Columns that migrations after the 15th made."""


@pytest.fixture
def old(root: Path) -> Path:
    """A project with the state of the version before, which this person's tideate made."""
    private = root / ".tideate"
    Store.open(private).close()
    with closing(sqlite3.connect(private / "tideate.db")) as database, database:
        database.execute("CREATE TABLE store_names (name TEXT PRIMARY KEY, made_at INTEGER NOT NULL)")
        database.execute("INSERT INTO store_names VALUES (?, 0)", (NAME,))
        database.execute("DROP TRIGGER update_workflow_metrics_on_completion")  # names such a column
        for table in ("run_words", "run_texts"):
            database.execute(f"DROP TABLE {table}")
        for table, column in NEWER:
            database.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        database.execute("DELETE FROM schema_version WHERE version >= 16")
    (state_dir() / "stores").mkdir(parents=True)
    (state_dir() / "stores" / NAME).write_text("{}")
    (state_dir() / "journal.key").write_bytes(KEY)
    content = b'"a large result"'
    Objects(private).save(Packed("a" * 64, content))
    journalled(root, RUN, manifest(RUN))
    (private / "snapshots/packs").mkdir(parents=True)
    return root


def test_a_database_and_a_journal_with_the_persons_seal_are_moved(old: Path) -> None:
    private = make_project_state(old)
    moved, left = move_earlier_state(old, private)
    assert moved == f"the runs in {old / '.tideate'} were moved to {private}"
    assert "has snapshots: state of an earlier version" in left
    assert Reader(private).runs() == []
    (record,) = Journal(private).records(RUN)
    (entry,) = record.manifest.entries
    assert record.file_before(entry) == BEFORE  # type: ignore[arg-type]
    assert (private / "objects/aa" / ("a" * 64)).read_bytes() == b'"a large result"'
    assert sorted(path.name for path in (old / ".tideate").iterdir() if path.is_file()) == []
    assert not list((old / ".tideate/journal").rglob("*.json"))
    assert not (private / "moving").exists()
    Store.open(private).close()
    with closing(sqlite3.connect(private / "tideate.db")) as database:
        assert database.execute("SELECT name FROM sqlite_master WHERE name = 'store_names'").fetchall() == []


def test_it_is_moved_once(old: Path) -> None:
    private = make_project_state(old)
    move_earlier_state(old, private)
    (old / ".tideate/tideate.db").write_bytes((private / "tideate.db").read_bytes())
    assert move_earlier_state(old, private) == []
    assert (old / ".tideate/tideate.db").exists()


@pytest.mark.parametrize("forged", ["another name", "no names", "no database", "damaged", "link", "fifo"])
def test_what_has_no_seal_of_the_persons_is_left_and_named(old: Path, home: Path, forged: str) -> None:
    path = old / ".tideate/tideate.db"
    if forged in ("another name", "no names"):
        with closing(sqlite3.connect(path)) as database, database:
            database.execute(
                "UPDATE store_names SET name = '../stores'"
                if forged == "another name"
                else "DROP TABLE store_names"
            )
    elif forged == "damaged":
        path.write_bytes(path.read_bytes()[:5000])
    else:
        for one in path.parent.glob("tideate.db*"):
            one.unlink()
        if forged == "link":
            (home / "theirs.db").write_bytes(b"theirs")
            path.symlink_to(home / "theirs.db")
        elif forged == "fifo":
            os.mkfifo(path)
        else:
            path.write_bytes(b"")
    before = sorted(str(one) for one in (old / ".tideate").rglob("*"))
    private = make_project_state(old)
    (left,) = move_earlier_state(old, private)
    assert "has tideate.db, journal, objects, snapshots: state of an earlier version" in left
    assert not (private / "tideate.db").exists()
    assert Journal(private).records(RUN) == []
    assert sorted(str(one) for one in (old / ".tideate").rglob("*")) == before


def test_a_database_that_is_mostly_a_hole_is_not_copied(old: Path) -> None:
    os.truncate(old / ".tideate/tideate.db", 1024**3)
    private = make_project_state(old)
    (left,) = move_earlier_state(old, private)
    assert "state of an earlier version" in left
    assert not (private / "tideate.db").exists()


def test_who_never_had_a_sealed_database_moves_none(old: Path) -> None:
    for one in (state_dir() / "stores").iterdir():
        one.unlink()
    (state_dir() / "stores").rmdir()
    private = make_project_state(old)
    assert len(move_earlier_state(old, private)) == 1
    assert not (private / "tideate.db").exists()


@pytest.mark.parametrize("forged", ["unsealed", "another run", "absolute temp", "no JSON"])
def test_a_forged_apply_beside_the_persons_own_is_not_taken(old: Path, forged: str) -> None:
    run = "9" * 32
    texts = {
        "unsealed": manifest(run, seal=False),
        "another run": manifest(RUN),
        "absolute temp": manifest(run).replace(".tideate-0123456789abcdef.tmp", "/etc/passwd"),
        "no JSON": "{",
    }
    journalled(old, run, texts[forged])
    private = make_project_state(old)
    move_earlier_state(old, private)
    assert Journal(private).records(run) == []
    assert len(Journal(private).records(RUN)) == 1
    assert (old / ".tideate/journal" / run / "0001/manifest.json").exists()


def test_links_in_the_journal_are_not_followed(old: Path, home: Path) -> None:
    journalled(home / "elsewhere", "8" * 32, manifest("8" * 32))
    (old / ".tideate/journal" / ("8" * 32)).symlink_to(home / "elsewhere/.tideate/journal" / ("8" * 32))
    private = make_project_state(old)
    move_earlier_state(old, private)
    assert Journal(private).records("8" * 32) == []
    assert (home / "elsewhere/.tideate/journal" / ("8" * 32) / "0001/before").read_bytes() == BEFORE


def test_a_project_without_such_state_has_nothing_to_move(root: Path) -> None:
    assert earlier_state(root) == []
    assert move_earlier_state(root, make_project_state(root)) == []
