"""SQL to add runs, change their definition, take them over, and send control requests."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from tideate_core.errors import RunEnded, RunIsOwned, RunLost, RunNotActive, RunNotFound, StoreError
from tideate_core.store.leases import TAKEOVER_AFTER, lease_of
from tideate_core.store.log_statements import write_release
from tideate_core.store.objects import definition_hash, pack, plain
from tideate_core.store.records import TERMINAL, Message
from tideate_core.store.run_texts import add_prompt
from tideate_core.store.transaction import Tally
from tideate_core.store.unfinished import mark_unfinished

if TYPE_CHECKING:
    from tideate_core.store.objects import Packed
    from tideate_core.store.records import ControlRequest, Definition, Graph, Lease, NewRun
    from tideate_core.store.transaction import Transaction

PROMPT_LENGTH: Final = 1000
"""Characters of a prompt shown in lists; the request has all of it."""


def add_run(transaction: Transaction, run: NewRun, request: str | Packed) -> None:
    """Insert a new run with its lease.

    :raises StoreError: the id is taken.
    """
    definition = run.definition
    if run_status(transaction, run.id) is not None:
        raise StoreError(f"there is a run {run.id} already; a run's id is used once")
    digest = _add_definition(transaction, definition, run.started_at)
    compared = run.request.get("compared")
    transaction.execute(
        "INSERT INTO workflow_executions (id, status, workflow_id, total_steps, started_at, definition_hash,"
        " source, path, prompt, parent_id, parent_step, continues, compared)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            run.id,
            run.status,
            definition.workflow_id,
            run.total_steps,
            run.started_at,
            digest,
            definition.source,
            None if definition.path is None else plain(definition.path),
            plain(str(run.request.get("prompt") or "")[:PROMPT_LENGTH]),
            run.parent,
            run.parent_step,
            run.request.get("continues"),
            plain(json.dumps(list(compared.values()))) if compared else None,
        ),
    )
    transaction.execute(
        "UPDATE workflow_executions SET request = ? WHERE id = ?",
        (transaction.column(run.id, request), run.id),
    )
    add_prompt(transaction.connection, run.id, str(run.request.get("prompt") or ""))
    _add_steps(transaction, run)
    if run.graph is not None:
        _add_graph(transaction, run.id, run.graph, run.started_at)
    _write_lease(transaction, run.id)
    mark_unfinished(transaction)


def change_definition(transaction: Transaction, run: NewRun) -> None:
    """Replace the definition of a run owned by this process.

    Ended steps stay; other steps that are missing in the new definition are deleted.

    :param run: the run as it would start with the new definition.
    :raises RunLost: another process owns it.
    """
    lease = _lease(transaction, run.id, TAKEOVER_AFTER)
    if lease is None or lease.owner != transaction.owner.id:
        raise RunLost(f"run {run.id} is not this process's; this process no longer writes it")
    definition = run.definition
    digest = _add_definition(transaction, definition, run.started_at)
    path = None if definition.path is None else plain(definition.path)
    transaction.execute(
        "UPDATE workflow_executions SET workflow_id = ?, definition_hash = ?, source = ?, path = ?,"
        " total_steps = ? WHERE id = ?",
        (definition.workflow_id, digest, definition.source, path, run.total_steps, run.id),
    )
    for statement in (
        "DELETE FROM workflow_steps WHERE execution_id = ? AND status = 'pending'",
        "UPDATE workflow_steps SET position = NULL WHERE execution_id = ?",
        "DELETE FROM workflow_graphs WHERE execution_id = ?",
    ):
        transaction.execute(statement, (run.id,))
    _add_steps(transaction, run)
    if run.graph is not None:
        _add_graph(transaction, run.id, run.graph, run.started_at)
        # a machine's steps have no position
        transaction.execute(
            "DELETE FROM workflow_steps WHERE execution_id = ? AND status = 'running' AND position IS NULL",
            (run.id,),
        )


def take_over(
    transaction: Transaction, run: str, takeover_after: float
) -> tuple[int, int, tuple[Message, ...]]:
    """Make this process the owner of a run.

    :returns: the number of the last event, the number of ended steps, and the messages that no model has
        read.

    :param takeover_after: seconds without a heartbeat.
    :raises RunNotFound: no run has this id.
    :raises RunEnded: it has ended.
    :raises RunIsOwned: a living process owns it.
    """
    status = run_status(transaction, run)
    if status is None:
        raise RunNotFound(run)
    if status in TERMINAL:
        raise RunEnded(f"run {run} is {status}; only an unfinished run can continue")
    lease = _lease(transaction, run, takeover_after)
    if lease is not None and lease.alive:
        raise RunIsOwned(
            f"run {run} is being run by process {lease.pid} on {lease.host.split()[0]}; "
            "pause or cancel it there, or end that process"
        )
    # requests to the previous owner do not apply to this one
    write_release(transaction, Tally(run, 0))
    _write_lease(transaction, run)
    mark_unfinished(transaction)
    sequence, ordinal = transaction.execute(
        "SELECT (SELECT COALESCE(MAX(sequence), 0) FROM workflow_events WHERE execution_id = ?1),"
        " (SELECT COALESCE(MAX(ordinal), 0) FROM workflow_steps WHERE execution_id = ?1)",
        (run,),
    ).fetchone()
    unread = transaction.execute(
        "SELECT text, id FROM workflow_wishes WHERE execution_id = ? ORDER BY id", (run,)
    ).fetchall()
    return int(sequence), int(ordinal), tuple(Message(text, number) for text, number in unread)


def add_control_request(
    transaction: Transaction, run: str, request: ControlRequest
) -> tuple[str, ControlRequest]:
    """Insert a request to a run's owner; a message stays, also from this process, until a model reads it.

    :returns: the owner, and the stored request.

    :raises RunNotFound: no run has this id.
    :raises RunNotActive: no living process owns it.
    """
    status = run_status(transaction, run)
    if status is None:
        raise RunNotFound(run)
    if status in TERMINAL:
        left = "no model that could read it" if isinstance(request, Message) else f"nothing left to {request}"
        raise RunNotActive(f"run {run} is {status}; there is {left}")
    lease = _lease(transaction, run, TAKEOVER_AFTER)
    own = transaction.owner.id
    if lease is None or not (lease.alive or lease.owner == own):
        what = "pass this on" if isinstance(request, Message) else f"{request} it"
        raise RunNotActive(
            f"no process has run {run}, so none can {what}; `tideate resume {run}` continues it"
        )
    if lease.owner != own or isinstance(request, Message):
        text = plain(request.text) if isinstance(request, Message) else ""
        added = transaction.execute(
            "INSERT INTO workflow_wishes (execution_id, wish, at, text) VALUES (?, ?, ?, ?)",
            (run, str(request), transaction.now, text),
        )
        if isinstance(request, Message):
            request = Message(text, int(added.lastrowid or 0))
    return lease.owner, request


def run_status(transaction: Transaction, run: str) -> str | None:
    """Return a run's status, None if no run has this id."""
    row = transaction.execute("SELECT status FROM workflow_executions WHERE id = ?", (run,)).fetchone()
    return None if row is None else str(row[0])


