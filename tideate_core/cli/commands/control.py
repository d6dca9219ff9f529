"""`tideate pause`, `say` and `cancel`: send a request to a run's process and wait for the result."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tideate_core.app import (
    cancel_run,
    locate_project,
    open_project,
    pause_run,
    run_json,
    say_to_run,
    short_id,
)
from tideate_core.cli.arguments import Json, Root, RunId, Wait, prompt_of
from tideate_core.cli.process import DONE, FAILED, finish, log_to_file, run_async
from tideate_core.cli.render.output import (
    note,
    print_json,
    print_message,
    report_errors,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.store import RunRow
    from tideate_core.workspace import Workspace


@report_errors
def pause(run: RunId, /, *, wait: Wait = 10.0, json: Json = False, root: Root = None) -> int:
    """Pause a run before its next step; return the exit status."""
    return run_async(_pause(run, locate_project(root), wait, json))


@report_errors
def cancel(run: RunId, /, *, wait: Wait = 10.0, json: Json = False, root: Root = None) -> int:
    """Cancel a run, whether a process has it or not; return the exit status."""
    log_to_file()
    return run_async(_cancel(run, locate_project(root), wait, json))


@report_errors
def say(run: RunId, /, *text: str, json: Json = False, root: Root = None) -> int:
    """Send a message to a run's model before its next turn; return the exit status."""
    return run_async(_say(run, prompt_of(text), locate_project(root), json))


def report_run(run: RunRow, words: str, *, as_json: bool, ok: bool = True) -> int:
    """Print the state of a run; return the exit status."""
    if as_json:
        print_json({"ok": ok, "message": words, **run_json(run)})
    else:
        print_message(words, "" if ok else "red")
    return DONE if ok else FAILED


async def _pause(wanted: str, root: Path | None, within: float, as_json: bool) -> int:
    run = await pause_run(wanted, root, within, _notify)
    name = f"{run.name} ({short_id(run.id)})"
    if run.status == "paused":
        words = f"{name} is paused; `tideate resume {short_id(run.id)}` resumes it"
    else:
        step = f"{run.current_step!r}" if run.current_step else "the running step"
        words = f"{name} will pause after {step}"
    return report_run(run, words, as_json=as_json)


async def _say(wanted: str, text: str, root: Path | None, as_json: bool) -> int:
    run = await say_to_run(wanted, text, root, _notify)
    words = f"{run.name} ({short_id(run.id)}) has the message; its model reads it before its next turn"
    return report_run(run, words, as_json=as_json)


async def _cancel(wanted: str, root: Path | None, within: float, as_json: bool) -> int:
    def workspace() -> Workspace:
        return open_project(None if root is None else str(root)).workspace

    cancelling = partial(cancel_run, wanted, root, within, _notify, workspace)
    run, done = await finish(lambda begin: cancelling(on_write=begin), note)
    for path in done.restored:
        print_message(f"restored, its step had not ended: {path}")
    if done.error is not None:
        note(str(done.error))
    if done.kept:
        note(
            "a step that must not run twice had not ended, so its changes stay: "
            f"{', '.join(done.kept)}; `tideate rollback {short_id(run.id)}` rolls back all of the run"
        )
    rollback = f"; roll back: tideate rollback {short_id(run.id)}" if run.files else ""
    return report_run(run, f"{run.name} ({short_id(run.id)}) is cancelled{rollback}", as_json=as_json)


def _notify(words: str) -> None:
    print_message(words, "dim")
