"""Results of tools as text for a model: numbered lines, cut to a bound that says what was left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["LONGEST", "LONGEST_LINE", "bounded_lines", "bounded_text", "cut_line", "numbered"]

LONGEST: Final = 30_000
"""Characters of a result, about."""
LONGEST_LINE: Final = 2_000
"""Characters of a line of a file."""


def cut_line(line: str, longest: int = LONGEST_LINE) -> str:
    """Return a line, or its beginning with the number of characters that were left out."""
    line = line.removesuffix("\r")
    if len(line) <= longest:
        return line
    return f"{line[:longest]} [… {len(line) - longest:,} more characters]"


def numbered(lines: Iterable[str], first: int = 1, longest: int = LONGEST_LINE) -> list[str]:
    """Return lines, each with its number and a tab before it.

    Tokenizers take the tab and the line's indentation as one; any other sign costs as much as the number.

    :param first: number of the first one.
    """
    return [f"{number}\t{cut_line(line, longest)}" for number, line in enumerate(lines, first)]


def bounded_lines(lines: Sequence[str], rest: Callable[[int], str], longest: int = LONGEST) -> str:
    """Join lines, as many as there is room for.

    :param rest: given how many are shown, says what was left out and how to ask for it.
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
    """Cut a text at a line's end.

    :param rest: says how to ask for what was left out.
    """
    lines = [cut_line(line, longest // 2) for line in text.split("\n")]
    return bounded_lines(lines, lambda shown: f"{len(lines) - shown:,} more lines; {rest}", longest)
