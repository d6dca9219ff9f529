"""SQL queries of each table, and conversion of their rows to records."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from tideate_core.store.leases import lease_of
from tideate_core.store.records import (
    CheckpointRow,
    Definition,
    EventRow,
    Graph,
    RunRow,
    StepRow,
    Tokens,
)
from tideate_core.store.statistics import CostRow, MetricsRow

if TYPE_CHECKING:
    from tideate_core.store.objects import Objects

    Row = tuple[Any, ...]

__all__ = [
    "CHECKPOINTS",
    "COSTS",
    "DEFINITION",
    "EVENTS",
    "GATES",
    "EVENTS_OF_MEMOS",
    "GRAPH",
    "LAST_EVENT",
    "MEMOS",
    "MEMOS_OF_STEP",
    "METRICS",
    "NEWEST_CHECKPOINTS",
    "RUNS",
    "STEPS",
    "WANTED_CHECKPOINTS",
    "checkpoint_of",
    "costs_of",
    "definition_of",
    "event_of",
    "graph_of",
    "metrics_of",
    "run_of",
    "step_of",
]

# CROSS JOIN keeps SQLite from starting with workflows: lists are read in the order of an index of the runs
RUNS: Final = (
    "SELECT e.id, w.name, d.kind, e.status, e.started_at, e.completed_at, e.duration, e.completed_steps,"
    " e.failed_steps, e.total_steps, e.current_step, e.prompt, e.error, e.error_code, e.reason,"
    " e.input_tokens, e.output_tokens, e.cost, e.files, e.parent_id, e.workflow_id, e.definition_hash,"
    " e.path, e.source, e.restored_from, l.owner, l.pid, l.host, l.process_started, l.heartbeat_at,"
    " e.cached_tokens, e.continues, e.forked_from, e.forked_step, e.reused, e.compared"
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
    " started_at, completed_at, duration, input_tokens, output_tokens, cost, files, ordinal, cached_tokens"
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
    lease = None if row[25] is None else lease_of((row[25], row[26], row[27], row[28], row[29]))
    return RunRow(
        id=row[0],
        name=row[1],
        kind=row[2],
        status=row[3],
        started_at=row[4],
        completed_at=row[5],
        duration_ms=row[6],
        completed_steps=row[7],
        failed_steps=row[8],
        total_steps=row[9],
        current_step=row[10],
        prompt=row[11],
        error=row[12],
        error_code=row[13],
        reason=row[14],
        tokens=Tokens(row[15], row[16], row[17], row[30]),
        files=_strings(row[18], objects),
        parent=row[19],
        lease=lease,
        workflow_id=row[20],
        definition_hash=row[21],
        path=row[22],
        source=row[23],
        restored_from=row[24],
        continues=row[31],
        forked_from=row[32],
        forked_step=row[33],
        reused=row[34],
        compared=tuple(json.loads(row[35])) if row[35] else (),
    )


def step_of(row: Row, objects: Objects) -> StepRow:
    """Return a row of `STEPS` as a record."""
    return StepRow(
        step=row[0],
        name=row[1],
        agent=row[2],
        task=row[3],
        status=row[4],
        attempts=row[5],
        dependencies=_strings(row[6], objects),
        result=None if row[7] is None else objects.load(row[7]),
        error=row[8],
        error_code=row[9],
        started_at=row[10],
        completed_at=row[11],
        duration_ms=row[12],
        tokens=Tokens(row[13], row[14], row[15], row[18]),
        files=_strings(row[16], objects),
        order=row[17],
    )


def definition_of(row: Row) -> Definition:
    """Return a row of `DEFINITION` as a record."""
    workflow_id, name, kind, text, description, version, source, path = row
    return Definition(workflow_id, name, kind, text, description or "", version or "", source, path)


def graph_of(row: Row, objects: Objects) -> Graph:
    """Return a row of `GRAPH` as a record."""
    nodes, edges, order = (objects.load(column) for column in row)
    return Graph(
        tuple(nodes),
        tuple((dependency, dependent) for dependency, dependent in edges),
        tuple(tuple(batch) for batch in order),
    )


def event_of(row: Row, objects: Objects) -> EventRow:
    """Return a row of `EVENTS` as a record."""
    sequence, name, at, data = row
    return EventRow(sequence, name, at, objects.load(data))


def checkpoint_of(row: Row) -> CheckpointRow:
    """Return a row of `CHECKPOINTS` as a record."""
    identity, run, step, cursor, created_at, manual, memory = row
    return CheckpointRow(identity, run, step, cursor, created_at, memory, bool(manual))


def metrics_of(row: Row) -> MetricsRow:
    """Return a row of `METRICS` as a record."""
    return MetricsRow(*row)


def costs_of(row: Row) -> CostRow:
    """Return a row of `COSTS` as a record."""
    date, model, runs, answers, read, written, cost, cached, unpriced = row
    return CostRow(date, model or "", runs, answers, Tokens(read, written, cost, cached), unpriced)


def _strings(text: str | None, objects: Objects) -> tuple[str, ...]:
    # most columns are empty lists: a run of 10,000 steps has 20,000 of them
    return () if text is None or text == "[]" else tuple(objects.load(text))
