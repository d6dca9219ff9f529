"""`tideate guard`: run a program in a private copy of the project, and land its changes after a review."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import App, Parameter

from tideate_core.app import LAND, build_catalog, open_project, session_ids, session_json, short_id
from tideate_core.cli.arguments import Json, Root, Yes
from tideate_core.cli.confirmations import confirmed, declined, has_person
from tideate_core.cli.process import DONE, SIGNALLED, log_to_file, run_async
from tideate_core.cli.render.output import (
    messages,
    note,
    print_json,
    print_line,
    print_message,
    report_errors,
)
from tideate_core.errors import ConfigError
from tideate_core.project import real_path
from tideate_core.util.escaping import label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cyclopts.completion import CompletionContext

    from tideate_core.app import GuardedProgram, Project
    from tideate_core.snapshots import GuardSession, ScratchDifference

MANY: Final = 20
"""Maximum number of paths in a list."""

app = App(name="guard", usage="tideate guard [OPTIONS] [--] COMMAND...")


def _complete(context: CompletionContext) -> list[str]:
    """Complete session ids."""
    from tideate_core.project import find_root

    return session_ids(find_root(Path.cwd()))


SessionId = Annotated[
    str | None,
    Parameter(help="ID of the session, or a prefix of it. Default: the only session.", completer=_complete),
]
Later = Annotated[
    bool,
    Parameter(name="--later", help="Do not review when the program ends; its changes wait in the session."),
]


@app.default
@report_errors
def guard(
    *command: Annotated[
        str,
        Parameter(name="COMMAND", help="The program and its arguments.", allow_leading_hyphen=True),
    ],
    yes: Yes = None,
    later: Later = False,
    json: Json = False,
    root: Root = None,
) -> int:
    """Run a program in a guarded copy; return its exit status, or 3 if its changes were declined."""
    from tideate_core.app import prepare_session

    project, place = _project(root)

    async def run() -> int:
        with _Waiting("copying the project"):
            session = await prepare_session(place, project.loaded.config, command, folder=_folder(place))
        return await _guard(project, session, yes, json=json, later=later)

    log_to_file()
    return run_async(run())


@app.command
@report_errors
def resume(
    session: SessionId = None,
    /,
    *command: Annotated[
        str,
        Parameter(name="COMMAND", help="After `--`: a program to run in the same copy first."),
    ],
    yes: Yes = None,
    later: Later = False,
    json: Json = False,
    root: Root = None,
) -> int:
    """Review the changes of a session, or run a program in its copy again.

    A prepared session runs its own program.
    """
    from tideate_core.snapshots import GuardState, find_session

    project, place = _project(root)
    found = find_session(place, session)
    log_to_file()
    if not command and found.state is not GuardState.PREPARED:
        return run_async(_land(project, found, yes, json=json))
    return run_async(_guard(project, found, yes, json=json, argv=command, later=later))


@app.command
@report_errors
def land(session: SessionId = None, /, *, yes: Yes = None, json: Json = False, root: Root = None) -> int:
    """Review the changes of a session and write the accepted ones, even if its program still runs."""
    from tideate_core.snapshots import find_session

    project, place = _project(root)
    found = find_session(place, session)
    log_to_file()
    return run_async(_land(project, found, yes, json=json))


@app.command(name="list")
@report_errors
def list_all(*, json: Json = False, root: Root = None) -> int:
    """List the sessions, newest first."""
    from tideate_core.cli.render.tables import page, table, when
    from tideate_core.snapshots import list_sessions

    _, place = _project(root)
    found = list_sessions(place)
    if json:
        print_json({"ok": True, "sessions": [session_json(one) for one in found]})
        return DONE
    if not found:
        print_message("no guarded sessions; `tideate guard COMMAND` starts one")
        return DONE
    rows = table("session", "when", "state", "command")
    for one in found:
        rows.add_row(one.short, when(one.created), one.state.value, label(" ".join(one.argv)))
    page().print(rows)
    return DONE


@app.command
@report_errors
def show(session: SessionId = None, /, *, json: Json = False, root: Root = None) -> int:
    """Show a session with its changes."""
    from tideate_core.app import session_difference
    from tideate_core.snapshots import find_session

    _, place = _project(root)
    found = find_session(place, session)
    difference = run_async(session_difference(place, found))
    if json:
        print_json({"ok": True, "session": session_json(found), **_difference_json(difference)})
        return DONE
    _print_session(found, difference)
    return DONE


@app.command
@report_errors
def discard(session: SessionId = None, /, *, yes: Yes = None, json: Json = False, root: Root = None) -> int:
    """Delete a session with all its open changes."""
    from tideate_core.app import discard_session, refuse_running, session_difference
    from tideate_core.snapshots import find_session

    _, place = _project(root)
    found = find_session(place, session)

    async def command() -> int:
        refuse_running(place, found)
        if yes is None:
            _print_session(found, await session_difference(place, found))
        question = f"Discard session {found.short} of {label(found.argv[0])} with these changes?"
        if not await confirmed(yes, "discard", question):
            return declined("nothing was discarded", "discards", yes, as_json=json)
        await discard_session(place, found)
        if json:
            print_json({"ok": True, "discarded": found.id})
        else:
            print_message(f"discarded: {found.short}")
        return DONE

    return run_async(command())


def _project(root: str | None) -> tuple[Project, Path]:
    project = open_project(root)
    if project.root is None:
        raise ConfigError("there is no project here to guard; name one with --root")
    return project, project.root


def _folder(root: Path) -> str:
    """Return the working directory relative to the root, empty outside of it."""
    here = real_path(Path.cwd())
    return "" if not here.is_relative_to(root) or here == root else here.relative_to(root).as_posix()


async def _guard(
    project: Project,
    session: GuardSession,
    policy: bool | None,
    *,
    json: bool,
    argv: Sequence[str] = (),
    later: bool = False,
) -> int:
    """Run the program of a session on the terminal, then review its changes."""
    from tideate_core.app import started
    from tideate_core.snapshots import finish_session

    assert project.root is not None  # noqa: S101 checked by `_project`
    async with started(project.root, project.loaded.config, session, argv) as program:
        for notice in program.copy.notices:
            note(notice)
        program.status = await _run(program)
    status = program.status
    for words in program.report.lines if program.report is not None else ():
        note(words)
    if await finish_session(project.root, program.session.id):
        words = "the program changed no file of the project"
        print_message("all changes are landed" if program.session.landings else words, "dim")
        if json:
            print_json({"ok": True, "status": status, "session": None, "files": []})
        return status
    if later or (policy is None and not has_person()):
        words = f"changes wait in session {session.short}"
        print_message(f"{words}: `:Workflow land` in Neovim, or `tideate guard land {session.short}`")
        if json:
            shape = {"ok": True, "status": status, "session": session_json(program.session), "files": []}
            print_json(shape)
        return status
    landed = await _land(project, program.session, policy, json=json, quiet=not json)
    return status if landed == DONE else landed


async def _run(program: GuardedProgram) -> int:
    """Run the program on the terminal; return its exit status as a shell does."""
    from tideate_core.process import run_on_terminal

    status = await run_on_terminal(
        program.argv,
        environment=program.environment,
        cwd=program.copy.root / program.session.folder,
    )
    return SIGNALLED - status if status < 0 else status


async def _land(
    project: Project, session: GuardSession, policy: bool | None, *, json: bool, quiet: bool = False
) -> int:
    """Review and land a session; return the exit status of the review.

    :param quiet: stdout is the program's.
    """
    # imported here, so that the program starts without waiting for them
    from tideate_core.cli.terminal import Interaction, run_to_end
    from tideate_core.engine import RunRequest
    from tideate_core.snapshots import finish_session, is_owned

    assert project.root is not None  # noqa: S101 checked by `_project`
    if policy is False:
        return declined(f"session {session.short} keeps its changes", "lands them", False, as_json=json)
    request = RunRequest(name=LAND, inputs={"session": session.id})
    status = await run_to_end(
        project,
        build_catalog(project.root),
        Interaction(policy, json),
        lambda runner: runner.run(request),
        quiet=quiet,
    )
    if not await finish_session(project.root, session.id) and not is_owned(project.root, session.id):
        kept = f"session {session.short} keeps the other changes"
        print_message(f"{kept}; `tideate guard discard {session.short}` deletes them", "dim")
    return status


def _difference_json(difference: ScratchDifference) -> dict[str, object]:
    return {
        "files": sorted({*difference.files, *difference.modes, *difference.made, *difference.removed}),
        "ignored": list(difference.ignored),
        "left": dict(difference.left),
    }


def _print_session(session: GuardSession, difference: ScratchDifference) -> None:
    from tideate_core.cli.render.tables import facts, when

    facts(
        {
            "session": session.short,
            "command": " ".join(session.argv),
            "state": session.state.value,
            "began": when(session.created),
            "status": "" if session.status is None else str(session.status),
            "landed": ", ".join(map(short_id, session.landings)),
        }
    )
    shape = _difference_json(difference)
    for what in ("files", "ignored"):
        paths = shape[what]
        assert isinstance(paths, list)  # noqa: S101 see there
        for path in paths[:MANY]:
            print_line(f"{'changed' if what == 'files' else 'not landed'}: {label(path)}")
        if len(paths) > MANY:
            print_line(f"… and {len(paths) - MANY:,} more")
    for path, why in difference.left.items():
        print_line(f"left: {label(path)}: {why}")


class _Waiting:
    """Message about work that takes over a second.

    :param words: name of the work.
    """

    def __init__(self, words: str) -> None:
        self._words = words

    def __enter__(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(1.0, messages().print, f"{self._words} …")

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
