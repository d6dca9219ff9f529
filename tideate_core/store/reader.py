"""Reader of the store: runs, steps, events, checkpoints and counts; never waits for a writer."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, TypeVar

from tideate_core.errors import InvalidInput, RunNotFound, StoreError
from tideate_core.store.database import FILE, ReadConnections
from tideate_core.store.id_prefix import CHECKPOINTS, SELECT_CHECKPOINTS, find_checkpoint, find_run_id
from tideate_core.store.leases import lease_of
from tideate_core.store.objects import Objects
from tideate_core.store.records import (
    TERMINAL,
    CheckpointRow,
    CostRow,
    Definition,
    EventRow,
    FoundRun,
    GateCount,
    Graph,
    MetricsRow,
    RunRow,
    StepRow,
    Tokens,
)
from tideate_core.store.run_texts import (
    NEAREST_FIRST,
    SEARCH,
    WITH_WORD,
    excerpt_of,
    near_numbers,
    query_of,
    telling_words,
)
from tideate_core.store.unfinished import UNFINISHED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from tideate_core.store.id_prefix import Row

T = TypeVar("T")

MOST_UNFINISHED: Final = 1000
"""Maximum number of unfinished runs searched for resumable ones."""

_NO_NUMBER: Final = 2**63 - 1

_NO_LIMIT: Final = -1
"""SQLite's value for no limit."""


