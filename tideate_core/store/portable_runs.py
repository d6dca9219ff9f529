"""Rows of a run and its nested runs as plain values: read in one transaction, added in another.

Leases, control requests and counts by day stay in their store.
"""

from __future__ import annotations

import sqlite3
import uuid
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

from tideate_core.errors import RunIsOwned, RunNotFound, StoreError
from tideate_core.store.database import FILE, connect_to_read, translated
from tideate_core.store.leases import TAKEOVER_AFTER, lease_of
from tideate_core.store.objects import Objects, definition_hash, pack, plain
from tideate_core.store.records import TERMINAL, Definition
from tideate_core.store.run_texts import add_prompt, index_answers
from tideate_core.store.runs import PROMPT_LENGTH, run_status
from tideate_core.store.schema import schema_version
from tideate_core.store.unfinished import mark_unfinished

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tideate_core.store.store import Store
    from tideate_core.store.transaction import Transaction

Row = dict[str, Any]
Kind = Literal["text", "text?", "integer", "integer?", "number?", "json", "json?"]
"""Type of a column; a `?` allows NULL."""

NULL: Final = object()
"""The value of an empty JSON column; JSON's own null is None."""

RUN: Final[Mapping[str, Kind]] = {
    "id": "text",
    "status": "text",
    "current_step": "text?",
    "completed_steps": "integer",
    "total_steps": "integer",
    "results": "json?",
    "error": "text?",
    "error_code": "text?",
    "started_at": "integer",
    "completed_at": "integer?",
    "duration": "integer?",
    "request": "json",
    "failed_steps": "integer",
    "reason": "text?",
    "input_tokens": "integer",
    "output_tokens": "integer",
    "cost": "number?",
    "files": "json",
    "parent_id": "text?",
    "parent_step": "text?",
    "restored_from": "text?",
    "cached_tokens": "integer",
    "continues": "text?",
    "forked_from": "text?",
    "forked_step": "text?",
    "reused": "integer",
    "compared": "json?",
}
"""Columns of a run; those of its definition are in `Definition`."""

TABLES: Final[Mapping[str, Mapping[str, Kind]]] = {
    "workflow_steps": {
        "step_id": "text",
        "step_name": "text",
        "agent_id": "text",
        "task": "text",
        "dependencies": "json?",
        "status": "text",
        "result": "json?",
        "error": "text?",
        "duration": "integer?",
        "started_at": "integer?",
        "completed_at": "integer?",
        "position": "integer?",
        "ordinal": "integer?",
        "attempts": "integer",
        "error_code": "text?",
        "input_tokens": "integer",
        "output_tokens": "integer",
        "cost": "number?",
        "files": "json",
        "cached_tokens": "integer",
        "memory": "integer?",
    },
    "workflow_graphs": {
        "nodes": "json",
        "edges": "json",
        "execution_order": "json",
        "created_at": "integer",
    },
    "workflow_events": {"sequence": "integer", "name": "text", "at": "integer", "data": "json"},
    "workflow_memos": {
        "step_id": "text",
        "key": "text",
        "value": "json",
        "cursor": "integer",
        "event": "integer",
    },
    "workflow_checkpoints": {
        "id": "text",
        "step_id": "text",
        "cursor": "integer",
        "manual": "integer",
        "created_at": "integer",
        "memory": "integer",
    },
    "workflow_wishes": {"wish": "text", "text": "text", "at": "integer"},
}
"""Columns of the tables with rows of one run, without `execution_id`."""

