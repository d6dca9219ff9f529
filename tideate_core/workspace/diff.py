"""Common lines of two texts: patience anchors first, then Myers' search between them.

`difflib` takes seconds on large texts with many equal lines; here the time is bounded for any input,
and a part that would take too long counts as replaced.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Block", "matching_blocks"]

Block = tuple[int, int, int]
"""Start in the old text, start in the new text, number of equal lines."""
_Span = tuple[int, int, int, int]

_MAX_EDITS = 300
"""Of Myers' search in one part without unique lines; its work and memory grow with the square."""


def matching_blocks(old: Sequence[str], new: Sequence[str]) -> list[Block]:
    """Return the equal blocks in order: both starts increase; one block may go on where another ends."""
    ids: dict[str, int] = {}
    a = [ids.setdefault(line, len(ids)) for line in old]
    b = [ids.setdefault(line, len(ids)) for line in new]
    blocks: list[Block] = []
    spans: list[_Span] = [(0, len(a), 0, len(b))]
    while spans:
        span = _trim(a, b, spans.pop(), blocks)
        if span[0] == span[1] or span[2] == span[3]:
            continue
        anchors = _anchors(a, b, span)
        if anchors:
            blocks.extend((i, j, 1) for i, j in anchors)
            spans.extend(_between(anchors, span))
        else:
            blocks.extend(_myers(a, b, span))
    return sorted(blocks)


def _trim(a: list[int], b: list[int], span: _Span, blocks: list[Block]) -> _Span:
    """Cut off the common head and tail, adding them to the blocks."""
    a1, a2, b1, b2 = span
    head = 0
    while a1 + head < a2 and b1 + head < b2 and a[a1 + head] == b[b1 + head]:
        head += 1
    if head:
        blocks.append((a1, b1, head))
        a1, b1 = a1 + head, b1 + head
    tail = 0
    while a1 < a2 - tail and b1 < b2 - tail and a[a2 - tail - 1] == b[b2 - tail - 1]:
        tail += 1
    if tail:
        a2, b2 = a2 - tail, b2 - tail
        blocks.append((a2, b2, tail))
    return a1, a2, b1, b2


def _anchors(a: list[int], b: list[int], span: _Span) -> list[tuple[int, int]]:
    """Pair the lines that stand once on each side; the longest run of pairs in the same order."""
    a1, a2, b1, b2 = span
    count_a, count_b = Counter(a[a1:a2]), Counter(b[b1:b2])
    place = {b[j]: j for j in range(b1, b2) if count_b[b[j]] == 1}
    pairs = [(i, place[a[i]]) for i in range(a1, a2) if count_a[a[i]] == 1 and a[i] in place]
    return _longest_increasing(pairs)


def _longest_increasing(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    tops: list[int] = []
    top_index: list[int] = []
    previous: list[int] = []
    for index, (_, j) in enumerate(pairs):
        pile = bisect_left(tops, j)
        previous.append(top_index[pile - 1] if pile else -1)
        if pile == len(tops):
            tops.append(j)
            top_index.append(index)
        else:
            tops[pile], top_index[pile] = j, index
    chain: list[tuple[int, int]] = []
    index = top_index[-1] if top_index else -1
    while index >= 0:
        chain.append(pairs[index])
        index = previous[index]
    return chain[::-1]


def _between(anchors: list[tuple[int, int]], span: _Span) -> list[_Span]:
    a1, a2, b1, b2 = span
    spans: list[_Span] = []
    for i, j in [*anchors, (a2, b2)]:
        if a1 < i and b1 < j:
            spans.append((a1, i, b1, j))
        a1, b1 = i + 1, j + 1
    return spans


def _myers(a: list[int], b: list[int], span: _Span) -> list[Block]:
    """Myers' greedy search, at most `_MAX_EDITS` deep; nothing in common beyond that."""
    a1, a2, b1, b2 = span
    n, m = a2 - a1, b2 - b1
    furthest = {1: 0}
    trace: list[dict[int, int]] = []
    for depth in range(min(n + m, _MAX_EDITS) + 1):
        trace.append(dict(furthest))
        for k in range(-depth, depth + 1, 2):
            down = k == -depth or (k != depth and furthest[k - 1] < furthest[k + 1])
            x = furthest[k + 1] if down else furthest[k - 1] + 1
            while x < n and 0 <= x - k < m and a[a1 + x] == b[b1 + x - k]:
                x += 1
            furthest[k] = x
            if x >= n and x - k >= m:
                return [(a1 + i, b1 + j, size) for i, j, size in _walk_back(trace, n, m)]
    return []


def _walk_back(trace: list[dict[int, int]], x: int, y: int) -> list[Block]:
    blocks: list[Block] = []
    for depth in range(len(trace) - 1, -1, -1):
        furthest = trace[depth]
        k = x - y
        down = k == -depth or (k != depth and furthest[k - 1] < furthest[k + 1])
        before_x = furthest[k + 1 if down else k - 1] if depth else 0
        before_y = before_x - (k + 1 if down else k - 1) if depth else 0
        # the snake starts after the one step down or right
        start_x = (before_x if down else before_x + 1) if depth else 0
        if x > start_x:
            blocks.append((start_x, start_x - k, x - start_x))
        x, y = before_x, before_y
    return blocks
