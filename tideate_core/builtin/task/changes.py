"""Changes of a task: their stored form, their review, their writing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tideate_core.engine import ask_for_review, write_changes
from tideate_core.errors import EditConflict
from tideate_core.workspace import FileChange, Hunk, apply_hunks, lines_of, text_digest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tideate_core.builtin.task.environment import TaskEnvironment
    from tideate_core.workflows import StepContext
    from tideate_core.workspace import Workspace

__all__ = ["as_json", "name_of", "read_back", "review_changes", "write"]


def as_json(change: FileChange) -> dict[str, Any]:
    """Return a change without the texts that it is made of: hunks, and a digest of what they are for."""
    shape: dict[str, Any] = {"path": change.path, "action": change.action}
    if change.move_to:
        shape["move_to"] = change.move_to
    if change.filetype:
        shape["filetype"] = change.filetype
    if change.action == "create":
        return {**shape, "text": change.after or ""}
    shape["digest"] = None if change.before is None else text_digest(change.before)
    if change.after is not None and change.after != change.before:
        shape["hunks"] = [hunk.as_json() for hunk in change.hunks]
    return shape


async def read_back(workspace: Workspace, shapes: Sequence[Mapping[str, Any]]) -> list[FileChange]:
    """Return changes as they were, with the files' texts.

    :raises EditConflict: a file is another one than the change was made for.
    :raises WorkspaceError: a file cannot be read.
    """
    return [await _read_back(workspace, shape) for shape in shapes]


async def _read_back(workspace: Workspace, shape: Mapping[str, Any]) -> FileChange:
    path, action, filetype = shape["path"], shape["action"], shape.get("filetype", "")
    if action == "create":
        return FileChange(path, action, None, shape["text"], filetype=filetype)
    if shape["digest"] is None:  # no text: it is only moved or deleted
        return FileChange(path, action, None, None, move_to=shape.get("move_to"), filetype=filetype)
    source = await workspace.read(path)
    if text_digest(source.text) != shape["digest"]:
        raise EditConflict(f"{path} was changed since its edit was made; nothing was written. Run it again.")
    hunks = [Hunk(one["start"], tuple(one["old"]), tuple(one["new"])) for one in shape.get("hunks", ())]
    after: str | None = source.text
    if hunks:
        after = "\n".join(apply_hunks(lines_of(source.text), hunks))
    return FileChange(
        path,
        action,
        source.text,
        None if action == "delete" else after,
        shape.get("move_to"),
        source.buffer,
        source.tick,
        filetype,
    )


def name_of(change: FileChange) -> str:
    """Return the file that is there once the change is made, of a deleted one the file that was."""
    return change.move_to or change.path


async def review_changes(
    step: StepContext, environment: TaskEnvironment, changes: Sequence[FileChange]
) -> list[FileChange]:
    """Return what the person accepts; everything, where nobody is to be asked.

    Edits of a demonstration's model are always asked about.

    :raises Declined: nothing was accepted.
    """
    wanted = list(changes)
    if not environment.gated and not step.demonstration:
        return wanted
    return await ask_for_review(step, wanted)


async def write(step: StepContext, changes: Sequence[FileChange]) -> None:
    """Write changes, all or none.

    :raises EditConflict: a file is not what a change was made for; nothing was written.
    :raises WorkspaceError: they cannot be written; nothing was.
    """
    if changes:
        await write_changes(step, list(changes))
