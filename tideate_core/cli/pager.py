"""Show text that a model or file wrote, a bar before each line: whole, shortened, or page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.cells import cell_len, chop_cells
from rich.text import Text

from tideate_core.util.escaping import shortened_runs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console, RenderableType

    from tideate_core.cli.keyboard import Keyboard

__all__ = ["Pager"]

MOST_CHARACTERS: Final = 20_000
MOST_ROWS: Final = 1000
"""Of one part, before the question."""
PIECE: Final = 1 << 16
"""Characters of a part that are broken into rows at once."""
BAR: Final = ("│ ", "dim")
CONTINUES: Final = ("┆ ", "dim")
"""Stands before the rest of a line that is wider than the terminal."""


class Pager:
    """Texts that others wrote: no row of them begins where those of tideate begin.

    :param parts: texts that are safe to show; a table stands as it is.
    """

    def __init__(self, console: Console, parts: Sequence[RenderableType]) -> None:
        self._console = console
        self._parts = [_shortened(part) if isinstance(part, Text) else part for part in parts]
        self._left_out = 0
        self._shown = 0

    def show(self) -> None:
        """Print it; of a long part its beginning, and how much is left out."""
        self._left_out = self._shown = 0
        for part in self._parts:
            if isinstance(part, Text):
                self._show_beginning(part)
            else:
                self._shown += len(self._console.render_lines(part, pad=False))
                self._console.print(part)
        if self._shown >= self._console.height:
            words = f"{self._shown:,} rows stand above, more than this screen has: d shows all, page by page"
            self._console.print(Text(words, style="yellow"), soft_wrap=True)

    @property
    def is_long(self) -> bool:
        """Some of it was left out, or has left the screen."""
        return self._left_out > 0 or self._shown >= self._console.height

    async def turn_pages(self, keyboard: Keyboard) -> None:
        """Print all of it, a page at a time, as long as the person wants more."""
        room = max(1, self._console.height - 2)
        for number, row in enumerate(self._rows(), start=1):
            self._console.print(row, soft_wrap=True)
            if number % room == 0 and not await self._goes_on(keyboard):
                return

    async def _goes_on(self, keyboard: Keyboard) -> bool:
        answer = await keyboard.line(Text("-- more: Enter goes on, q ends --", style="cyan"))
        return answer == ""

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
            words = f"… {left_out:,} more characters are left out here: d shows all, page by page"
            self._console.print(Text(words, style="bold yellow"), soft_wrap=True)

    @property
    def _width(self) -> int:
        return max(8, self._console.width - cell_len(BAR[0]))


def _shortened(text: Text) -> Text:
    plain = shortened_runs(text.plain)
    return text if plain == text.plain else Text(plain, style=text.style)


def _rows(text: Text, width: int) -> Iterator[Text]:
    """Break a text where its lines end, and where they reach a width."""
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
