"""`tideate inbox`: list, show and answer questions of runs that wait on a remote; publish and prune runs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter
from rich.text import Text

from tideate_core.app import (
    ANSWER,
    build_catalog,
    list_inbox,
    locate_waiting,
    open_project,
    prune_inbox,
    read_question,
    short_id,
    unfinished_answer,
    waiting_json,
)
from tideate_core.cli.arguments import Json, Remotes, Root, RunId, Yes
from tideate_core.cli.confirmations import has_person
from tideate_core.cli.process import DONE, FAILED, log_to_file, run_async
from tideate_core.cli.render.output import (
    messages,
    note,
    print_json,
    print_line,
    print_message,
    print_text,
    report_errors,
)
from tideate_core.cli.render.tables import facts, page, table, when
from tideate_core.errors import InvalidInput, RunIsOwned
from tideate_core.store import Reader
from tideate_core.util.escaping import label, one_line, visible

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.app import Project, WaitingRun
    from tideate_core.cli.terminal import Interaction

app = App(name="inbox")
NOTHING = "no run waits for an answer"
Waiting = Annotated[str, Parameter(name="RUN", help="ID of a waiting run, or a prefix of it.")]


@app.default
@report_errors
def inbox(*remotes: Remotes, json: Json = False, root: Root = None) -> int:
    """List the runs that wait for an answer, newest first; fetches from the remotes."""
    found = run_async(_listed(_root(open_project(root)), remotes))
    if json:
        print_json({"ok": True, "waiting": [waiting_json(one) for one in found]})
        return DONE
    if not found:
        print_message(NOTHING)
        return DONE
    shown = table("run", "remote", "when", "workflow", "step", "question", "state")
    for one in found:
        shown.add_row(
            short_id(one.run),
            label(one.remote),
            when(one.asked_at) if one.asked_at else "",
            label(one.workflow),
            label(one.step),
            one_line(one.message),
            _state(one),
        )
    page().print(shown)
    return DONE


@app.command
@report_errors
def show(run: Waiting, remote: Remotes | None = None, /, *, json: Json = False, root: Root = None) -> int:
    """Show the question of a waiting run, with the proposed changes."""
    from tideate_core.cli.render.diffs import patch_text

    place = _root(open_project(root))

    async def read() -> tuple[WaitingRun, Any]:
        one = await locate_waiting(place, run, _named(remote), terminal=_terminal())
        return one, await read_question(place, one.remote, one.run)

    one, asked = run_async(read())
    question = asked.question
    if json:
        print_json({"ok": True, **waiting_json(one), "question": question.model_dump(mode="json")})
        return DONE
    facts(
        {
            "run": question.run,
            "remote": label(one.remote),
            "workflow": f"{label(question.workflow)}, step {label(question.step)}",
            "asked": f"{when(question.asked_at)} by {label(one.by)}{'' if one.signed else ' (not verified)'}",
            "state": _state(one),
        }
    )
    print_line(Text(visible(question.message), style="bold"))
    if question.details:
        print_text(visible(question.details))
    for file in question.executed:
        words = f"warning: other tools run {label(file.path)}: {label(file.reason)}"
        print_line(Text(words, style="bold red"))
    if patch := question.diff():
        print_line(patch_text(patch))
    return DONE


@app.command
@report_errors
def answer(
    run: Waiting, remote: Remotes | None = None, /, *, yes: Yes = None, json: Json = False, root: Root = None
) -> int:
    """Answer the question of a waiting run, as if the run were here; an unfinished answer continues.

    Nothing of the run is executed here. The first answer counts.
    """
    from tideate_core.cli.terminal import Interaction

    interaction = Interaction(yes, json, keeps=True)
    if not interaction.asks and yes is not True:
        raise InvalidInput(
            "there is no terminal to ask on, so nothing was sent; --yes accepts without a review"
        )
    log_to_file()
    return run_async(_answer(open_project(root), run, _named(remote), interaction))


@app.command
@report_errors
def send(
    run: RunId,
    remote: Annotated[str | None, Parameter(help="Remote to publish to. Default: `[ci] remote`.")] = None,
    /,
    *,
    with_secrets: Annotated[
        bool, Parameter(name="--with-secrets", help="Publish it even if it seems to hold secrets.")
    ] = False,
    root: Root = None,
) -> int:
    """Publish a waiting run for a reviewer elsewhere; exit status 4 if it was published."""
    log_to_file()
    return run_async(_send(open_project(root), run, remote, with_secrets=with_secrets))


@app.command
@report_errors
def prune(*remotes: Remotes, json: Json = False, root: Root = None) -> int:
    """Remove from the remotes the runs that have ended here, and answers without a run."""
    removed = run_async(prune_inbox(open_project(root), remotes, terminal=_terminal()))
    if json:
        print_json({"ok": True, "removed": removed})
        return DONE
    for remote, names in removed.items():
        count = len(names)
        print_message(f"{label(remote)}: removed {count} ref{'' if count == 1 else 's'}")
        for name in names:
            print_line(label(name))
    return DONE


async def _listed(root: Path, remotes: tuple[str, ...]) -> list[WaitingRun]:
    with messages().status("fetching the inbox"):
        return await list_inbox(root, remotes, terminal=_terminal(), note=note)


async def _answer(project: Project, run: str, remotes: tuple[str, ...], interaction: Interaction) -> int:
    from tideate_core.cli.terminal import run_to_end
    from tideate_core.engine import RunRequest

    one = await locate_waiting(_root(project), run, remotes, terminal=_terminal())
    if one.invalid:
        raise InvalidInput(f"the question of run {short_id(one.run)} cannot be answered: {one.message}")
    begun = await asyncio.to_thread(unfinished_answer, one.run, one.commit, Reader(project.private))
    if begun is not None and begun.owner is not None:
        raise RunIsOwned(f"the question of run {short_id(one.run)} is open in process {begun.owner}")
    if one.answered_by is not None and not (begun and begun.decided):
        who = label(one.answered_by)
        raise InvalidInput(
            f"{who} answered the question of run {short_id(one.run)} already; nothing was sent"
        )
    request = RunRequest(name=ANSWER, inputs={"run": one.run, "remote": one.remote})
    return await run_to_end(
        project,
        build_catalog(project.root),
        interaction,
        lambda runner: runner.resume_run(begun.id) if begun else runner.run(request),
    )


async def _send(project: Project, wanted: str, remote: str | None, *, with_secrets: bool) -> int:
    """Resume a run until its question, then publish it, unless its present state is published already."""
    from tideate_core.app import published_now, run_to_resume
    from tideate_core.cli.leaving import publish_left
    from tideate_core.cli.published import report_waiting
    from tideate_core.cli.terminal import Interaction, attend

    run = run_to_resume(Reader(project.private), wanted)
    where = remote or project.loaded.config.ci.remote
    if (found := await published_now(project, run.id, where, terminal=_terminal())) is not None:
        return report_waiting(found)
    result, front, interruption = await attend(
        project,
        build_catalog(project.root),
        Interaction(leaves=True),
        lambda runner, _front: runner.resume_run(run.id),
    )
    if result is None or interruption.happened:
        return interruption.status
    if front.left is None:
        note(f"run {short_id(run.id)} ended without a question; nothing was published")
        return DONE if result.ok else FAILED
    return await publish_left(project, run.id, front.left, remote=where, with_secrets=with_secrets)


def _state(one: WaitingRun) -> str:
    if one.invalid:
        return "invalid"
    if one.taken_by is not None:
        since = f" since {when(one.taken_at)}" if one.taken_at else ""
        return f"taken by {label(one.taken_by)}{since}"
    return f"answered by {label(one.answered_by)}" if one.answered_by else "waits"


def _named(remote: str | None) -> tuple[str, ...]:
    return () if remote is None else (remote,)


def _root(project: Project) -> Path:
    if project.root is None:
        raise InvalidInput("no project is open, so there is no repository with an inbox")
    return project.root


def _terminal() -> Any:
    return "shared" if has_person() else "none"
