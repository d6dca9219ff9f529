"""Reader of the store: runs, steps, events, checkpoints and counts; never waits for a writer."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, TypeVar

from tideate_core.errors import InvalidInput, RunNotFound, StoreError
from tideate_core.store import rows
from tideate_core.store.database import FILE, ReadConnections
from tideate_core.store.id_prefix import find_checkpoint, find_run_id
from tideate_core.store.objects import Objects
from tideate_core.store.records import TERMINAL, Definition, FoundRun, GateCount, MetricsRow
from tideate_core.store.run_texts import (
    NEAREST_FIRST,
    SEARCH,
    WITH_WORD,
    excerpt_of,
    near_numbers,
    query_of,
    telling_words,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from tideate_core.store.records import (
        CheckpointRow,
        CostRow,
        EventRow,
        Graph,
        RunRow,
        StepRow,
    )
    from tideate_core.store.rows import Row

T = TypeVar("T")

MOST_UNFINISHED: Final = 1000
"""Maximum number of unfinished runs searched for resumable ones."""

_UNFINISHED: Final = (
    "e.status IN ('idle', 'parsing', 'validating_workflow', 'building_dependency_graph', 'scheduling_steps',"
    " 'executing_steps', 'awaiting_completion', 'creating_checkpoint', 'restoring_from_checkpoint',"
    " 'aggregating_results', 'paused')"
)
"""Spelled out, so that SQLite uses an index."""

_NO_NUMBER: Final = 2**63 - 1

_NO_LIMIT: Final = -1
"""SQLite's value for no limit."""


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
        wheres: list[str] = [_UNFINISHED] if unfinished else []
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
            wheres.append(f"EXISTS ({rows.MEMOS_OF_STEP.replace('?', 'e.id', 1)})")
            values += ["", len(with_memo), with_memo]
        if before is not None:
            tied = "(SELECT rowid FROM workflow_executions WHERE id = ?)"
            wheres.append(f"{start} <= ? AND (e.started_at < ? OR e.rowid < {tied})")
            values += [before, before, before_id]
        order = f"ORDER BY {start} DESC, e.rowid DESC LIMIT ?"
        if as_begun:
            order = "ORDER BY e.rowid DESC LIMIT ?"
        found = self._fetch(f"{rows.RUNS}{_where(wheres)} {order}", [*values, _limit(limit)])
        return [rows.run_of(row, self._objects) for row in found]

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
        prompt, answers = self._one(run_id, "SELECT prompt, answers FROM run_texts WHERE execution_id = ?")
        return prompt, answers

    def runs_named(self, ids: Iterable[str]) -> list[RunRow]:
        """Return the existing runs among some ids, newest first."""
        where = "WHERE e.id IN (SELECT value FROM json_each(?)) ORDER BY e.started_at DESC, e.rowid DESC"
        found = self._fetch(f"{rows.RUNS} {where}", (json.dumps(list(ids)),))
        return [rows.run_of(row, self._objects) for row in found]

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
        where = f"WHERE e.parent_id = ? AND {_UNFINISHED}"
        found = self._fetch(f"{rows.RUNS} {where} ORDER BY e.rowid", [run_id])
        return [rows.run_of(row, self._objects) for row in found]

    def within(self, run_id: str) -> list[RunRow]:
        """Return the runs that are steps of a run, oldest first."""
        found = self._fetch(f"{rows.RUNS} WHERE e.parent_id = ? ORDER BY e.rowid", [run_id])
        return [rows.run_of(row, self._objects) for row in found]

    def run(self, id_or_prefix: str) -> RunRow:
        """Return a run by its id or its beginning.

        :raises RunNotFound: there is none; the message names the nearest.
        :raises InvalidInput: several ids begin with it.
        """
        run_id = find_run_id(self._fetch, id_or_prefix)
        return rows.run_of(self._one(run_id, f"{rows.RUNS} WHERE e.id = ?"), self._objects)

    def request(self, run_id: str) -> dict[str, Any]:
        """Return the request of a run.

        :raises RunNotFound: no run has this id.
        """
        row = self._one(run_id, "SELECT request FROM workflow_executions WHERE id = ?")
        request: dict[str, Any] = self._loaded(run_id, lambda: self._objects.load(row[0]))
        return request

    def response(self, run_id: str) -> Any:
        """Return the response of a run, None before it ends.

        :raises RunNotFound: no run has this id.
        """
        row = self._one(run_id, "SELECT results FROM workflow_executions WHERE id = ?")
        return None if row[0] is None else self._loaded(run_id, lambda: self._objects.load(row[0]))

    def definition(self, run_id: str) -> Definition:
        """Return the definition that a run started with, even if its file changed.

        :raises RunNotFound: no run has this id.
        """
        return Definition(*self._one(run_id, rows.DEFINITION))

    def graph(self, run_id: str) -> Graph | None:
        """Return a run's graph, None for a machine.

        :raises RunNotFound: no run has this id.
        """
        found = self._of_run(run_id, rows.GRAPH, (run_id,))
        return self._loaded(run_id, lambda: rows.graph_of(found[0], self._objects)) if found else None

    def steps(self, run_id: str) -> list[StepRow]:
        """Return a run's steps: in the order of the definition, then other steps by start.

        :raises RunNotFound: no run has this id.
        """
        found = self._of_run(run_id, rows.STEPS, (run_id,))
        return self._loaded(run_id, lambda: [rows.step_of(row, self._objects) for row in found])

    def events(self, run_id: str, *, after: int = 0, limit: int | None = None) -> list[EventRow]:
        """Return a run's events in order.

        :param after: only events with a greater sequence number.
        :raises RunNotFound: no run has this id.
        """
        most = _NO_LIMIT if limit is None else _limit(limit)
        found = self._of_run(run_id, rows.EVENTS, (run_id, after, most))
        return self._loaded(run_id, lambda: [rows.event_of(row, self._objects) for row in found])

    def last_event(self, run_id: str, name: str) -> EventRow | None:
        """Return a run's last event with a name, None if there is none.

        :raises RunNotFound: no run has this id.
        """
        found = self._of_run(run_id, rows.LAST_EVENT, (run_id, name))
        return self._loaded(run_id, lambda: rows.event_of(found[0], self._objects)) if found else None

    def memos(self, run_id: str) -> dict[str, dict[str, Any]]:
        """Return the memos of a run's steps, by step and key.

        :raises RunNotFound: no run has this id.
        """
        found = self._of_run(run_id, rows.MEMOS, (run_id,))
        memos: dict[str, dict[str, Any]] = {}
        values = self._loaded(run_id, lambda: [self._objects.load(value) for _, _, value in found])
        for (step, key, _), value in zip(found, values, strict=True):
            memos.setdefault(step, {})[key] = value
        return memos

    def memos_of(self, run_id: str, step: str, beginning: str) -> dict[str, Any]:
        """Return a step's memos with a key prefix, by the rest of the key; none if the run is gone."""
        values = (run_id, step, len(beginning), beginning)
        found = self._fetch(rows.MEMOS_OF_STEP, values)
        return {key[len(beginning) :]: self._objects.load(value) for key, value in found}

    def events_of_memos(self, run_id: str, step: str) -> dict[str, int]:
        """Return the number of the last event at the time of each memo of a step, by key.

        It is negative for memos copied from the source of a fork.
        """
        return dict(self._fetch(rows.EVENTS_OF_MEMOS, (run_id, step)))

    def checkpoints(self, run_id: str | None = None, *, limit: int = 200) -> list[CheckpointRow]:
        """Return the checkpoints of a run, or of all runs, newest first.

        :raises RunNotFound: no run has this id.
        """
        if run_id is None:
            return self._newest_checkpoints(_limit(limit))
        found = self._of_run(run_id, rows.NEWEST_CHECKPOINTS, (run_id, _limit(limit)))
        return [rows.checkpoint_of(row) for row in found]

    def checkpoint(self, id_or_prefix: str) -> CheckpointRow:
        """Return a checkpoint by its id or its beginning.

        :raises CheckpointNotFound: there is none.
        :raises InvalidInput: several ids begin with it.
        """
        return rows.checkpoint_of(find_checkpoint(self._fetch, id_or_prefix))

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
        found = self._fetch(f"{rows.METRICS}{_where(wheres)} ORDER BY m.date DESC, 2, m.workflow_id", values)
        return [MetricsRow(*row) for row in found]

    def costs(self, event: str, *, days: int | None = None) -> list[CostRow]:
        """Return the usage of models by day, newest day and most expensive model first.

        :param event: name of the event of a model's answer, with `model` and `usage` in its data.
        :param days: number of days (UTC) including today; None: all.
        """
        since = 0 if days is None else _begin_of(_first_day(days, "costs"))
        return [rows.costs_of(row) for row in self._fetch(rows.COSTS, (event, since))]

    def gates(self, *, days: int | None = None) -> list[GateCount]:
        """Return passed and failed decisions by gate.

        :param days: number of days (UTC) including today; None: all.
        """
        since = "" if days is None else _first_day(days, "decisions")
        return [GateCount(*row) for row in self._fetch(rows.GATES, (since,))]

    def close(self) -> None:
        """Close this thread's connection; other threads' connections close with them or with the reader."""
        self._connections.close()

    def _newest_checkpoints(self, limit: int) -> list[CheckpointRow]:
        """Return manual checkpoints and the checkpoints of the newest runs: no index covers all."""
        found = dict.fromkeys(self._fetch(rows.WANTED_CHECKPOINTS, (limit,)))
        own = 0
        newest = "SELECT id FROM workflow_executions ORDER BY started_at DESC, rowid DESC LIMIT ?"
        for (run,) in self._fetch(newest, (limit,)):
            if own >= limit:
                break
            of_run = self._fetch(rows.NEWEST_CHECKPOINTS, (run, _NO_LIMIT))
            own += len(of_run)
            found |= dict.fromkeys(of_run)
        # stable sort: checkpoints of one millisecond keep their order
        found_rows = map(rows.checkpoint_of, found)
        return sorted(found_rows, key=lambda row: (row.created_at, row.cursor), reverse=True)[:limit]

    def _one(self, run_id: str, statement: str) -> Row:
        found = self._fetch(statement, (run_id,))
        if not found:
            raise RunNotFound(run_id)
        return found[0]

    def _of_run(self, run_id: str, statement: str, values: Sequence[Any]) -> list[Row]:
        """Return rows; if there are none, check that the run exists."""
        found = self._fetch(statement, values)
        if not found:
            self._one(run_id, "SELECT 1 FROM workflow_executions WHERE id = ?")
        return found

    def _loaded(self, run_id: str, load: Callable[[], T]) -> T:
        """Load values of a run's rows; if pruning deleted their files meanwhile, raise RunNotFound."""
        try:
            return load()
        except StoreError:
            self._one(run_id, "SELECT 1 FROM workflow_executions WHERE id = ?")
            raise


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
