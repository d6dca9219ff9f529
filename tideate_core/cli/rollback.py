"""`tideate rollback`: takes back what a run wrote, or lists the runs that wrote."""

from __future__ import annotations

import asyncio
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.text import Text

from tideate_core.app import interrupted_restore, prepare_state, recover_before, recovery_words
from tideate_core.cli.exits import DECLINED, DONE, status_of
from tideate_core.cli.output import fail, label, messages, note, print_json, tell, visible
from tideate_core.cli.runs import page, short, state_text, table, when
from tideate_core.cli.wiring import open_project
from tideate_core.cli.wishes import opened
from tideate_core.engine import (
    RunRollback,
    family_members,
    nothing_changed_error,
    run_families,
    runs_with_changes,
)
from tideate_core.errors import InvalidInput, RunNotFound, StoreError, TideateError, WorkspaceError
from tideate_core.mcp import remembered
from tideate_core.store import Reader
from tideate_core.workspace import journal_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tideate_core.cli.wiring import Project
    from tideate_core.engine import RollbackOutcome
    from tideate_core.store import RunRow

__all__ = ["rollback"]

SERVER = "filesystem server"
FORGOTTEN = "(forgotten)"
RUN_ID = re.compile(r"[0-9a-f]{1,32}")


def rollback(wanted: str | None, root: str | None, *, policy: bool | None, as_json: bool) -> int:
    """Take back a run's changes, or list the runs that changed files; returns the exit status.

    :param wanted: the run's id, or the beginning of it.
    :param policy: the answer to the question; None asks where there is a person, and declines without one.
    """
    try:
        project = open_project(root)
        if wanted is None:
            return _list(project, as_json=as_json)
        prepare_state(project.root, note)
        run, members = _chosen(project, wanted)
        if not asyncio.run(_agreed(project, run, members, policy)):
            return _declined(policy, as_json=as_json)
        done = asyncio.run(_take_back(project, run, members))
    except TideateError as error:
        fail(error, as_json=as_json)
        return status_of(error)
    if as_json:
        shape = {"restored": done.restored, "merged": done.merged}
        print_json({"ok": True, "execution_id": run, **shape})
        return DONE
    for path in done.restored:
        how = "restored, your edits kept" if path in done.merged else "restored"
        messages().print(f"{how}: {label(path)}", markup=False, soft_wrap=True)
    if not done.restored:
        messages().print("nothing to restore: everything is as it was before the run")
    return DONE


def _chosen(project: Project, wanted: str) -> tuple[str, list[str]]:
    """Return the run that is meant, and those whose changes belong to it.

    :raises RunNotFound: no run that wrote to files has this id.
    :raises InvalidInput: it is no id, or several begin so.
    """
    if not RUN_ID.fullmatch(wanted):
        raise InvalidInput(
            f"{wanted!r} is no run's id; `tideate rollback` alone lists the runs that changed files"
        )
    members = _of_the_store(project, family_members)
    found = [wanted] if wanted in members else sorted(run for run in members if run.startswith(wanted))
    if len(found) > 1:
        raise InvalidInput(f"several runs begin with {wanted!r}: {', '.join(found[:5])}; give more digits")
    if found:
        return found[0], members[found[0]]
    raise nothing_changed_error(Reader(project.private), wanted)


def _of_the_store(
    project: Project, read: Callable[[Path, Reader], dict[str, list[str]]]
) -> dict[str, list[str]]:
    try:
        return read(project.private, Reader(project.private))
    except StoreError as error:
        # what a run wrote is in the journal: it can be taken back without the store
        tell(messages(), Text(f"note: {visible(str(error))}", style="yellow"))
        return {run: [run] for run in runs_with_changes(project.private)}


async def _agreed(project: Project, run_id: str, members: list[str], policy: bool | None) -> bool:
    """Show what would be restored, and ask; True where nobody is to be asked."""
    if policy is False:
        return False
    if policy:
        return True
    pending = await interrupted_restore(project.root)
    ahead = await asyncio.to_thread(_run_rollback(project).preview, members)
    if not pending and (not ahead.names or ahead.conflicts):
        return True  # nothing would be written; what is in the way is said by who tries
    if pending:
        note(recovery_words(pending))
    for path in ahead.names:
        how = "would be restored, your edits kept" if path in ahead.merged else "would be restored"
        messages().print(f"{how}: {label(path)}", markup=False, soft_wrap=True)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    # here, because it takes the engine
    from tideate_core.cli.questions import Questions
    from tideate_core.engine import ConfirmationRequest

    message = f"Take back what run {short(run_id)} wrote?"
    request = ConfirmationRequest(run_id, "rollback", "rollback", "gate", message)
    return (await Questions(messages()).ask(request)).accepted


