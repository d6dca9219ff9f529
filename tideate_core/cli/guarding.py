"""`tideate guard COMMAND`, with and without the full parser; the program starts before most modules load."""

from __future__ import annotations

import signal
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tideate_core.cli.process import DECLINED, DONE, SIGNALLED, log_to_file, run_async, status_of
from tideate_core.errors import ConfigError, ProgramMissing, ProgramNotExecutable, TideateError
from tideate_core.project import expand_home, find_root, real_path

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tideate_core.app import GuardedProgram
    from tideate_core.engine import WorkflowResult, WorkflowRunner
    from tideate_core.process import Namespaces, StartedProgram
    from tideate_core.snapshots import GuardSession

FLAGS: Final = {
    "--yes": ("policy", True),
    "--no": ("policy", False),
    "--later": ("later", True),
    "--json": ("json", True),
}
"""Options of `tideate guard`: their field and its value."""
VALUES: Final = {"--root": "root", "--agent": "agent"}
"""Options with a value: their field."""
RENEWED_AFTER: Final = 0.5
"""Seconds in which the program starts undisturbed."""
HUNG_UP: Final = SIGNALLED + signal.SIGHUP


@dataclass(frozen=True, slots=True)
class Guarding:
    """Request to run a program in a guarded copy."""

    argv: tuple[str, ...] = ()
    policy: bool | None = None
    """Answer to every confirmation; None asks."""
    later: bool = False
    """Leave the changes to a later review."""
    json: bool = False
    root: str | None = None
    agent: str = ""
    """Name of the agent behind the program; empty: as its words tell."""


def read_words(words: Sequence[str]) -> Guarding | None:
    """Return the request of `tideate guard` and these words, or None if they need the full parser.

    That parser also reads subcommands and reports mistakes.
    """
    from tideate_core.app import GUARD_COMMANDS

    found: dict[str, Any] = {}
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "--":
        option, equals, text = words[at].partition("=")
        if option in VALUES and not equals:
            at += 1
            text = words[at] if at < len(words) else ""
        name, value = (VALUES[option], text) if option in VALUES else FLAGS.get(words[at], ("", None))
        if name in ("", *found) or value == "" or str(value).startswith("-"):
            return None
        found[name] = value
        at += 1
    ended = words[at : at + 1] == ["--"]
    argv = tuple(words[at + ended :])
    if not argv or (not ended and argv[0] in GUARD_COMMANDS):
        return None
    return Guarding(argv, **found)


def run_words(request: Guarding) -> int:
    """Guard a program; print errors and return their exit status."""
    try:
        return guard_program(request)
    except TideateError as error:
        from tideate_core.cli.render.output import fail

        fail(error, as_json=request.json)
        return status_of(error)


def guard_program(request: Guarding, session: GuardSession | None = None) -> int:
    """Run a program in a guarded copy, then review its changes; return the exit status.

    :param session: an earlier one, to run its program or another one in its copy.
    """
    from tideate_core.process import Namespaces

    holder = Namespaces.start()  # it takes as long to start as the modules here
    try:
        root = guarded_root(request.root)
        program, running = _start(root, request, session, holder)
    except BaseException:
        holder.close()
        raise
    return run_async(_attend(root, request, program, running))


def guarded_root(root: str | None) -> Path:
    """Return the root of the project.

    :param root: value of `--root`.
    :raises ConfigError: there is none.
    """
    found = find_root(Path.cwd()) if root is None else real_path(expand_home(root))
    if found is None:
        raise ConfigError("there is no project here to guard; name one with --root")
    if not found.is_dir():
        raise ConfigError(f"--root {root}: no such directory")
    return found


def _start(
    root: Path, request: Guarding, session: GuardSession | None, holder: Namespaces
) -> tuple[GuardedProgram, StartedProgram]:
    from tideate_core.app import open_session, prepare_blocking
    from tideate_core.config import load_own_agents
    from tideate_core.process import start_on_terminal
    from tideate_core.snapshots import finish_session

    log_to_file()
    config, here = load_own_agents(root), real_path(Path.cwd())
    waiting = threading.Timer(1.0, sys.stderr.write, ["copying the project …\n"])
    waiting.daemon = True
    waiting.start()
    try:
        if session is None:
            folder = here.relative_to(root).as_posix() if here.is_relative_to(root) and here != root else ""
            session = prepare_blocking(root, config, request.argv, folder=folder, agent=request.agent)
        program = open_session(root, config, session, holder, request.argv)
    except (ProgramMissing, ProgramNotExecutable):
        if session is not None:
            run_async(finish_session(root, session.id))
        raise
    finally:
        waiting.cancel()
    try:
        if program.copy.notices:
            _note(program.copy.notices)
        cwd = program.copy.root / program.session.folder
        return program, start_on_terminal(program.argv, environment=program.environment, cwd=cwd)
    except BaseException:
        program.owned.close()
        raise


