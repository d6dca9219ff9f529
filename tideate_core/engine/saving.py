"""Saving of the buffers that a run changed, without what the person has not saved in others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.errors import WorkspaceError
from tideate_core.util.escaping import label

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from tideate_core.workflows import StepContext
    from tideate_core.workspace import AppliedChanges

__all__ = ["save_open_files", "save_with_earlier"]


async def save_with_earlier(
    step: StepContext, applied: AppliedChanges, run: str | None, left: Mapping[str, bool]
) -> None:
    """Save what was changed in buffers, and what the run left there that this one continues.

    :param left: as `unsaved_of` had it before the changes were applied.
    """
    own = {path for path, alone in left.items() if alone and path not in applied.rebased}
    await save_open_files(step, applied, own)
    now = await step.workspace.unsaved_of(run) if run else {}
    others = {path: alone for path, alone in now.items() if path not in applied.open_files}
    saved = [path for path, alone in others.items() if alone and await _save(step, path)]
    if saved:
        step.notice(f"saved with the others: {', '.join(map(label, saved))}")
    _tell_unsaved(step, [path for path, alone in others.items() if not alone])


async def save_open_files(
    step: StepContext, applied: AppliedChanges, own: Collection[str] = frozenset()
) -> None:
    """Save what was changed in buffers; one that had unsaved changes of the person's is told of.

    :param own: files whose unsaved changes were those of an earlier run, and no others.
    """
    unsaved = []
    for path, modified in applied.open_files.items():
        if modified and path not in own:
            unsaved.append(path)
        else:
            await _save(step, path)
    _tell_unsaved(step, unsaved)


async def _save(step: StepContext, path: str) -> bool:
    """Save the buffer of a file, and tell whether it was."""
    try:
        return bool(await step.workspace.save([path]))
    except WorkspaceError as error:  # its buffer is changed all the same
        step.notice(str(error), level="warn")
        return False


def _tell_unsaved(step: StepContext, paths: Sequence[str]) -> None:
    if paths:
        names = ", ".join(map(label, paths))
        step.notice(f"not saved, because of other unsaved changes (`:wa` saves): {names}", level="warn")
