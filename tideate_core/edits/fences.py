"""Fenced code blocks in a model's answer, by CommonMark's rules and by models' habits of nesting."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_FENCE = re.compile(r"(?P<indent>[ \t]*)(?P<ticks>`{3,}|~{3,})(?P<info>[^`]*)")
_BACKTICKS = re.compile(r"`{3,}")
_MOST_EXTRA_INDENT = 3
"""Columns by which a closing fence may be indented deeper than its opening fence (CommonMark)."""


@dataclass(frozen=True, slots=True)
class Block:
    """Lines between two fences; `closed` is False if the answer ended before the closing fence."""

    info: str
    lines: tuple[str, ...]
    start: int
    """Line of the opening fence."""
    end: int
    """Line after the closing fence."""
    closed: bool = True


@dataclass(frozen=True, slots=True)
class Nesting:
    """The block from the first fence to the last one, if the text between can hold nested blocks."""

    block: Block
    certain: bool
    """False if the answer can also be read as several consecutive blocks."""


@dataclass(frozen=True, slots=True)
class _Fence:
    line: int
    indent: int
    ticks: str
    info: str

    def closes(self, opening: _Fence) -> bool:
        return (
            not self.info
            and self.ticks.startswith(opening.ticks)
            and self.indent <= opening.indent + _MOST_EXTRA_INDENT
        )


def is_fence(line: str) -> bool:
    """Tell whether a line opens or closes a fenced block."""
    return _FENCE.fullmatch(line) is not None


def fence_for(*texts: str) -> str:
    """Return a fence of backticks longer than any run of backticks in the texts."""
    longest = max((len(run) for text in texts for run in _BACKTICKS.findall(text)), default=0)
    return "`" * max(3, longest + 1)


def split_at_fences(lines: Sequence[str]) -> list[tuple[list[str], bool]]:
    """Split lines at fences; each part has True if a fence ended it.

    A fence is closed only by a fence that is not indented deeper: deeper ones belong to the text, as in a
    diff. The last part counts as not ended.
    """
    found: list[tuple[list[str], bool]] = [([], False)]
    opening: _Fence | None = None
    at = 0
    for fence in _fences(lines):
        ends = opening is not None and fence.closes(opening) and fence.indent <= opening.indent
        if opening is None or ends:
            found[-1][0].extend(lines[at : fence.line])
            found[-1] = (found[-1][0], ends)
            found.append(([], False))
            opening, at = (None if ends else fence), fence.line + 1
    found[-1][0].extend(lines[at:])
    return found


def fenced_blocks(lines: Sequence[str]) -> list[Block]:
    """Return consecutive blocks as CommonMark reads them, without a trailing empty one."""
    found: list[Block] = []
    opening: _Fence | None = None
    for fence in _fences(lines):
        if opening is None:
            opening = fence
        elif fence.closes(opening):
            found.append(_block(lines, opening, fence.line))
            opening = None
    if opening is not None:
        rest = _block(lines, opening, len(lines), closed=False)
        if any(line.strip() for line in rest.lines):
            found.append(rest)
    return found


def enclosing_block(lines: Sequence[str]) -> Nesting | None:
    """Return the block from the first to the last fence; None if the fences between are unbalanced.

    Models wrap a text that has fences in a fence of the same length; CommonMark ends that block too
    early.
    """
    fences = list(_fences(lines))
    if len(fences) < 2 or not fences[-1].closes(fences[0]):
        return None
    opening, closing = fences[0], fences[-1]
    certain = True
    inner: _Fence | None = None
    for fence in fences[1:-1]:
        if len(fence.ticks) < len(opening.ticks) or fence.ticks[0] != opening.ticks[0]:
            continue
        if inner is None:
            inner = fence
            certain = certain and bool(fence.info)
        elif fence.closes(inner):
            inner = None
    return None if inner else Nesting(_block(lines, opening, closing.line), certain)


def _fences(lines: Sequence[str]) -> Iterable[_Fence]:
    for number, line in enumerate(lines):
        if ("```" in line or "~~~" in line) and (match := _FENCE.fullmatch(line)):
            indent = len(match["indent"].expandtabs(4))
            yield _Fence(number, indent, match["ticks"], match["info"].strip())


def _block(lines: Sequence[str], opening: _Fence, end: int, *, closed: bool = True) -> Block:
    content = lines[opening.line + 1 : end]
    dedented = tuple(line[min(len(line) - len(line.lstrip(" ")), opening.indent) :] for line in content)
    return Block(opening.info, dedented, opening.line, end + 1, closed)
