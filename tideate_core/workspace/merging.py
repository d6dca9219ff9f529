"""Three-way merge of texts that guesses nothing: changes that touch each other are a conflict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tideate_core.workspace.edits import Hunk, apply_hunks, diff_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["merge_bytes", "merge_text"]


def merge_text(base: str, theirs: str, ours: str) -> str | None:
    """Return `base` with the changes that `theirs` and `ours` make to it.

    A change that both make is made once. Lines end with ``\\n``; a ``\\r`` before it is part of the line.

    :returns: None where a change of one touches a change of the other, or might as well stand where it would.
    """
    if ours in (base, theirs):
        return theirs
    if base == theirs:
        return ours
    lines = base.split("\n")
    their_hunks = [_Movable.of(hunk, lines) for hunk in diff_lines(lines, theirs.split("\n"))]
    own: list[Hunk] = []
    for hunk in diff_lines(lines, ours.split("\n")):
        movable = _Movable.of(hunk, lines)
        if movable in their_hunks:
            continue
        if any(movable.touches(other) for other in their_hunks):
            return None
        own.append(hunk)
    return "\n".join(apply_hunks(lines, [*own, *(movable.highest for movable in their_hunks)]))


def merge_bytes(base: bytes, theirs: bytes, ours: bytes) -> bytes | None:
    """Like `merge_text`, byte for byte in any encoding that has ASCII's line ends.

    :returns: None also for binaries, unless only one of the two changed anything.
    """
    if ours in (base, theirs):
        return theirs
    if base == theirs:
        return ours
    if any(b"\0" in data for data in (base, theirs, ours)):
        return None
    # each byte a character: what is no UTF-8 is kept, too
    merged = merge_text(*(data.decode("latin-1") for data in (base, theirs, ours)))
    return None if merged is None else merged.encode("latin-1")


@dataclass(frozen=True, slots=True)
class _Movable:
    """A hunk among equal lines, which gives the same text at several places."""

    highest: Hunk
    last_end: int
    """Where it ends at the lowest of them."""

    @classmethod
    def of(cls, hunk: Hunk, lines: Sequence[str]) -> _Movable:
        moved = hunk.new if not hunk.old else hunk.old
        if hunk.old and hunk.new:
            return cls(hunk, hunk.end)
        start, end, size = hunk.start, hunk.end, len(moved)
        # moved by a line, the block begins with the line that it ended with before, or the other way round
        up = 0
        while start - up > 0 and lines[start - up - 1] == moved[-1 - up % size]:
            up += 1
        down = 0
        while end + down < len(lines) and lines[end + down] == moved[down % size]:
            down += 1
        turn = up % size
        turned = (*moved[size - turn :], *moved[: size - turn])
        highest = Hunk(start - up, turned if hunk.old else (), () if hunk.old else turned)
        return cls(highest, end + down)

    def touches(self, other: _Movable) -> bool:
        return self.highest.start <= other.last_end and other.highest.start <= self.last_end
