"""SQL queries of each table, and conversion of their rows to records."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from tideate_core.store.leases import lease_of
from tideate_core.store.records import (
    CheckpointRow,
    CostRow,
    EventRow,
    Graph,
    RunRow,
    StepRow,
    Tokens,
)

if TYPE_CHECKING:
    from tideate_core.store.objects import Objects

    Row = tuple[Any, ...]

# CROSS JOIN keeps SQLite from starting with workflows: lists are read in the order of an index of the runs
RUNS: Final = (
    "SELECT e.id, w.name, d.kind, e.status, e.started_at, e.completed_at, e.duration, e.completed_steps,"
    " e.failed_steps, e.total_steps, e.current_step, e.prompt, e.error, e.error_code, e.reason,"
    " e.input_tokens, e.output_tokens, e.cost, e.cached_tokens, e.files, e.parent_id,"
    " l.owner, l.pid, l.host, l.process_started, l.heartbeat_at,"
    " e.workflow_id, e.definition_hash, e.path, e.source, e.restored_from, e.continues, e.forked_from,"
    " e.forked_step, e.reused, e.compared"
    " FROM workflow_executions e"
    " CROSS JOIN workflows w ON w.id = e.workflow_id"
    " CROSS JOIN workflow_definitions d ON d.hash = e.definition_hash"
    " LEFT JOIN workflow_leases l ON l.execution_id = e.id"
)

DEFINITION: Final = (
    "SELECT w.id, w.name, d.kind, d.text, w.description, w.version, e.source, e.path"
    " FROM workflow_executions e"
    " JOIN workflows w ON w.id = e.workflow_id"
    " JOIN workflow_definitions d ON d.hash = e.definition_hash"
    " WHERE e.id = ?"
)

GRAPH: Final = "SELECT nodes, edges, execution_order FROM workflow_graphs WHERE execution_id = ?"

STEPS: Final = (
    "SELECT step_id, step_name, agent_id, task, status, attempts, dependencies, result, error, error_code,"
    " started_at, completed_at, duration, input_tokens, output_tokens, cost, cached_tokens, files, ordinal"
    " FROM workflow_steps WHERE execution_id = ?"
    " ORDER BY position IS NULL, position, started_at IS NULL, started_at, id"
)

_RUN_EVENTS: Final = "SELECT sequence, name, at, data FROM workflow_events WHERE execution_id = ?"

EVENTS: Final = f"{_RUN_EVENTS} AND sequence > ? ORDER BY sequence LIMIT ?"

LAST_EVENT: Final = f"{_RUN_EVENTS} AND name = ? ORDER BY sequence DESC LIMIT 1"

MEMOS: Final = "SELECT step_id, key, value FROM workflow_memos WHERE execution_id = ?"

EVENTS_OF_MEMOS: Final = "SELECT key, event FROM workflow_memos WHERE execution_id = ? AND step_id = ?"

MEMOS_OF_STEP: Final = (
    "SELECT key, value FROM workflow_memos WHERE execution_id = ? AND step_id = ? AND substr(key, 1, ?) = ?"
)

_SELECT_CHECKPOINTS: Final = "SELECT id, execution_id, step_id, cursor, created_at, manual, memory"

CHECKPOINTS: Final = f"{_SELECT_CHECKPOINTS} FROM all_checkpoints"

NEWEST_CHECKPOINTS: Final = (
    f"{CHECKPOINTS} WHERE execution_id = ? ORDER BY cursor DESC, created_at DESC, manual DESC LIMIT ?"
)

WANTED_CHECKPOINTS: Final = (
    f"{_SELECT_CHECKPOINTS} FROM workflow_checkpoints ORDER BY created_at DESC LIMIT ?"
)

GATES: Final = (
    "SELECT gate, SUM(passed), SUM(failed), SUM(auto_fixed), SUM(total_duration), MAX(longest_duration),"
    " MAX(last_at) FROM gate_statistics WHERE date >= ? GROUP BY gate ORDER BY gate"
)

METRICS: Final = (
    "SELECT m.workflow_id, COALESCE(w.name, m.workflow_id), m.date, m.total_executions,"
    " m.successful_executions, m.failed_executions, m.avg_duration, m.avg_steps_completed,"
    " m.checkpoints_created, m.last_executed_at"
    " FROM workflow_metrics m LEFT JOIN workflows w ON w.id = m.workflow_id"
)

# large data is in a file and begins with `@`; usage is small
COSTS: Final = (
    "SELECT DATE(at / 1000, 'unixepoch') AS day, json_extract(data, '$.model') AS model,"
    " COUNT(DISTINCT execution_id), COUNT(*),"
    " SUM(json_extract(data, '$.usage.input_tokens')), SUM(json_extract(data, '$.usage.output_tokens')),"
    " SUM(json_extract(data, '$.usage.cost')) AS cost,"
    " SUM(COALESCE(json_extract(data, '$.usage.cached_tokens'), 0)),"
    " SUM(json_extract(data, '$.usage.cost') IS NULL)"
    " FROM workflow_events WHERE name = ? AND at >= ? AND data LIKE '{%'"
    " GROUP BY day, model ORDER BY day DESC, cost IS NULL, cost DESC, model"
)


def run_of(row: Row, objects: Objects) -> RunRow:
    """Return a row of `RUNS` as a record."""
    lease = None if row[21] is None else lease_of((row[21], row[22], row[23], row[24], row[25]))
    compared = tuple(json.loads(row[35])) if row[35] else ()
    tokens, files = Tokens(*row[15:19]), _strings(row[19], objects)
    values: Row = (*row[:15], tokens, files, row[20], lease, *row[26:35], compared)
    return RunRow(*values)


def step_of(row: Row, objects: Objects) -> StepRow:
    """Return a row of `STEPS` as a record."""
    dependencies, result = _strings(row[6], objects), None if row[7] is None else objects.load(row[7])
    tokens, files = Tokens(*row[13:17]), _strings(row[17], objects)
    values: Row = (*row[:6], dependencies, result, *row[8:13], tokens, files, row[18])
    return StepRow(*values)


def graph_of(row: Row, objects: Objects) -> Graph:
    """Return a row of `GRAPH` as a record."""
    nodes, edges, order = (objects.load(column) for column in row)
    pairs = tuple((dependency, dependent) for dependency, dependent in edges)
    return Graph(tuple(nodes), pairs, tuple(map(tuple, order)))


def event_of(row: Row, objects: Objects) -> EventRow:
    """Return a row of `EVENTS` as a record."""
    sequence, name, at, data = row
    return EventRow(sequence, name, at, objects.load(data))


def checkpoint_of(row: Row) -> CheckpointRow:
    """Return a row of `CHECKPOINTS` as a record."""
    identity, run, step, cursor, created_at, manual, memory = row
    return CheckpointRow(identity, run, step, cursor, created_at, memory, bool(manual))


def costs_of(row: Row) -> CostRow:
    """Return a row of `COSTS` as a record."""
    date, model, runs, answers, read, written, cost, cached, unpriced = row
    return CostRow(date, model or "", runs, answers, Tokens(read, written, cost, cached), unpriced)


def _strings(text: str | None, objects: Objects) -> tuple[str, ...]:
    # most columns are empty lists: a run of 10,000 steps has 20,000 of them
    return () if text is None or text == "[]" else tuple(objects.load(text))
