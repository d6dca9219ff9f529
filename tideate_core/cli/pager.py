"""Display of texts from models and files, each line after a bar: whole, truncated, or page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.cells import cell_len, chop_cells
from rich.text import Text

from tideate_core.util.escaping import shortened_runs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console, RenderableType

    from tideate_core.cli.keyboard import Keyboard

MOST_CHARACTERS: Final = 20_000
MOST_ROWS: Final = 1000
"""Maximum rows of one part before a question."""
PIECE: Final = 1 << 16
"""Characters that are wrapped at once."""
BAR: Final = ("│ ", "dim")
CONTINUES: Final = ("┆ ", "dim")
"""Mark of a wrapped row."""


class Pager:
    """Pager of foreign texts; a bar before each row distinguishes them from messages of tideate.

    :param parts: escaped texts, which get bars, and tables, which do not.
    """

    def __init__(self, console: Console, parts: Sequence[RenderableType]) -> None:
        self._console = console
        self._parts = [_shortened(part) if isinstance(part, Text) else part for part in parts]
        self._left_out = 0
        self._shown = 0

    def show(self) -> None:
        """Print the parts; truncate long parts with a notice."""
        self._left_out = self._shown = 0
        for part in self._parts:
            if isinstance(part, Text):
                self._show_beginning(part)
            else:
                self._shown += len(self._console.render_lines(part, pad=False))
                self._console.print(part)
        if self._shown >= self._console.height:
            words = f"{self._shown:,} rows, more than fit on this screen: d shows all, page by page"
            self._console.print(Text(words, style="yellow"), soft_wrap=True)

    @property
    def is_long(self) -> bool:
        """True if some text was truncated or has scrolled off the screen."""
        return self._left_out > 0 or self._shown >= self._console.height

    async def turn_pages(self, keyboard: Keyboard) -> None:
        """Print everything page by page, until the person ends it."""
        room = max(1, self._console.height - 2)
        more = Text("-- more: Enter continues, q ends --", style="cyan")
        for number, row in enumerate(self._rows(), start=1):
            self._console.print(row, soft_wrap=True)
            if number % room == 0 and await keyboard.line(more) != "":
                return

    def _rows(self) -> Iterator[Text]:
        for part in self._parts:
            if isinstance(part, Text):
                yield from _rows(part, self._width)
            else:
                for segments in self._console.render_lines(part, pad=False):
                    yield Text("".join(segment.text for segment in segments))

    def _show_beginning(self, part: Text) -> None:
        beginning = part[:MOST_CHARACTERS] if len(part) > MOST_CHARACTERS else part
        left_out = len(part) - len(beginning)
        for number, row in enumerate(_rows(beginning, self._width)):
            if number < MOST_ROWS:
                self._console.print(row, soft_wrap=True)
                self._shown += 1
            else:
                left_out += len(row) - len(BAR[0])
        if left_out:
            self._left_out += left_out
            words = f"… {left_out:,} more characters: d shows all, page by page"
            self._console.print(Text(words, style="bold yellow"), soft_wrap=True)

    @property
    def _width(self) -> int:
        return max(8, self._console.width - cell_len(BAR[0]))


def _shortened(text: Text) -> Text:
    plain = shortened_runs(text.plain)
    return text if plain == text.plain else Text(plain, style=text.style)


def _rows(text: Text, width: int) -> Iterator[Text]:
    """Split a text into rows of a maximum width."""
    begins = True
    for start in range(0, max(len(text), 1), PIECE):
        piece = text[start : start + PIECE] if len(text) > PIECE else text
        lines = piece.split("\n", allow_blank=True)
        ends = piece.plain.endswith("\n")
        for line in lines[:-1] if ends else lines:
            line.expand_tabs(8)
            for row in _chopped(line, width):
                yield Text.assemble(BAR if begins else CONTINUES, row)
                begins = False
            begins = True
        begins = ends


def _chopped(line: Text, width: int) -> list[Text]:
    if cell_len(line.plain) <= width:
        return [line]
    offsets, at = [], 0
    for piece in chop_cells(line.plain, width)[:-1]:
        at += len(piece)
        offsets.append(at)
    return list(line.divide(offsets))
