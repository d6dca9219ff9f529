"""Which of some changes are of files that other tools execute by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.errors import OutsideRoot
from tideate_core.workspace.executed import Executed, executed_file, executed_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tideate_core.workspace.edits import FileChange
    from tideate_core.workspace.workspace import Workspace

__all__ = ["executed_in", "executed_paths"]


async def executed_in(workspace: Workspace, changes: Sequence[FileChange]) -> list[Executed]:
    """Return the changed files that other tools run, a link by what it leads to."""
    found: list[Executed] = []
    for change in changes:
        if change.action == "delete":
            continue
        name = change.move_to or change.path
        before = None if change.move_to else change.before
        # a moved file that is no text is as much run as any other
        after = change.after if change.action == "modify" else change.after or ""
        places = await _places(workspace, change, name)
        if reason := next((why for place in places if (why := executed_file(place, before, after))), ""):
            found.append(Executed(name or places[-1], reason))
    return found


def executed_paths(workspace: Workspace, paths: Iterable[str]) -> list[Executed]:
    """Return which paths are run whatever they hold; of others that depends on what is changed in them."""
    found = ((path, next(filter(None, map(executed_path, _named(workspace, path))), "")) for path in paths)
    return [Executed(path, reason) for path, reason in found if reason]


async def _places(workspace: Workspace, change: FileChange, name: str) -> list[str]:
    """Return the name that a file goes by and the one that it has."""
    if change.buffer is not None and not change.move_to and workspace.buffers is not None:
        # its path may be relative to another directory than the root
        buffer = await workspace.buffers.read(change.buffer)
        if buffer is not None and buffer.path:
            return [name, *_named(workspace, buffer.path)]
    return _named(workspace, name)


def _named(workspace: Workspace, path: str) -> list[str]:
    try:
        return [path, workspace.name_of(workspace.resolve(path))]
    except OutsideRoot:
        return [path]  # writing it is refused, or it is a file that the person opened
