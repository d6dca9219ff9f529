"""Choose the steps, writes and model turns of an earlier run that a fork reuses or repeats."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from tideate_core.engine.context.memory import ITEM_DONE, REPLY, TURN
from tideate_core.engine.driver import driver_hooks
from tideate_core.engine.past import stored_graph
from tideate_core.engine.steps.nested import child_id
from tideate_core.errors import InvalidInput, RunNotFound, did_you_mean
from tideate_core.workspace import FileEntry, Journal, Root, plan_rollback

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from tideate_core.store import Definition, Reader, RunRow, StepRow
    from tideate_core.workspace import JournalManifest


SHORT: Final = 8
"""Digits of an id in messages."""
MOST_NAMED: Final = 5
"""Files or steps listed in a message."""
NESTED: Final = frozenset({"machine", "workflow"})
"""Kinds of steps that are nested runs."""


def check_reused_writes(
    reader: Reader, source: RunRow, reused: Iterable[StepRow], root: Path | None, private: Path
) -> None:
    """Check that the changes of reused steps were not rolled back since; blocking.

    :param reused: steps of the source with reused results.
    :param root: the project's root.
    :param private: directory of its journal.
    :raises InvalidInput: they were; names the step to begin with instead.
    :raises WorkspaceError: the journal is damaged, or a file cannot be read.
    """
    written: dict[str, list[JournalManifest]] = {}
    own: list[tuple[StepRow, JournalManifest]] = []
    journal, origins = Journal(private), _Origins(reader)
    for row in reused:
        if not row.files:
            continue
        run, then = origins.of(source, row)
        for writer in (run, *origins.within(run, then)):
            if writer not in written:
                written[writer] = [record.manifest for record in journal.records(writer)]
            own += [(row, one) for one in written[writer] if writer != run or _step_of(one) == row.step]
    if not own:
        return
    ahead = plan_rollback(Root(root), journal.records(*sorted(written)), {})
    there = {*ahead.names, *ahead.left, *ahead.reasons}
    for row, manifest in own:
        entries = (entry for entry in manifest.entries if isinstance(entry, FileEntry))
        changed = [entry.path for entry in entries if not entry.before.holds_same_as(entry.after)]
        gone = [path for path in changed if path not in there]
        gone += [path for path in row.files if path in ahead.before and path not in there]
        if gone:
            raise InvalidInput(
                f"what the step {row.step!r} of run {source.id[:SHORT]} wrote was rolled back "
                f"({listed(dict.fromkeys(gone))}), so its result cannot be reused; "
                f"begin with that step: {source.id[:SHORT]}.{row.step}"
            )


def writers_of(reader: Reader, run: RunRow, steps: Sequence[StepRow]) -> dict[str, frozenset[str] | None]:
    """Return the runs that wrote a run's changes, each with the relevant steps; None: all steps.

    These are the run, its nested runs, and the runs of reused steps.

    :param steps: the steps of the run.
    :raises StoreError: the store cannot be read.
    """
    reused: dict[str, set[str]] = {}
    whole: dict[str, None] = {run.id: None}
    origins = _Origins(reader)
    for row in steps:
        did, then = origins.of(run, row)
        if did != run.id:
            reused.setdefault(did, set()).add(row.step)
        whole |= dict.fromkeys(origins.within(did, then))
    return {**{did: frozenset(names) for did, names in reused.items()}, **whole}


def listed(names: Iterable[str]) -> str:
    """Return names for a message, shortened if there are many."""
    all_names = list(names)
    more = ", …" if len(all_names) > MOST_NAMED else ""
    return f"{', '.join(all_names[:MOST_NAMED])}{more}"


class _Origins:
    """Finder of the run that executed each step, through forks of forks; every run is read once."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._runs: dict[str, RunRow | None] = {}
        self._steps: dict[str, dict[str, StepRow]] = {}

    def of(self, run: RunRow, row: StepRow) -> tuple[str, StepRow]:
        """Return the run that executed a step, and the step's row there."""
        while run.forked_from is not None and (row.order or 0) <= run.reused:
            source = self._run(run.forked_from)
            if source is None:
                break  # the run was deleted with its journal
            run = source
            row = self._steps_of(run.id).get(row.step, row)
        return run.id, row

    def within(self, run: str, row: StepRow) -> list[str]:
        """Return the nested runs of a step, and the runs inside them."""
        found: list[str] = []
        for attempt in range(1, row.attempts + 1) if row.agent in NESTED else ():
            child = child_id(run, row.step, attempt)
            if self._run(child) is None:
                continue  # that attempt failed before its nested run began
            found.append(child)
            for step in self._steps_of(child).values():
                found += self.within(child, step)
        return found

    def _run(self, run: str) -> RunRow | None:
        if run not in self._runs:
            try:
                self._runs[run] = self._reader.run(run)
            except RunNotFound:
                self._runs[run] = None
        return self._runs[run]

    def _steps_of(self, run: str) -> dict[str, StepRow]:
        if run not in self._steps:
            self._steps[run] = {row.step: row for row in self._reader.steps(run)}
        return self._steps[run]


