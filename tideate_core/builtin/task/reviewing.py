"""The person's review of a task's edits, and their writing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.builtin.review import ask_for_review, write_changes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.builtin.task.bench import Bench
    from tideate_core.workflows import StepContext
    from tideate_core.workspace import FileChange

__all__ = ["reviewed", "write"]


async def reviewed(step: StepContext, bench: Bench, changes: Sequence[FileChange]) -> list[FileChange]:
    """Return what the person accepts; everything, where nobody is to be asked.

    Edits of a demonstration's model are always asked about.

    :raises Declined: nothing was accepted.
    """
    wanted = list(changes)
    if not bench.gated and not step.demonstration:
        return wanted
    return await ask_for_review(step, wanted)


async def write(step: StepContext, changes: Sequence[FileChange]) -> None:
    """Write changes, all or none.

    :raises EditConflict: a file is not what a change was made for; nothing was written.
    :raises WorkspaceError: they cannot be written; nothing was.
    """
    if changes:
        await write_changes(step, list(changes))
