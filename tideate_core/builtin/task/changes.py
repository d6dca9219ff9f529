"""File changes of a task: stored form, review and writing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tideate_core.agents import Comments
from tideate_core.engine import (
    PartlyRevised,
    ask_for_review,
    revision_prompt,
    without_executed,
    write_changes,
)
from tideate_core.errors import EditConflict
from tideate_core.workspace import FileChange, Hunk, Source, apply_hunks, lines_of, text_digest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from tideate_core.adapters import Prompt
    from tideate_core.agents import EditsInReview
    from tideate_core.builtin.task.environment import TaskEnvironment
    from tideate_core.engine import Feedback
    from tideate_core.workflows import StepContext
    from tideate_core.workspace import Workspace

    Check = Callable[[Sequence[FileChange]], Awaitable[None]]
    Revise = Callable[[Feedback], Awaitable[list[FileChange]]]

MOST_NOTES: Final = 20
"""Notes of one stage that are shown."""


def as_json(change: FileChange) -> dict[str, Any]:
    """Return a change as hunks with a digest of the original text, without whole texts."""
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


async def read_back(
    workspace: Workspace, shapes: Sequence[Mapping[str, Any]], texts: Mapping[str, str | None]
) -> list[FileChange]:
    """Restore changes from their stored form and the files' texts.

    :param texts: known texts by path; others are read.
    :raises EditConflict: a file differs from the text that the change was made for.
    :raises WorkspaceError: a file cannot be read.
    """
    return [await _read_back(workspace, shape, texts.get(shape["path"])) for shape in shapes]


async def _read_back(workspace: Workspace, shape: Mapping[str, Any], text: str | None) -> FileChange:
    path, action, filetype = shape["path"], shape["action"], shape.get("filetype", "")
    if action == "create":
        return FileChange(path, action, None, shape["text"], filetype=filetype)
    if shape["digest"] is None:  # not a text file: only moved or deleted
        return FileChange(path, action, None, None, move_to=shape.get("move_to"), filetype=filetype)
    source = await workspace.read(path) if text is None else Source(path, text)
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
    """Return the path after the change; the old path of a deleted file."""
    return change.move_to or change.path


async def review_changes(
    step: StepContext,
    environment: TaskEnvironment,
    changes: Sequence[FileChange],
    revise: Revise | None = None,
) -> list[FileChange]:
    """Return the accepted changes; without a review, all except files that other tools execute.

    Edits of a demonstration model are always reviewed.

    :param revise: see `revised_by`.
    :raises Declined: nothing was accepted.
    """
    wanted = list(changes)
    if not environment.gated and not step.demonstration:
        return await without_executed(step, wanted)
    return await ask_for_review(step, wanted, revise)


def revised_by(step: StepContext, edits: EditsInReview, check: Check) -> Revise:
    """Return a function that revises edits with their role, according to the user's comments.

    :param check: validation of a revision before it is shown; raises to reject it.
    """

    async def revise(feedback: Feedback) -> list[FileChange]:
        said = {comment.path for comment in feedback.comments if comment.text}

        def words(paths: Sequence[str]) -> Prompt:
            return revision_prompt(step, feedback.about(*paths), shown=True)

        about = None if None in said else [path for path in said if path is not None]
        comments = Comments(revision_prompt(step, feedback, staged=True), about, words)
        done = await edits.revise(comments, check)
        for note in done.notes[:MOST_NOTES]:
            step.notice(note)
        if done.failed:
            raise PartlyRevised(done.changes, done.failed, unheard=True)
        return done.changes

    return revise


async def write(step: StepContext, changes: Sequence[FileChange]) -> None:
    """Write all changes or none.

    :raises EditConflict: a file differs from the text that a change was made for; nothing was written.
    :raises WorkspaceError: the changes cannot be written; nothing was.
    """
    if changes:
        await write_changes(step, list(changes))