def _step_of(manifest: JournalManifest) -> str:
    return (manifest.step or "").partition("[")[0]


@dataclass(frozen=True, slots=True)
class SplitRun:
    """Steps of an ended run, split into reused and repeated ones."""

    step: str
    """The first repeated step."""
    whole: bool
    """No step was named and none failed: the whole run is repeated."""
    reused: tuple[StepRow, ...]
    """Reused steps, in order."""
    repeated: tuple[StepRow, ...]
    cursor: int
    """Order of the last reused step; for a graph, of the last ended one."""
    memos_before: int
    """Order of the first step whose memos are not reused."""


def split_steps(
    source: RunRow, definition: Definition, rows: Sequence[StepRow], step: str | None, *, or_whole: bool
) -> SplitRun:
    """Split the steps of a run into reused and repeated ones for a fork.

    :param step: None: the first that failed.
    :param or_whole: if none failed, repeat the whole run.
    :raises InvalidInput: there is no such step, or none failed and none was named.
    """
    goes_on = {known.id for known in stored_graph(definition).steps if known.continue_on_error}
    failed = _first_failed(source, rows, definition, goes_on) if step is None else _named(source, rows, step)
    whole = failed is None and or_whole and bool(rows)
    chosen = _first(rows) if whole else failed
    if chosen is None:
        raise _without_step(source, rows)
    if whole:
        again, cursor = {row.step for row in rows}, 0
    elif source.kind == "machine":
        again, cursor = _visits_again(chosen, rows, definition)
    else:
        again, cursor = _steps_again(chosen, rows, goes_on), _last(rows) + 1
    reused = [row for row in _ended(rows) if row.step not in again and (row.order or 0) <= cursor]
    kept = {row.step for row in reused}
    repeated = tuple(row for row in rows if row.step not in kept)
    begun = [row.order for row in repeated if row.order is not None]
    return SplitRun(
        chosen.step, whole, tuple(reused), repeated, cursor, min(begun, default=_last(rows) + 1) - 1
    )


def repeated_steps(ended: Sequence[StepRow], definition: Definition) -> dict[str, None]:
    """Return the ended steps that a run restored from them repeats.

    :param ended: the ended steps, in order.
    """
    hooks = driver_hooks(definition.name, definition.kind, definition.source)
    if (repeated := hooks.restart([step.step for step in ended])) is not None:
        return dict.fromkeys(repeated)
    goes_on = {step.id for step in stored_graph(definition).steps if step.continue_on_error}
    again: dict[str, None] = {}
    for step in ended:
        failed = step.status == "failed" and step.step not in goes_on
        if failed or (again and step.status == "skipped"):
            again[step.step] = None
    return again


def _named(source: RunRow, rows: Iterable[StepRow], step: str) -> StepRow:
    known = {row.step: row for row in rows}
    if step not in known:
        hint = did_you_mean(step, known) or f"; its steps are {listed(known)}"
        raise InvalidInput(f"run {source.id[:SHORT]} of {source.name} has no step {step!r}{hint}")
    return known[step]


def _first_failed(
    source: RunRow, rows: Sequence[StepRow], definition: Definition, goes_on: set[str]
) -> StepRow | None:
    """Return the first failed step of a run, or the first unfinished one if it was stopped.

    A machine can fail in a move without a failed visit: then the first repeated or last visit is returned.
    """
    last = _last(rows) + 1
    failed = sorted((row for row in rows if row.status == "failed"), key=lambda row: row.order or last)
    fatal = [row for row in failed if row.step not in goes_on]
    unstarted = [row for row in rows if row.order is None and source.status != "completed"]
    moved: list[StepRow] = []
    if source.kind == "machine" and source.status != "completed":
        ended = _ended(rows)
        again = repeated_steps(ended, definition)
        moved = [row for row in ended if row.step in again] or ended[-1:]
    return next(iter([*fatal, *unstarted, *failed, *moved]), None)


def _first(rows: Sequence[StepRow]) -> StepRow:
    ended = _ended(rows)
    return ended[0] if ended else rows[0]


def _without_step(source: RunRow, rows: Sequence[StepRow]) -> InvalidInput:
    named = listed([row.step for row in rows])
    return InvalidInput(
        f"no step of run {source.id[:SHORT]} of {source.name} failed; name the first step to "
        f"repeat, as {source.id[:SHORT]}.STEP" + (f": {named}" if named else "")
    )


