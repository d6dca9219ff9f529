"""Results of tools as text for a model: numbered lines, cut to a limit, with a note about the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

LONGEST: Final = 30_000
"""Characters of a result, approximately."""
LONGEST_LINE: Final = 2_000
"""Characters of a file's line."""


def cut_line(line: str, longest: int = LONGEST_LINE) -> str:
    """Cut a long line and append the number of characters left out."""
    line = line.removesuffix("\r")
    if len(line) <= longest:
        return line
    return f"{line[:longest]} [… {len(line) - longest:,} more characters]"


def list_some(names: Sequence[str], most: int = 10) -> str:
    """Join names by commas; of more than `most`, the rest is counted."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def numbered(lines: Iterable[str], first: int = 1) -> list[str]:
    """Return lines, each after its number and a tab.

    Tokenizers merge the tab with the line's indentation; any other separator costs a token of its own.

    :param first: number of the first line.
    """
    return [f"{number}\t{cut_line(line)}" for number, line in enumerate(lines, first)]


def bounded_lines(lines: Sequence[str], rest: Callable[[int], str], longest: int = LONGEST) -> str:
    """Join lines up to a size limit.

    :param rest: given the number of lines shown, returns a note about the rest and how to ask for it.
    """
    size = shown = 0
    for line in lines:
        size += len(line) + 1
        if size > longest and shown:
            break
        shown += 1
    text = "\n".join(lines[:shown])
    return text if shown == len(lines) else f"{text}\n[{rest(shown)}]"


def bounded_text(text: str, rest: str, longest: int = LONGEST) -> str:
    """Cut a text to a size limit, at a line's end.

    :param rest: how to ask for the rest.
    """
    lines = [cut_line(line, longest // 2) for line in text.split("\n")]
    return bounded_lines(lines, lambda shown: f"{len(lines) - shown:,} more lines; {rest}", longest)
