"""`tideate bundle`: put a run into a file, show such a file, and open it in a project."""

from __future__ import annotations

import asyncio
import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from tideate_core.app import (
    BundleHere,
    base_work_tree,
    beside_project,
    bundle_file,
    bundle_lines,
    load_bundle,
    make_bundle,
    open_bundle,
    open_project,
    save_bundle,
    short_id,
)
from tideate_core.cli.arguments import Json, Root, RunId, Yes
from tideate_core.cli.confirmations import confirmed, declined
from tideate_core.cli.process import DONE, finish, log_to_file, run_async
from tideate_core.cli.render.output import (
    messages,
    note,
    print_json,
    print_line,
    print_message,
    print_text,
    report_errors,
)
from tideate_core.errors import InvalidInput
from tideate_core.util.escaping import label, visible

if TYPE_CHECKING:
    from rich.console import Console

    from tideate_core.app import Project
    from tideate_core.portable import Bundle, TakenUp

app = App(name="bundle")

File = Annotated[str, Parameter(name="FILE", help="The bundle; `-` is stdin.", allow_leading_hyphen=True)]


@app.command
@report_errors
def create(
    run: RunId,
    /,
    *,
    out: Annotated[
        str | None,
        Parameter(
            name=["--output", "-o"],
            metavar="FILE",
            help="Output file; `-` is stdout. Default: the short id of the run with `.tideate-bundle`.",
            allow_leading_hyphen=True,
        ),
    ] = None,
    with_secrets: Annotated[
        bool,
        Parameter(name="--with-secrets", help="Include texts that seem to hold secrets."),
    ] = False,
    json: Json = False,
    root: Root = None,
) -> int:
    """Put a run that waits or has ended into a file.

    The file holds prompts, answers, tool results and the files that the run wrote.
    Give it only to people who may read them. If a text seems to hold a secret,
    no file is written.
    """
    if out == "-" and (json or sys.stdout.isatty()):
        raise InvalidInput("`-o -` writes the bundle itself to stdout: pipe it, without --json")
    if out is not None and out != "-" and (not out or out.startswith("-")):
        raise InvalidInput(f"-o needs the name of a file, not {out!r}; for example, ./{out or 'run'}")
    facts, content = make_bundle(open_project(root), run, with_secrets=with_secrets)
    if out == "-":
        sys.stdout.buffer.write(content)
        return DONE
    path = save_bundle(out or bundle_file(facts.run), content)
    if json:
        print_json({"ok": True, "file": str(path), **facts.as_json()})
        return DONE
    print_text(str(path))
    for name in facts.left:
        print_message(f"not in the bundle, because it is not a file of the project: {label(name)}", "yellow")
    print_message(
        f"{facts.size / 1024:,.0f} KiB; `tideate bundle open FILE` opens it in another copy of the project"
    )
    return DONE


@app.command
@report_errors
def show(file: File, /, *, json: Json = False, root: Root = None) -> int:
    """Show the run in a bundle, and the files that differ in this project; write nothing."""
    project = open_project(root)
    here = beside_project(load_bundle(file, sys.stdin.buffer), project)
    if json:
        print_json({"ok": True, **here.as_json()})
    else:
        _print(here, None)
    return DONE


@app.command(name="open")
@report_errors
def open_(
    file: File,
    /,
    *,
    worktree: Annotated[
        str | None,
        Parameter(
            name="--worktree",
            metavar="DIR",
            help="Open it in a new git work tree of the bundle's base commit.",
        ),
    ] = None,
    yes: Yes = None,
    json: Json = False,
    root: Root = None,
) -> int:
    """Open a bundle: add its run to this project, and write its changes to the files.

    Your own changes to the same files are merged. On a conflict, nothing is written.
    """
    log_to_file()
    project = open_project(root)
    bundle = load_bundle(file, sys.stdin.buffer)
    here = beside_project(bundle, project)
    if yes is not False and not json:
        _print(here, messages())
    question = f"Open run {short_id(bundle.run)} of {label(bundle.facts.workflow)} here?"
    if not run_async(confirmed(yes, "bundle", question, bundle.run)):
        return declined("nothing was changed", "opens it", yes, as_json=json)
    return run_async(_open(project, bundle, worktree, as_json=json))


async def _open(project: Project, bundle: Bundle, worktree: str | None, *, as_json: bool) -> int:
    if worktree is None:
        taken = await finish(lambda begin: open_bundle(project, bundle, note, begin), note)
        return _report(taken, "", as_json=as_json)
    async with base_work_tree(project.root, bundle.facts.base, worktree) as place:
        there = await asyncio.to_thread(partial(open_project, str(place)))
        taken = await finish(lambda begin: open_bundle(there, bundle, note, begin), note)
    return _report(taken, worktree, as_json=as_json)


def _report(taken: TakenUp, worktree: str, *, as_json: bool) -> int:
    if as_json:
        place = {"worktree": worktree} if worktree else {}
        print_json({"ok": True, **taken.as_json(), **place})
        return DONE
    for name in taken.written:
        print_line(f"written: {label(name)}", console=messages())
    if taken.unchanged:
        print_message("the run is here already, in the same state; nothing was changed")
    command = "show" if taken.ended else "resume"
    where = f"cd {label(worktree)} && " if worktree else ""
    print_text(f"{where}tideate {command} {short_id(taken.run)}")
    return DONE


def _print(here: BundleHere, console: Console | None) -> None:
    for line in bundle_lines(here):
        print_line(visible(line), console=console)
