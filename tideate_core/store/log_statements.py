"""SQL to write one run's log: events, steps, memos, counts and the ending."""

from __future__ import annotations

import resource
import sys
from typing import TYPE_CHECKING, Any, Final

from tideate_core.store.objects import pack, plain
from tideate_core.store.records import CheckpointRow
from tideate_core.store.run_texts import index_answers
from tideate_core.store.unfinished import unmark_unfinished

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.store.objects import Packed
    from tideate_core.store.records import Ending, Message, StepOutcome, StepStart
    from tideate_core.store.transaction import Tally, Transaction

    EventValues = tuple[str, int, str, int, str | Packed]
    """Run, sequence, name, time, data."""

    Started = tuple[StepStart, str | Packed]
    """A step's start, and its dependencies as a column value."""

TASK_LENGTH: Final = 2000
"""Characters of a step's task that are stored: it is shown, never run again."""


def write_events(transaction: Transaction, events: Sequence[EventValues]) -> None:
    """Insert events."""
    rows = [
        (run, sequence, name, at, transaction.column(run, data)) for run, sequence, name, at, data in events
    ]
    transaction.connection.executemany(
        "INSERT INTO workflow_events (execution_id, sequence, name, at, data) VALUES (?, ?, ?, ?, ?)", rows
    )


def write_start(transaction: Transaction, tally: Tally, started: Started) -> None:
    """Write the start of a step, or of another attempt."""
    start, _ = started
    _write_step(transaction, tally.run, start.step, _start_columns(transaction, tally, started), start)


def write_outcome(
    transaction: Transaction,
    tally: Tally,
    outcome: StepOutcome,
    result: str | Packed,
    started: Started | None = None,
) -> CheckpointRow | None:
    """Write the outcome of a step; returns the checkpoint after a completed step.

    :param started: its start, if not yet written.
    """
    tally.cursor += 1
    tally.outcomes.append(outcome)
    memory, tokens = memory_usage(), outcome.tokens
    columns = {
        **(_start_columns(transaction, tally, started) if started else {}),
        "status": outcome.status,
        "result": transaction.column(tally.run, result),
        "error": None if outcome.error is None else plain(outcome.error),
        "error_code": outcome.error_code,
        "duration": outcome.duration_ms,
        "completed_at": outcome.completed_at,
        "ordinal": tally.cursor,
        "input_tokens": tokens.input,
        "output_tokens": tokens.output,
        "cost": tokens.cost,
        "cached_tokens": tokens.cached,
        "files": _files(transaction, tally.run, outcome.files),
        "memory": memory,
    }
    _write_step(transaction, tally.run, outcome.step, columns, started[0] if started else None)
    if outcome.status != "completed":
        return None
    identity = f"{tally.run}.{tally.cursor}"  # as in the view `all_checkpoints`
    return CheckpointRow(identity, tally.run, outcome.step, tally.cursor, outcome.completed_at, memory=memory)


def write_memo(
    transaction: Transaction, tally: Tally, step: str, key: str, value: str | Packed, event: int
) -> None:
    """Write a memo of a step; replaces an earlier value of the key.

    :param event: the number of the last event at that time.
    """
    transaction.execute(
        "INSERT INTO workflow_memos (execution_id, step_id, key, value, cursor, event)"
        " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (execution_id, step_id, key) DO UPDATE SET"
        " value = excluded.value, cursor = excluded.cursor, event = excluded.event",
        (tally.run, step, key, transaction.column(tally.run, value), tally.cursor, event),
    )


def write_read_messages(
    transaction: Transaction,
    tally: Tally,
    step: str,
    key: str,
    value: str | Packed,
    event: int,
    read: Sequence[Message],
) -> None:
    """Write messages as a memo of the step that reads them, and delete them, of any run."""
    write_memo(transaction, tally, step, key, value, event)
    delete_messages(transaction, tally, read)


def delete_messages(transaction: Transaction, _tally: Tally, messages: Sequence[Message]) -> None:
    """Delete messages."""
    numbers = [(message.id,) for message in messages]
    transaction.connection.executemany("DELETE FROM workflow_wishes WHERE id = ?", numbers)


