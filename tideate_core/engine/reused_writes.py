"""Writes of the steps that a fork reuses: which run did them, and whether they were rolled back since."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tideate_core.engine.steps.nested import child_id
from tideate_core.errors import InvalidInput, RunNotFound
from tideate_core.workspace import FileEntry, Journal, Root, plan_rollback

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from tideate_core.store import Reader, RunRow, StepRow
    from tideate_core.workspace import JournalManifest

__all__ = ["SHORT", "check_reused_writes", "listed", "writers_of"]

SHORT: Final = 8
"""Digits of an id that a message shows."""
MOST_NAMED: Final = 5
"""Files or steps that a message names."""
NESTED: Final = frozenset({"machine", "workflow"})
"""Kinds of steps that are runs of their own."""


def check_reused_writes(
    reader: Reader, source: RunRow, reused: Iterable[StepRow], root: Path | None, private: Path
) -> None:
    """Refuse the reuse of steps that wrote what was rolled back since; blocking.

    :param reused: steps of the source whose results a fork has.
    :param root: of the project.
    :param private: where its journal is.
    :raises InvalidInput: names the step to begin with instead.
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
    """Return the runs that wrote what a run stands for, each with the steps of it that count; None: all.

    These are the run, the runs that are its steps, and those that did what it reuses.

    :param steps: the run's.
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
    """Return names for a message, not all where they are many."""
    all_names = list(names)
    more = ", …" if len(all_names) > MOST_NAMED else ""
    return f"{', '.join(all_names[:MOST_NAMED])}{more}"


class _Origins:
    """Origins of steps: the run that did each. Every run is read once; a fork of a fork goes further back."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._runs: dict[str, RunRow | None] = {}
        self._steps: dict[str, dict[str, StepRow]] = {}

    def of(self, run: RunRow, row: StepRow) -> tuple[str, StepRow]:
        """Return the run that did a step, and the step's row there."""
        while run.forked_from is not None and (row.order or 0) <= run.reused:
            source = self._run(run.forked_from)
            if source is None:
                break  # pruned, with what it wrote
            run = source
            row = self._steps_of(run.id).get(row.step, row)
        return run.id, row

    def within(self, run: str, row: StepRow) -> list[str]:
        """Return the runs that a step was, and those within them."""
        found: list[str] = []
        for attempt in range(1, row.attempts + 1) if row.agent in NESTED else ():
            child = child_id(run, row.step, attempt)
            if self._run(child) is None:
                continue  # that attempt failed before its run began
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
