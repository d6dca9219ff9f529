"""Access to a project's runs and their open questions; JSON form of runs, checkpoints and statistics."""

from __future__ import annotations

from dataclasses import asdict
from shlex import quote
from typing import TYPE_CHECKING, Any, Final, TypeVar

from tideate_core.app.threads import title_of
from tideate_core.app.wiring import locate_project
from tideate_core.project import project_state
from tideate_core.store import Reader, state_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tideate_core.store import (
        CheckpointRow,
        CostRow,
        GateCount,
        MetricsRow,
        RunRow,
        Tokens,
    )

T = TypeVar("T")

SHORT: Final = 8
"""Digits of an id in lists."""
GATES: Final = ("plan", "audit", "execution", "documentation", "verification")


def reader_of(root: str | None) -> Reader:
    """Return a reader of a project's runs.

    :param root: value of `--root`.
    :raises ConfigError: the named root does not exist.
    """
    return Reader(project_state(locate_project(root)))


async def read_runs(root: Path | None, read: Callable[[Reader], T]) -> T:
    """Read a project's runs in a thread, then close the reader.

    :param root: None outside of a project.
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
    """Return the prefix of a run or checkpoint id that lists show and commands accept."""
    beginning, point, ordinal = identity.partition(".")
    return beginning[:SHORT] + point + ordinal


def waits_for(reader: Reader, run: RunRow) -> set[str]:
    """Return the kinds of open questions of a run and the runs within it; blocking.

    :raises StoreError: the store cannot be read.
    """
    asked = reader.last_event(run.id, "SD_EVENT_CONFIRMATION_REQUIRED")
    answered = reader.last_event(run.id, "SD_EVENT_CONFIRMATION_ANSWERED")
    is_open = asked is not None and (answered is None or answered.sequence < asked.sequence)
    kinds = {str(asked.data["kind"])} if asked is not None and is_open else set()
    return kinds.union(*(waits_for(reader, child) for child in reader.unfinished_within(run.id)))


def waiting_words(reader: Reader, run: RunRow) -> str:
    """Return the phrase for a run that waits for an answer, empty if it does not; blocking.

    :raises StoreError: the store cannot be read.
    """
    kinds = waits_for(reader, run)
    what = next((kind for kind in ("review", "plan", "document") if kind in kinds), "question")
    return f"waits for your answer to its {what}" if kinds else ""


def run_json(run: RunRow) -> dict[str, Any]:
    """Return the JSON form of a run. Times are milliseconds since the epoch."""
    lease, forked = run.lease, run.forked_from is not None and run.forked_step is not None
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
        "owner": lease
        and {
            "pid": lease.pid,
            "host": lease.host.split()[0],
            "alive": lease.alive,
            "heartbeat_at": lease.heartbeat_at,
        },
        "definition": {"hash": run.definition_hash, "path": run.path, "source": run.source},
        "restored_from": run.restored_from,
        "forked_from": {"execution_id": run.forked_from, "step": run.forked_step} if forked else None,
        "continues": run.continues,
        "compared": list(run.compared) or None,
    }


def next_command(proposed: Mapping[str, Any]) -> str:
    """Return the shell command for a follow-up run.

    :param proposed: the proposal, from a result or a completion event.
    """
    adapter = f" --adapter {quote(proposed['adapter'])}" if "adapter" in proposed else ""
    return f"tideate run {proposed['workflow']} --continue {short_id(proposed['continues'])}{adapter}"


def tokens_json(tokens: Tokens) -> dict[str, Any]:
    """Return the JSON form of token counts; `cost` only if known."""
    shape: dict[str, Any] = {"input_tokens": tokens.input, "output_tokens": tokens.output}
    if tokens.cached:
        shape["cached_tokens"] = tokens.cached
    return shape if tokens.cost is None else {**shape, "cost": tokens.cost}


def metrics_json(row: MetricsRow) -> dict[str, Any]:
    """Return the JSON form of the metrics of one workflow and day."""
    shape = asdict(row)
    return {"workflow_id": shape.pop("workflow_id"), "workflow": shape.pop("name"), **shape}


def read_costs(reader: Reader, *, days: int | None = None) -> list[CostRow]:
    """Return token counts and costs by day (UTC) and model.

    :raises StoreError: the store cannot be read.
    """
    # here, because lists of runs need no engine
    from tideate_core.engine import EventName

    return reader.costs(EventName.MODEL_ANSWERED.value, days=days)


def cost_json(row: CostRow) -> dict[str, Any]:
    """Return the JSON form of a model's usage and cost on one day."""
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
    """Return the JSON form of the statistics of all five gates."""
    found = []
    for number, name in enumerate(GATES, start=1):
        shape = {"gate": number, "name": name, "passed": 0, "failed": 0, "auto_fixed": 0}
        if count := counts.get(number):
            shape |= {**asdict(count), "average_ms": average_ms(count)}
            del shape["total_ms"]
        found.append(shape)
    return found


def average_ms(count: GateCount) -> float:
    """Return the average duration of a gate in milliseconds."""
    # a row exists from the first decision on, so the sum is not zero
    return count.total_ms / (count.passed + count.failed)
