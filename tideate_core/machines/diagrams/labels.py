"""Text in diagrams: sanitizing, width in columns, truncation, labels of boxes and arrows."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len, set_cell_size

from tideate_core.machines.diagrams.layout import Route
from tideate_core.machines.diagrams.model import Kind

if TYPE_CHECKING:
    from tideate_core.machines.diagrams.layout import Arrow, Box, Layout

UNREACHABLE: Final = "unreachable:"
"""Heading above the boxes that no path from the entry reaches."""
LEAST: Final = 8
"""Minimum columns of text in a box."""

_SIGNS: Final = {Kind.ENTRY: "●", Kind.EXIT: "◉"}
_CIRCLES: Final = "①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳"


def one_line(text: str) -> str:
    """Return the text on one line without control and format characters, which could control a terminal."""
    text = " ".join(text.split())
    if text.isascii() and text.isprintable():
        return text
    kept = (char for char in text if _is_drawn(char))
    return " ".join("".join(kept).split())


def cut(text: str, room: int) -> str:
    """Return the text, truncated with an ellipsis if it does not fit."""
    if cell_len(text) <= room:
        return text
    return set_cell_size(text, max(room - 1, 0)).rstrip() + "…"[: max(room, 0)]


def padded(text: str, room: int) -> str:
    """Return the text truncated or padded to exactly this many columns."""
    return set_cell_size(cut(text, room), room)


def title_label(layout: Layout, box: Box) -> str:
    """Return the label at the top of a box."""
    if box.node.kind is Kind.NODE:
        return _name(layout, box.at)
    sign = _SIGNS[box.node.kind]
    return f"{sign} {_number(layout.numbers[box.at])}" if box.at in layout.numbers else sign


def arrow_label(layout: Layout, arrow: Arrow) -> str:
    """Return the label of an arrow, for its line in the source's box."""
    label = one_line(arrow.label)
    if arrow.route is Route.SELF:
        return f"↺ {label}".rstrip()
    name = _name if arrow.route is Route.NUMBERED else _plain_name
    target = name(layout, arrow.target)
    return f"→ {target}: {label}" if label else f"→ {target}"


def box_columns(layout: Layout) -> int:
    """Return the columns that the boxes need without truncation."""
    lines = [title_label(layout, box) for box in layout.boxes]
    lines += [one_line(words) for box in layout.boxes for _, words in box.details]
    arrows = (arrow for box in layout.boxes for arrow in box.arrows)
    lines += [arrow_label(layout, arrow) for arrow in arrows if arrow.row is not None]
    return max(LEAST, *map(cell_len, lines))


def _name(layout: Layout, at: int) -> str:
    name = _plain_name(layout, at)
    return f"{_number(layout.numbers[at])} {name}" if at in layout.numbers else name


def _plain_name(layout: Layout, at: int) -> str:
    node = layout.boxes[at].node
    return one_line(node.name) if node.kind is Kind.NODE else _SIGNS[Kind.EXIT]


def _number(number: int) -> str:
    return _CIRCLES[number - 1] if number <= len(_CIRCLES) else f"({number})"


def _is_drawn(char: str) -> bool:
    # variation selectors make a character two columns wide in some terminals, one in others
    return unicodedata.category(char)[0] != "C" and not "\ufe00" <= char <= "\ufe0f"
