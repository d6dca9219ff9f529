"""The commands of `tideate project`: list, move, forget."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from rich.text import Text

from tideate_core.app import forget_project, move_project, project_named
from tideate_core.app import list_projects as listed
from tideate_core.cli.exits import DECLINED, DONE, USAGE
from tideate_core.cli.output import fail, label, messages, print_json, tell, visible
from tideate_core.cli.runs import page, table, when
from tideate_core.errors import TideateError

if TYPE_CHECKING:
    from tideate_core.app import ProjectView

__all__ = ["forget", "list_projects", "move"]


def list_projects(*, as_json: bool) -> int:
    """Print the projects that have private state; returns the exit status."""
    try:
        found = listed()
    except TideateError as error:
        fail(error, as_json=as_json)
        return USAGE
    if as_json:
        print_json({"ok": True, "projects": [one.as_json() for one in found]})
        return DONE
    if not found:
        tell(messages(), Text("no project has private state yet"))
        return DONE
    rows = table("last used", "MiB", "unfinished", "path", right=("MiB", "unfinished"))
    for one in found:
        gone = Text("gone: ", style="yellow") if one.gone else Text("")
        unfinished = str(one.unfinished) if one.unfinished else ""
        rows.add_row(when(one.used_at), f"{one.size / 2**20:,.1f}", unfinished, gone + label(one.path))
    page().print(rows)
    return DONE


def move(old: str, new: str, *, from_living: bool, as_json: bool) -> int:
    """Give the state of a moved project to its new path; returns the exit status."""
    try:
        was = project_named(old).path
        path = move_project(old, new, from_living=from_living)
    except TideateError as error:
        fail(error, as_json=as_json)
        return USAGE
    if as_json:
        print_json({"ok": True, "path": str(path)})
        return DONE
    words = (
        f"the state of {was} belongs to {path} now; what was trusted has to be trusted again: `tideate trust`"
    )
    tell(messages(), Text(visible(words)))
    return DONE


def forget(path: str, *, policy: bool | None, as_json: bool) -> int:
    """Remove the private state of a project, if that is confirmed; returns the exit status."""
    try:
        view = project_named(path)
        if not _agreed(view, policy):
            if as_json:
                print_json({"ok": False, "error": "declined", "error_code": "Declined"})
            else:
                hint = "" if policy is False or sys.stdin.isatty() else " (--yes removes it)"
                tell(messages(), Text(f"declined; nothing was removed{hint}", style="yellow"))
            return DECLINED
        removed = forget_project(path)
    except TideateError as error:
        fail(error, as_json=as_json)
        return USAGE
    if as_json:
        print_json({"ok": True, "path": str(removed)})
    else:
        tell(messages(), Text(f"removed the state of {label(removed)}"))
    return DONE


def _agreed(view: ProjectView, policy: bool | None) -> bool:
    if policy is not None:
        return policy
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    from tideate_core.cli.keyboard import Keyboard

    runs = (
        f"{view.unfinished} unfinished run{'' if view.unfinished == 1 else 's'}, " if view.unfinished else ""
    )
    words = (
        f"Remove the state of {label(view.path)} ({runs}{view.size / 2**20:,.1f} MiB)? Its runs cannot be "
        "resumed or rolled back then, and its snapshots are gone."
    )
    question = Text.assemble((words, "bold"), (" [y/N]", "cyan"))
    answer = asyncio.run(Keyboard(messages()).line(question))
    return answer is not None and answer.lower() in ("y", "yes")
