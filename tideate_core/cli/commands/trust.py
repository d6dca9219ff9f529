"""`tideate trust`: show the effects of trust in a project, ask, and trust its current state."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter
from rich.text import Text

from tideate_core.app import build_catalog, locate_project
from tideate_core.cli.arguments import Json, Root, Yes
from tideate_core.cli.confirmations import confirmed, has_person
from tideate_core.cli.process import DECLINED, DONE, run_async
from tideate_core.cli.render.output import (
    hint_of_state,
    messages,
    print_json,
    print_line,
    print_message,
    report_usage_errors,
    tell,
)
from tideate_core.errors import ConfigError
from tideate_core.project import expand_home, find_root
from tideate_core.util.escaping import label, one_line

if TYPE_CHECKING:
    from tideate_core.app import TrustItem, TrustPlan

MOST_LINES: Final = 200
"""Maximum changed lines shown for one file."""


@report_usage_errors
def trust(
    file: Annotated[
        str | None, Parameter(help="File to trust. Default: all files of the project that need it.")
    ] = None,
    /,
    *,
    revoke: Annotated[bool, Parameter(name="--revoke", help="Revoke trust.")] = False,
    yes: Yes = None,
    json: Json = False,
    root: Root = None,
) -> int:
    """Show a trust plan and apply it if confirmed, or revoke trust; return the exit status."""
    from tideate_core.app import apply_trust

    if revoke:
        return _revoke(file, root, as_json=json)
    plan = _plan(file, root)
    waiting = plan.waiting
    # even with --json, if a person is asked: they must see the plan before they answer
    if not json or (waiting and yes is None and has_person()):
        _print_plan(plan)
    trusted = not waiting or run_async(confirmed(yes, "trust", "Trust this, as it is now?"))
    if waiting and trusted:
        apply_trust(plan)
    if json:
        declined = {} if trusted else {"error": "declined; nothing was trusted", "error_code": "Declined"}
        print_json({"ok": trusted, "trusted": trusted, **declined, **plan.as_json()})
    elif waiting:
        _print_result(waiting, trusted=trusted)
    return DONE if trusted else DECLINED


def _revoke(file: str | None, root: str | None, *, as_json: bool) -> int:
    from tideate_core.app import revoke_trust

    path = None if file is None else expand_home(file)
    revoked = revoke_trust(_root(path, root), path)
    if as_json:
        print_json({"ok": True, "revoked": revoked})
        return DONE
    for words in revoked:
        print_line(f"no longer trusted: {one_line(words)}", console=messages())
    if not revoked:
        what = "nothing of this project was trusted" if file is None else f"was not trusted: {file}"
        print_message(one_line(what))
    return DONE


def _plan(file: str | None, root: str | None) -> TrustPlan:
    from tideate_core.app import plan_trust

    path = None if file is None else expand_home(file)
    found = _root(path, root)
    return plan_trust(found, build_catalog(found), path)


def _root(path: Path | None, root: str | None) -> Path:
    if root is None and path is not None:
        # the root of the named path, not of a link's target, which may be in another project
        found = find_root(Path(*path.absolute().parts[:-1]))
    else:
        found = locate_project(root)
    if found is None:
        raise ConfigError("there is no project here; name a file in one, or the project with --root")
    return found


def _print_plan(plan: TrustPlan) -> None:
    console = messages()
    hint_of_state(plan.root)
    known = sum(item.trusted for item in plan.items)
    for item in plan.waiting:
        console.print(_heading(item), soft_wrap=True)
        for effect in item.effects:
            tell(console, Text(f"  - {one_line(effect)}"), indent=4)
        if item.changes:
            _print_changes(item)
    for item in plan.mistaken:
        words = f"{label(item.name)} cannot be trusted while it has mistakes: {one_line(item.mistake)}"
        tell(console, Text(words, style="yellow"))
    for item in plan.items:
        if not item.effects and not item.mistake:
            tell(console, Text(f"{label(item.name)} has nothing that needs trust", style="dim"))
    if known:
        tell(console, Text(f"trusted already, as it is now: {known} of {len(plan.items)}", style="dim"))


def _heading(item: TrustItem) -> Text:
    first = "--- /dev/null" in item.changes
    note = " (changed since you trusted it)" if item.changes and not first else ""
    return Text.assemble((label(item.name), "bold"), note, " would be able to")


def _print_changes(item: TrustItem) -> None:
    # here, because diffs import the workspace
    from tideate_core.cli.render.diffs import patch_text

    lines = item.changes.splitlines(keepends=True)
    print_line(patch_text("".join(lines[:MOST_LINES])), console=messages())
    if len(lines) > MOST_LINES:
        words = f"… {len(lines) - MOST_LINES} more lines: read {label(item.name)} before you trust it"
        print_message(words, "bold yellow")


def _print_result(waiting: list[TrustItem], *, trusted: bool) -> None:
    if not trusted:
        hint = "" if sys.stdin.isatty() else "; without a terminal, --yes trusts it"
        print_message(f"not trusted{hint}", "yellow")
        return
    for item in waiting:
        print_line(f"trusted as it is now: {label(item.name)}", console=messages())
