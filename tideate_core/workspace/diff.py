"""Line matching for diffs: patience anchors first, then longest common subsequences between them.

`difflib` takes seconds on large texts with many equal lines; here a part that would take too long is split.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from itertools import pairwise
from math import isqrt
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

Block = tuple[int, int, int]
"""Start in the old text, start in the new text, number of equal lines."""
_Span = tuple[int, int, int, int]

_MOST_PAIRS: Final = 1 << 28
"""Pairs of lines compared in one part without unique lines: 16,000 lines a side, one bit each (32 MiB)."""


def matching_blocks(old: Sequence[str], new: Sequence[str]) -> list[Block]:
    """Return the equal blocks in order; adjacent blocks may touch."""
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
        elif (span[1] - span[0]) * (span[3] - span[2]) <= _MOST_PAIRS:
            blocks.extend(_common(a, b, span))
        else:
            spans.extend(_parts(span))
    return sorted(blocks)


def _trim(a: list[int], b: list[int], span: _Span, blocks: list[Block]) -> _Span:
    """Cut off the common head and tail and add them to the blocks."""
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
    """Pair the lines that are unique on both sides; keep the longest run in the same order."""
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


def _common(a: list[int], b: list[int], span: _Span) -> list[Block]:
    """Return a longest common subsequence, computed for all old lines at once in the bits of an integer.

    In the row of a new line, a 0 bit means that one more old line adds a common line (Hyyrö, 2004).
    """
    a1, a2, b1, b2 = span
    places: dict[int, int] = {}
    for i in range(a1, a2):
        places[a[i]] = places.get(a[i], 0) | 1 << (i - a1)
    every = row = (1 << (a2 - a1)) - 1
    rows = [row]
    for j in range(b1, b2):
        here = row & places.get(b[j], 0)
        row = (row + here | row - here) & every
        rows.append(row)
    return _walk_back(a, b, span, rows)


def _walk_back(a: list[int], b: list[int], span: _Span, rows: list[int]) -> list[Block]:
    a1, i, b1, j = span
    blocks: list[Block] = []
    while a1 < i and b1 < j:
        size = 0
        while a1 < i - size and b1 < j - size and a[i - size - 1] == b[j - size - 1]:
            size += 1
        if size:
            i, j = i - size, j - size
            blocks.append((i, j, size))
        elif rows[j - b1] >> (i - a1 - 1) & 1:
            i -= 1
        else:
            j -= 1
    return blocks


def _parts(span: _Span) -> list[_Span]:
    """Split both sides at the same fractions of their length, so that each part can be searched."""
    a1, a2, b1, b2 = span
    n, m = a2 - a1, b2 - b1
    count = isqrt(n * m // _MOST_PAIRS) + 1
    cuts = [(a1 + n * part // count, b1 + m * part // count) for part in range(count + 1)]
    return [(i, to_i, j, to_j) for (i, j), (to_i, to_j) in pairwise(cuts)]
