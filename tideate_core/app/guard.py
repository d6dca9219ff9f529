"""Guarded sessions: a program in a private copy of the project."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import InvalidInput, RunIsOwned, did_you_mean, nearest
from tideate_core.snapshots import (
    GuardEvent,
    GuardSession,
    change_session,
    create_session,
    ended_now,
    is_owned,
    list_sessions,
    owning,
)
from tideate_core.util.power_loss import boot_id

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tideate_core.config import Config, OwnAgents
    from tideate_core.process import EscapeReport, Namespaces
    from tideate_core.snapshots import GuardedCopy, ScratchDifference
    from tideate_core.workspace import FileImage

GUARD_COMMANDS: Final = ("discard", "land", "list", "resume", "show")
"""Subcommands of `tideate guard`."""
LAND: Final = "land"
"""Workflow that lands a session."""
HIDDEN: Final = (
    "guarded programs do not see your /tmp and secrets; `visible` under [agents.NAME] shows a path to one"
)


@dataclass(slots=True)
class GuardedProgram:
    """A session that this process owns, with its mounted copy."""

    session: GuardSession
    copy: GuardedCopy
    argv: list[str]
    """Program and arguments that run the session's program in the copy."""
    environment: Mapping[str, str]
    status: int = 0
    """Exit status of the program, set by the caller."""
    report: EscapeReport | None = None
    """What the program tried outside; known after its end."""
    owned: ExitStack = field(default_factory=ExitStack)
    """Closes the copy and frees the lock of the session."""

    async def end(self) -> None:
        """End all programs in the copy, and record the end."""
        import asyncio

        with self.owned:
            self.report = await self.copy.close()
            self.session = await asyncio.to_thread(
                change_session,
                self.copy.project,
                self.session.id,
                GuardEvent.END,
                status=self.status,
                ended=ended_now(),
                report=self.report.as_json(),
            )


async def prepare_session(
    root: Path,
    config: Config,
    argv: Sequence[str],
    *,
    folder: str = "",
    files: Mapping[str, FileImage] | None = None,
    agent: str = "",
) -> GuardSession:
    """Prepare a copy of the project for a program, as `prepare_blocking` does.

    :param files: unsaved texts, laid over the copy.
    """
    import asyncio

    from tideate_core.snapshots import GuardedCopy

    await asyncio.to_thread(_check, root, config, argv, folder, agent)
    copy = await GuardedCopy.prepare(root, files)
    return await asyncio.to_thread(_recorded, copy, config, argv, folder, agent)


def prepare_blocking(
    root: Path, config: Config | OwnAgents, argv: Sequence[str], *, folder: str = "", agent: str = ""
) -> GuardSession:
    """Prepare a copy of the project for a program, without starting the program.

    :param folder: working directory of the program, relative to the root.
    :param agent: name of the agent that the program is; empty: as the command tells.
    :raises InvalidInput: no program is named, or the agent is unknown.
    :raises ProgramMissing: the program does not exist.
    :raises ProgramNotExecutable: it cannot be run, or is in a directory that is private in an enclosure.
    :raises ScratchUnavailable: no copy can be made; the message has the remedy.
    """
    from tideate_core.snapshots import GuardedCopy  # here, because lists of sessions need no copy

    _check(root, config, argv, folder, agent)
    return _recorded(GuardedCopy.prepare_blocking(root), config, argv, folder, agent)


def _check(root: Path, config: Config | OwnAgents, argv: Sequence[str], folder: str, agent: str) -> None:
    from tideate_core.process import agent_names, find_agent, find_program

    if not argv:
        raise InvalidInput("name the program to guard, for example `tideate guard claude`")
    near = "" if find_agent(argv, config) else nearest(argv[0], GUARD_COMMANDS)
    hint = f"did you mean `tideate guard {near}`?" if near else ""
    find_program(argv[0], root / folder, os.environ, hint=hint)
    if agent and agent not in (known := agent_names(config)):
        near = did_you_mean(agent, known) or f"; tideate knows {', '.join(known)}"
        raise InvalidInput(f"unknown agent {agent!r}{near}; [agents.{agent}] adds one")


def _recorded(
    copy: GuardedCopy, config: Config | OwnAgents, argv: Sequence[str], folder: str, agent: str
) -> GuardSession:
    from tideate_core.process import find_agent

    agent = agent or find_agent(argv, config)
    session = GuardSession(
        id=copy.id,
        argv=tuple(argv),
        folder=folder,
        agent=agent or None,
        created=ended_now(),
    )
    create_session(copy.place, session)
    return session


def open_session(
    root: Path,
    config: Config | OwnAgents,
    session: GuardSession,
    holder: Namespaces,
    argv: Sequence[str] = (),
) -> GuardedProgram:
    """Mount a session's copy for its program; blocking. The caller runs its `argv` and ends it.

    :param holder: started for it; ended with it.
    :param argv: another program than before, in the same copy.
    :raises RunIsOwned: a living process runs the session's program.
    :raises ProgramMissing: the program is hidden in the copy, or does not exist.
    :raises ProgramNotExecutable: it cannot be run.
    :raises ScratchUnavailable: the copy cannot be mounted.
    """
    from tideate_core.process import enclosure_for, environment_for, find_agent, find_program
    from tideate_core.snapshots import GuardedCopy

    argv = tuple(argv) or session.argv
    agent = (session.agent if argv == session.argv else find_agent(argv, config)) or ""
    with ExitStack() as undone:
        undone.enter_context(owning(root, session))
        copy = GuardedCopy.attach(root, session.id)
        copy.open_blocking(enclosure_for(agent, config), holder)
        undone.callback(copy.close_blocking)
        environment = copy.environment(environment_for(agent, config))
        find_program(argv[0], copy.root / session.folder, environment, hint=HIDDEN, seen=copy.seen)
        session = change_session(
            root,
            session.id,
            GuardEvent.START,
            argv=argv,
            agent=agent or None,
            status=None,
            ended=None,
            boot=boot_id(),
        )
        program = GuardedProgram(session, copy, copy.command(argv, cwd=session.folder), environment)
        program.owned = undone.pop_all()
    return program


async def session_difference(root: Path, session: GuardSession) -> ScratchDifference:
    """Return the open changes of a session.

    :raises ScratchUnavailable: the copy is gone or damaged.
    """
    import asyncio

    from tideate_core.snapshots import GuardedCopy

    copy = await asyncio.to_thread(GuardedCopy.attach, root, session.id)
    return await copy.difference()


def guarded_agents(config: Config) -> list[str]:
    """Return the names that `tideate guard --agent` accepts."""
    from tideate_core.process import agent_names

    return agent_names(config)


def session_ids(root: Path | None) -> list[str]:
    """Return the short ids of a project's sessions; blocking."""
    return [] if root is None else [session.short for session in list_sessions(root)]


def session_json(session: GuardSession) -> dict[str, Any]:
    """Return the JSON form of a session. Times are milliseconds since the epoch."""
    return session.as_json()


def refuse_running(root: Path, session: GuardSession) -> None:
    """Check that the program of a session has ended.

    :raises RunIsOwned: a living process runs the program.
    """
    if is_owned(root, session.id):
        raise RunIsOwned(f"the program of session {session.short} is still running; end it first")