_WHERE: Final = {"workflow_wishes": " AND w.wish = 'say'"}
_ORDER: Final = {"workflow_steps": "id", "workflow_wishes": "id"}
_FAMILY: Final = (
    "WITH RECURSIVE family(id) AS (SELECT id FROM workflow_executions WHERE id = ? UNION"
    " SELECT e.id FROM family JOIN workflow_executions e ON e.parent_id = family.id)"
    " SELECT e.id FROM family JOIN workflow_executions e USING (id) ORDER BY e.rowid"
)
_RUN: Final = f"SELECT {', '.join(RUN)} FROM workflow_executions WHERE id = ?"  # noqa: S608 our names
_DEFINITION: Final = (
    "SELECT w.id, w.name, d.kind, d.text, w.description, w.version, e.source, e.path"
    " FROM workflow_executions e JOIN workflows w ON w.id = e.workflow_id"
    " JOIN workflow_definitions d ON d.hash = e.definition_hash WHERE e.id = ?"
)
_LEASE: Final = (
    "SELECT owner, pid, host, process_started, heartbeat_at FROM workflow_leases WHERE execution_id = ?"
)


@dataclass(frozen=True, slots=True)
class RunRows:
    """All rows of one run; JSON columns are values or `NULL`."""

    definition: Definition
    run: Row
    tables: Mapping[str, tuple[Row, ...]] = field(default_factory=dict)
    """By the names of `TABLES`."""

    @property
    def id(self) -> str:
        return str(self.run["id"])

    @property
    def events(self) -> list[tuple[str, int]]:
        """Names and times of its events, in order."""
        return [(row["name"], row["at"]) for row in self.tables.get("workflow_events", ())]


def export_rows(private: Path, run_id: str, *, running: bool = False) -> list[RunRows]:
    """Return the rows of a run and of its nested runs, outer runs first; blocking.

    :param private: directory of the store.
    :param running: also those of a run under way, as its process would leave them if it died now.
    :raises RunNotFound: no run has this id.
    :raises RunIsOwned: a living process has one of the runs.
    :raises StoreError: the store cannot be read.
    """
    path, objects = private / FILE, Objects(private)
    if not path.is_file():
        raise RunNotFound(run_id)
    connection = connect_to_read(path)
    try:
        if schema_version(connection) == 0:
            raise RunNotFound(run_id)  # its first process ended before it made the tables
        connection.execute("BEGIN")
        family = [row[0] for row in connection.execute(_FAMILY, (run_id,))]
        if not family:
            raise RunNotFound(run_id)
        for run in () if running else family:
            _refuse_owned(connection, run)
        return [_exported(connection, objects, run) for run in family]
    except sqlite3.Error as error:
        raise translated(path, error) from error
    finally:
        connection.close()


async def import_rows(store: Store, rows: Sequence[RunRows], *, at: int) -> None:
    """Add the rows of a run and its nested runs, or replace them; unfinished runs are paused.

    :param rows: outer runs first.
    :param at: milliseconds since the epoch.
    :raises RunIsOwned: a living process has one of the runs.
    :raises StoreError: they cannot be written; nothing was changed.
    """
    await store.write(partial(_import, rows=rows, at=at))


def _import(transaction: Transaction, rows: Sequence[RunRows], at: int) -> None:
    for one in rows:
        _refuse_owned(transaction.connection, one.id)
    outermost = rows[0].id
    transaction.execute("DELETE FROM workflow_executions WHERE id = ?", (outermost,))
    for one in rows:
        if run_status(transaction, one.id) is not None:
            raise StoreError(f"there is a run {one.id} already, which is not part of the run {outermost}")
        _add(transaction, one, at)
    if rows[0].run["status"] not in TERMINAL:
        mark_unfinished(transaction)


def _refuse_owned(connection: sqlite3.Connection, run: str) -> None:
    row = connection.execute(_LEASE, (run,)).fetchone()
    lease = None if row is None else lease_of(row, takeover_after=TAKEOVER_AFTER)
    if lease is not None and lease.alive:
        raise RunIsOwned(
            f"run {run} is being run by process {lease.pid} on {lease.host.split()[0]}; "
            "pause it and end that process first"
        )


def _exported(connection: sqlite3.Connection, objects: Objects, run: str) -> RunRows:
    definition = Definition(*connection.execute(_DEFINITION, (run,)).fetchone())
    [row] = _rows(connection, objects, RUN, _RUN, run)
    tables = {
        table: tuple(_rows(connection, objects, columns, _select(table), run))
        for table, columns in TABLES.items()
    }
    return RunRows(definition, row, tables)


