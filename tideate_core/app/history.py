"""Filtered pages of a project's runs, and the actions available on each run."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, Final

from tideate_core.engine import family_members, rolled_back_runs
from tideate_core.errors import InvalidInput
from tideate_core.project import project_state
from tideate_core.store import state_word

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from pathlib import Path

    from tideate_core.store import Reader, RunRow

_ENDED: Final = ("completed", "failed", "cancelled")
_ROLLED_BACK: Final = "rolled-back"
STATES: Final = (*_ENDED, "declined", "interrupted", "paused", _ROLLED_BACK, "running")
"""States in filters. `declined`: cancelled by an answer. Rolled-back runs also have their end state."""

KEYS: Final = {"workflow": "refactor", "file": "a.py", "since": "7d"}
"""Filter keys, each with an example value."""

_READ: Final = 100
"""Runs per read during a search."""
_AGO: Final = re.compile(r"(\d{1,6})([mhdw])")
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Filter of runs; a run has to match every field."""

    name: str = ""
    """Part of the workflow's name."""
    state: str = ""
    """One of `STATES`."""
    words: str = ""
    """Words of the conversation; then `name` is empty."""
    workflow: str = ""
    """Exact name of the workflow."""
    file: str = ""
    """Changed file: a path in the project, or the end of one."""
    since: int | None = None
    """Earliest start, in milliseconds since the epoch."""

    @property
    def rolled_back(self) -> bool:
        """True if the filter selects completely rolled back runs."""
        return self.state == _ROLLED_BACK

    def fits(self, run: RunRow) -> bool:
        """Return whether a run matches; the words are matched by the store."""
        if self.name.casefold() not in run.name.casefold():
            return False
        if self.workflow not in ("", run.name):
            return False
        if self.file and not any(f"/{path}".endswith(f"/{self.file}") for path in run.files):
            return False
        if self.rolled_back:
            return run.ended  # the journal, not the store, knows the rolled back runs
        return self.state in ("", state_word(run))


def parse_filter(words: str, is_name: Callable[[str], bool]) -> RunFilter:
    """Parse a filter: a state, `workflow:`, `file:`, `since:`, and part of a name or words to search.

    :param is_name: returns whether a word is part of a workflow's name.
    :raises InvalidInput: a key is repeated or has no value, or the time is invalid.
    """
    given: dict[str, str] = {}
    others = []
    for word in words.split():
        key, colon, value = word.partition(":")
        if word in STATES:
            key, colon, value = "state", ":", word
        if not colon or key not in ("state", *KEYS):
            others.append(word)
        elif not value:
            raise InvalidInput(f"{word} needs a value, for example {word}{KEYS[key]}")
        elif key in given:
            raise InvalidInput(f"{key} is given twice, {given[key]} and {value}; give one")
        else:
            given[key] = value
    settings: dict[str, Any] = {**given}
    if "since" in given:
        settings["since"] = time_of(given["since"])
    run_filter = RunFilter(**settings)
    if len(others) == 1 and is_name(others[0]):
        return replace(run_filter, name=others[0])
    return replace(run_filter, words=" ".join(others))


def time_of(since: str) -> int:
    """Parse a date or an age such as `7d`; return milliseconds since the epoch.

    :raises InvalidInput: the word is neither.
    """
    ago = _AGO.fullmatch(since)
    now = datetime.now(UTC)
    try:
        then = now - timedelta(**{_UNITS[ago[2]]: int(ago[1])}) if ago else datetime.fromisoformat(since)
        return round(then.timestamp() * 1000)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(
            f"since {since}: give a date such as 2026-11-30, or an age such as 7d, 12h, 30m"
        ) from error


