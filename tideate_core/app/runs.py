"""Runs of a project: find and count them; their JSON form."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, Any, Final, TypeVar

from tideate_core.app.threads import title_of
from tideate_core.app.wiring import locate_project
from tideate_core.project import project_state
from tideate_core.store import MOST_UNFINISHED, Reader, state_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tideate_core.store import (
        CheckpointRow,
        CostRow,
        GateCount,
        Lease,
        MetricsRow,
        RunRow,
        State,
        Tokens,
    )

__all__ = [
    "GATES",
    "average_ms",
    "checkpoint_json",
    "find_runs",
    "gates_json",
    "metrics_json",
    "next_command",
    "private_of",
    "read_runs",
    "reader_of",
    "run_json",
    "short_id",
    "tokens_json",
    "waiting_words",
    "waits_for",
]

T = TypeVar("T")

SHORT: Final = 8
"""Digits of an id that lists show."""
GATES: Final = ("plan", "audit", "execution", "documentation", "verification")


def private_of(root: str | None) -> Path:
    """Return where the runs of a project are kept; it may not exist yet.

    :param root: the directory that `--root` names.
    :raises ConfigError: it does not exist.
    """
    return project_state(locate_project(root))


def reader_of(root: str | None) -> Reader:
    """Return what reads the runs of a project.

    :param root: the directory that `--root` names.
    :raises ConfigError: it does not exist.
    """
    return Reader(private_of(root))


async def read_runs(root: Path | None, read: Callable[[Reader], T]) -> T:
    """Read a project's runs in a thread, and close the reader.

    :param root: the project's, None outside of any.
    :raises StoreError: the store cannot be read.
    """
    # here, because the shell lists runs without it
    import asyncio

    def read_and_close() -> T:
        reader = Reader(project_state(root))
        try:
            return read(reader)
        finally:
            reader.close()

    return await asyncio.to_thread(read_and_close)


def short_id(identity: str) -> str:
    """Return the beginning of a run's or a checkpoint's id, as lists show it and commands take it."""
    beginning, point, ordinal = identity.partition(".")
    return beginning[:SHORT] + point + ordinal


def find_runs(
    reader: Reader, *, limit: int, name: str | None = None, status: State | None = None
) -> list[RunRow]:
    """Return the newest runs of a name and a state.

    :raises StoreError: the store cannot be read.
    """
    if status in ("interrupted", "running", "paused"):
        unfinished = reader.runs(limit=MOST_UNFINISHED, name=name, unfinished=True)
        return [run for run in unfinished if state_of(run) == status][:limit]
    return reader.runs(limit=limit, name=name, status=status)


def waits_for(reader: Reader, run: RunRow) -> set[str]:
    """Return the kinds of the questions that a run, or one within it, has open; blocking.

    :raises StoreError: the store cannot be read.
    """
    asked = reader.last_event(run.id, "SD_EVENT_CONFIRMATION_REQUIRED")
    answered = reader.last_event(run.id, "SD_EVENT_CONFIRMATION_ANSWERED")
    is_open = asked is not None and (answered is None or answered.sequence < asked.sequence)
    kinds = {str(asked.data["kind"])} if asked is not None and is_open else set()
    return kinds.union(*(waits_for(reader, child) for child in reader.unfinished_within(run.id)))


def waiting_words(reader: Reader, run: RunRow) -> str:
    """Return what of the person a run waits for, empty where it is nothing; blocking.

    :raises StoreError: the store cannot be read.
    """
    kinds = waits_for(reader, run)
    what = next((kind for kind in ("review", "plan", "document") if kind in kinds), "question")
    return f"waits for your answer to its {what}" if kinds else ""


def run_json(run: RunRow) -> dict[str, Any]:
    """Return a run as tools get it. Times are milliseconds since the epoch."""
    return {
        "execution_id": run.id,
        "workflow": run.name,
        "kind": run.kind,
        "state": state_of(run),
        "status": run.status,
        "resumable": run.resumable,
        "started_at": run.started_at,
        "completed_at": run.completed_at,
        "duration_ms": run.duration_ms,
        "completed_steps": run.completed_steps,
        "failed_steps": run.failed_steps,
        "total_steps": run.total_steps,
        "step": run.current_step,
        "prompt": run.prompt,
        "title": title_of(run.prompt),
        "error": run.error,
        "error_code": run.error_code,
        "reason": run.reason,
        "usage": tokens_json(run.tokens),
        "files": list(run.files),
        "parent": run.parent,
        "owner": lease_json(run.lease),
        "definition": {"hash": run.definition_hash, "path": run.path, "source": run.source},
        "restored_from": run.restored_from,
        "forked_from": forked_json(run),
        "continues": run.continues,
        "compared": list(run.compared) or None,
    }


def forked_json(run: RunRow) -> dict[str, Any] | None:
    """Return the run and the step that a run was forked from; None of any other."""
    if run.forked_from is None or run.forked_step is None:
        return None
    return {"execution_id": run.forked_from, "step": run.forked_step}


def next_command(proposed: Mapping[str, Any]) -> str:
    """Return the command that begins the run which another proposed to follow it.

    :param proposed: as results and the event of its end have it.
    """
    adapter = f" --adapter {quote(proposed['adapter'])}" if "adapter" in proposed else ""
    return f"tideate run {proposed['workflow']} --continue {short_id(proposed['continues'])}{adapter}"


def lease_json(lease: Lease | None) -> dict[str, Any] | None:
    """Return who has a run; None where nobody has it."""
    if lease is None:
        return None
    host = lease.host.split()[0]
    return {"pid": lease.pid, "host": host, "alive": lease.alive, "heartbeat_at": lease.heartbeat_at}


def tokens_json(tokens: Tokens) -> dict[str, Any]:
    """Return the keys under which results have them, too."""
    shape: dict[str, Any] = {"input_tokens": tokens.input, "output_tokens": tokens.output}
    if tokens.cached:
        shape["cached_tokens"] = tokens.cached
    return shape if tokens.cost is None else {**shape, "cost": tokens.cost}


def metrics_json(row: MetricsRow) -> dict[str, Any]:
    """Return the JSON form of the metrics of one workflow and day."""
    return {
        "workflow_id": row.workflow_id,
        "workflow": row.name,
        "date": row.date,
        "total": row.total,
        "successful": row.successful,
        "failed": row.failed,
        "avg_duration_ms": row.avg_duration_ms,
        "avg_steps_completed": row.avg_steps_completed,
        "checkpoints": row.checkpoints,
        "last_executed_at": row.last_executed_at,
    }


def read_costs(reader: Reader, *, days: int | None = None) -> list[CostRow]:
    """Return what models took, by day (UTC) and model.

    :raises StoreError: the store cannot be read.
    """
    # here, because lists of runs need no engine
    from tideate_core.engine import EventName

    return reader.costs(EventName.MODEL_ANSWERED.value, days=days)


def cost_json(row: CostRow) -> dict[str, Any]:
    """Return the JSON form of what a model took on one day."""
    return {
        "date": row.date,
        "model": row.model,
        "runs": row.runs,
        "answers": row.answers,
        "usage": tokens_json(row.tokens),
        "answers_without_price": row.unpriced,
    }


def checkpoint_json(row: CheckpointRow) -> dict[str, Any]:
    """Return the JSON form of a checkpoint."""
    return {
        "checkpoint_id": row.id,
        "execution_id": row.run,
        "step": row.step,
        "cursor": row.cursor,
        "created_at": row.created_at,
        "manual": row.manual,
    }


def gates_json(counts: Mapping[int, GateCount]) -> list[dict[str, Any]]:
    """Return the statistics of all five gates."""
    return [_gate_json(number, name, counts.get(number)) for number, name in enumerate(GATES, start=1)]


def average_ms(count: GateCount) -> float:
    """Return how long a gate took on average, in milliseconds."""
    # a row is counted with its first decision
    return count.total_ms / (count.passed + count.failed)


def _gate_json(number: int, name: str, count: GateCount | None) -> dict[str, Any]:
    if count is None:
        return {"gate": number, "name": name, "passed": 0, "failed": 0, "auto_fixed": 0}
    return {
        "gate": number,
        "name": name,
        "passed": count.passed,
        "failed": count.failed,
        "auto_fixed": count.auto_fixed,
        "average_ms": average_ms(count),
        "longest_ms": count.longest_ms,
        "last_at": count.last_at,
    }
