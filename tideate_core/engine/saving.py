"""Saving of the buffers that a run changed, without what the person has not saved in others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tideate_core.util.escaping import label
from tideate_core.workspace import SavedFiles

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from tideate_core.workflows import StepContext
    from tideate_core.workspace import AppliedChanges

__all__ = ["save_open_files", "save_with_earlier"]

OTHER_CHANGES: Final = "other unsaved changes; `:wa` saves"


async def save_with_earlier(
    step: StepContext, applied: AppliedChanges, run: str | None, left: Mapping[str, bool]
) -> None:
    """Save what was changed in buffers, and what the run left there that this one continues.

    :param left: as `unsaved_of` had it before the changes were applied.
    """
    own = {path for path, alone in left.items() if alone and path not in applied.rebased}
    unsaved = await _save(step, applied, own)
    now = await step.workspace.unsaved_of(run) if run else {}
    others = {path: alone for path, alone in now.items() if path not in applied.open_files}
    done = await step.workspace.save([path for path, alone in others.items() if alone])
    if done.saved:
        step.notice(f"saved with the others: {', '.join(map(label, done.saved))}")
    unsaved |= {path: OTHER_CHANGES for path, alone in others.items() if not alone} | done.unsaved
    _tell_unsaved(step, unsaved)


async def save_open_files(step: StepContext, applied: AppliedChanges) -> None:
    """Save what was changed in buffers, and name the files that were not saved."""
    _tell_unsaved(step, await _save(step, applied))


async def _save(
    step: StepContext, applied: AppliedChanges, own: Collection[str] = frozenset()
) -> dict[str, str]:
    """Save what was changed in buffers; one that had unsaved changes of the person's stays unsaved.

    :param own: files whose unsaved changes were those of an earlier run, and no others.
    :returns: the files that were not saved, each with the reason.
    """
    theirs = {path for path, modified in applied.open_files.items() if modified and path not in own}
    done = await step.workspace.save([path for path in applied.open_files if path not in theirs])
    return dict.fromkeys(theirs, OTHER_CHANGES) | done.unsaved


def _tell_unsaved(step: StepContext, unsaved: dict[str, str]) -> None:
    if unsaved:
        step.notice(SavedFiles(unsaved=unsaved).unsaved_words, level="warn", unsaved=sorted(unsaved))