def history_page(
    reader: Reader,
    run_filter: RunFilter,
    limit: int,
    behind: tuple[int, str] | None = None,
    back: Collection[str] = (),
) -> tuple[list[tuple[RunRow, str]], bool]:
    """Return the newest runs that match a filter, each with a search excerpt, and whether there are more.

    :param behind: start (milliseconds since the epoch) and id of the last run on the previous page.
    :param back: ids of rolled back runs, if the filter selects these.
    :raises InvalidInput: the filter's words have none to search.
    :raises StoreError: the store cannot be read.
    """
    candidates: Iterator[tuple[RunRow, str]]
    if run_filter.words:
        candidates = _found_runs(reader, run_filter.words, behind and behind[1])
        if run_filter.rolled_back:
            candidates = (found for found in candidates if found[0].id in back)
    elif run_filter.rolled_back:
        candidates = ((run, "") for run in _rolled_back(reader, back, behind))
    else:
        candidates = ((run, "") for run in _candidates(reader, run_filter, limit + 1, behind))
    since = run_filter.since
    newer = takewhile(lambda found: since is None or found[0].started_at >= since, candidates)
    found = list(islice((one for one in newer if run_filter.fits(one[0])), limit + 1))
    return found[:limit], len(found) > limit


def _candidates(
    reader: Reader, run_filter: RunFilter, count: int, behind: tuple[int, str] | None
) -> Iterator[RunRow]:
    state = "cancelled" if run_filter.state == "declined" else run_filter.state
    query: dict[str, Any] = {
        "name": run_filter.workflow or None,
        "status": state if state in _ENDED else None,
        "unfinished": run_filter.state in ("interrupted", "paused", "running"),
    }
    before, before_id = behind or (None, None)
    while runs := reader.runs(limit=count, before=before, before_id=before_id, **query):
        yield from runs
        before, before_id, count = runs[-1].started_at, runs[-1].id, _READ


def _found_runs(reader: Reader, words: str, behind: str | None) -> Iterator[tuple[RunRow, str]]:
    """Yield the runs that match a search, newest first, each with an excerpt.

    :param behind: id of the last run of the previous page.
    """
    seen: set[str] = set()
    before = None if behind is None else reader.number_of(behind)
    while page := reader.search(words, limit=_READ, before=before):
        new = {found.run: found.excerpt for found in reversed(page) if found.run not in seen}
        seen |= new.keys()
        yield from ((run, new[run.id]) for run in reader.runs_named(new))
        before = page[-1].number


def _rolled_back(reader: Reader, back: Collection[str], behind: tuple[int, str] | None) -> list[RunRow]:
    """Return rolled back top-level runs, newest first."""
    runs = [run for run in reader.runs_named(back) if run.parent is None]
    if behind is None:
        return runs
    places = [place for place, run in enumerate(runs) if run.id == behind[1]]
    # the last run of the previous page may have written again and be missing here
    return runs[places[0] + 1 :] if places else [run for run in runs if run.started_at < behind[0]]


def rolled_back_ids(root: Path | None, reader: Reader) -> set[str]:
    """Return ids of completely rolled back runs, from the journal; blocking.

    :param root: None outside of a project.
    :raises StoreError: the store cannot be read.
    """
    private = project_state(root)
    return rolled_back_runs(root, private, family_members(private, reader))


def rollback_states(root: Path | None, reader: Reader, runs: Iterable[RunRow]) -> tuple[set[str], set[str]]:
    """Return ids of the runs with changes to roll back, and of completely rolled back runs; blocking.

    :param root: None outside of a project.
    :raises StoreError: the store cannot be read.
    """
    private = project_state(root)
    families = family_members(private, reader)
    written = {run.id: families[run.id] for run in runs if run.id in families}
    back = rolled_back_runs(root, private, written)
    return written.keys() - back, back


def actions(run: RunRow, changed: Collection[str]) -> list[str]:
    """Return the actions that the host accepts for a run in its current state.

    :param changed: ids of the runs with changes to roll back.
    """
    living = not run.ended and not run.resumable
    by_itself = not run.ended and run.parent is None
    possible = {
        "resume": by_itself and (run.resumable or run.status == "paused"),
        "pause": by_itself and living and run.status != "paused",
        "cancel": by_itself,
        "rollback": run.id in changed and not living,
        "checkpoint": True,
    }
    return [action for action, can in possible.items() if can]
