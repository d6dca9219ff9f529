"""`tideate project`: list, move and forget the private state of projects."""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter
from rich.text import Text

from tideate_core.cli.arguments import Json, Yes
from tideate_core.cli.confirmations import confirmed, declined
from tideate_core.cli.process import DONE, run_async
from tideate_core.cli.render.output import (
    print_json,
    print_message,
    report_usage_errors,
)
from tideate_core.cli.render.tables import page, table, when
from tideate_core.util.escaping import label

app = App(name="project")


@app.command(name="list")
@report_usage_errors
def list_projects(*, json: Json = False) -> int:
    """List the projects with private state, last used first."""
    from tideate_core.app import list_projects as stored_projects

    found = stored_projects()
    if json:
        print_json({"ok": True, "projects": [one.as_json() for one in found]})
        return DONE
    if not found:
        print_message("no project has private state yet")
        return DONE
    rows = table("last used", "MiB", "unfinished", "path", right=("MiB", "unfinished"))
    for one in found:
        gone = Text("gone: ", style="yellow") if one.gone else Text("")
        unfinished = str(one.unfinished) if one.unfinished else ""
        rows.add_row(when(one.used_at), f"{one.size / 2**20:,.1f}", unfinished, gone + label(one.path))
    page().print(rows)
    return DONE


@app.command
@report_usage_errors
def move(
    old: Annotated[str, Parameter(help="Former path of the project.")],
    new: Annotated[str, Parameter(help="Present path of the project.")],
    /,
    *,
    yes: Yes = None,
    json: Json = False,
) -> int:
    """Move the private state of a moved project to its new path.

    Trust belongs to one path and must be given again. If the project is still at the old path, nothing is
    moved unless --yes.
    """
    from tideate_core.app import move_project, project_named

    was = project_named(old).path
    path = move_project(old, new, from_living=bool(yes))
    if json:
        print_json({"ok": True, "path": str(path)})
    else:
        words = f"moved the state of {label(was)} to {label(path)}; trust its files again"
        print_message(f"{words}: `tideate trust`")
    return DONE


@app.command
@report_usage_errors
def forget(
    path: Annotated[str, Parameter(help="Path of the project, which may be gone.")],
    /,
    *,
    yes: Yes = None,
    json: Json = False,
) -> int:
    """Delete the private state of a project; the project's files are not touched.

    Its runs can no longer be resumed or rolled back. Without a terminal, this is declined unless --yes.
    """
    from tideate_core.app import forget_project, project_named

    view = project_named(path)
    count = view.unfinished
    runs = f"{count} unfinished run{'' if count == 1 else 's'}, " if count else ""
    question = (
        f"Delete the state of {label(view.path)} ({runs}{view.size / 2**20:,.1f} MiB)? Its runs can then not "
        "be resumed or rolled back, and its snapshots are gone."
    )
    if not run_async(confirmed(yes, "forget", question)):
        return declined("nothing was removed", "removes it", yes, as_json=json)
    removed = forget_project(path)
    if json:
        print_json({"ok": True, "path": str(removed)})
    else:
        print_message(f"removed the state of {label(removed)}")
    return DONE
