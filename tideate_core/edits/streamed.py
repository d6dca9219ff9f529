"""Hunks of an incomplete answer."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tideate_core.edits.fences import fenced_blocks
from tideate_core.edits.formats.code import without_thoughts
from tideate_core.edits.indentation import strip_edges
from tideate_core.edits.matching.placement import fit_to_place, fit_to_range, trim_neighbours
from tideate_core.errors import UnusableAnswer
from tideate_core.workspace import Hunk, diff_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

_PATCH: Final = re.compile(r"@@ |--- |\+\+\+ |<{5,9} ?")
"""Beginning of a diff or of search/replace blocks, which are only shown when complete."""


def streamed_hunks(answer: str, lines: Sequence[str], start: int, end: int) -> list[Hunk] | None:
    """Return the changes so far of a line range (0-based, half open); None if they are not known yet.

    They come from the complete lines of the answer's first code block. Lines of the range that the model has
    not reached are unchanged. New lines of a blank range replace it.
    """
    try:
        blocks = fenced_blocks(without_thoughts(answer[: answer.rfind("\n") + 1])[:-1])
        code = list(blocks[0].lines) if blocks else []
        first, last = strip_edges(code)
        code = code[first:last]
        if not code or _PATCH.match(code[0]):
            return None
        old = lines[start:end]
        top, bottom = strip_edges(old)
        if top == bottom:
            return [Hunk(start, tuple(old), tuple(fit_to_place(code, lines, end)))]
        old = old[top:bottom]
        new = fit_to_range(trim_neighbours(code, lines, start, end), old, style=lines)
    except UnusableAnswer:
        return None
    hunks = diff_lines(old, new)
    if not blocks[0].closed:
        hunks = _reached(hunks, len(old))
    return [replace(hunk, start=hunk.start + start + top) for hunk in hunks]


def _reached(hunks: Sequence[Hunk], size: int) -> list[Hunk]:
    """Return hunks of a growing text without the old lines that it has not reached.

    :param size: number of old lines.
    """
    if not hunks or hunks[-1].end != size:
        return [*hunks]
    *others, last = hunks
    return [*others, replace(last, old=last.old[: len(last.new)])] if last.new else others