def write_counts(transaction: Transaction, tally: Tally) -> None:
    """Update the status and the counts in the run's row."""
    if tally.status is not None:
        # separate, because the status is indexed
        transaction.execute(
            "UPDATE workflow_executions SET status = ? WHERE id = ?", (tally.status, tally.run)
        )
    if not tally.moved and not tally.outcomes:
        return
    statuses = [outcome.status for outcome in tally.outcomes]
    tokens = [outcome.tokens for outcome in tally.outcomes]
    costs = [each.cost for each in tokens if each.cost is not None]
    transaction.execute(
        "UPDATE workflow_executions SET completed_steps = completed_steps + ?,"
        " failed_steps = failed_steps + ?, input_tokens = input_tokens + ?,"
        " output_tokens = output_tokens + ?,"
        " cost = CASE WHEN ?5 IS NULL THEN cost ELSE COALESCE(cost, 0) + ?5 END,"
        " current_step = CASE WHEN ?6 THEN ?7 ELSE current_step END,"
        " cached_tokens = cached_tokens + ?8 WHERE id = ?9",
        (
            statuses.count("completed"),
            statuses.count("failed"),
            sum(each.input for each in tokens),
            sum(each.output for each in tokens),
            sum(costs) if costs else None,
            tally.moved,
            tally.step,
            sum(each.cached for each in tokens),
            tally.run,
        ),
    )


def write_ending(transaction: Transaction, tally: Tally, ending: Ending, response: str | Packed) -> None:
    """Write the run's final row, fail steps that still run, and delete its lease."""
    tally.status, tally.moved = None, False
    tokens = ending.tokens
    transaction.execute(
        "UPDATE workflow_steps SET status = 'failed', error = ?, completed_at = ?"
        " WHERE execution_id = ? AND status = 'running'",
        (f"stopped, the run was {ending.status}", ending.completed_at, tally.run),
    )
    transaction.execute(
        "UPDATE workflow_executions SET status = ?, current_step = NULL, results = ?, error = ?,"
        " error_code = ?, completed_at = ?, duration = ?, completed_steps = ?, failed_steps = ?,"
        " reason = ?, input_tokens = ?, output_tokens = ?, cost = ?, cached_tokens = ?, files = ?"
        " WHERE id = ?",
        (
            ending.status,
            transaction.column(tally.run, response),
            None if ending.error is None else plain(ending.error),
            ending.error_code,
            ending.completed_at,
            ending.duration_ms,
            ending.completed_steps,
            ending.failed_steps,
            ending.reason,
            tokens.input,
            tokens.output,
            tokens.cost,
            tokens.cached,
            _files(transaction, tally.run, ending.files),
            tally.run,
        ),
    )
    index_answers(transaction.connection, transaction.objects, tally.run)
    tally.outcomes.clear()  # the row has the final counts of `ending`; nothing is added to them
    transaction.execute("DELETE FROM workflow_wishes WHERE execution_id = ?", (tally.run,))
    write_release(transaction, tally)
    unmark_unfinished(transaction)


def write_release(transaction: Transaction, tally: Tally) -> None:
    """Delete the run's lease and the control requests to its owner; messages stay for the next owner."""
    transaction.execute("DELETE FROM workflow_leases WHERE execution_id = ?", (tally.run,))
    transaction.execute(
        "DELETE FROM workflow_wishes AS w WHERE w.execution_id = ? AND w.wish <> 'say'", (tally.run,)
    )


def _start_columns(transaction: Transaction, tally: Tally, started: Started) -> dict[str, Any]:
    start, dependencies = started
    return {
        "task": plain(start.task[:TASK_LENGTH]),
        "dependencies": transaction.column(tally.run, dependencies),
        "attempts": start.attempt,
        "started_at": start.started_at,
        "status": "running",
        **dict.fromkeys(("completed_at", "duration", "error", "error_code")),
    }


def _write_step(
    transaction: Transaction, run: str, step: str, columns: dict[str, Any], start: StepStart | None
) -> None:
    """Update a step's row, or insert it: a machine's step has none before, nor has a skipped one."""
    names = ", ".join(f"{name} = ?" for name in columns)
    done = transaction.execute(
        f"UPDATE workflow_steps SET {names} WHERE execution_id = ? AND step_id = ?",  # noqa: S608 our names
        (*columns.values(), run, step),
    )
    if done.rowcount:
        return
    # an existing row keeps its name and agent: writing them would update the index on agents
    name, agent = (step, "") if start is None else (plain(start.name), start.agent)
    row = {"execution_id": run, "step_id": step, "step_name": name, "agent_id": agent}
    row |= {"task": "", "dependencies": "[]", **columns}
    places = ", ".join("?" * len(row))
    statement = f"INSERT INTO workflow_steps ({', '.join(row)}) VALUES ({places})"  # noqa: S608 our names
    transaction.execute(statement, tuple(row.values()))


def memory_usage() -> int:
    """Return the peak memory of this process in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _files(transaction: Transaction, run: str, files: tuple[str, ...]) -> str:
    return transaction.column(run, pack(list(files))) if files else "[]"