# CROSS JOIN keeps SQLite from starting with workflows: lists are read in the order of an index of the runs
_RUNS: Final = (
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

_DEFINITION: Final = (
    "SELECT w.id, w.name, d.kind, d.text, w.description, w.version, e.source, e.path"
    " FROM workflow_executions e"
    " JOIN workflows w ON w.id = e.workflow_id"
    " JOIN workflow_definitions d ON d.hash = e.definition_hash"
    " WHERE e.id = ?"
)

_REQUEST: Final = "SELECT request FROM workflow_executions WHERE id = ?"

_RESPONSE: Final = "SELECT results FROM workflow_executions WHERE id = ?"

_GRAPH: Final = "SELECT nodes, edges, execution_order FROM workflow_graphs WHERE execution_id = ?"

_STEPS: Final = (
    "SELECT step_id, step_name, agent_id, task, status, attempts, dependencies, result, error, error_code,"
    " started_at, completed_at, duration, input_tokens, output_tokens, cost, cached_tokens, files, ordinal"
    " FROM workflow_steps WHERE execution_id = ?"
    " ORDER BY position IS NULL, position, started_at IS NULL, started_at, id"
)

_RUN_EVENTS: Final = "SELECT sequence, name, at, data FROM workflow_events WHERE execution_id = ?"

_EVENTS: Final = f"{_RUN_EVENTS} AND sequence > ? ORDER BY sequence LIMIT ?"

_LAST_EVENT: Final = f"{_RUN_EVENTS} AND name = ? ORDER BY sequence DESC LIMIT 1"

_MEMOS: Final = "SELECT step_id, key, value FROM workflow_memos WHERE execution_id = ?"

_EVENTS_OF_MEMOS: Final = "SELECT key, event FROM workflow_memos WHERE execution_id = ? AND step_id = ?"

_MEMOS_OF_STEP: Final = (
    "SELECT key, value FROM workflow_memos WHERE execution_id = ? AND step_id = ? AND substr(key, 1, ?) = ?"
)

_CHAIN: Final = (
    "WHERE e.id IN (WITH RECURSIVE chain(id) AS (SELECT ? UNION SELECT c.continues FROM chain"
    " JOIN workflow_executions c ON c.id = chain.id WHERE c.continues IS NOT NULL) SELECT id FROM chain)"
    " ORDER BY e.rowid"
)

_MEMO_OF_EACH: Final = (
    "SELECT execution_id, value FROM workflow_memos"
    " WHERE execution_id IN (SELECT value FROM json_each(?)) AND step_id = ? AND key = ?"
)

_WITH_MEMO: Final = (
    "SELECT DISTINCT execution_id FROM workflow_memos"
    " WHERE execution_id IN (SELECT value FROM json_each(?)) AND step_id = '' AND substr(key, 1, ?) = ?"
)

_NEWEST_CHECKPOINTS: Final = (
    f"{CHECKPOINTS} WHERE execution_id = ? ORDER BY cursor DESC, created_at DESC, manual DESC LIMIT ?"
)

_WANTED_CHECKPOINTS: Final = (
    f"{SELECT_CHECKPOINTS} FROM workflow_checkpoints ORDER BY created_at DESC LIMIT ?"
)

_GATES: Final = (
    "SELECT gate, SUM(passed), SUM(failed), SUM(auto_fixed), SUM(total_duration), MAX(longest_duration),"
    " MAX(last_at) FROM gate_statistics WHERE date >= ? GROUP BY gate ORDER BY gate"
)

_METRICS: Final = (
    "SELECT m.workflow_id, COALESCE(w.name, m.workflow_id), m.date, m.total_executions,"
    " m.successful_executions, m.failed_executions, m.avg_duration, m.avg_steps_completed,"
    " m.checkpoints_created, m.last_executed_at"
    " FROM workflow_metrics m LEFT JOIN workflows w ON w.id = m.workflow_id"
)

# large data is in a file and begins with `@`; usage is small
_COSTS: Final = (
    "SELECT DATE(at / 1000, 'unixepoch') AS day, json_extract(data, '$.model') AS model,"
    " COUNT(DISTINCT execution_id), COUNT(*),"
    " SUM(json_extract(data, '$.usage.input_tokens')), SUM(json_extract(data, '$.usage.output_tokens')),"
    " SUM(json_extract(data, '$.usage.cost')) AS cost,"
    " SUM(COALESCE(json_extract(data, '$.usage.cached_tokens'), 0)),"
    " SUM(json_extract(data, '$.usage.cost') IS NULL)"
    " FROM workflow_events WHERE name = ? AND at >= ? AND data LIKE '{%'"
    " GROUP BY day, model ORDER BY day DESC, cost IS NULL, cost DESC, model"
)


class Reader:
    """Reads `tideate.db` and `objects/` of a private directory, with one connection per thread.

    All methods block: an event loop calls them in a thread. Without a database there are no runs.

    Every method raises StoreError if the database or a value in it cannot be read, and StoreIsNewer if a
    newer tideate made it.
    """

    def __init__(self, private: Path) -> None:
        self._connections = ReadConnections(private / FILE)
        self._fetch = self._connections.fetch
        self._objects = Objects(private)

    def runs(
        self,
        *,
        limit: int = 50,
        before: int | None = None,
        before_id: str | None = None,
        name: str | None = None,
        status: str | None = None,
        unfinished: bool = False,
        parents_only: bool = True,
        with_memo: str | None = None,
        as_begun: bool = False,
    ) -> list[RunRow]:
        """Return runs, newest first.

        :param before: only runs that started earlier, in milliseconds since the epoch.
        :param before_id: with `before`, the last run of the previous page: runs that started in the same
            millisecond continue after it.
        :param name: only runs of workflows with this name.
        :param unfinished: only runs that have not ended.
        :param parents_only: without runs that are steps of others.
        :param with_memo: only runs with a run-level memo whose key begins with this text.
        :param as_begun: in the order of their starts, even if the clock was set back in between.
        """
        # few runs are unfinished or of one name: find them by that index, then sort;
        # read all others in the order of their index: a `+` keeps SQLite from using one
        narrow = unfinished or name is not None or (status is not None and status not in TERMINAL)
        start = "+e.started_at" if narrow else "e.started_at"
        wheres: list[str] = [UNFINISHED] if unfinished else []
        values: list[Any] = []
        if name is not None:
            wheres.append("e.workflow_id IN (SELECT id FROM workflows WHERE name = ?)")
            values.append(name)
        if status is not None:
            wheres.append("e.status = ?" if narrow and name is None else "+e.status = ?")
            values.append(status)
        if parents_only:
            wheres.append("e.parent_id IS NULL")
        if with_memo is not None:
            wheres.append(f"EXISTS ({_MEMOS_OF_STEP.replace('?', 'e.id', 1)})")
            values += ["", len(with_memo), with_memo]
        if before is not None:
            tied = "(SELECT rowid FROM workflow_executions WHERE id = ?)"
            wheres.append(f"{start} <= ? AND (e.started_at < ? OR e.rowid < {tied})")
            values += [before, before, before_id]
        order = f"ORDER BY {start} DESC, e.rowid DESC LIMIT ?"
        if as_begun:
            order = "ORDER BY e.rowid DESC LIMIT ?"
        return self._runs(f"{_where(wheres)} {order}", [*values, _limit(limit)])

    def search(self, words: str, *, limit: int, before: int | None = None) -> list[FoundRun]:
        """Return runs with all the given words in their prompts or answers, newest first.

        English words match by stem; `*` at the end matches a beginning; quoted words match as a phrase.
        Answers are indexed once a run has ended. A run appears twice if a run within it also matches.

        :param before: only runs before this `FoundRun.number`.
        :raises InvalidInput: there is no word.
        """
        values = (query_of(words), _NO_NUMBER if before is None else before, _limit(limit))
        found = self._fetch(SEARCH, values)
        return [FoundRun(number, run, excerpt_of(*texts)) for number, run, *texts in found]

    def near(self, prompt: str) -> list[str]:
        """Return completed runs with similar prompts, most similar first.

        They share two rare words with the prompt, and half of the weight of all its words.
        """
        words = telling_words(prompt)
        found = {word: {row[0] for row in self._fetch(WITH_WORD, (f'prompt : "{word}"',))} for word in words}
        ended = "SELECT COUNT(*) FROM workflow_executions WHERE status = 'completed' AND parent_id IS NULL"
        numbers = near_numbers(found, self._fetch(ended)[0][0]) if any(found.values()) else set()
        if not numbers:
            return []
        query = " OR ".join(f'"{word}"' for word in words)
        ranked = self._fetch(f"{WITH_WORD} {NEAREST_FIRST}", (query,))
        return [run for number, run in ranked if number in numbers]

    def texts(self, run_id: str) -> tuple[str, str]:
        """Return a run's prompt and its models' answers, both truncated.

        :raises RunNotFound: no run has this id.
        """
        found = self._fetch("SELECT prompt, answers FROM run_texts WHERE execution_id = ?", (run_id,))
        prompt, answers = (found or self._missing(run_id) or [("", "")])[0]
        return prompt, answers

    def runs_named(self, ids: Iterable[str]) -> list[RunRow]:
        """Return the existing runs among some ids, newest first."""
        where = "WHERE e.id IN (SELECT value FROM json_each(?)) ORDER BY e.started_at DESC, e.rowid DESC"
        return self._runs(where, (json.dumps(list(ids)),))

    def chain(self, run_id: str) -> list[RunRow]:
        """Return a run after the runs that it continues, oldest first; empty if the run is gone."""
        return self._runs(_CHAIN, (run_id,))

    def with_memo(self, ids: Iterable[str], beginning: str) -> set[str]:
        """Return the runs that have a run-level memo with this key prefix."""
        return {run for (run,) in self._fetch(_WITH_MEMO, (json.dumps(list(ids)), len(beginning), beginning))}

    def memo_of_each(self, ids: Iterable[str], step: str, key: str) -> dict[str, Any]:
        """Return one memo of several runs, by run; runs without it are left out."""
        found = self._fetch(_MEMO_OF_EACH, (json.dumps(list(ids)), step, key))
        return {run: self._objects.load(value) for run, value in found}

    def number_of(self, run_id: str) -> int:
        """Return a run's `FoundRun.number`; 0 if the run is gone."""
        found = self._fetch("SELECT number FROM run_texts WHERE execution_id = ?", (run_id,))
        return int(found[0][0]) if found else 0

    def has_workflow(self, part: str) -> bool:
        """Return whether a recorded workflow has a name that contains this text, ignoring case."""
        return bool(
            self._fetch("SELECT 1 FROM workflows WHERE instr(lower(name), lower(?)) LIMIT 1", (part,))
        )

    def unfinished_within(self, run_id: str) -> list[RunRow]:
        """Return the unfinished runs that are steps of a run, oldest first."""
        return self._runs(f"WHERE e.parent_id = ? AND {UNFINISHED} ORDER BY e.rowid", (run_id,))

    def within(self, run_id: str) -> list[RunRow]:
        """Return the runs that are steps of a run, oldest first."""
        return self._runs("WHERE e.parent_id = ? ORDER BY e.rowid", (run_id,))

    def run(self, id_or_prefix: str, *, asking: str = "") -> RunRow:
        """Return a run by its id or its beginning.

        :param asking: as for `find_run_id`.
        :raises RunNotFound: there is none; the message names the nearest.
        :raises InvalidInput: several ids begin with it.
        """
        run_id = find_run_id(self._fetch, id_or_prefix, asking)
        if not (found := self._runs("WHERE e.id = ?", (run_id,))):  # deleted meanwhile
            raise RunNotFound(run_id)
        return found[0]

    def request(self, run_id: str) -> dict[str, Any]:
        """Return the request of a run.

        :raises RunNotFound: no run has this id.
        """
        request: dict[str, Any]
        [request] = self._of_run(run_id, _REQUEST, (run_id,), _value_of)
        return request

    def response(self, run_id: str) -> Any:
        """Return the response of a run, None before it ends.

        :raises RunNotFound: no run has this id.
        """
        [response] = self._of_run(run_id, _RESPONSE, (run_id,), _value_of)
        return response

    def definition(self, run_id: str) -> Definition:
        """Return the definition that a run started with, even if its file changed.

        :raises RunNotFound: no run has this id.
        """
        [definition] = self._of_run(run_id, _DEFINITION, (run_id,), lambda row, _: Definition(*row))
        return definition

    def graph(self, run_id: str) -> Graph | None:
        """Return a run's graph, None for a machine.

        :raises RunNotFound: no run has this id.
        """
        return next(iter(self._of_run(run_id, _GRAPH, (run_id,), _graph_of)), None)

    def steps(self, run_id: str) -> list[StepRow]:
        """Return a run's steps: in the order of the definition, then other steps by start.

        :raises RunNotFound: no run has this id.
        """
        return self._of_run(run_id, _STEPS, (run_id,), _step_of)

    def events(self, run_id: str, *, after: int = 0, limit: int | None = None) -> list[EventRow]:
        """Return a run's events in order.

        :param after: only events with a greater sequence number.
        :raises RunNotFound: no run has this id.
        """
        most = _NO_LIMIT if limit is None else _limit(limit)
        return self._of_run(run_id, _EVENTS, (run_id, after, most), _event_of)

    def last_event(self, run_id: str, name: str) -> EventRow | None:
        """Return a run's last event with a name, None if there is none.

        :raises RunNotFound: no run has this id.
        """
        return next(iter(self._of_run(run_id, _LAST_EVENT, (run_id, name), _event_of)), None)

    def memos(self, run_id: str) -> dict[str, dict[str, Any]]:
        """Return the memos of a run's steps, by step and key.

        :raises RunNotFound: no run has this id.
        """
        memos: dict[str, dict[str, Any]] = {}
        for step, key, value in self._of_run(run_id, _MEMOS, (run_id,), _memo_of):
            memos.setdefault(step, {})[key] = value
        return memos

    def memos_of(self, run_id: str, step: str, beginning: str) -> dict[str, Any]:
        """Return a step's memos with a key prefix, by the rest of the key; none if the run is gone."""
        found = self._fetch(_MEMOS_OF_STEP, (run_id, step, len(beginning), beginning))
        return {key[len(beginning) :]: self._objects.load(value) for key, value in found}

    def events_of_memos(self, run_id: str, step: str) -> dict[str, int]:
        """Return the number of the last event at the time of each memo of a step, by key.

        It is negative for memos copied from the source of a fork.
        """
        return dict(self._fetch(_EVENTS_OF_MEMOS, (run_id, step)))

    def checkpoints(self, run_id: str | None = None, *, limit: int = 200) -> list[CheckpointRow]:
        """Return the checkpoints of a run, or of all runs, newest first.

        :raises RunNotFound: no run has this id.
        """
        if run_id is None:
            return self._newest_checkpoints(_limit(limit))
        values = (run_id, _limit(limit))
        return self._of_run(run_id, _NEWEST_CHECKPOINTS, values, lambda row, _: _checkpoint_of(row))

    def checkpoint(self, id_or_prefix: str) -> CheckpointRow:
        """Return a checkpoint by its id or its beginning.

        :raises CheckpointNotFound: there is none.
        :raises InvalidInput: several ids begin with it.
        """
        return _checkpoint_of(find_checkpoint(self._fetch, id_or_prefix))

    def metrics(self, *, name: str | None = None, days: int | None = None) -> list[MetricsRow]:
        """Return the counts of each workflow by day, newest day first.

        :param name: only workflows with this name.
        :param days: number of days (UTC) including today; None: all.
        """
        wheres: list[str] = []
        values: list[Any] = []
        if name is not None:
            wheres.append("w.name = ?")
            values.append(name)
        if days is not None:
            wheres.append("m.date >= ?")
            values.append(_first_day(days, "metrics"))
        found = self._fetch(f"{_METRICS}{_where(wheres)} ORDER BY m.date DESC, 2, m.workflow_id", values)
        return [MetricsRow(*row) for row in found]

    def costs(self, event: str, *, days: int | None = None) -> list[CostRow]:
        """Return the usage of models by day, newest day and most expensive model first.

        :param event: name of the event of a model's answer, with `model` and `usage` in its data.
        :param days: number of days (UTC) including today; None: all.
        """
        since = 0 if days is None else _begin_of(_first_day(days, "costs"))
        return [_costs_of(row) for row in self._fetch(_COSTS, (event, since))]

    def gates(self, *, days: int | None = None) -> list[GateCount]:
        """Return passed and failed decisions by gate.

        :param days: number of days (UTC) including today; None: all.
        """
        since = "" if days is None else _first_day(days, "decisions")
        return [GateCount(*row) for row in self._fetch(_GATES, (since,))]

    def close(self) -> None:
        """Close this thread's connection; other threads' connections close with them or with the reader."""
        self._connections.close()

    def _newest_checkpoints(self, limit: int) -> list[CheckpointRow]:
        """Return manual checkpoints and the checkpoints of the newest runs: no index covers all."""
        found = dict.fromkeys(self._fetch(_WANTED_CHECKPOINTS, (limit,)))
        own = 0
        newest = "SELECT id FROM workflow_executions ORDER BY started_at DESC, rowid DESC LIMIT ?"
        for (run,) in self._fetch(newest, (limit,)):
            if own >= limit:
                break
            of_run = self._fetch(_NEWEST_CHECKPOINTS, (run, _NO_LIMIT))
            own += len(of_run)
            found |= dict.fromkeys(of_run)
        # stable sort: checkpoints of one millisecond keep their order
        found_rows = map(_checkpoint_of, found)
        return sorted(found_rows, key=lambda row: (row.created_at, row.cursor), reverse=True)[:limit]

    def _runs(self, where: str, values: Sequence[Any]) -> list[RunRow]:
        return [_run_of(row, self._objects) for row in self._fetch(f"{_RUNS} {where}", values)]

    def _of_run(
        self, run_id: str, statement: str, values: Sequence[Any], of: Callable[[Row, Objects], T]
    ) -> list[T]:
        """Return a run's rows as records.

        :raises RunNotFound: there are no rows, or no files of their values: the run is gone, perhaps since
            the rows were read.
        """
        found = self._fetch(statement, values)
        try:
            return [of(row, self._objects) for row in found or self._missing(run_id)]
        except StoreError:
            self._missing(run_id)
            raise

    def _missing(self, run_id: str) -> list[Row]:
        """Return no rows of a run that has none."""
        if not self._fetch("SELECT 1 FROM workflow_executions WHERE id = ?", (run_id,)):
            raise RunNotFound(run_id)
        return []


def resumable_runs(reader: Reader) -> list[RunRow]:
    """Return the runs that can be resumed, newest first; blocking.

    :raises StoreError: the store cannot be read.
    """
    return [run for run in reader.runs(limit=MOST_UNFINISHED, unfinished=True) if run.resumable]


def _limit(limit: int) -> int:
    if limit < 0:
        raise InvalidInput(f"a limit of {limit} is not possible; give 0 or more")
    return limit


def _where(conditions: list[str]) -> str:
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


def _begin_of(day: str) -> int:
    """Return the start of a day (UTC) in milliseconds since the epoch."""
    return int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp() * 1000)


