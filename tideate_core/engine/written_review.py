"""Review of changes that something else has written already: what is rejected is reverted."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from tideate_core.engine.review import save_open_files, write_changes
from tideate_core.engine.review_payload import shown_change
from tideate_core.engine.revision import Revision
from tideate_core.errors import InvalidInput, StepFailed
from tideate_core.util.uncancelled import run_uncancelled
from tideate_core.workflows import Declined
from tideate_core.workspace import executable_changes, reversed_change

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.engine.decisions import Decided
    from tideate_core.workflows import StepContext
    from tideate_core.workspace import FileChange

__all__ = ["review_written"]

MOST_ASKED: Final = 3
"""A front end whose answers cannot be used is asked no more often."""


async def review_written(step: StepContext, changes: Sequence[FileChange], since: str) -> list[FileChange]:
    """Have changes reviewed that stand in the files, and revert what is rejected, all of it or nothing.

    What is accepted, or not decided, stays as it is.

    :param since: in words, what they are changes to.
    :returns: the changes that were made for it.
    :raises Declined: the person ended the review; nothing was changed.
    :raises WorkspaceError: something cannot be reverted; nothing was.
    """
    decided = await _ask(step, changes, since)
    pairs = zip(changes, decided, strict=True)
    back = await asyncio.to_thread(
        lambda: [reversed_change(change, one.rejected) for change, one in pairs if one.rejected]
    )
    if back:
        applied = await write_changes(step, back)
        await run_uncancelled(save_open_files(step, applied))
    return back


async def _ask(step: StepContext, changes: Sequence[FileChange], since: str) -> list[Decided]:
    revision = Revision.first(changes)
    files = await asyncio.to_thread(lambda: [shown_change(change) for change in changes])
    question = message = f"Keep the changes to {_counted(changes)} {since}?"
    executed = await executable_changes(step.workspace, changes)
    payload = {"files": files, "written": True, "revisable": False}
    for _ in range(MOST_ASKED):
        decision = await step.confirm("review", message, payload=payload, executed=executed)
        if not decision.accepted:
            raise Declined(decision.reason)
        try:
            return revision.read(decision.value).decided
        except InvalidInput as error:
            message = f"{error}.\n{question}"
    raise StepFailed("the answers to the review cannot be used; nothing was changed")


def _counted(changes: Sequence[FileChange]) -> str:
    count = len({change.path for change in changes})
    return f"{count} file{'' if count == 1 else 's'}"
