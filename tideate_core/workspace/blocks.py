"""Search/replace blocks in a model's answer."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tideate_core.errors import UnusableAnswer

__all__ = ["SearchReplace", "has_blocks", "parse_blocks"]

_OPEN = re.compile(r"^\s*<{5,9}\s*(?:SEARCH|ORIGINAL|OLD|HEAD)?:?\s*$", re.IGNORECASE)
_DIVIDE = re.compile(r"^\s*={5,9}\s*(?:REPLACE|UPDATED|NEW)?:?\s*$", re.IGNORECASE)
_CLOSE = re.compile(r"^\s*>{5,9}\s*(?:REPLACE|UPDATED|NEW)?:?\s*$", re.IGNORECASE)

_FORM = "<<<<<<< SEARCH\n(lines of the file)\n=======\n(new lines)\n>>>>>>> REPLACE"


@dataclass(frozen=True, slots=True)
class SearchReplace:
    """The lines between the outer markers, and where the dividing one may be among them.

    There are several places if the text itself has such a line (a heading's underline); only the file
    tells which one divides.
    """

    body: tuple[str, ...]
    dividers: tuple[int, ...]

    @property
    def readings(self) -> list[tuple[list[str], list[str]]]:
        """All the ways to read the block as lines to search and lines to put there."""
        return [(list(self.body[:at]), list(self.body[at + 1 :])) for at in self.dividers]


def has_blocks(answer: str) -> bool:
    """Whether an answer tries to be in search/replace blocks."""
    return any(_OPEN.match(line) for line in answer.splitlines())


def parse_blocks(answer: str) -> list[SearchReplace]:
    """Return the blocks of an answer; words and fences around them are left out.

    :raises UnusableAnswer: there is none, or one is not complete.
    """
    blocks: list[SearchReplace] = []
    body: list[str] | None = None
    for line in answer.replace("\r\n", "\n").split("\n"):
        if body is None:
            body = [] if _OPEN.match(line) else None
        elif _CLOSE.match(line):
            blocks.append(_block(body, len(blocks) + 1))
            body = None
        elif _OPEN.match(line):
            raise UnusableAnswer(f"block {len(blocks) + 1} does not end with >>>>>>> REPLACE")
        else:
            body.append(line)
    if body is not None:
        raise UnusableAnswer(
            f"block {len(blocks) + 1} does not end with >>>>>>> REPLACE, so the answer seems to be cut off"
        )
    if not blocks:
        raise UnusableAnswer(f"it holds no search/replace block; write each change as\n{_FORM}")
    return blocks


def _block(body: list[str], number: int) -> SearchReplace:
    dividers = tuple(at for at, line in enumerate(body) if _DIVIDE.match(line))
    if not dividers:
        raise UnusableAnswer(f"block {number} has no ======= line between the old and the new lines")
    return SearchReplace(tuple(body), dividers)