def _note(lines: Sequence[str]) -> None:
    from tideate_core.cli.render.output import note

    for words in lines:
        note(words)


async def _attend(root: Path, request: Guarding, program: GuardedProgram, running: StartedProgram) -> int:
    """Show the program's terminal until its end, then review its changes."""
    import asyncio

    from tideate_core.process import relay_terminal

    renewing = asyncio.get_running_loop().call_later(RENEWED_AFTER, program.copy.renew)
    try:
        status = await relay_terminal(running)
        program.status = SIGNALLED - status if status < 0 else status
    finally:
        renewing.cancel()
        await program.end()
    try:
        return await _review(root, request, program)
    finally:
        if program.copy.slows_next:  # the program was too short
            await asyncio.to_thread(program.copy.renew_blocking)


async def _review(root: Path, request: Guarding, program: GuardedProgram) -> int:
    """Review the changes of an ended program; return the exit status."""
    from tideate_core.cli.confirmations import has_person
    from tideate_core.cli.render.output import note, print_json, print_message
    from tideate_core.snapshots import finish_session

    session, status = program.session, program.status
    gone = await finish_session(root, session.id)
    try:
        for words in program.report.lines if program.report is not None else ():
            note(words)
        if gone:
            words = "the program changed no file of the project"
            print_message("all changes are landed" if session.landings else words, "dim")
        elif request.later or status == HUNG_UP or (request.policy is None and not has_person()):
            words = f"changes wait in session {session.short}"
            print_message(f"{words}: `:Workflow land` in Neovim, or `tideate guard land {session.short}`")
        else:
            return await land_session(request, session, program)
    except OSError:
        if status == HUNG_UP:
            return status  # the terminal is gone
        raise
    if request.json:
        print_json({"ok": True, "files": [], **_end(status, None if gone else session)})
    return status if gone or request.later else status or DECLINED


async def land_session(
    request: Guarding, session: GuardSession, program: GuardedProgram | None = None
) -> int:
    """Review and land the changes of a session.

    :param program: has just ended, and stdout is its own.
    :returns: status of the review; after a program, the program's, or 3 instead of 0 if changes are left.
    """
    from tideate_core.app import build_catalog, open_project
    from tideate_core.cli.confirmations import report_declined
    from tideate_core.cli.render.output import print_json, print_message
    from tideate_core.cli.terminal import Interaction, run_to_end
    from tideate_core.snapshots import find_session, finish_session, is_owned

    root = guarded_root(request.root)
    shown: list[dict[str, Any]] = []
    if request.policy is False:
        words = f"declined; session {session.short} keeps its changes"
        if request.json:
            shown.append({"ok": False, "error": words, "error_code": "Declined"})
        else:
            report_declined(words, as_json=False)
        landed, left = DECLINED, True
    else:
        landed = await run_to_end(
            open_project(request.root),
            build_catalog(root),
            Interaction(request.policy, request.json, shown.append),
            lambda runner: _land(runner, session.id),
            quiet=program is not None and not request.json,
        )
        left = not await finish_session(root, session.id)
        if left and not is_owned(root, session.id):
            kept = f"session {session.short} keeps what is not landed"
            print_message(f"{kept}; `tideate guard discard {session.short}` deletes it", "dim")
    now = find_session(root, session.id) if left else None
    for shape in shown:
        print_json({**shape, **_end(session.status if program is None else program.status, now)})
    only_conflicts = landed == DECLINED and request.policy
    if program is None or not (landed == DONE or only_conflicts):
        return landed
    return program.status or (DECLINED if left else DONE)


async def _land(runner: WorkflowRunner, session: str) -> WorkflowResult:
    """Land a session; an interrupted landing continues, because it may have written a part."""
    import asyncio

    from tideate_core.app import LAND
    from tideate_core.engine import RunRequest

    reader = (await runner.store()).reader()

    def interrupted() -> str | None:
        runs = (run.id for run in reader.runs(name=LAND, unfinished=True))
        return next((run for run in runs if reader.request(run)["inputs"].get("session") == session), None)

    if (run := await asyncio.to_thread(interrupted)) is not None:
        return await runner.resume_run(run)
    return await runner.run(RunRequest(name=LAND, inputs={"session": session}))


def _end(status: int | None, session: GuardSession | None) -> dict[str, object]:
    return {"status": status, "session": None if session is None else session.as_json()}
