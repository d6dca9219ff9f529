"""Review of changes that something else has written already: what is rejected is reverted, file by file."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from tideate_core.engine.review import write_changes
from tideate_core.engine.review_payload import shown_change
from tideate_core.engine.revision import Revision
from tideate_core.engine.saving import save_open_files
from tideate_core.errors import InvalidInput, StepFailed, WorkspaceError
from tideate_core.util.escaping import label
from tideate_core.util.uncancelled import run_uncancelled
from tideate_core.workflows import Declined
from tideate_core.workspace import executable_changes, reversed_change

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.engine.decisions import Decided
    from tideate_core.workflows import StepContext
    from tideate_core.workspace import FileChange

__all__ = ["Reverted", "review_written"]

MOST_ASKED: Final = 3
"""A front end whose answers cannot be used is asked no more often."""


@dataclass(frozen=True, slots=True)
class Reverted:
    """Outcome of a review: what was reverted, and what could not be."""

    changes: list[FileChange]
    """Those that were made."""
    left: dict[str, str]
    """Files that could not be reverted and are as they were, each with the reason."""


async def review_written(step: StepContext, changes: Sequence[FileChange], since: str) -> Reverted:
    """Have changes reviewed that stand in the files, and revert what is rejected.

    What is accepted, or not decided, stays as it is. So does a file that was changed meanwhile where it would
    be reverted, which is told; the others are reverted all the same.

    :param since: in words, what they are changes to.
    :raises Declined: the person ended the review; nothing was changed.
    :raises WorkspaceError: nothing of it can be reverted, or a file cannot be written; nothing was changed.
    """
    decided = await _ask(step, changes, since)
    pairs = zip(changes, decided, strict=True)
    back = await asyncio.to_thread(
        lambda: [reversed_change(change, one.rejected) for change, one in pairs if one.rejected]
    )
    left: dict[str, str] = {}
    while back:
        try:
            applied = await write_changes(step, back)
        except WorkspaceError:
            refused = await _refused(step, back)
            left |= refused
            back = [change for change in back if change.path not in refused]
            if not (refused and back):
                raise
        else:
            await run_uncancelled(save_open_files(step, applied))
            break
    for why in left.values():
        step.notice(f"not reverted: {why}", level="warn")
    return Reverted(back, left)


async def _refused(step: StepContext, back: Sequence[FileChange]) -> dict[str, str]:
    """Return which files cannot be reverted as they are, each with the reason."""
    refused = {}
    for changes in _together(back):
        try:
            await step.workspace.stage(changes)
        except WorkspaceError as error:
            why = str(error).partition(";")[0]
            for path in {change.path for change in changes}:
                refused[path] = why if path in why else f"{label(path)}: {why}"
    return refused


def _together(changes: Sequence[FileChange]) -> list[list[FileChange]]:
    """Group changes that only go together: text and mode of a file, and what a change of kind is made of."""
    groups: dict[str, list[FileChange]] = {}
    named = [(path, change) for change in changes for path in (change.path, change.move_to) if path]
    roots: dict[str, str] = {}

    def root_of(path: str) -> str:
        while roots.setdefault(path, path) != path:
            path = roots[path]
        return path

    paths = {path for path, _ in named}
    for path, change in named:
        roots[root_of(path)] = root_of(change.path)
        for above in map(str, PurePosixPath(path).parents):
            if above in paths:
                roots[root_of(path)] = root_of(above)
    for change in changes:
        groups.setdefault(root_of(change.path), []).append(change)
    return list(groups.values())


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
