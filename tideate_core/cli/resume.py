"""`tideate resume`: a run that has not ended goes on."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.text import Text

from tideate_core.app import prepare_state
from tideate_core.cli.conducting import Manner, conduct
from tideate_core.cli.exits import DECLINED, status_of
from tideate_core.cli.keyboard import Keyboard
from tideate_core.cli.output import fail, messages, note, tell, visible
from tideate_core.cli.runs import short, steps_words, when
from tideate_core.cli.wiring import build_catalog, log_to_file, open_project
from tideate_core.cli.wishes import opened, until, words_json
from tideate_core.errors import InvalidInput, RunEnded, RunNotActive, TideateError
from tideate_core.store import Reader, resumable, state_of

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.cli.wiring import Project
    from tideate_core.engine import Changed
    from tideate_core.store import RunRow

__all__ = ["ResumeOptions", "resume"]

WITHIN = 10.0
"""Seconds that a paused run's process has to go on."""


@dataclass(frozen=True, slots=True)
class ResumeOptions:
    """The arguments of `tideate resume`."""

    run: str | None
    """Its id, or the beginning of it; None is the newest that can go on."""
    takeover_after: float
    """Seconds without a sign of life after which a run is taken from its process."""
    definition: Changed
    """What counts where the workflow's file was changed since."""
    policy: bool | None
    json: bool
    root: str | None


def resume(options: ResumeOptions) -> int:
    """Continue a run and print its result; returns the exit status."""
    try:
        log_to_file()
        return asyncio.run(_resume(options, open_project(options.root)))
    except TideateError as error:
        fail(error, as_json=options.json)
        return status_of(error)


async def _resume(options: ResumeOptions, project: Project) -> int:
    await asyncio.to_thread(prepare_state, project.root, note)
    reader = Reader(project.private)
    manner = Manner(options.policy, options.json)
    run = await _wanted(options, reader, manner)
    if run is None:
        return DECLINED
    if run.parent is not None:
        raise InvalidInput(
            f"run {short(run.id)} is a step of the run {short(run.parent)} and goes on with it: "
            f"`tideate resume {short(run.parent)}`"
        )
    if run.ended:
        raise RunEnded(f"run {short(run.id)} is {run.status}; only a run that has not ended can go on")
    if run.status == "paused" and run.lease is not None and run.lease.alive:
        return await _wake(project.root, reader, run, as_json=options.json)
    return await conduct(
        project,
        build_catalog(project.root),
        manner,
        lambda runner: runner.resume_run(
            run.id, takeover_after=options.takeover_after, changed=options.definition
        ),
    )


async def _wanted(options: ResumeOptions, reader: Reader, manner: Manner) -> RunRow | None:
    """Return the run that is to go on; None where the person does not want the newest."""
    if options.run is not None:
        return await asyncio.to_thread(reader.run, options.run)
    runs = await asyncio.to_thread(resumable, reader)
    if not runs:
        raise InvalidInput("no run waits to go on; `tideate history` lists all of them")
    newest = runs[0]
    words = (
        f"{newest.name} ({short(newest.id)}) of {when(newest.started_at)}, {state_of(newest)}, "
        f"steps done: {steps_words(newest)}"
    )
    if not manner.asks and options.policy is None:
        raise InvalidInput(
            f"there is no terminal to ask on whether to continue {words}; "
            f"`tideate resume {short(newest.id)}` does"
        )
    console = messages()
    tell(console, Text(visible(words)))
    if options.policy is not None:
        return newest if options.policy else None
    answer = await Keyboard(console).line(Text.assemble(("Continue it?", "bold"), (" [Y/n]", "cyan")))
    return newest if answer is not None and answer.lower() in ("", "y", "yes") else None


async def _wake(root: Path | None, reader: Reader, run: RunRow, *, as_json: bool) -> int:
    """Have the process that paused a run go on with it."""
    assert run.lease is not None  # noqa: S101 the caller looked
    async with opened(root) as store:
        await store.wish(run.id, "resume")
    now = await until(reader, run.id, lambda now: now.status != "paused", WITHIN)
    if now.status == "paused":
        raise RunNotActive(
            f"process {run.lease.pid} did not go on with the run {short(run.id)} within {WITHIN:.0f} s; "
            "end it and resume again"
        )
    return words_json(
        now, f"{run.name} ({short(run.id)}) goes on in process {run.lease.pid}", as_json=as_json
    )
