"""Drafts of answers at the terminal: load decisions and texts begun earlier, save, revert."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from tideate_core.engine import (
    KeptReview,
    kept_answer,
    kept_review,
    with_decisions,
    with_said,
    write_draft,
)
from tideate_core.util.escaping import visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tideate_core.cli.hunk_picking import Asker
    from tideate_core.engine import ConfirmationRequest


async def with_earlier_answer(request: ConfirmationRequest, asker: Asker) -> ConfirmationRequest:
    """Return a plan or document question with the answer that the person began in Neovim.

    The payload then has the person's comments, files and text, and the original text as `proposed`.
    """
    if request.kind not in ("plan", "document") or not request.draft:
        return request
    try:
        kept = await asyncio.to_thread(kept_answer, Path(request.draft))
    except OSError as error:
        await asker.show([Text(visible(f"your earlier answer cannot be read: {error}"), style="yellow")])
        return request
    if unusable := kept.get("unusable"):
        await asker.show(
            [Text(visible(f"your earlier answer is not used as a whole: {unusable}"), style="yellow")]
        )
    return replace(request, payload=with_said(request.payload, kept))


class ReviewDraft:
    """Draft of one review.

    :param path: file of the draft; empty for none.
    """

    def __init__(self, asker: Asker, path: str) -> None:
        self._asker = asker
        self._path = Path(path) if path else None
        self._opened = False
        self._made = 0
        self.kept = KeptReview()
        """Earlier decisions."""

    async def read(self) -> None:
        """Read earlier decisions; warn if they cannot be read."""
        if self._path is None:
            return
        try:
            self.kept = await asyncio.to_thread(kept_review, self._path)
        except OSError as error:
            self._path = None
            await self._warn(f"your earlier decisions cannot be read: {error}")

    def added_to(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Return a review's payload with the earlier decisions."""
        return with_decisions(payload, self.kept)

    @property
    def words(self) -> list[Text]:
        """Summary of earlier decisions, if any."""
        kept, shown = self.kept, list[Text]()
        if kept.lost:
            lost = f"{kept.lost} decision{'' if kept.lost == 1 else 's'}"
            shown.append(Text(f"{lost} made before cannot be kept: look at what is open", style="yellow"))
        if not kept:
            return shown
        decided = sum(len(one) for files in (kept.accepted, kept.rejected) for one in files.values())
        decided = decided or sum(map(len, kept.added.values()))
        written = sum(len(edits.keys() - kept.accepted.get(at, set())) for at, edits in kept.edited.items())
        counts = ((decided, "decided"), (written, "that you wrote"))
        parts = [f"{count} hunk{'' if count == 1 else 's'} {words}" for count, words in counts if count]
        where = "in Neovim" if kept.by_editor else "at the terminal"
        words = " and ".join(parts) or "comments made"
        return [*shown, Text(f"{words} before, {where}; o forgets that", style="dim")]

    async def write(self, at: int, decisions: Sequence[list[Any]]) -> None:
        """Save decisions on a file as one step of the draft.

        :param at: index of the file.
        :param decisions: entries of hunk number (from 1), first letter of the state, comment, and optionally
            a taken hunk and an edit.
        """
        steps: list[dict[str, Any]] = [{"decided": [[at + 1, *one] for one in decisions]}]
        if not self._opened:
            steps.insert(0, {"v": 1, "by": os.getpid(), "in": "shell"})
        self._opened = True
        self._made += 1
        await self._append(steps)

    async def revert(self, written: Sequence[list[Any]] = ()) -> None:
        """Revert the decisions made here.

        :param written: entries to keep: comments and edits of reopened hunks.
        """
        made, self._made = self._made, 0
        steps: list[dict[str, Any]] = [{"again": "past"}] * made
        await self._append([*steps, *([{"decided": [*written]}] if written else [])])
        if written:
            self._add(written)
            await self.read()

    def _add(self, written: Sequence[list[Any]]) -> None:
        """Add entries in memory, as the file may not be writable."""
        for file, hunk, _, comment, *edit in written:
            place = at, own = file - 1, hunk - 1
            self.kept.open.setdefault(at, set()).add(own)
            self.kept.about.add(place)
            if comment is not None:
                self.kept.comments.append((*place, comment["text"]))
            if edit:
                self.kept.edited.setdefault(at, {})[own] = edit[-1]

    async def forget(self) -> None:
        """Revert the earlier decisions."""
        await self._append([{"again": "past"}] * self.kept.steps)
        self.kept = KeptReview()

    async def _append(self, steps: Sequence[Mapping[str, Any]]) -> None:
        if self._path is None or not steps:
            return
        try:
            await asyncio.to_thread(write_draft, self._path, steps)
        except OSError as error:
            self._path = None
            await self._warn(f"your decisions are lost if you leave the review: {error}")

    async def _warn(self, words: str) -> None:
        await self._asker.show([Text(visible(words), style="yellow")])
