"""`tideate commit`: commit the changes of a run."""

from __future__ import annotations

import sys
from typing import Annotated

from cyclopts import Parameter

from tideate_core.app import choose_run, commit_run, open_project, plan_commit, short_id
from tideate_core.cli.arguments import Json, Root, Yes, as_text, run_ids
from tideate_core.cli.confirmations import declined
from tideate_core.cli.process import DONE, run_async
from tideate_core.cli.render.output import note, print_json, print_line, report_errors
from tideate_core.util.escaping import label


@report_errors
def commit(
    run: Annotated[
        str | None, Parameter(help="ID of the run, a prefix of it, or `last`.", completer=run_ids)
    ] = None,
    /,
    *,
    message: Annotated[
        str | None,
        Parameter(
            name=["--message", "-m"], metavar="TEXT", help="The message, instead of opening an editor."
        ),
    ] = None,
    dry_run: Annotated[
        bool, Parameter(name="--dry-run", help="Only print the message and the files.")
    ] = False,
    yes: Yes = None,
    json: Json = False,
    root: Root = None,
) -> int:
    """Commit a run's changes; return the exit status."""
    project = open_project(root)
    plan = run_async(plan_commit(project.root, project.private, *choose_run(project, run, note)))
    for words in plan.notes:
        note(words)
    text = plan.message if message is None else as_text(message, "--message")
    shape = {"execution_id": plan.run.id, "message": text, "files": plan.files}
    if dry_run:
        if json:
            print_json({"ok": True, "dry_run": True, **shape})
            return DONE
        for line in (*text.rstrip("\n").split("\n"), "", *map(label, plan.files)):
            print_line(line)
        return DONE
    edit = message is None and yes is None
    if yes is False or (edit and not sys.stdin.isatty()):
        return declined("nothing was committed", "commits with this message", yes, as_json=json)
    made = commit_run(plan, text, edit=edit)
    if json:
        print_json({"ok": True, "commit": made, **shape})
    else:
        print_line(f"{short_id(made)} {len(plan.files)} file{'' if len(plan.files) == 1 else 's'} committed")
    return DONE
