"""Lines that an answer only repeats, and that stay as the file has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.errors import UnusableAnswer
from tideate_core.workspace import PROSE, matching_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["has_other_blanks", "keep_repeated", "without_trailing_blanks"]


def keep_repeated(
    own: Sequence[str],
    keys: Sequence[str],
    new: Sequence[str],
    new_keys: Sequence[str],
    changed: Callable[[range, list[str]], list[str]],
) -> list[str]:
    """Return the new lines, with the file's own ones where the keys of both are the same.

    :param changed: gives the lines that come in place of the file's lines of a range.
    """
    result: list[str] = []
    i = j = 0
    for at, to, size in [*matching_blocks(keys, new_keys), (len(keys), len(new_keys), 0)]:
        if i < at or j < to:
            result += changed(range(i, at), list(new[j:to]))
        result += own[at : at + size]
        i, j = at + size, to + size
    return result


def has_other_blanks(own: Sequence[str], given: Sequence[str]) -> bool:
    """Whether an answer has trailing blanks on lines of the file that have none there, or other ones."""
    return any(line != there and line != line.rstrip() for there, line in zip(own, given, strict=True))


def without_trailing_blanks(lines: Sequence[str], language: str) -> list[str]:
    """Return new lines of a careless answer, whose trailing blanks mean nothing.

    :raises UnusableAnswer: in this language they may be meant: two of them break a line of Markdown.
    """
    tidy = [line.rstrip() for line in lines]
    if language in PROSE and tidy != list(lines):
        raise UnusableAnswer(
            "it has trailing blanks on lines of the file that have none, so it is not clear whether those of "
            "its new lines are meant; copy lines exactly"
        )
    return tidy
