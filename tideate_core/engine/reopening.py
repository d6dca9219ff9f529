"""Reopening of a declined question: a new run that begins at it, with all that the model had made for it."""

from __future__ import annotations

import asyncio
import shutil
from typing import TYPE_CHECKING, Final

from tideate_core.engine.events import EventName
from tideate_core.engine.reused_writes import SHORT
from tideate_core.engine.review_drafts import draft_folder
from tideate_core.errors import InvalidInput, RunEnded

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.store import EventRow, Reader, RunRow

__all__ = ["REOPENED", "copy_drafts", "declined_question"]

REOPENED: Final = frozenset({"review", "plan", "document", "override"})
"""Kinds of questions about work of a model, which can be asked again."""


def declined_question(reader: Reader, wanted: str) -> tuple[RunRow, EventRow]:
    """Return an ended run and the event of the question at which it ended; blocking.

    :param wanted: the run's id, or the beginning of it.
    :raises RunNotFound: no run has this id.
    :raises RunEnded: it has not ended; its question is still open, or it has none.
    :raises InvalidInput: it ended otherwise; says what to do.
    """
    run = reader.run(wanted)
    short = run.id[:SHORT]
    if not run.ended:
        raise RunEnded(f"run {short} has not ended; `tideate resume {short}` continues it")
    if (question := _last_question(reader, run)) is not None:
        return run, question
    for child in reader.within(run.id):
        if _last_question(reader, child) is not None:
            raise InvalidInput(
                f"the review was that of run {child.id[:SHORT]}, a step of run {short}; "
                f"`tideate review {child.id[:SHORT]}` opens it, as a run by itself"
            )
    raise InvalidInput(f"run {short} is {run.status}; no review of it was declined or left open")


def _last_question(reader: Reader, run: RunRow) -> EventRow | None:
    """Return the event of the question at which a run ended; None if that cannot be asked again."""
    if run.status != "cancelled":
        return None
    asked = reader.last_event(run.id, EventName.CONFIRMATION_REQUIRED.value)
    answered = reader.last_event(run.id, EventName.CONFIRMATION_ANSWERED.value)
    if asked is None or asked.data.get("kind") not in REOPENED:
        return None
    is_accepted = answered is not None and answered.sequence > asked.sequence and answered.data["accepted"]
    return None if is_accepted else asked


async def copy_drafts(private: Path, source: str, run: str) -> None:
    """Give a run the decisions of another one's reviews.

    :raises OSError: they cannot be copied.
    """
    folder = draft_folder(private, source)
    if await asyncio.to_thread(folder.is_dir):
        await asyncio.to_thread(shutil.copytree, folder, draft_folder(private, run))
