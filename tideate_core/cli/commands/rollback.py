"""`tideate rollback`: roll back the changes of a run, or list the runs that changed files."""

from __future__ import annotations

import asyncio
import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final

from cyclopts import Parameter
from rich.text import Text

from tideate_core.app import (
    Project,
    RunChanges,
    choose_run,
    list_changes,
    open_project,
    preview_rollback,
    roll_back,
    rollback_diffs,
    rollback_files,
    short_id,
)
from tideate_core.cli.arguments import Json, Root, Yes, run_ids
from tideate_core.cli.confirmations import confirmed, declined
from tideate_core.cli.process import DONE, FAILED, finish, log_to_file, run_async
from tideate_core.cli.render.output import (
    messages,
    note,
    print_json,
    print_line,
    print_message,
    print_text,
    report_errors,
)
from tideate_core.cli.render.tables import page, state_text, table, when
from tideate_core.errors import InvalidInput
from tideate_core.util.escaping import label, visible

if TYPE_CHECKING:
    from tideate_core.engine import RollbackOutcome
    from tideate_core.workspace import RollbackPlan


@report_errors
def rollback(
    run: Annotated[
        str | None,
        Parameter(
            help="ID of the run, or a prefix of it. Default: list the runs that changed files.",
            completer=run_ids,
        ),
    ] = None,
    /,
    *,
    dry_run: Annotated[
        bool,
        Parameter(name="--dry-run", help="Only show the changes as a patch; nothing is changed."),
    ] = False,
    yes: Yes = None,
    json: Json = False,
    root: Root = None,
) -> int:
    """Roll back a run's changes, or list the runs that changed files; return the exit status."""
    project = open_project(root)
    if dry_run and (run is None or yes is not None):
        raise InvalidInput("--dry-run requires a run, and cannot be used with --yes or --no")
    if run is None:
        _print_list(list_changes(project, note), as_json=json)
        return DONE
    if dry_run:
        return _show_ahead(project, *choose_run(project, run, note), as_json=json)
    chosen, members = choose_run(project, run, note)
    if not run_async(_confirmed(project, chosen, members, yes)):
        return declined("nothing was changed", "rolls back", yes, as_json=json)
    log_to_file()
    rolling = partial(roll_back, project.root, chosen, members, note, place=project.workspace.root)
    done = run_async(finish(lambda begin: rolling(on_write=begin), note))
    if done.cancelled:
        print_message(f"run {short_id(chosen)} had not ended; it is cancelled now", "yellow")
    if json:
        shape = {"restored": done.restored, "merged": done.merged}
        print_json({"ok": True, "execution_id": chosen, **shape})
    else:
        _print_restored(done)
    return DONE


async def _confirmed(project: Project, run_id: str, members: list[str], policy: bool | None) -> bool:
    """Show the files to restore and ask; True without a question if nothing would be written."""
    from tideate_core.app import interrupted_restore, recovery_words

    if policy is not None:
        return policy
    pending = await interrupted_restore(project.root)
    ahead = await asyncio.to_thread(preview_rollback, project, members)
    if not pending and (not ahead.names or ahead.conflicts):
        return True  # nothing would be written; the rollback itself reports conflicts
    if pending:
        note(recovery_words(pending))
    _name_files(ahead, rollback_files(ahead))
    question = f"Roll back what run {short_id(run_id)} wrote?"
    return await confirmed(None, "rollback", question, run_id)


def _show_ahead(project: Project, run_id: str, members: list[str], *, as_json: bool) -> int:
    """Print a rollback as a patch, or its conflicts; return the exit status."""
    from tideate_core.cli.render.diffs import patch_text

    ahead = preview_rollback(project, members)
    diffs = [] if ahead.conflicts else rollback_diffs(ahead)
    if as_json:
        shape = {"files": diffs, "merged": ahead.merged, "reasons": ahead.reasons}
        print_json({"ok": not ahead.conflicts, "dry_run": True, "execution_id": run_id, **shape})
        return FAILED if ahead.conflicts else DONE
    for name, why in ahead.reasons.items():
        print_line(f"in its way: {label(name)} ({why})", console=messages())
    if ahead.conflicts:
        print_message("nothing would be restored", "yellow")
        return FAILED
    _name_files(ahead, diffs)
    patch = "".join(one["diff"] for one in diffs)
    if patch and sys.stdout.isatty():
        print_line(patch_text(patch))
    elif patch:  # unchanged, for `git apply`
        print_text(patch)
    if not diffs:
        messages().print("nothing to restore: all files are as they were before the run")
    return DONE


_WOULD_BE: Final = {"create": "made again", "delete": "deleted", "move": "moved"}


def _name_files(ahead: RollbackPlan, files: list[dict[str, Any]]) -> None:
    for one in files:
        name = one["move_to"] or one["path"]
        kept = ", your edits kept" if name in ahead.merged else ""
        done = _WOULD_BE.get(one["action"], "restored")
        target = f" → {label(one['move_to'])}" if one["move_to"] else ""
        remark = f" ({visible(one['note'])})" if one["note"] else ""
        line = f"would be {done}{kept}: {label(one['path'])}{target}{remark}"
        print_line(line, console=messages())


def _print_restored(done: RollbackOutcome) -> None:
    for path in done.restored:
        kept = ", your edits kept" if path in done.merged else ""
        print_line(f"restored{kept}: {label(path)}", console=messages())
    if not done.restored:
        messages().print("nothing to restore: all files are as they were before the run")


def _print_list(found: list[RunChanges], *, as_json: bool) -> None:
    if as_json:
        print_json({"ok": True, "runs": [one.as_json() for one in found]})
        return
    if not found:
        print_message("no run has changes to roll back")
        return
    rows = table("run", "by", "status", "when", "what would be restored")
    for one in found:
        status = state_text(one.row) if one.row else ""
        rows.add_row(short_id(one.run), Text(visible(one.by)), status, when(one.at), _words(one.outlook))
    page().print(rows)


def _words(outlook: dict[str, Any]) -> Text:
    if outlook["error"]:
        return Text(visible(outlook["error"]), style="red")
    if outlook["changed_since"]:
        reasons = ", ".join(f"{path}: {why}" for path, why in outlook["reasons"].items())
        return Text(visible(f"nothing: {reasons}"), style="yellow")
    kept = dict.fromkeys(outlook["merged"], " (your edits kept)")
    return Text(", ".join(label(path) + kept.get(path, "") for path in outlook["files"]))
