"""Pages of a project's runs as the editor's list shows them, and what can be done to each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Final

from tideate_core.app.threads import found_runs, has_changed, time_of
from tideate_core.engine import family_members, rolled_back_runs
from tideate_core.errors import InvalidInput
from tideate_core.project import project_state
from tideate_core.store import state_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from pathlib import Path

    from tideate_core.store import Reader, RunRow

__all__ = ["STATES", "Wanted", "actions", "history_page", "rollback_states", "rolled_back_ids", "wanted"]

_ENDED: Final = ("completed", "failed", "cancelled")
_ROLLED_BACK: Final = "rolled-back"
STATES: Final = (*_ENDED, "declined", "interrupted", "paused", _ROLLED_BACK, "running")
"""What a run may be, for a person; `declined` is cancelled by a no. One that was rolled back also is what it
ended as."""

KEYS: Final = {"workflow": "refactor", "file": "a.py", "since": "7d"}
"""Words of a filter that a value follows, with an example of one."""

_READ: Final = 200
"""Runs that are read at once while those that fit are looked for."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Filter of a page of runs; a run has to fit all of it."""

    name: str = ""
    """What its workflow's name contains."""
    state: str = ""
    """One of `STATES`."""
    words: str = ""
    """Words that were said in it; then `name` is empty."""
    workflow: str = ""
    """The whole name of its workflow."""
    file: str = ""
    """That it changed: a path in the project, or the end of one."""
    since: int | None = None
    """When the oldest one started, in milliseconds since the epoch."""

    @property
    def rolled_back(self) -> bool:
        """Only runs of which nothing is left are wanted."""
        return self.state == _ROLLED_BACK

    def fits(self, run: RunRow) -> bool:
        """Tell of a run that the store gave whether it is wanted."""
        if self.name.casefold() not in run.name.casefold():
            return False
        if self.workflow not in ("", run.name) or (self.file and not has_changed(run, self.file)):
            return False
        if self.rolled_back:
            return run.ended  # which runs they are is not known to the store
        return self.state in ("", "declined" if run.reason == "declined" else state_of(run))


def wanted(words: str, is_name: Callable[[str], bool]) -> Wanted:
    """Read a filter: a state, `workflow:`, `file:`, `since:`, and a part of a name or words that were said.

    :param is_name: tells whether a word is a part of a workflow's name.
    :raises InvalidInput: more than one of a kind, or no time since which.
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
            raise InvalidInput(f"nothing stands behind {word}; for instance {word}{KEYS[key]}")
        elif key in given:
            raise InvalidInput(f"no run is both {given[key]} and {value}; name one {key}")
        else:
            given[key] = value
    since = time_of(given["since"]) if "since" in given else None
    which = Wanted("", given.get("state", ""), "", given.get("workflow", ""), given.get("file", ""), since)
    if len(others) == 1 and is_name(others[0]):
        return replace(which, name=others[0])
    return replace(which, words=" ".join(others))


def history_page(
    reader: Reader,
    which: Wanted,
    limit: int,
    behind: tuple[int, str] | None,
    back: Collection[str] = (),
) -> tuple[list[tuple[RunRow, str]], bool]:
    """Return the newest runs that are wanted, and whether there are more.

    Each is with an excerpt of where the words stand, empty where none are wanted.

    :param behind: when the last run of the page before started, in milliseconds since the epoch, and its id.
    :param back: the runs that were rolled back, where those are wanted.
    :raises StoreError: the store cannot be read.
    """
    candidates: Iterator[tuple[RunRow, str]]
    if which.words:
        candidates = found_runs(reader, which.words, behind=behind and behind[1])
        if which.rolled_back:
            candidates = (found for found in candidates if found[0].id in back)
    elif which.rolled_back:
        candidates = ((run, "") for run in _rolled_back(reader, back, behind))
    else:
        candidates = ((run, "") for run in _candidates(reader, which, behind))
    since = which.since
    newer = takewhile(lambda found: since is None or found[0].started_at >= since, candidates)
    found = list(islice((one for one in newer if which.fits(one[0])), limit + 1))
    return found[:limit], len(found) > limit


def _candidates(reader: Reader, which: Wanted, behind: tuple[int, str] | None) -> Iterator[RunRow]:
    status = which.state if which.state in _ENDED else "cancelled" if which.state == "declined" else None
    unfinished = which.state in ("interrupted", "paused", "running")
    before, before_id = behind or (None, None)
    while runs := reader.runs(
        limit=_READ, before=before, before_id=before_id, status=status, unfinished=unfinished
    ):
        yield from runs
        before, before_id = runs[-1].started_at, runs[-1].id


def _rolled_back(reader: Reader, back: Collection[str], behind: tuple[int, str] | None) -> list[RunRow]:
    """Return the runs that were rolled back and are no steps of others, the newest first."""
    runs = [run for run in reader.runs_named(back) if run.parent is None]
    if behind is None:
        return runs
    places = [place for place, run in enumerate(runs) if run.id == behind[1]]
    # it is gone, where its run wrote again since
    return runs[places[0] + 1 :] if places else [run for run in runs if run.started_at < behind[0]]


def rolled_back_ids(root: Path | None, reader: Reader) -> set[str]:
    """Return the runs of which a rollback left nothing, by what the journal says of them; blocking.

    :param root: of the project, None outside of any.
    :raises StoreError: the store cannot be read.
    """
    private = project_state(root)
    return rolled_back_runs(root, private, family_members(private, reader))


def rollback_states(root: Path | None, reader: Reader, runs: Iterable[RunRow]) -> tuple[set[str], set[str]]:
    """Return of which of some runs something can be rolled back, and of which all was; blocking.

    :param root: of the project, None outside of any.
    :raises StoreError: the store cannot be read.
    """
    private = project_state(root)
    families = family_members(private, reader)
    written = {run.id: families[run.id] for run in runs if run.id in families}
    back = rolled_back_runs(root, private, written)
    return written.keys() - back, back


def actions(run: RunRow, changed: Collection[str]) -> list[str]:
    """Return what the host does to a run that stands so, and to no other: it refuses the rest.

    :param changed: the runs of which something can be rolled back.
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
