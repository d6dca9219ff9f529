"""Landing of another program's changes: merge with the current files, review, write."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final

from tideate_core.engine.review.marks import in_order
from tideate_core.engine.review.review import review_collected
from tideate_core.engine.review.revision import revision_prompt
from tideate_core.util.escaping import label
from tideate_core.workspace import executable_changes, merge_outside_changes

if TYPE_CHECKING:
    from tideate_core.engine.review.revision import Feedback
    from tideate_core.snapshots import ScratchDifference
    from tideate_core.workflows import StepContext

MOST_NAMED: Final = 50
"""Paths with a notice of their own."""


@dataclass(frozen=True, slots=True)
class Landed:
    """Outcome of a landing; paths are relative to the root."""

    files: list[str] = field(default_factory=list)
    """Written files."""
    rejected: list[str] = field(default_factory=list)
    """Files with a rejected part."""
    undecided: list[str] = field(default_factory=list)
    """Files with a part that was neither accepted nor rejected; of a moved file both paths."""
    left: dict[str, str] = field(default_factory=dict)
    """Changed paths that cannot be landed, with the reason."""
    comments: int = 0
    """Number of comments with text, which ask the program for more work."""
    feedback: str = ""
    """Comments, edits and rejections of the person, as a prompt for the program; empty if there are none."""


async def land_difference(step: StepContext, difference: ScratchDifference) -> Landed:
    """Merge a difference with the current files, ask for a review, and write all accepted changes or none.

    :raises Declined: the person decided nothing.
    :raises WorkspaceError: the changes could not be written; no file changed.
    """
    merged = await merge_outside_changes(step.workspace, difference, difference.moved, difference.left)
    for path, why in islice(merged.left.items(), MOST_NAMED):
        step.notice(f"not landed: {label(path)}: {why}", level="warn")
    if len(merged.left) > MOST_NAMED:
        step.notice(f"not landed: {len(merged.left) - MOST_NAMED:,} more paths", level="warn")
    if not merged.changes:
        step.notice("there is nothing to land")
        return Landed(left=merged.left)
    executed = {one.path for one in await executable_changes(step.workspace, merged.changes)}
    changes = await step.workspace.attach(in_order(merged.changes, executed))
    done = await review_collected(step, changes)
    return Landed(
        [change.move_to or change.path for change in done.written],
        _rejected(done.feedback),
        done.undecided,
        merged.left,
        done.feedback.count,
        feedback_text(step, done.feedback, undecided=bool(done.undecided)),
    )


def _rejected(feedback: Feedback) -> list[str]:
    paths = [one.path for one in feedback.comments if one.rejected and one.path is not None]
    return list(dict.fromkeys(paths))


def feedback_text(step: StepContext, feedback: Feedback, *, undecided: bool) -> str:
    """Return comments, edits and rejections as a prompt; empty if there are none."""
    if not feedback.comments:
        return ""
    return revision_prompt(step, feedback, landed=True, undecided=undecided).user
