"""All places of some lines among others, in time that grows with both and not with their product."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

__all__ = ["places_of"]


def places_of(wanted: Sequence[Hashable], among: Sequence[Hashable]) -> Iterator[int]:
    """Yield every index where all of `wanted` stand in a row, overlapping ones too (Knuth, Morris, Pratt)."""
    if not wanted:
        return
    borders = _borders(wanted)
    held = 0
    for index, item in enumerate(among):
        while held and (held == len(wanted) or wanted[held] != item):
            held = borders[held - 1]
        if wanted[held] == item:
            held += 1
        if held == len(wanted):
            yield index - held + 1


def _borders(wanted: Sequence[Hashable]) -> list[int]:
    """Return for each head of `wanted` how much of its beginning is also its end."""
    borders = [0] * len(wanted)
    held = 0
    for index in range(1, len(wanted)):
        while held and wanted[held] != wanted[index]:
            held = borders[held - 1]
        if wanted[held] == wanted[index]:
            held += 1
        borders[index] = held
    return borders
