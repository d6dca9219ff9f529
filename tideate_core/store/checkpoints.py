"""SQL to create a checkpoint of a run, and to fork a run at a checkpoint or a step."""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import RunNotFound, StoreError
from tideate_core.store.id_prefix import find_checkpoint
from tideate_core.store.log_statements import memory_usage
from tideate_core.store.objects import plain
from tideate_core.store.records import CheckpointRow, Fork
from tideate_core.store.run_texts import add_prompt
from tideate_core.store.runs import PROMPT_LENGTH, run_status
from tideate_core.store.unfinished import mark_unfinished

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from tideate_core.store.objects import Packed
    from tideate_core.store.transaction import Transaction

_COPIES: Final = (
    # a top-level run, even if the old one was a step of another run
    "INSERT INTO workflow_executions (id, workflow_id, status, total_steps, started_at, definition_hash,"
    " source, path, request, prompt, restored_from, completed_steps, failed_steps, input_tokens,"
    " output_tokens, cost, cached_tokens, continues, forked_from, forked_step, reused)"
    " SELECT :new, e.workflow_id, 'paused', e.total_steps, :at, e.definition_hash, e.source, e.path,"
    " e.request, e.prompt, :checkpoint, s.completed, s.failed, s.input, s.output, s.cost, s.cached,"
    " e.continues, e.id, :step, :last"
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
    " input_tokens, output_tokens, cost, cached_tokens, files, memory)"
    " SELECT :new, step_id, step_name, agent_id, task, dependencies, status, result, error, error_code,"
    " duration, started_at, completed_at, position, ordinal, attempts, input_tokens, output_tokens, cost,"
    " cached_tokens, files, memory FROM workflow_steps WHERE execution_id = :old AND ordinal <= :cursor"
    " AND step_id NOT IN (SELECT value FROM json_each(:again)) ORDER BY id",
    # the definition's other steps, in their initial state
    "INSERT INTO workflow_steps (execution_id, step_id, step_name, agent_id, task, dependencies, position)"
    " SELECT :new, step_id, step_name, agent_id, '', dependencies, position FROM workflow_steps"
    " WHERE execution_id = :old AND position IS NOT NULL"
    " AND (ordinal IS NULL OR ordinal > :cursor OR step_id IN (SELECT value FROM json_each(:again)))"
    " ORDER BY position",
    # for a step that was running, its earlier memos, so that no question is asked again;
    # items of a list have their own memos
    "INSERT INTO workflow_memos (execution_id, step_id, key, value, cursor, event)"
    " SELECT :new, m.step_id, m.key, m.value, MIN(m.cursor, :last), m.event - 1 - (SELECT"
    "   COALESCE(MAX(sequence), 0) FROM workflow_events WHERE execution_id = :old) FROM workflow_memos m"
    " LEFT JOIN workflow_steps s ON s.execution_id = m.execution_id AND s.step_id = m.step_id"
    " WHERE m.execution_id = :old AND CASE m.step_id WHEN '' THEN"
    "   m.key IN (SELECT value FROM json_each(:memos)) OR ((m.cursor < :memos_before"
    "   OR m.event < :until) AND m.key NOT IN (SELECT value FROM json_each(:no_memos)))"
    "   ELSE (substr(m.step_id, 1, instr(m.step_id || '[', '[') - 1) = :step"
    "   AND m.event < :until)"
    "   OR ((m.cursor < :cursor OR s.ordinal <= :cursor)"
    "   AND substr(m.step_id, 1, instr(m.step_id || '[', '[') - 1)"
    "     NOT IN (SELECT value FROM json_each(:again))) END",
    "INSERT INTO workflow_graphs (execution_id, nodes, edges, execution_order, created_at)"
    " SELECT :new, nodes, edges, execution_order, :at FROM workflow_graphs WHERE execution_id = :old",
    # files in objects/ referenced by the copied columns
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

_COPY_PROMPT: Final = (
    "INSERT INTO run_texts (execution_id, prompt) SELECT ?, prompt FROM run_texts WHERE execution_id = ?"
)

_ADD_MEMO: Final = (
    "INSERT OR REPLACE INTO workflow_memos (execution_id, step_id, key, value, cursor, event)"
    " VALUES (?, ?, ?, ?, ?, -1)"
)

_LAST: Final = (
    "SELECT COALESCE(MAX(ordinal), 0) FROM workflow_steps WHERE execution_id = :old AND ordinal <= :cursor"
    " AND step_id NOT IN (SELECT value FROM json_each(:again))"
)


def make_checkpoint(transaction: Transaction, run: str, at: int) -> CheckpointRow:
    """Create a manual checkpoint at a run's current position.

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
    transaction: Transaction,
    wanted: Fork,
    request: str | Packed | None,
    results: Mapping[str, str | Packed] | None = None,
    memos: Mapping[str, str | Packed] | None = None,
) -> None:
    """Create a paused copy of a run as of an earlier position; the source is unchanged.

    The copy has the source's definition, request and graph, the steps that had ended by then with their
    memos, and the earlier memos of steps that were running. It has no events yet and no owner.

    :param request: the new run's request as a column value; None: the source's.
    :param results: replaced step results as column values, by step.
    :param memos: memos to add to the named step, or to replace, by key.
    :raises RunNotFound: the source is gone.
    :raises StoreError: the new id is taken.
    """
    if run_status(transaction, wanted.source) is None:
        raise RunNotFound(wanted.source)
    if run_status(transaction, wanted.run) is not None:
        raise StoreError(f"there is a run {wanted.run} already; a run's id is used once")
    before = wanted.cursor if wanted.memos_before is None else wanted.memos_before
    named: dict[str, Any] = {"old": wanted.source, "new": wanted.run, "cursor": wanted.cursor}
    named |= {"until": wanted.until}
    named |= {"checkpoint": wanted.checkpoint, "step": wanted.step, "at": wanted.at, "memos_before": before}
    lists = {"again": wanted.again, "memos": wanted.memos, "no_memos": wanted.no_memos}
    named |= {name: json.dumps(value) for name, value in lists.items()}
    # the new run continues this count
    [(named["last"],)] = transaction.connection.execute(_LAST, named)
    copy_run, *copy_rest = _COPIES
    transaction.connection.execute(copy_run, named)
    if request is not None:
        prompt = plain(str((wanted.request or {}).get("prompt") or "")[:PROMPT_LENGTH])
        transaction.execute(
            "UPDATE workflow_executions SET request = ?, prompt = ? WHERE id = ?",
            (transaction.column(wanted.run, request), prompt, wanted.run),
        )
        add_prompt(transaction.connection, wanted.run, str((wanted.request or {}).get("prompt") or ""))
    else:
        transaction.execute(_COPY_PROMPT, (wanted.run, wanted.source))
    for statement in copy_rest:
        transaction.connection.execute(statement, named)
    for step, result in (results or {}).items():
        transaction.execute(
            "UPDATE workflow_steps SET result = ? WHERE execution_id = ? AND step_id = ?",
            (transaction.column(wanted.run, result), wanted.run, step),
        )
    for key, value in (memos or {}).items():
        column = transaction.column(wanted.run, value)
        transaction.execute(_ADD_MEMO, (wanted.run, wanted.step, key, column, named["last"]))
    mark_unfinished(transaction)


def checkpoint_fork(
    transaction: Transaction, checkpoint_id: str, new_id: str, at: int, again: Collection[str]
) -> Fork:
    """Return the fork of a run at one of its checkpoints.

    :param checkpoint_id: an id or its beginning.
    :raises CheckpointNotFound: no checkpoint has this id.
    :raises InvalidInput: several ids begin with it.
    """
    found = find_checkpoint(
        lambda statement, values: transaction.execute(statement, values).fetchall(), checkpoint_id
    )
    checkpoint, old, _, cursor, *_ = found
    return Fork(old, new_id, at, cursor, tuple(again), checkpoint=checkpoint)


def _add_checkpoint(transaction: Transaction, run: str, step: str, cursor: int, at: int) -> CheckpointRow:
    """Insert a checkpoint with a unique time in milliseconds: its order depends on nothing else."""
    taken = "SELECT 1 FROM workflow_checkpoints WHERE created_at = ?"
    while transaction.execute(taken, (at,)).fetchone():
        at += 1
    row = CheckpointRow(secrets.token_hex(16), run, step, cursor, at, manual=True, memory=memory_usage())
    transaction.execute(
        "INSERT INTO workflow_checkpoints (id, execution_id, step_id, cursor, manual, created_at, memory)"
        " VALUES (?, ?, ?, ?, 1, ?, ?)",
        (row.id, run, step, cursor, at, row.memory),
    )
    return row
