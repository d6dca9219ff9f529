"""Changes that cannot be written as they were reviewed, for the texts as they are now; kept with the run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tideate_core.errors import EditConflict
from tideate_core.workflows import MISSING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.workflows import StepContext
    from tideate_core.workspace import FileChange

__all__ = ["ChangesNow", "changes_now"]


@dataclass(frozen=True, slots=True)
class ChangesNow:
    """A conflict of accepted changes with the files."""

    refused: str
    changes: list[FileChange]
    """What was shown, for the texts as they are now."""


async def changes_now(
    step: StepContext, accepted: Sequence[FileChange], shown: Sequence[FileChange]
) -> ChangesNow | None:
    """Return what is to be reviewed where accepted changes cannot be written, None where they can.

    After a crash it is for the texts that it was for before, whatever became of the files meanwhile: the
    answers that followed are about these. A text that seems to hold a secret is not kept, but read again.
    """
    from tideate_core.agents import keep_texts, kept_texts

    key = step.numbered(f"changes_now:{step.attempt}")
    kept = step.recall(key)
    if kept is not MISSING:
        return ChangesNow(kept["refused"], await _as_kept(step, shown, kept["paths"], kept_texts(step, key)))
    try:
        await step.workspace.stage([change for change in accepted if not change.is_of_no_file])
        return None
    except EditConflict as error:
        refused = str(error)
    now = [await step.workspace.for_text_now(change) for change in shown]
    texts = {one.path: one.before for one, change in zip(now, shown, strict=True) if one != change}
    await keep_texts(step, key, texts)
    await step.remember(key, {"refused": refused, "paths": [*texts]})
    # a process that was killed in between kept texts, too: those are shown
    return ChangesNow(refused, await _as_kept(step, shown, [*texts], kept_texts(step, key)))


async def _as_kept(
    step: StepContext, shown: Sequence[FileChange], paths: Sequence[str], texts: dict[str, str | None]
) -> list[FileChange]:
    now = [
        await step.workspace.for_text_now(change, texts.get(change.path)) if change.path in paths else change
        for change in shown
    ]
    return await step.workspace.attach(now)