def _first_day(days: int, counted: str) -> str:
    """Return the first of the last days (UTC), including today."""
    if days < 1:
        raise InvalidInput(f"{counted} of {days} days are none; give 1 for today, or more")
    return (datetime.now(UTC) - timedelta(days=days - 1)).date().isoformat()


def _run_of(row: Row, objects: Objects) -> RunRow:
    """Return a row of `_RUNS` as a record."""
    lease = None if row[21] is None else lease_of((row[21], row[22], row[23], row[24], row[25]))
    compared = tuple(json.loads(row[35])) if row[35] else ()
    tokens, files = Tokens(*row[15:19]), _strings(row[19], objects)
    values: Row = (*row[:15], tokens, files, row[20], lease, *row[26:35], compared)
    return RunRow(*values)


def _step_of(row: Row, objects: Objects) -> StepRow:
    """Return a row of `_STEPS` as a record."""
    dependencies, result = _strings(row[6], objects), _value_of(row[7:8], objects)
    tokens, files = Tokens(*row[13:17]), _strings(row[17], objects)
    values: Row = (*row[:6], dependencies, result, *row[8:13], tokens, files, row[18])
    return StepRow(*values)


def _graph_of(row: Row, objects: Objects) -> Graph:
    """Return a row of `_GRAPH` as a record."""
    nodes, edges, order = (objects.load(column) for column in row)
    pairs = tuple((dependency, dependent) for dependency, dependent in edges)
    return Graph(tuple(nodes), pairs, tuple(map(tuple, order)))


