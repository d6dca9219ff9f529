"""Preserve the file's own lines, blanks and punctuation where an answer only repeats them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tideate_core.errors import UnusableAnswer
from tideate_core.workspace import PROSE, matching_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

__all__ = [
    "Quotation",
    "common_edges",
    "has_other_blanks",
    "keep_repeated",
    "plain",
    "plain_line",
    "with_plain_indent",
    "without_trailing_blanks",
]

_PLAIN = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    **dict.fromkeys("\u00a0\u2002\u2003\u2007\u2009\u202f", " "),
    "\u2026": "...",
    "\u200b": "",
    "\ufeff": "",
}
_SHOWN = 20
"""Characters on either side of a wrong one that a message shows."""
_TABLE = str.maketrans(_PLAIN)


def plain(text: str) -> str:
    """Return the text with ASCII in place of typographic quotes, dashes, blanks and ellipses."""
    return text if text.isascii() else text.translate(_TABLE)


def plain_line(line: str) -> str:
    """Return a line without typographic punctuation and without blanks at its edges, for comparing."""
    return plain(line).strip()


def with_plain_indent(line: str) -> str:
    """Return the line with ASCII blanks before its text."""
    text = line.lstrip()
    return plain(line[: len(line) - len(text)]) + text


def keep_repeated(
    own: Sequence[str],
    keys: Sequence[str],
    new: Sequence[str],
    new_keys: Sequence[str],
    changed: Callable[[range, list[str]], list[str]],
) -> list[str]:
    """Return the new lines, with the file's own ones where the keys of both are the same.

    :param changed: returns the lines that replace the file's lines of a range.
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
    """Tell whether an answer has other trailing blanks on lines than the file."""
    return any(line != there and line != line.rstrip() for there, line in zip(own, given, strict=True))


def without_trailing_blanks(lines: Sequence[str], language: str) -> list[str]:
    """Return new lines of an answer whose trailing blanks mean nothing.

    :raises UnusableAnswer: in this language they may be meant: two of them break a line of Markdown.
    """
    tidy = [line.rstrip() for line in lines]
    if language in PROSE and tidy != list(lines):
        raise UnusableAnswer(
            "it has trailing blanks on lines of the file that have none, so it is not clear whether those of "
            "its new lines are meant; copy lines exactly"
        )
    return tidy


@dataclass(frozen=True, slots=True)
class Quotation:
    """Lines of the file as a model quoted them, with other punctuation or blanks at the lines' ends."""

    own: Sequence[str]
    quoted: Sequence[str]

    def replace_lines(self, start: int, end: int, new: Sequence[str]) -> list[str]:
        """Return lines for those from `start` to `end`, with the file's punctuation in what is only repeated.

        :raises UnusableAnswer: the model misquoted the very characters that it changes, so that it is not
            clear which ones it means.
        """
        if not new:
            return []
        own, quoted, wanted = (
            _join_lines(lines) for lines in (self.own[start:end], self.quoted[start:end], new)
        )
        if plain(own) != plain(quoted):  # a sign without width behind a blank
            _refuse_unclear(own, quoted)
        head, tail = common_edges(quoted, wanted)
        first, last = _own_index(own, quoted, head), _own_index(own, quoted, len(quoted) - tail)
        changed, mine = quoted[head : len(quoted) - tail], own[first:last]
        _refuse_unclear(mine, changed)
        middle = self._in_manner_of_file(wanted[head : len(wanted) - tail])
        return (own[:first] + middle + own[last:]).split("\n")

    def _in_manner_of_file(self, new: str) -> str:
        """Return new text in ASCII where the model wrote typographic signs for the file's plain ones."""
        own, quoted = set("\n".join(self.own)), set("\n".join(self.quoted))
        made_plain = {_PLAIN[char] for char in own - quoted if char in _PLAIN}
        if any(sign and sign in new for sign in made_plain):
            raise UnusableAnswer(
                "the file has typographic signs where your lines to search have plain ones, and your new "
                "lines have these too; copy the file's characters exactly"
            )
        strange = {char for char in quoted - own if char in _PLAIN}
        if not strange or plain(new) == new:
            return new
        if any(char in _PLAIN for char in own):
            raise UnusableAnswer(
                "it has typographic quotes, dashes or blanks where the file has plain ones, and the file has "
                "some of its own there; copy the characters exactly, and write new ones as you mean them"
            )
        return plain(new)


def _join_lines(lines: Iterable[str]) -> str:
    return "\n".join(line.rstrip() for line in lines)


def common_edges(one: Sequence[Hashable], other: Sequence[Hashable]) -> tuple[int, int]:
    """Return the lengths of the common head and the common tail; they do not overlap."""
    most = min(len(one), len(other))
    head = next((index for index in range(most) if one[index] != other[index]), most)
    rest = most - head
    tail = next((count for count in range(rest) if one[-1 - count] != other[-1 - count]), rest)
    return head, tail


def _own_index(own: str, quoted: str, at: int) -> int:
    """Return the index in the file's text that stands for index `at` of the quoted one.

    Within a sign that one side writes as several it is the index after it: what is compared there differs.
    """
    count = len(plain(quoted[:at]))
    place = 0
    while count > 0:
        count -= len(plain(own[place]))
        place += 1
    return place


def _refuse_unclear(own: str, quoted: str) -> None:
    pairs = enumerate(zip(own, quoted, strict=False))
    at = next((at for at, (there, given) in pairs if there != given and there in _PLAIN), None)
    if at is None and plain(own) == plain(quoted):
        return
    near = slice(max(0, (at or 0) - _SHOWN), (at or 0) + _SHOWN)
    raise UnusableAnswer(
        f"the file has {own[near]!r} where your lines to search have {quoted[near]!r}; "
        "copy these characters exactly, in the new lines too"
    )
