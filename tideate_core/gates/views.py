"""View of files for gates 3 and 4: with a task's staged edits, and before them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tideate_core.errors import WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.workspace import FileChange, Workspace


class StagedView:
    """Files with a task's staged edits; all other files as they are. Paths are relative to the root.

    Every method raises OutsideRoot for a path outside the project or protected.
    """

    def __init__(self, workspace: Workspace, changes: Sequence[FileChange]) -> None:
        self._workspace = workspace
        self._after: dict[str, str | None] = {}
        self._before: dict[str, str | None] = {}
        for change in changes:
            self._before[change.path] = change.before
            self._after[change.path] = None if change.move_to else change.after
            if change.move_to:
                self._before[change.move_to] = change.before
                self._after[change.move_to] = change.after if change.after is not None else change.before

    async def exists(self, path: str) -> bool:
        """Return whether the file exists after the staged edits."""
        name = _name(self._workspace, path)
        if name in self._after:
            return self._after[name] is not None
        return await asyncio.to_thread(self._workspace.resolve(path).is_file)

    async def text(self, path: str) -> str | None:
        """Return a file's text after the staged edits; None if it does not exist or is not text."""
        name = _name(self._workspace, path)
        return self._after[name] if name in self._after else await _read(self._workspace, path)

    async def text_before(self, path: str) -> str | None:
        """Return a file's text before the staged edits; None if it does not exist or is not text."""
        name = _name(self._workspace, path)
        return self._before[name] if name in self._before else await _read(self._workspace, path)


def _name(workspace: Workspace, path: str) -> str:
    real = workspace.resolve(path)
    return real.relative_to(workspace.root).as_posix() if workspace.root else str(real)


async def _read(workspace: Workspace, path: str) -> str | None:
    workspace.resolve(path)  # raises OutsideRoot, which differs from an unreadable file
    try:
        return (await workspace.read(path)).text
    except WorkspaceError:
        return None
