"""Handlers of Lua's requests about guarded sessions: prepare, list, show, discard."""

from __future__ import annotations

import asyncio
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tideate_core.app import (
    prepare_session,
    refuse_running,
    session_difference,
    session_json,
)
from tideate_core.editor.projects import FolderRequests
from tideate_core.errors import ConfigError, InvalidInput
from tideate_core.snapshots import GuardState, discard_session, find_session, list_sessions
from tideate_core.workspace import unsaved_images

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.snapshots import GuardSession

MOST: Final = 200
"""Most paths in one answer."""


class GuardRequests(FolderRequests):
    """Requests about the guarded sessions of a folder's project."""

    async def prepare(self, params: dict[str, Any]) -> dict[str, Any]:
        """Prepare a session with the unsaved buffers, and return the command that runs its program.

        :param params: `command`, as typed: quotes and backslashes count as in a shell. It may begin with
            `--agent NAME`.
        :raises InvalidInput: the command has an open quote, or is empty.
        """
        root = self._project(params)
        try:
            argv = shlex.split(str(params["command"]))
        except ValueError as error:
            raise InvalidInput(f"{params['command']}: {error}") from error
        agent = ""
        if argv[:1] == ["--agent"]:
            agent, argv = "".join(argv[1:2]), argv[2:]
        files = await unsaved_images(self._projects.workspace(str(root)))
        here = Path(str(params.get("cwd") or root))
        folder = here.relative_to(root).as_posix() if here.is_relative_to(root) and here != root else ""
        session = await prepare_session(
            root, self._projects.config(str(root)), argv, folder=folder, files=files, agent=agent
        )
        return {"session": session_json(session), **_command(root, session)}

    async def resume(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the command that runs the program of an existing session again."""
        root, session = await self._found(params)
        refuse_running(root, session)
        argv = () if session.state is GuardState.PREPARED else session.argv
        return {"session": session_json(session), **_command(root, session, argv)}

    async def list(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the sessions, newest first; no sessions outside of a project."""
        root = self._root(params)
        found = [] if root is None else await asyncio.to_thread(list_sessions, root)
        return {"sessions": [session_json(one) for one in found]}

    async def show(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return a session and its changed files; `more` counts the rest.

        The files of a damaged session are unknown.
        """
        root, session = await self._found(params)
        if session.state is GuardState.DAMAGED:
            return {"session": session_json(session), "files": [], "more": 0}
        found = await session_difference(root, session)
        paths = sorted({*found.files, *found.modes, *found.made, *found.removed, *found.left})
        return {"session": session_json(session), "files": paths[:MOST], "more": max(0, len(paths) - MOST)}

    async def discard(self, params: dict[str, Any]) -> dict[str, Any]:
        """Delete a session with its changes.

        :raises RunIsOwned: its program is running.
        """
        root, session = await self._found(params)
        refuse_running(root, session)
        await discard_session(root, session)
        return {"session": session_json(session)}

    async def _found(self, params: dict[str, Any]) -> tuple[Path, GuardSession]:
        root = self._project(params)
        return root, await asyncio.to_thread(find_session, root, params.get("session") or None)

    def _project(self, params: dict[str, Any]) -> Path:
        root = self._root(params)
        if root is None:
            raise ConfigError("this folder is in no project; create `.tideate` in the project to guard")
        return root


def _command(root: Path, session: GuardSession, argv: Sequence[str] = ()) -> dict[str, Any]:
    command = [sys.executable, "-I", "-c", STARTER, str(PACKAGE), "guard", "resume"]
    words = [*command, "--later", f"--root={root}", session.id, *(("--", *argv) if argv else ())]
    return {"command": words, "cwd": str(root)}


PACKAGE: Final = Path(__file__).parents[2]
STARTER: Final = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from tideate_core.cli.main import main; main()"
)
"""Starts `tideate` without looking for modules in the working directory."""
