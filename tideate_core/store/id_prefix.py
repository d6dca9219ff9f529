"""Lookup of runs and checkpoints by id or its beginning, as typed by a person."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import CheckpointNotFound, InvalidInput, RunNotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Row = tuple[Any, ...]
    Fetch = Callable[[str, Sequence[Any]], list[Row]]
    """Runs a statement and returns all rows."""

_NAMED: Final = 5
"""Maximum number of ids listed in the error of an ambiguous beginning."""

_NEAR: Final = 0.8
"""Minimum similarity of a suggestion: ids are random digits, and lower values are chance."""

SELECT_CHECKPOINTS: Final = "SELECT id, execution_id, step_id, cursor, created_at, manual, memory"

CHECKPOINTS: Final = f"{SELECT_CHECKPOINTS} FROM all_checkpoints"

_WANTED: Final = f"{SELECT_CHECKPOINTS} FROM workflow_checkpoints WHERE id = ?"

LAST: Final = "last"
"""Name of the newest run, in place of an id."""

_LAST_RUN: Final = """
WITH RECURSIVE within(id, parent) AS (
    SELECT id, parent_id FROM workflow_executions WHERE id = ?
    UNION SELECT e.id, e.parent_id FROM workflow_executions e JOIN within ON e.id = within.parent
)
SELECT id FROM workflow_executions WHERE parent_id IS NULL AND id NOT IN (SELECT id FROM within)
ORDER BY rowid DESC LIMIT 1"""

_CANDIDATES: Final = 200
"""Number of newest runs searched for the nearest id."""


def find_run_id(fetch: Fetch, wanted: str, asking: str = "") -> str:
    """Return the id of the one run with this id or beginning.

    :param wanted: `last` is the run that started last, even if the clock was set back.
    :param asking: the run that asks; this run and the runs around it are not the last run.
    :raises RunNotFound: there is none; the message names the nearest.
    :raises InvalidInput: several ids begin with it.
    """
    wanted = _storable(wanted)
    if wanted.strip().lower() == LAST:
        if last := fetch(_LAST_RUN, (asking,)):
            return str(last[0][0])
        nothing = RunNotFound(wanted)
        nothing.args = ("there is no last run: this project has no runs yet",)
        raise nothing
    if chosen := _only(fetch, "executions", wanted, "runs"):
        return chosen
    newest = fetch(
        "SELECT e.id, w.name FROM workflow_executions e CROSS JOIN workflows w ON w.id = e.workflow_id"
        " ORDER BY e.started_at DESC LIMIT ?",
        (_CANDIDATES,),
    )
    error = RunNotFound(wanted)
    error.args = (f"{error}{_hint(wanted, newest)}",)
    raise error


def find_checkpoint(fetch: Fetch, wanted: str) -> Row:
    """Return the `CHECKPOINTS` row of the one checkpoint with this id or beginning.

    In `RUN.ORDINAL`, the id of automatic checkpoints, the run's id may be shortened.

    :raises CheckpointNotFound: there is none.
    :raises InvalidInput: several ids begin with it.
    """
    wanted = _storable(wanted)
    beginning, point, ordinal = wanted.strip().lower().partition(".")
    found: list[Row] = []
    if not point:
        chosen = _only(fetch, "checkpoints", beginning, "checkpoints")
        found = fetch(_WANTED, (chosen,))
    elif beginning and ordinal:
        with contextlib.suppress(RunNotFound):
            run = find_run_id(fetch, beginning)
            found = fetch(f"{CHECKPOINTS} WHERE execution_id = ? AND id = ?", (run, f"{run}.{ordinal}"))
    if not found:
        raise CheckpointNotFound(f"no checkpoint has the id {wanted!r}; `tideate checkpoint list` lists all")
    return found[0]


def _storable(wanted: str) -> str:
    """Return a typed id with escapes in place of bytes that are not UTF-8, which SQLite rejects."""
    return wanted.encode("utf-8", "backslashreplace").decode()


def _only(fetch: Fetch, table: str, wanted: str, what: str) -> str | None:
    """Return the one id that begins with a text, or equals it; None if there is none."""
    beginning = wanted.strip().lower()
    if not beginning:
        raise InvalidInput(f"which of the {what} is meant? Give an id, or its first digits")
    # ids are hexadecimal, so `g` sorts after all of them
    ids = f"SELECT id FROM workflow_{table} WHERE id >= ? AND id < ? ORDER BY id LIMIT ?"  # noqa: S608
    found = [str(row[0]) for row in fetch(ids, (beginning, f"{beginning}g", _NAMED + 1))]
    if beginning in found:
        return beginning
    if len(found) > 1:
        more = ", …" if len(found) > _NAMED else ""
        raise InvalidInput(
            f"several {what} begin with {wanted!r}: {', '.join(found[:_NAMED])}{more}; give more digits"
        )
    return found[0] if found else None


def _hint(wanted: str, newest: list[tuple[Any, ...]]) -> str:
    beginning = wanted.strip().lower()
    whole = {str(run)[: len(beginning)]: str(run) for run, _ in reversed(newest)}
    from difflib import get_close_matches

    near = get_close_matches(beginning, whole, n=1, cutoff=_NEAR)
    if near:
        return f"; did you mean {whole[near[0]]!r}?"
    of_name = next((str(run) for run, name in newest if name == wanted), None)
    if of_name is not None:
        return f"; the newest run of {wanted!r} is {of_name!r}"
    return "; `tideate history` lists the runs"
