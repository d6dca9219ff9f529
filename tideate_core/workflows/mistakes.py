"""Mistakes in a definition's text: positions, messages and hints."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from pydantic.alias_generators import to_snake

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

Severity = Literal["error", "warning"]
Loc = tuple[str | int, ...]
"""Path of keys and indices from the definition to a part of it."""

LONGEST_MESSAGE = 600
"""Maximum characters of one message."""
SPELLINGS = {"agent_id": "agent", "agentId": "agent"}
MOST_COMPARED: Final = 20_000
"""Maximum pairs of names compared for one file."""
LONGEST_NAME: Final = 100


class FileMistake(NamedTuple):
    """One mistake or warning; lines and columns count characters from 1, the end is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int
    severity: Severity
    message: str
    """Without the location."""
    hint: str = ""
    """How to correct it."""

    def describe(self, file: str) -> str:
        """Return `file:line:column: message; hint`."""
        hint = f"; {self.hint}" if self.hint else ""
        return f"{file}:{self.line}:{self.column}: {self.message}{hint}"


class Problem(NamedTuple):
    """A mistake located by text offsets."""

    start: int
    end: int
    message: str
    hint: str = ""
    severity: Severity = "error"


class Finding(NamedTuple):
    """A mistake located by the path of the definition's part.

    :param on_key: it concerns the part's key, not its value.
    :param needle: text to highlight within the part.
    :param see: a related part, whose line the hint names.
    :param of_graph: it concerns the order of the steps.
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
    """A file's value with its offsets and its located items.

    :param keys: offsets of a mapping's keys.
    :param weight: size with every alias expanded.
    :param depth: levels of nested lists and mappings.
    """

    value: Any
    start: int
    end: int
    items: dict[str, Located] | list[Located] | None = None
    keys: dict[str, tuple[int, int]] = field(default_factory=dict)
    weight: int = 1
    depth: int = 0

    def child(self, step: str | int) -> Located | None:
        """Return the item at an index, or under a key in either spelling."""
        if isinstance(self.items, list):
            return self.items[step] if isinstance(step, int) and step < len(self.items) else None
        key = self.key(step)
        return None if key is None or self.items is None else self.items[key]

    def key(self, step: str | int) -> str | None:
        """Return the file's spelling of a key."""
        if not isinstance(self.items, dict) or not isinstance(step, str):
            return None
        if step in self.items:
            return step
        wanted = canonical(step)
        return next((key for key in self.items if canonical(key) == wanted), None)


class LineTable:
    """Converts offsets to lines and columns; line ends as in editors."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(match.end() for match in re.finditer(r"\r\n|\r|\n", text))]
        self._length = len(text)

    def place(self, offset: int) -> tuple[int, int]:
        """Return the 1-based line and column of an offset."""
        offset = max(0, min(offset, self._length))
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def mistake(self, problem: Problem) -> FileMistake:
        """Return a problem located by lines and columns."""
        end = max(problem.start, problem.end)
        return FileMistake(
            *self.place(problem.start),
            *self.place(end),
            problem.severity,
            _brief(problem.message),
            _brief(problem.hint),
        )


def _brief(words: str) -> str:
    """Shorten a message that quotes a text of any length from the file."""
    return words if len(words) <= LONGEST_MESSAGE else f"{words[: LONGEST_MESSAGE // 2]} … {words[-100:]}"


@lru_cache(maxsize=1024)
def canonical(key: str) -> str:
    """Return the snake_case spelling of a definition's key."""
    return SPELLINGS.get(key) or to_snake(key)


def span_of(root: Located, loc: Sequence[str | int], *, on_key: bool = False) -> tuple[int, int]:
    """Return the offsets of a part, or of its nearest ancestor in the file.

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
    """Hints with the nearest known name; the number of comparisons for one file is limited."""

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
