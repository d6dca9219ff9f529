"""Rows of runs as values: no column is forgotten."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tideate_core.errors import RunNotFound
from tideate_core.store import RUN, TABLES, Store, export_rows
from tideate_core.store.database import FILE

if TYPE_CHECKING:
    from pathlib import Path

STAYS = {
    "workflow_executions": {"workflow_id", "definition_hash", "source", "path", "prompt"},
    "workflow_steps": {"id"},
    "workflow_graphs": {"id"},
    "workflow_wishes": {"id"},
}
"""Columns that a bundle has elsewhere, or that the store counts."""
OTHERS = {"workflow_definitions", "workflow_leases", "workflow_objects", "workflow_metrics", "workflows"}


def test_every_column_of_a_run_is_known(tmp_path: Path) -> None:
    Store.open(tmp_path).close()
    with closing(sqlite3.connect(tmp_path / FILE)) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        tables = {name for (name,) in names if name.startswith("workflow")}
        assert tables - OTHERS == {"workflow_executions", *TABLES}
        for table, columns in {"workflow_executions": RUN, **TABLES}.items():
            found = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
            assert found - {"execution_id"} - STAYS.get(table, set()) == set(columns), table


def test_a_store_without_tables_has_no_run(tmp_path: Path) -> None:
    with pytest.raises(RunNotFound):
        export_rows(tmp_path, "0" * 32)
    sqlite3.connect(tmp_path / FILE).close()
    (tmp_path / FILE).touch()
    with pytest.raises(RunNotFound):
        export_rows(tmp_path, "0" * 32)
