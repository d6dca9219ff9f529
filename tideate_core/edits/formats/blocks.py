"""Parser of search/replace blocks in a model's answer."""

from __future__ import annotations

import re

from tideate_core.edits.formats.file_edits import FileEdit, Part, path_above
from tideate_core.errors import UnusableAnswer

_OPEN = re.compile(r"<{5,9} ?(?:SEARCH|ORIGINAL|OLD|HEAD)?:?", re.IGNORECASE)
_DIVIDE = re.compile(r"={5,9} ?(?:REPLACE|UPDATED|NEW)?:?", re.IGNORECASE)
_CLOSE = re.compile(r">{5,9} ?(?:REPLACE|UPDATED|NEW)?:?", re.IGNORECASE)

_FORM = "<<<<<<< SEARCH\n(lines of the file)\n=======\n(new lines)\n>>>>>>> REPLACE"
NO_BLOCK = f"it holds no search/replace block; write each change as\n{_FORM}"

_NEAR = 3
"""Lines above a block's first marker that may name its file."""
_MOST_DIVIDERS = 9


def has_blocks(answer: str) -> bool:
    """Tell whether an answer attempts search/replace blocks."""
    return "<<<<<" in answer and any(_is_marker(_OPEN, line) for line in answer.split("\n"))


def parse_blocks(answer: str) -> list[FileEdit]:
    """Return the edits of an answer's blocks, one per file, ignoring prose and fences.

    A block edits the file named just above it, else the file of the previous block.

    :raises UnusableAnswer: the answer has no block, or an incomplete one.
    """
    parts: dict[str, list[Part]] = {}
    lines = answer.replace("\r\n", "\n").split("\n")
    body: list[str] | None = None
    path, number = "", 0
    for index, line in enumerate(lines):
        if body is None:
            if _is_marker(_OPEN, line):
                body, number = [], number + 1
                path = path_above(lines[max(0, index - _NEAR) : index]) or path
        elif _is_marker(_CLOSE, line):
            parts.setdefault(path, []).append(_read_part(body, number))
            body = None
        elif _is_marker(_OPEN, line):
            raise UnusableAnswer(f"block {number} does not end with >>>>>>> REPLACE")
        else:
            body.append(line)
    if body is not None:
        raise UnusableAnswer(
            f"block {number} does not end with >>>>>>> REPLACE, so the answer seems to be cut off"
        )
    if not parts:
        raise UnusableAnswer(NO_BLOCK)
    return [FileEdit(path, "modify", tuple(each)) for path, each in parts.items()]


def _is_marker(marker: re.Pattern[str], line: str) -> bool:
    return line.lstrip()[:1] in {"<", "=", ">"} and marker.fullmatch(line.strip()) is not None


def _read_part(body: list[str], number: int) -> Part:
    """Return a part with all readings of a block.

    There are several if the text itself has a line like the divider (a heading's underline).
    """
    dividers = [at for at, line in enumerate(body) if _is_marker(_DIVIDE, line)]
    if not dividers:
        raise UnusableAnswer(f"block {number} has no ======= line between the old and the new lines")
    if len(dividers) > _MOST_DIVIDERS:
        raise UnusableAnswer(
            f"block {number} has {len(dividers)} ======= lines; search fewer lines, without them"
        )
    readings = tuple((tuple(body[:at]), tuple(body[at + 1 :])) for at in dividers)
    return Part(f"block {number}", readings)
