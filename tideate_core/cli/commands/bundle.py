"""`tideate bundle`: put a run into a file, show such a file, and open it in a project."""

from __future__ import annotations

import asyncio
import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import App, Parameter

from tideate_core.app import (
    BundleHere,
    base_work_tree,
    beside_project,
    bundle_file,
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
from tideate_core.cli.render.tables import when
from tideate_core.errors import InvalidInput
from tideate_core.util.escaping import label, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from tideate_core.app import Project
    from tideate_core.portable import Bundle, TakenUp

MANY: Final = 10
"""Maximum files of a list; the rest is counted."""

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

    The file holds prompts, answers, tool results and the files that the run wrote. Give it only to people
    who may read them. If a text seems to hold a secret, no file is written.
    """
    if out == "-" and (json or sys.stdout.isatty()):
        raise InvalidInput("`-o -` writes the bundle itself to stdout: pipe it, without --json")
    if out is not None and out != "-" and (not out or out.startswith("-")):
        raise InvalidInput(f"-o needs the name of a file, not {out!r}; one such is ./{out or 'run'}")
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
        print_message(f"not in the bundle, because it is no file of the project: {label(name)}", "yellow")
    print_message(
        f"{facts.size / 1024:,.0f} KiB; `tideate bundle open FILE` opens it in a copy of the project"
    )
    return DONE


@app.command
@report_errors
def show(file: File, /, *, json: Json = False, root: Root = None) -> int:
    """Show the run in a bundle, and how this project differs; nothing is written."""
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
            help="Open it in a new git work tree of the commit that the run began with.",
        ),
    ] = None,
    yes: Yes = None,
    json: Json = False,
    root: Root = None,
) -> int:
    """Open a bundle: the run becomes a run of this project, and its changes are written to the files.

    Changes of the same files here are merged. If they contradict each other, nothing is written.
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
        print_message("the run is here already, as in the bundle; nothing was changed")
    command = "show" if taken.ended else "resume"
    where = f"cd {label(worktree)} && " if worktree else ""
    print_text(f"{where}tideate {command} {short_id(taken.run)}")
    return DONE


def _print(here: BundleHere, console: Console | None) -> None:
    for line in _lines(here):
        print_line(visible(line), console=console)


def _lines(here: BundleHere) -> Iterator[str]:
    facts = here.facts
    yield f"run       {facts.run} of {label(facts.workflow)}, {facts.state}"
    if facts.prompt:
        yield f"prompt    {' '.join(facts.prompt.split())}"
    if facts.question:
        yield f"asks      {' '.join(facts.question.split())}"
    steps = f" of {facts.total_steps}" if facts.total_steps else ""
    yield f"steps     {facts.completed_steps}{steps} completed"
    if facts.adapter:
        yield f"model     {label(facts.adapter)}"
    yield f"made      {when(facts.made_at)} by tideate {facts.version}, in the project {label(facts.project)}"
    yield f"base      {_base(here)}"
    yield from _named("wrote", facts.written)
    yield from _named("read", facts.read)
    yield from _named("differ", here.differs, " here; a merge or the next step sees the content here")
    yield from _named("left out", facts.left)
    for words in here.executed:
        yield f"caution   {label(words)}"
    if facts.answers:
        yield f"answers   {facts.answers} accepted, which the run carries out when it is resumed"
    yield f"size      {facts.size / 1024:,.0f} KiB"


def _base(here: BundleHere) -> str:
    if here.facts.base is None:
        return "no commit"
    known = "in this repository" if here.has_base else "not in this repository"
    return f"commit {here.facts.base[:12]}, {known}"


def _named(head: str, names: tuple[str, ...], more: str = "") -> Iterator[str]:
    if not names:
        return
    rest = f" and {len(names) - MANY} more" if len(names) > MANY else ""
    yield f"{head:9} {', '.join(map(label, names[:MANY]))}{rest}{more}"
