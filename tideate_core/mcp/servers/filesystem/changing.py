"""What the tools that write do: each call is journalled under an id of its own."""

from __future__ import annotations

import asyncio
import logging
import uuid
from typing import TYPE_CHECKING, Any, Final

from mcp.server.mcpserver.exceptions import ToolError

from tideate_core.errors import OutsideRoot, TideateError
from tideate_core.mcp.careful import short
from tideate_core.mcp.servers.filesystem.remembering import forget, interrupted, remember, under_way
from tideate_core.mcp.servers.filesystem.turn import Turn
from tideate_core.project import make_project_state

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from tideate_core.mcp.servers.filesystem.arguments import Edit
    from tideate_core.mcp.servers.filesystem.ground import Ground

__all__ = ["Changes"]

log = logging.getLogger(__name__)

DIFF: Final = 30_000
"""Characters of a diff in an answer."""
MESSAGE: Final = 6_000


class Changes:
    """Changes the files of a root, one call at a time."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._turn = Turn(ground.root)

    async def write(self, path: str, content: str) -> dict[str, Any]:
        """Make a file hold a text."""
        name = self._ground.resolve(path)

        async def work(run: str) -> str:
            from tideate_core.workspace import FileWriter

            return await FileWriter(self._ground.root).write(name, content.encode(), execution_id=run)

        return await self._change(path, name, work)

    async def edit(self, path: str, edits: Sequence[Edit], *, dry_run: bool) -> dict[str, Any]:
        """Replace places of a text, all or none."""
        name = self._ground.resolve(path)
        diff, notes = "", list[str]()

        async def work(run: str) -> str:
            from tideate_core.mcp.servers.filesystem.editing import edited
            from tideate_core.workspace import Workspace, refuse_in_repositories

            nonlocal diff, notes
            workspace = Workspace(self._ground.root)
            refuse_in_repositories(workspace.resolve(name), workspace.root)
            source = await workspace.read(name)
            # many edits of a large text take their time
            change, diff, notes = await asyncio.to_thread(edited, source, edits)
            if change.before == change.after:
                return "unchanged"
            if not dry_run:
                await workspace.apply([change], execution_id=run)
            return "edited"

        answer = await self._change(path, name, work, dry_run=dry_run)
        shown = diff if len(diff) <= DIFF else f"{diff[:DIFF]}\n[the rest is left out]"
        return {**answer, "diff": shown, "notes": notes}

    async def make_directory(self, path: str) -> dict[str, Any]:
        """Make a directory, where there is none."""
        name = self._ground.resolve(path)

        async def work(run: str) -> str:
            from tideate_core.workspace import FileWriter

            if name == "." or not await FileWriter(self._ground.root).make_directory(name, execution_id=run):
                return "unchanged"
            return "made"

        return await self._change(path, name, work)

    async def move(self, source: str, destination: str) -> dict[str, Any]:
        """Move a file or a directory."""
        start, end = self._ground.entry(source), self._ground.entry(destination)

        async def work(run: str) -> str:
            from tideate_core.workspace import FileWriter

            await FileWriter(self._ground.root).move(start, end, execution_id=run)
            return "moved"

        return await self._change(source, end, work)

    async def _change(
        self, path: str, name: str, work: Callable[[str], Awaitable[str]], *, dry_run: bool = False
    ) -> dict[str, Any]:
        """Do something when it is its turn; returns what was done, and its id.

        :param work: is given the id, returns what it did.
        :raises ToolError: it cannot be done.
        """
        if dry_run:
            try:
                return {"path": name, "action": await work(""), "rollback": None}
            except (TideateError, OSError) as error:
                raise self._failed(path, error) from error
        run, root = uuid.uuid4().hex, self._ground.root
        async with self._turn.taken():
            try:
                await self._put_back()
                with under_way(root, run):
                    action = await work(run)
                written = action != "unchanged"
                if written:
                    await asyncio.to_thread(remember, root, run)
            except (TideateError, OSError) as error:
                raise self._failed(path, error) from error
        return {"path": name, "action": action, "rollback": run if written else None}

    async def _put_back(self) -> None:
        """Put back what a server had begun to change that was killed."""
        run = interrupted(self._ground.root)
        if run is not None:
            from tideate_core.workspace import Workspace

            done = await Workspace(self._ground.root).rollback_best_effort(run)
            await asyncio.to_thread(forget, make_project_state(self._ground.root), run)
            log.warning("the change %s was cut off; put back: %s", run, ", ".join(done.restored) or "nothing")

    def _failed(self, path: str, error: Exception) -> ToolError:
        if isinstance(error, OutsideRoot):
            return ToolError(f"{short(path)} leads out of the root, or belongs to .git or .tideate")
        if isinstance(error, OSError):
            return ToolError(f"{short(path)} cannot be changed: {error.strerror}")
        words = self._ground.words(error)
        return ToolError(words if len(words) <= MESSAGE else f"{words[:MESSAGE]}…")