def _add_definition(transaction: Transaction, definition: Definition, at: int) -> str:
    """Store a definition's text and update its workflow; returns the text's hash."""
    digest = definition_hash(definition.text)
    transaction.execute(
        "INSERT OR IGNORE INTO workflow_definitions (hash, kind, text, created_at) VALUES (?, ?, ?, ?)",
        (digest, definition.kind, plain(definition.text), at),
    )
    transaction.execute(
        "INSERT INTO workflows (id, name, description, version, definition, created_at, updated_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET name = excluded.name,"
        " description = excluded.description, version = excluded.version, definition = excluded.definition,"
        " updated_at = excluded.updated_at WHERE definition <> excluded.definition",
        (
            definition.workflow_id,
            plain(definition.name),
            plain(definition.description),
            definition.version,
            digest,
            at,
            at,
        ),
    )
    return digest


def _lease(transaction: Transaction, run: str, takeover_after: float) -> Lease | None:
    row = transaction.execute(
        "SELECT owner, pid, host, process_started, heartbeat_at FROM workflow_leases WHERE execution_id = ?",
        (run,),
    ).fetchone()
    return None if row is None else lease_of(row, takeover_after=takeover_after, now=transaction.now)


def _write_lease(transaction: Transaction, run: str) -> None:
    owner = transaction.owner
    transaction.execute(
        "INSERT OR REPLACE INTO workflow_leases (execution_id, owner, pid, host, process_started,"
        " heartbeat_at) VALUES (?, ?, ?, ?, ?, ?)",
        (run, owner.id, owner.pid, owner.host, owner.process_started, transaction.now),
    )


def _add_steps(transaction: Transaction, run: NewRun) -> None:
    depends: dict[str, list[str]] = {}
    for dependency, dependent in run.graph.edges if run.graph is not None else ():
        depends.setdefault(dependent, []).append(dependency)
    rows = [
        (run.id, step, plain(name), agent, transaction.column(run.id, pack(depends.get(step, []))), position)
        for position, (step, name, agent) in enumerate(run.steps)
    ]
    transaction.connection.executemany(
        "INSERT INTO workflow_steps (execution_id, step_id, step_name, agent_id, task, dependencies,"
        " position) VALUES (?, ?, ?, ?, '', ?, ?)"
        # for a run in progress, ended steps keep their outcome
        " ON CONFLICT (execution_id, step_id) DO UPDATE SET step_name = excluded.step_name,"
        " agent_id = excluded.agent_id, position = excluded.position",
        rows,
    )


def _add_graph(transaction: Transaction, run: str, graph: Graph, at: int) -> None:
    columns = (pack(graph.nodes), pack(graph.edges), pack(graph.execution_order))
    nodes, edges, order = (transaction.column(run, column) for column in columns)
    transaction.execute(
        "INSERT INTO workflow_graphs (execution_id, nodes, edges, execution_order, created_at)"
        " VALUES (?, ?, ?, ?, ?)",
        (run, nodes, edges, order, at),
    )