def _steps_again(chosen: StepRow, rows: Sequence[StepRow], goes_on: set[str]) -> set[str]:
    """Return the repeated steps of a graph: the chosen one and all that depend on it."""
    failures = [row for row in rows if row.status == "failed" and row.step not in goes_on]
    since = min((row.order or 0 for row in failures), default=_last(rows) + 1)
    dependents: dict[str, list[str]] = {}
    again = {chosen.step}
    for row in rows:
        for dependency in row.dependencies:
            dependents.setdefault(dependency, []).append(row.step)
        skipped_for_it = row.status == "skipped" and (row.order or 0) > since
        if row.order is None or row in failures or skipped_for_it:
            again.add(row.step)
    left = list(again)
    while left:
        new = [step for step in dependents.get(left.pop(), ()) if step not in again]
        again.update(new)
        left += new
    return again


def _visits_again(chosen: StepRow, rows: Sequence[StepRow], definition: Definition) -> tuple[set[str], int]:
    """Return the repeated visits of a machine, and the number of ended visits before them."""
    cursor = _last(rows) if chosen.order is None else chosen.order - 1
    before = [row for row in _ended(rows) if (row.order or 0) <= cursor]
    return {*repeated_steps(before, definition), chosen.step}, cursor


def _ended(rows: Iterable[StepRow]) -> list[StepRow]:
    return sorted((row for row in rows if row.order is not None), key=lambda row: row.order or 0)


def _last(rows: Iterable[StepRow]) -> int:
    return max((row.order or 0 for row in rows), default=0)


FIRST_ATTEMPT: Final = f"1{REPLY}"


@dataclass(frozen=True, slots=True)
class TurnCut:
    """Turn of a step at which a fork begins."""

    until: int
    """Event before which the reused memos were stored."""
    hears: bool
    """A message can be given to the model before the turn."""
    memos: Mapping[str, Any] = field(default_factory=dict)
    """Memos that are added to them."""


def cut_at_turn(
    reader: Reader, source: RunRow, step: str | None, turn: int | None, say: str, *, edited: bool
) -> TurnCut | None:
    """Return the turn at which a fork begins; None for a fork without a turn. Blocking.

    :param step: None: the whole run is repeated.
    :param say: message to the model before the turn.
    :param edited: prompt, inputs or results differ from the source's.
    :raises InvalidInput: there is no such turn, or nothing can be reused before it; says why.
    """
    if turn is None:
        if say:
            raise InvalidInput("a message to the model needs a turn; name one with --turn")
        return None
    short = source.id[:SHORT]
    if step is None:
        raise InvalidInput(f"a turn is one of a step; name it, as {short}.STEP")
    if edited:
        raise InvalidInput(
            "the turns before it were taken with the prompt, the inputs and the results as they were; "
            "say something to the model (--say), or fork the step without --turn"
        )
    memos = reader.memos_of(source.id, step, "")
    key = _key_of_turn(memos, f"the step {step!r} of run {short}", turn)
    until = reader.events_of_memos(source.id, step)[key]
    hears = key.startswith(_of_loop(step))
    return TurnCut(until, hears, _said(memos, key, step, say) if say else {})


def replies_in_order(memos: Mapping[str, Any]) -> list[str]:
    """Return the keys of the replies among a step's memos, in order."""
    return sorted((key for key in memos if REPLY in key), key=lambda key: memos[key].get("place", 0))


def _key_of_turn(memos: Mapping[str, Any], where: str, turn: int) -> str:
    """Return the key of a turn's reply.

    :raises InvalidInput: there is none, or nothing can be reused before it.
    """
    keys = replies_in_order(memos)
    owners = {key: memo.get("of", "") if isinstance(memo, dict) else "" for key, memo in memos.items()}
    if any(ITEM_DONE in key or "[" in owner for key, owner in owners.items()):
        raise InvalidInput(f"the items of {where} have turns of their own; fork it without --turn")
    if not 1 <= turn <= len(keys):
        count = f"{len(keys) or 'no'} turn{'' if len(keys) == 1 else 's'}"
        raise InvalidInput(f"there is no turn {turn}: the model took {count} in {where}")
    key = keys[turn - 1]
    if not key.startswith(FIRST_ATTEMPT):
        attempt = key.partition(REPLY)[0]
        raise InvalidInput(
            f"turn {turn} of {where} is one of attempt {attempt}, and turns of a repeated attempt cannot be "
            "repeated; fork it without --turn"
        )
    return key


def _said(memos: Mapping[str, Any], key: str, step: str, text: str) -> dict[str, list[str]]:
    """Return the memo that gives a model a message before a turn, after earlier messages there.

    :raises InvalidInput: the step asks a single question and reads no messages.
    """
    beginning = _of_loop(step)
    if not key.startswith(beginning):
        raise InvalidInput(
            "this turn answers a single prompt, to which nothing can be added; fork the step with another "
            "prompt, without --turn"
        )
    place = f"own:{key.removeprefix(beginning)}:said"
    return {place: [*memos.get(place, ()), text]}


def _of_loop(step: str) -> str:
    """Return the key prefix of a conversation's turns."""
    return f"{FIRST_ATTEMPT}{TURN}{step}:"