def _select(table: str) -> str:
    where = f"execution_id = ?{_WHERE.get(table, '')} ORDER BY {_ORDER.get(table, '1, 2')}"
    return f"SELECT {', '.join(TABLES[table])} FROM {table} w WHERE {where}"  # noqa: S608 names of this module


def _rows(
    connection: sqlite3.Connection, objects: Objects, columns: Mapping[str, Kind], statement: str, run: str
) -> Iterator[Row]:
    for values in connection.execute(statement, (run,)).fetchall():
        yield {
            name: _loaded(objects, value) if kind.startswith("json") else value
            for (name, kind), value in zip(columns.items(), values, strict=True)
        }


def _loaded(objects: Objects, column: str | None) -> Any:
    return NULL if column is None else objects.load(column)


def _add(transaction: Transaction, rows: RunRows, at: int) -> None:
    run, definition = rows.run, rows.definition
    workflow, digest = _add_definition(transaction, definition, at)
    prompt = str(run["request"].get("prompt") or "")
    head = {
        "id": run["id"],
        "workflow_id": workflow,
        "definition_hash": digest,
        "source": definition.source,
        "path": definition.path,
        "prompt": plain(prompt[:PROMPT_LENGTH]),
    }
    # without JSON first: a large value's file needs the run's row
    flat = {name: run[name] for name, kind in RUN.items() if not kind.startswith("json")}
    flat["status"] = run["status"] if run["status"] in TERMINAL else "paused"
    _insert(transaction, "workflow_executions", {**flat, **head})
    for name, kind in RUN.items():
        if kind.startswith("json") and run[name] is not NULL:
            transaction.execute(
                f"UPDATE workflow_executions SET {name} = ? WHERE id = ?",  # noqa: S608 a name of this module
                (transaction.column(run["id"], pack(run[name])), run["id"]),
            )
    add_prompt(transaction.connection, run["id"], prompt)
    for table, columns in TABLES.items():
        for row in rows.tables.get(table, ()):
            packed = {
                name: _column(transaction, run["id"], row[name]) if kind.startswith("json") else row[name]
                for name, kind in columns.items()
            }
            _insert(transaction, table, {"execution_id": run["id"], **packed})
    if run["status"] in TERMINAL:
        index_answers(transaction.connection, transaction.objects, run["id"])


def _add_definition(transaction: Transaction, definition: Definition, at: int) -> tuple[str, str]:
    """Store a definition; returns the ids of its workflow and its text.

    A known workflow keeps its row, which its other runs are shown with.
    """
    digest, workflow = definition_hash(definition.text), definition.workflow_id
    known = "SELECT name FROM workflows WHERE id = ?"
    found = transaction.execute(known, (workflow,)).fetchone()
    if found is not None and found[0] != plain(definition.name):
        workflow = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{workflow}\0{definition.name}"))
    transaction.execute(
        "INSERT OR IGNORE INTO workflow_definitions (hash, kind, text, created_at) VALUES (?, ?, ?, ?)",
        (digest, definition.kind, plain(definition.text), at),
    )
    names = (plain(definition.name), plain(definition.description), definition.version)
    transaction.execute(
        "INSERT OR IGNORE INTO workflows (id, name, description, version, definition, created_at, updated_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (workflow, *names, digest, at, at),
    )
    return workflow, digest


def _column(transaction: Transaction, run: str, value: Any) -> str | None:
    return None if value is NULL else transaction.column(run, pack(value))


def _insert(transaction: Transaction, table: str, row: Row) -> None:
    places = ", ".join("?" * len(row))
    names = ", ".join(row)
    values = [plain(value) if isinstance(value, str) else value for value in row.values()]
    transaction.execute(f"INSERT INTO {table} ({names}) VALUES ({places})", values)  # noqa: S608 our names
