"""SVG of a terminal screen; equal screens give equal files."""

from __future__ import annotations

import html
import io
import re
from itertools import groupby
from typing import TYPE_CHECKING

from rich.console import Console
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyte.screens import Char

FORMAT = """\
<svg class="rich-terminal" width="{width}" height="{height}" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; \
font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font: bold 18px sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="100%"/>
</clipPath>
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
"""The format of rich, without fonts from the network and without a clip of each line. Width and height keep a
picture readable on a phone if it is opened by itself."""
CELL = 12.2
"""Width of a character, in units of the picture."""
WRITTEN = re.compile(r'(<text [^>]*)x="([0-9.]+)" y="([0-9.]+)" textLength="[0-9.]+"[^>]*>([^<]*)</text>')
WORDS = re.compile(r"[^\xa0]+(?:\xa0[^\xa0]+)*")
"""Text between two or more blanks."""
COLOURS = {"dark": ("#14161b", "#e0e2ea"), "light": ("#e0e2ea", "#14161b")}
"""Background and text of Neovim's default colours."""
ANSI = [(0, 0, 0), (205, 0, 0), (0, 205, 0), (205, 205, 0), (0, 0, 238), (205, 0, 205), (0, 205, 205)]


def _rgb(colour: str) -> tuple[int, int, int]:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return red, green, blue


def _colour(name: str) -> str | None:
    if name == "default":
        return None
    return f"#{name}" if re.fullmatch("[0-9a-f]{6}", name) else name.replace("brown", "yellow")


def _style(cell: Char) -> Style:
    return Style(
        color=_colour(cell.fg),
        bgcolor=_colour(cell.bg),
        bold=cell.bold,
        italic=cell.italics,
        underline=cell.underscore,
        strike=cell.strikethrough,
        reverse=cell.reverse,
    )


def _short(written: re.Match[str]) -> str:
    """Return the words of a text at their positions, without the blanks between them."""
    before, start, row, words = written.groups()
    parts = []
    for found in WORDS.finditer(html.unescape(words).strip("\n")):
        at, length = (
            f"{round(count, 1):g}" for count in (float(start) + CELL * found.start(), CELL * len(found[0]))
        )
        shown = html.escape(found[0], quote=False)
        parts.append(f'{before}x="{at}" y="{row}" textLength="{length}">{shown}</text>')
    return "".join(parts)


def svg(cells: Sequence[Sequence[Char]], background: str) -> str:
    """Return the picture of a screen.

    :param background: `dark` or `light`.
    """
    paper, ink = COLOURS[background]
    theme = TerminalTheme(_rgb(paper), _rgb(ink), [*ANSI, (229, 229, 229)])
    console = Console(
        record=True,
        width=len(cells[0]),
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
        legacy_windows=False,
    )
    for row in cells:
        line = Text(no_wrap=True, end="\n")
        for style, same in groupby(row, _style):
            line.append("".join(cell.data for cell in same), style)
        console.print(line, highlight=False)
    text = console.export_svg(title="", theme=theme, code_format=FORMAT, unique_id="t")
    return re.sub(r"[ \t]+$", "", WRITTEN.sub(_short, text), flags=re.MULTILINE)
