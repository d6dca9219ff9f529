"""Published runs that continue here with the answer of a reviewer elsewhere."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from tideate_core.app import (
    build_catalog,
    check_landing,
    end_published,
    find_published,
    land_branch,
    open_published,
    opening_lines,
    read_published,
    short_id,
    take_published,
)
from tideate_core.cli.confirmations import confirmed, declined, has_person
from tideate_core.cli.leaving import print_left
from tideate_core.cli.process import DONE, FAILED, LEFT
from tideate_core.cli.render.output import messages, note, print_line
from tideate_core.cli.terminal import run_to_end
from tideate_core.errors import RunNotFound
from tideate_core.store import Reader
from tideate_core.util.escaping import label

if TYPE_CHECKING:
    from tideate_core.app import Continuation, Project
    from tideate_core.cli.terminal import Interaction
    from tideate_core.engine import Changed
    from tideate_core.portable import Bundle
    from tideate_core.store import RunRow


async def resume_published(
    run: str,
    project: Project,
    interaction: Interaction,
    remote: str,
    *,
    again: bool,
    land: str | None,
    changed: Changed,
    adapter: str | None = None,
) -> int:
    """Continue a published run here with its recorded answer; return the exit status.

    :param again: continue even if another machine has begun to.
    :param land: `branch` commits the changes to a branch, and pushes it.
    :param adapter: for the rest of the run.
    """
    found = await find_published(project, remote, run, again=again)
    for words in found.notices:
        note(words)
    if found.answer is None and not interaction.asks and interaction.policy is None:
        return report_waiting(found)
    if land is not None:
        await check_landing(project, found.run, remote)
    bundle = await read_published(project, found, adapter=adapter)
    if not await _may_open(project, found, bundle, interaction):
        stays = "the run stays on the remote"
        return declined(stays, "opens it", interaction.policy, as_json=interaction.json)
    await take_published(project, found, again=again)
    written = await open_published(project, bundle, note)
    if written:
        note(f"written, with the earlier changes of the run: {', '.join(map(label, written))}")
    status = await _continue(project, found, interaction, changed, adapter)
    return await _finish(project, found, land, status)


async def _continue(
    project: Project, found: Continuation, interaction: Interaction, changed: Changed, adapter: str | None
) -> int:
    row = await _row(project, found.run)
    if row.ended:  # an earlier process continued it and could not remove it from the remote
        note(f"run {short_id(found.run)} has already ended here")
        return DONE if row.status == "completed" else FAILED
    # at a further question the run can leave again, and be answered: to decline it would be final
    leaves = interaction.leaves or (interaction.policy is not False and not has_person())
    with_answers = replace(interaction, recorded=found.answers, leaves=leaves, remote=found.remote)
    return await run_to_end(
        project,
        build_catalog(project.root),
        with_answers,
        lambda runner: runner.resume_run(found.run, changed=changed, adapter=adapter),
    )


async def _finish(project: Project, found: Continuation, land: str | None, status: int) -> int:
    row = await _row(project, found.run)
    if not row.ended:
        return status
    if land is not None and row.status == "completed" and row.files:
        landed = await land_branch(project, found.run, found.remote)
        where = f"commit {short_id(landed.commit)}, pushed to {label(found.remote)}"
        note(f"the branch {landed.branch} has the changes: {where}")
    await end_published(project, found, note)
    return status


async def _may_open(project: Project, found: Continuation, bundle: Bundle, interaction: Interaction) -> bool:
    """Ask before a run of others changes files here; without a terminal the command itself is the answer."""
    if not interaction.asks or (found.own and await _is_here(project, found.run)):
        return True
    for line in await opening_lines(project, found, bundle):
        print_line(line, console=messages())
    signed = "signed by an allowed key" if found.asked.signed else "its author is not verified"
    question = (
        f"Open the run {short_id(found.run)} of {label(found.asked.by)} ({signed})? Its earlier changes "
        "are written to your files, and it continues here."
    )
    return await confirmed(interaction.policy, "resume", question, found.run)


def report_waiting(found: Continuation) -> int:
    """Print a run that waits on a remote; return the exit status."""
    question = found.asked.question
    words = f"question {question.n} of run {short_id(found.run)}"
    if found.answer is None:
        note(f"{words} is not answered yet")
    else:
        go_on = f"`tideate resume --from {label(found.remote)} {short_id(found.run)}` continues the run"
        note(f"{words} was answered by {label(found.answer.answer.by)}; {go_on}")
    about = {"workflow": question.workflow, "remote": found.remote, "commit": found.refs.commit}
    shape = {"n": question.n, "step": question.step, "kind": question.kind, "message": question.message}
    print_left({"execution_id": found.run, "answered": found.answer is not None, **about, **shape})
    return LEFT


async def _row(project: Project, run: str) -> RunRow:
    return await asyncio.to_thread(Reader(project.private).run, run)


async def _is_here(project: Project, run: str) -> bool:
    try:
        await _row(project, run)
    except RunNotFound:
        return False
    return True
