"""Guarded sessions: a program in a private copy of the project."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import InvalidInput, RunIsOwned, nearest
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
from tideate_core.util.file_locks import is_locked

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from pathlib import Path

    from tideate_core.config import Config
    from tideate_core.process import EscapeReport
    from tideate_core.snapshots import GuardedCopy, ScratchDifference
    from tideate_core.workspace import FileImage

COMMANDS: Final = ("discard", "land", "list", "resume", "show")
"""Subcommands of `tideate guard`."""
LAND: Final = "land"
"""Workflow that lands a session."""
LANDING: Final = "landing.lock"
"""File of a copy that the workflow locks."""


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
    """Actions of the program outside of the copy; known after its end."""


async def prepare_session(
    root: Path,
    config: Config,
    argv: Sequence[str],
    *,
    folder: str = "",
    files: Mapping[str, FileImage] | None = None,
) -> GuardSession:
    """Prepare a copy of the project for a program, without starting the program.

    :param folder: working directory of the program, relative to the root.
    :param files: unsaved texts to write into the copy.
    :raises InvalidInput: no program is named.
    :raises ProgramMissing: the program does not exist.
    :raises ProgramNotExecutable: the program cannot be run.
    :raises ScratchUnavailable: no copy can be made; the message has the remedy.
    """
    from tideate_core.process import find_agent, find_program
    from tideate_core.snapshots import GuardedCopy  # here, because lists of sessions need no copy

    if not argv:
        raise InvalidInput("name the program to guard, for example `tideate guard claude`")
    near = nearest(argv[0], COMMANDS)
    hint = f"did you mean `tideate guard {near}`?" if near else ""
    await asyncio.to_thread(find_program, argv[0], root / folder, os.environ, hint=hint)
    copy = await GuardedCopy.prepare(root, files)
    session = GuardSession(
        id=copy.id,
        argv=tuple(argv),
        folder=folder,
        agent=find_agent(argv[0], config) or None,
        created=ended_now(),
    )
    await asyncio.to_thread(create_session, root, session)
    return session


@asynccontextmanager
async def started(
    root: Path, config: Config, session: GuardSession, argv: Sequence[str] = ()
) -> AsyncIterator[GuardedProgram]:
    """Mount a session's copy for its program; at the end of the block, end all its programs.

    The caller runs `argv` of the yielded program.

    :param argv: a program to run instead of the session's own.
    :raises RunIsOwned: a living process runs the session's program.
    :raises ScratchUnavailable: the copy cannot be mounted.
    """
    from tideate_core.process import enclosure_for, environment_for
    from tideate_core.snapshots import GuardedCopy

    argv = tuple(argv) or session.argv
    with owning(root, session):
        copy = await asyncio.to_thread(GuardedCopy.attach, root, session.id)
        enclosure = await asyncio.to_thread(enclosure_for, argv[0], config)
        await copy.open(enclosure)
        session = await asyncio.to_thread(
            change_session, root, session.id, GuardEvent.START, argv=argv, status=None, ended=None
        )
        program = GuardedProgram(
            session,
            copy,
            copy.command(list(argv), cwd=session.folder),
            copy.environment(environment_for(argv[0], config)),
        )
        try:
            yield program
        finally:
            program.report = await copy.close()
            program.session = await asyncio.to_thread(
                change_session,
                root,
                session.id,
                GuardEvent.END,
                status=program.status,
                ended=ended_now(),
                report=program.report.as_json(),
            )


async def session_difference(root: Path, session: GuardSession) -> ScratchDifference:
    """Return the open changes of a session.

    :raises ScratchUnavailable: the copy is gone.
    """
    from tideate_core.snapshots import GuardedCopy

    copy = await asyncio.to_thread(GuardedCopy.attach, root, session.id)
    return await copy.difference()


async def discard_session(root: Path, session: GuardSession) -> None:
    """Delete a session with all its open changes.

    :raises RunIsOwned: a living process runs its program, or reviews its changes.
    """
    from tideate_core.snapshots import GuardedCopy

    with owning(root, session):
        copy = await asyncio.to_thread(GuardedCopy.attach, root, session.id)
        if is_locked(copy.place / LANDING):
            raise RunIsOwned(
                f"the changes of session {session.short} are being reviewed; end the review first"
            )
        await copy.discard()


def session_ids(root: Path | None) -> list[str]:
    """Return the short ids of a project's sessions; blocking."""
    return [] if root is None else [session.short for session in list_sessions(root)]


def session_json(session: GuardSession) -> dict[str, Any]:
    """Return the JSON form of a session. Times are milliseconds since the epoch."""
    return session.model_dump(mode="json")


def refuse_running(root: Path, session: GuardSession) -> None:
    """Check that the program of a session has ended.

    :raises RunIsOwned: a living process runs the program.
    """
    if is_owned(root, session.id):
        raise RunIsOwned(f"the program of session {session.short} is still running; end it first")
