"""Mistakes in a definition's text: their positions, words and hints."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from pydantic.alias_generators import to_snake

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

__all__ = [
    "FileMistake",
    "Finding",
    "LineTable",
    "Loc",
    "Located",
    "Nearest",
    "Problem",
    "Severity",
    "canonical",
    "span_of",
]

Severity = Literal["error", "warning"]
Loc = tuple[str | int, ...]
"""Keys and indices that lead from the whole definition to a part of it."""

LONGEST_MESSAGE = 600
"""Characters of one mistake's words."""
SPELLINGS = {"agent_id": "agent", "agentId": "agent"}
MOST_COMPARED: Final = 20_000
"""Pairs of names that are compared for one file."""
LONGEST_NAME: Final = 100


class FileMistake(NamedTuple):
    """One mistake or warning; lines and columns from 1, in characters, the end behind the last one."""

    line: int
    column: int
    end_line: int
    end_column: int
    severity: Severity
    message: str
    """Without the place."""
    hint: str = ""
    """A remedy."""

    def describe(self, file: str) -> str:
        """Return `file:line:column: message; hint`."""
        hint = f"; {self.hint}" if self.hint else ""
        return f"{file}:{self.line}:{self.column}: {self.message}{hint}"


class Problem(NamedTuple):
    """A mistake by its offsets in the text."""

    start: int
    end: int
    message: str
    hint: str = ""
    severity: Severity = "error"


class Finding(NamedTuple):
    """A mistake by the part of the definition that has it.

    :param on_key: it is in the part's key, not in its value.
    :param needle: what to point at within the part's text.
    :param see: another part that it is about, whose line is told.
    :param of_graph: it is about the order of the steps.
    """

    loc: Loc
    message: str
    hint: str = ""
    severity: Severity = "error"
    on_key: bool = False
    needle: str = ""
    see: Loc | None = None
    of_graph: bool = False


@dataclass(slots=True)
class Located:
    """A value of a file, its offsets, and those of what is in it.

    :param keys: of a mapping, the offsets of its keys.
    :param weight: how much there would be if every alias were written out.
    :param depth: levels of lists and mappings in it.
    """

    value: Any
    start: int
    end: int
    items: dict[str, Located] | list[Located] | None = None
    keys: dict[str, tuple[int, int]] = field(default_factory=dict)
    weight: int = 1
    depth: int = 0

    def child(self, step: str | int) -> Located | None:
        """Return what stands under a key, in either spelling, or an index."""
        if isinstance(self.items, list):
            return self.items[step] if isinstance(step, int) and step < len(self.items) else None
        key = self.key(step)
        return None if key is None or self.items is None else self.items[key]

    def key(self, step: str | int) -> str | None:
        """Return how the file spells a key."""
        if not isinstance(self.items, dict) or not isinstance(step, str):
            return None
        if step in self.items:
            return step
        wanted = canonical(step)
        return next((key for key in self.items if canonical(key) == wanted), None)


class LineTable:
    """Lines and columns of offsets; lines end as in editors."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(match.end() for match in re.finditer(r"\r\n|\r|\n", text))]
        self._length = len(text)

    def place(self, offset: int) -> tuple[int, int]:
        """Return line and column, from 1."""
        offset = max(0, min(offset, self._length))
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def mistake(self, problem: Problem) -> FileMistake:
        """Return a problem with its lines and columns."""
        end = max(problem.start, problem.end)
        return FileMistake(
            *self.place(problem.start),
            *self.place(end),
            problem.severity,
            _brief(problem.message),
            _brief(problem.hint),
        )


def _brief(words: str) -> str:
    """Cut words that repeat a text of the file: that may be of any length."""
    return words if len(words) <= LONGEST_MESSAGE else f"{words[: LONGEST_MESSAGE // 2]} … {words[-100:]}"


@lru_cache(maxsize=1024)
def canonical(key: str) -> str:
    """Return the snake_case spelling of a definition's key."""
    return SPELLINGS.get(key) or to_snake(key)


def span_of(root: Located, loc: Sequence[str | int], *, on_key: bool = False) -> tuple[int, int]:
    """Return the offsets of a part, or of the nearest part around it that the file has.

    :param on_key: of its key rather than its value.
    """
    here = root
    span = root.start, root.start
    for step in loc:
        inner = here.child(step)
        if inner is None:
            break
        key = here.key(step)
        span = here.keys[key] if on_key and key is not None else (inner.start, inner.end)
        here = inner
    return span


class Nearest:
    """Hints with the nearest known name for the mistakes of one file; bounded, as comparing takes long."""

    def __init__(self) -> None:
        self._left = MOST_COMPARED

    def hint(self, name: str, known: Collection[str]) -> str:
        """Return `did you mean 'x'?`, or an empty string."""
        self._left -= len(known)
        if self._left < 0 or len(name) > LONGEST_NAME:
            return ""
        from tideate_core.errors import nearest

        near = nearest(name, known)
        return f"did you mean {near!r}?" if near else ""