def _event_of(row: Row, objects: Objects) -> EventRow:
    """Return a row of `_EVENTS` as a record."""
    sequence, name, at, data = row
    return EventRow(sequence, name, at, objects.load(data))


def _memo_of(row: Row, objects: Objects) -> tuple[str, str, Any]:
    """Return a row of `_MEMOS` with its value."""
    step, key, value = row
    return step, key, objects.load(value)


def _value_of(row: Row, objects: Objects) -> Any:
    """Return the value in a row of one JSON column, None without one."""
    return None if row[0] is None else objects.load(row[0])


def _checkpoint_of(row: Row) -> CheckpointRow:
    """Return a row of `CHECKPOINTS` as a record."""
    identity, run, step, cursor, created_at, manual, memory = row
    return CheckpointRow(identity, run, step, cursor, created_at, memory, bool(manual))


def _costs_of(row: Row) -> CostRow:
    """Return a row of `_COSTS` as a record."""
    date, model, runs, answers, read, written, cost, cached, unpriced = row
    return CostRow(date, model or "", runs, answers, Tokens(read, written, cost, cached), unpriced)


def _strings(text: str | None, objects: Objects) -> tuple[str, ...]:
    # most columns are empty lists: a run of 10,000 steps has 20,000 of them
    return () if text is None or text == "[]" else tuple(objects.load(text))
