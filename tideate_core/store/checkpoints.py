"""SQL that makes a checkpoint of a run, and forks a run at one."""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import RunNotFound, StoreError
from tideate_core.store.id_prefix import find_checkpoint
from tideate_core.store.records import CheckpointRow
from tideate_core.store.runs import run_status

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from tideate_core.store.transaction import Transaction

__all__ = ["fork", "make_checkpoint"]

_COPIES: Final = (
    # a run by itself, also where the old one was a step of another: nobody waits for its answer
    "INSERT INTO workflow_executions (id, workflow_id, status, total_steps, started_at, definition_hash,"
    " source, path, request, prompt, restored_from, completed_steps, failed_steps, input_tokens,"
    " output_tokens, cost, cached_tokens, continues)"
    " SELECT :new, e.workflow_id, 'paused', e.total_steps, :at, e.definition_hash, e.source, e.path,"
    " e.request, e.prompt, :checkpoint, s.completed, s.failed, s.input, s.output, s.cost, s.cached,"
    " e.continues"
    " FROM workflow_executions e CROSS JOIN ("
    "   SELECT COALESCE(SUM(status = 'completed'), 0) AS completed,"
    "   COALESCE(SUM(status = 'failed'), 0) AS failed, COALESCE(SUM(input_tokens), 0) AS input,"
    "   COALESCE(SUM(output_tokens), 0) AS output, SUM(cost) AS cost,"
    "   COALESCE(SUM(cached_tokens), 0) AS cached"
    "   FROM workflow_steps WHERE execution_id = :old AND ordinal <= :cursor"
    "   AND step_id NOT IN (SELECT value FROM json_each(:again))"
    " ) s WHERE e.id = :old",
    "INSERT INTO workflow_steps (execution_id, step_id, step_name, agent_id, task, dependencies, status,"
    " result, error, error_code, duration, started_at, completed_at, position, ordinal, attempts,"
    " input_tokens, output_tokens, cost, cached_tokens, files)"
    " SELECT :new, step_id, step_name, agent_id, task, dependencies, status, result, error, error_code,"
    " duration, started_at, completed_at, position, ordinal, attempts, input_tokens, output_tokens, cost,"
    " cached_tokens, files FROM workflow_steps WHERE execution_id = :old AND ordinal <= :cursor"
    " AND step_id NOT IN (SELECT value FROM json_each(:again)) ORDER BY id",
    # the definition's other steps, as they were before the run began
    "INSERT INTO workflow_steps (execution_id, step_id, step_name, agent_id, task, dependencies, position)"
    " SELECT :new, step_id, step_name, agent_id, '', dependencies, position FROM workflow_steps"
    " WHERE execution_id = :old AND position IS NOT NULL"
    " AND (ordinal IS NULL OR ordinal > :cursor OR step_id IN (SELECT value FROM json_each(:again)))"
    " ORDER BY position",
    # of a step that was running then, its memos from before: answers that were given are not asked again
    "INSERT INTO workflow_memos (execution_id, step_id, key, value, cursor)"
    " SELECT :new, m.step_id, m.key, m.value, MIN(m.cursor, :last) FROM workflow_memos m"
    " LEFT JOIN workflow_steps s ON s.execution_id = m.execution_id AND s.step_id = m.step_id"
    " WHERE m.execution_id = :old AND (m.cursor < :cursor OR s.ordinal <= :cursor)"
    " AND m.step_id NOT IN (SELECT value FROM json_each(:again))",
    "INSERT INTO workflow_graphs (execution_id, nodes, edges, execution_order, created_at)"
    " SELECT :new, nodes, edges, execution_order, :at FROM workflow_graphs WHERE execution_id = :old",
    # the files in objects/ that the copied columns name
    "INSERT OR IGNORE INTO workflow_objects (execution_id, hash)"
    " SELECT :new, substr(value, 2) FROM ("
    "   SELECT request AS value FROM workflow_executions WHERE id = :new"
    "   UNION ALL SELECT result FROM workflow_steps WHERE execution_id = :new"
    "   UNION ALL SELECT dependencies FROM workflow_steps WHERE execution_id = :new"
    "   UNION ALL SELECT files FROM workflow_steps WHERE execution_id = :new"
    "   UNION ALL SELECT value FROM workflow_memos WHERE execution_id = :new"
    "   UNION ALL SELECT nodes FROM workflow_graphs WHERE execution_id = :new"
    "   UNION ALL SELECT edges FROM workflow_graphs WHERE execution_id = :new"
    "   UNION ALL SELECT execution_order FROM workflow_graphs WHERE execution_id = :new"
    " ) WHERE substr(value, 1, 1) = '@'",
)

_LAST: Final = (
    "SELECT COALESCE(MAX(ordinal), 0) FROM workflow_steps WHERE execution_id = :old AND ordinal <= :cursor"
    " AND step_id NOT IN (SELECT value FROM json_each(:again))"
)


def make_checkpoint(transaction: Transaction, run: str, at: int) -> CheckpointRow:
    """Make the checkpoint that a person wants, where the run is now.

    :raises RunNotFound: no run has this id.
    """
    if run_status(transaction, run) is None:
        raise RunNotFound(run)
    last = transaction.execute(
        "SELECT step_id, ordinal FROM workflow_steps WHERE execution_id = ? AND ordinal IS NOT NULL"
        " ORDER BY ordinal DESC LIMIT 1",
        (run,),
    ).fetchone()
    step, cursor = last or ("", 0)
    return _add_checkpoint(transaction, run, step, cursor, at)


def fork(
    transaction: Transaction, checkpoint_id: str, new_id: str, at: int, again: Collection[str] = ()
) -> None:
    """Make a run that nobody has, paused where a checkpoint was made; the old run stays as it is.

    It has the definition, the request and the graph of the old one, the steps that had ended then, with
    their memos, and the earlier memos of those that were running then. It has no events yet.

    :param checkpoint_id: or the beginning of it.
    :param new_id: 32 hexadecimal digits.
    :param at: milliseconds since the epoch.
    :param again: steps that had ended and of which the new run is to know nothing: it runs them itself.
    :raises CheckpointNotFound: no checkpoint has this id.
    :raises InvalidInput: several begin so.
    :raises StoreError: there is a run with the new id.
    """

    def fetch(statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        return transaction.execute(statement, values).fetchall()

    checkpoint, old, _, cursor, _, _ = find_checkpoint(fetch, checkpoint_id)
    if fetch("SELECT 1 FROM workflow_executions WHERE id = ?", (new_id,)):
        raise StoreError(f"there is a run {new_id} already; a run's id is used once")
    named = {"old": old, "new": new_id, "cursor": cursor, "checkpoint": checkpoint, "at": at}
    named["again"] = json.dumps(list(again))
    # the new run counts on from there
    [(named["last"],)] = transaction.connection.execute(_LAST, named)
    for statement in _COPIES:
        transaction.connection.execute(statement, named)


def _add_checkpoint(transaction: Transaction, run: str, step: str, cursor: int, at: int) -> CheckpointRow:
    """Write a checkpoint; no two are of one millisecond: nothing else has their order."""
    taken = "SELECT 1 FROM workflow_checkpoints WHERE created_at = ?"
    while transaction.execute(taken, (at,)).fetchone():
        at += 1
    row = CheckpointRow(secrets.token_hex(16), run, step, cursor, at, manual=True)
    transaction.execute(
        "INSERT INTO workflow_checkpoints (id, execution_id, step_id, cursor, manual, created_at)"
        " VALUES (?, ?, ?, ?, 1, ?)",
        (row.id, run, step, cursor, at),
    )
    return row
