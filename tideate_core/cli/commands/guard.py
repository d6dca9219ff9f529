"""`tideate guard`: run a program in a private copy of the project, and land its changes after a review."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import App, Parameter

from tideate_core.app import session_ids, session_json, short_id
from tideate_core.cli.arguments import Json, Root, Yes
from tideate_core.cli.confirmations import confirmed, declined
from tideate_core.cli.guarding import Guarding, guard_program, guarded_root, land_session
from tideate_core.cli.process import DONE, log_to_file, run_async
from tideate_core.cli.render.output import print_json, print_line, print_message, report_errors
from tideate_core.util.escaping import label

if TYPE_CHECKING:
    from cyclopts.completion import CompletionContext

    from tideate_core.snapshots import GuardSession, ScratchDifference

MANY: Final = 20
"""Maximum number of paths in a list."""

app = App(name="guard", usage="tideate guard [OPTIONS] [--] COMMAND...")


def _complete(context: CompletionContext) -> list[str]:
    """Complete session ids."""
    from tideate_core.project import find_root

    return session_ids(find_root(Path.cwd()))


def _complete_agents(context: CompletionContext) -> list[str]:
    """Complete names of agents."""
    from tideate_core.app import guarded_agents, open_project

    return guarded_agents(open_project(None).loaded.config)


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
    agent: Annotated[
        str,
        Parameter(
            help="Name of the agent behind COMMAND, if its words do not tell.", completer=_complete_agents
        ),
    ] = "",
    later: Later = False,
    json: Json = False,
    root: Root = None,
) -> int:
    """Run a program in a guarded copy; return its exit status, or 3 if changes are left."""
    return guard_program(Guarding(command, yes, later, json, root, agent))


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

    found = find_session(guarded_root(root), session)
    request = Guarding(command, yes, later, json, root)
    if not command and found.state is not GuardState.PREPARED:
        log_to_file()
        return run_async(land_session(request, found))
    return guard_program(request, found)


@app.command
@report_errors
def land(session: SessionId = None, /, *, yes: Yes = None, json: Json = False, root: Root = None) -> int:
    """Review the changes of a session and write the accepted ones, even if its program still runs."""
    from tideate_core.snapshots import find_session

    found = find_session(guarded_root(root), session)
    log_to_file()
    return run_async(land_session(Guarding(policy=yes, json=json, root=root), found))


@app.command(name="list")
@report_errors
def list_all(*, json: Json = False, root: Root = None) -> int:
    """List the sessions, newest first."""
    from tideate_core.cli.render.tables import page, table, when
    from tideate_core.snapshots import list_sessions

    place = guarded_root(root)
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

    place = guarded_root(root)
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
    from tideate_core.app import refuse_running, session_difference
    from tideate_core.snapshots import GuardState, discard_session, find_session

    place = guarded_root(root)
    found = find_session(place, session)

    async def command() -> int:
        refuse_running(place, found)
        changes = "its changes, which cannot be shown"
        if found.state is not GuardState.DAMAGED:
            changes = "these changes"
            if yes is None and not json:
                _print_session(found, await session_difference(place, found))
        question = f"Discard session {found.short} of {label(found.argv[0])} with {changes}?"
        if not await confirmed(yes, "discard", question):
            return declined("nothing was discarded", "discards", yes, as_json=json)
        await discard_session(place, found)
        if json:
            print_json({"ok": True, "discarded": found.id})
        else:
            print_message(f"discarded: {found.short}")
        return DONE

    return run_async(command())


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
            "run": short_id(session.run) if session.run else "",
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
    for path, why in islice(difference.left.items(), MANY):
        print_line(f"left: {label(path)}: {why}")
    if len(difference.left) > MANY:
        print_line(f"… and {len(difference.left) - MANY:,} more are left; the last one:")
        path, why = next(reversed(difference.left.items()))
        print_line(f"left: {label(path)}: {why}")
