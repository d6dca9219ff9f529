"""Moving an edit over what a person typed meanwhile."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tideate_core.workspace.edits import Hunk, diff_lines, lines_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["rebase"]


def rebase(hunks: Sequence[Hunk], base_text: str, current_text: str) -> list[Hunk] | None:
    """Return the hunks, made for `base_text`, at their places in `current_text`.

    :returns: None if a line that a hunk replaces was changed, or if both insert at the same place.
    """
    theirs = diff_lines(lines_of(base_text), lines_of(current_text))
    moved: list[Hunk] = []
    passed = shift = 0
    for hunk in sorted(hunks, key=lambda hunk: (hunk.start, hunk.end)):
        while passed < len(theirs) and _precedes(theirs[passed], hunk):
            shift += len(theirs[passed].new) - len(theirs[passed].old)
            passed += 1
        if passed < len(theirs) and _clash(theirs[passed], hunk):
            return None
        moved.append(replace(hunk, start=hunk.start + shift))
    return moved


def _precedes(their: Hunk, hunk: Hunk) -> bool:
    both_insert = their.start == their.end == hunk.start == hunk.end
    return their.end <= hunk.start and not both_insert


def _clash(their: Hunk, hunk: Hunk) -> bool:
    both_insert = their.start == their.end == hunk.start == hunk.end
    return both_insert or (hunk.start < their.end and their.start < hunk.end)
