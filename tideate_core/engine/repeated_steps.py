"""Division of an ended run into steps that are done again, by a fork or a run that goes on, and others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tideate_core.engine.driver_hooks import driver_hooks
from tideate_core.engine.reused_writes import SHORT, listed
from tideate_core.engine.stored_definition import stored_graph
from tideate_core.errors import InvalidInput, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tideate_core.store import Definition, RunRow, StepRow

__all__ = ["SplitRun", "repeated_steps", "split_steps"]


@dataclass(frozen=True, slots=True)
class SplitRun:
    """The steps of an ended run, as a fork takes them."""

    step: str
    """From which on it is run anew."""
    whole: bool
    """No step was named and none failed: all of it is run anew."""
    reused: tuple[StepRow, ...]
    """In their order."""
    repeated: tuple[StepRow, ...]
    cursor: int
    """The order of the last step that is reused; of a graph, of the last that ended."""
    memos_before: int
    """The order of the first step whose memos are none of the fork's."""


def split_steps(
    source: RunRow, definition: Definition, rows: Sequence[StepRow], step: str | None, *, or_whole: bool
) -> SplitRun:
    """Tell which steps of a run a fork at a step reuses, and which it runs anew.

    :param step: None: the first that failed.
    :param or_whole: where none failed, all of the run is run anew.
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
    """Return which of a run's ended steps a run that goes on from them does again.

    :param ended: in their order.
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
    """Return the first step that a run failed in; one that never ended, where it was stopped before that.

    A machine can fail by a move, with no failed visit: then it is what a run that goes on does again, or the
    last visit.
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
        f"no step of run {source.id[:SHORT]} of {source.name} failed; say from which one on to run it "
        f"anew, as {source.id[:SHORT]}.STEP" + (f": {named}" if named else "")
    )


def _steps_again(chosen: StepRow, rows: Sequence[StepRow], goes_on: set[str]) -> set[str]:
    """Return the steps of a graph that are run anew: the chosen one, and all that depends on such a one."""
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
    """Return the visits of a machine that are made anew, and how many of those before them ended."""
    cursor = _last(rows) if chosen.order is None else chosen.order - 1
    before = [row for row in _ended(rows) if (row.order or 0) <= cursor]
    return {*repeated_steps(before, definition), chosen.step}, cursor


def _ended(rows: Iterable[StepRow]) -> list[StepRow]:
    return sorted((row for row in rows if row.order is not None), key=lambda row: row.order or 0)


def _last(rows: Iterable[StepRow]) -> int:
    return max((row.order or 0 for row in rows), default=0)