def _declined(policy: bool | None, *, as_json: bool) -> int:
    words = "declined; nothing was changed" + ("" if policy is False else " (--yes rolls back)")
    if as_json:
        print_json({"ok": False, "error": words, "error_code": "Declined"})
    else:
        tell(messages(), Text(words, style="yellow"))
    return DECLINED


async def _take_back(project: Project, run_id: str, members: list[str]) -> RollbackOutcome:
    await recover_before(project.root, note)
    rollback = _run_rollback(project)
    done = await rollback.roll_back(run_id, members, lambda: opened(project.root))
    if done.cancelled:
        tell(messages(), Text(f"run {short(run_id)} had not ended; it is cancelled now", style="yellow"))
    return done


def _run_rollback(project: Project) -> RunRollback:
    return RunRollback(project.workspace.root, project.private)


@dataclass(frozen=True, slots=True)
class _Change:
    """A line of the list."""

    run: str
    row: RunRow | None
    """None: of the filesystem server, of a run that was forgotten, or the store cannot be read."""
    by: str
    at: int
    """Milliseconds since the epoch."""
    outlook: dict[str, Any]

    def as_json(self) -> dict[str, Any]:
        row = self.row
        known = {"workflow": row.name, "status": row.status} if row else {}
        return {"execution_id": self.run, "by": self.by, **known, "started_at": self.at, **self.outlook}


def _change(project: Project, run: str, members: list[str], served: frozenset[str]) -> _Change:
    outlook = _outlook(project, members)
    try:
        row = Reader(project.private).run(run)
    except (RunNotFound, StoreError):
        at = max(_written_at(journal_of(project.private, member)) for member in members)
        return _Change(run, None, SERVER if run in served else FORGOTTEN, at, outlook)
    return _Change(run, row, row.name, row.started_at, outlook)


def _written_at(journal: Path) -> int:
    try:
        return journal.stat().st_mtime_ns // 1_000_000
    except OSError:
        return 0  # taken back meanwhile


def _list(project: Project, *, as_json: bool) -> int:
    served = remembered(project.private)
    runs = _of_the_store(project, run_families).items()
    found = [_change(project, run, members, served) for run, members in runs]
    found = [one for one in found if any(one.outlook[key] for key in ("files", "changed_since", "error"))]
    found.sort(key=lambda one: one.at, reverse=True)
    if as_json:
        print_json({"ok": True, "runs": [one.as_json() for one in found]})
        return DONE
    if not found:
        tell(messages(), Text("no run has changes to take back"))
        return DONE
    rows = table("run", "by", "status", "when", "what would be restored")
    for one in found:
        status = state_text(one.row) if one.row else ""
        rows.add_row(short(one.run), Text(visible(one.by)), status, when(one.at), _words(one.outlook))
    page().print(rows)
    return DONE


def _outlook(project: Project, members: list[str]) -> dict[str, Any]:
    try:
        ahead = _run_rollback(project).preview(members)
    except (StoreError, WorkspaceError) as error:
        return {"files": [], "merged": [], "changed_since": [], "reasons": {}, "error": str(error)}
    return {
        "files": ahead.names,
        "merged": ahead.merged,
        "changed_since": ahead.conflicts,
        "reasons": ahead.reasons,
        "error": None,
    }


def _words(outlook: dict[str, Any]) -> Text:
    if outlook["error"]:
        return Text(visible(outlook["error"]), style="red")
    if outlook["changed_since"]:
        reasons = ", ".join(f"{path}: {why}" for path, why in outlook["reasons"].items())
        return Text(visible(f"nothing: {reasons}"), style="yellow")
    kept = dict.fromkeys(outlook["merged"], " (your edits kept)")
    return Text(", ".join(label(path) + kept.get(path, "") for path in outlook["files"]))
