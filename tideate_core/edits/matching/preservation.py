"""Preserve the file's own lines, blanks and punctuation where an answer only repeats them."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
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
    "keep_signs",
    "plain",
    "plain_line",
    "plain_lines",
    "with_own_signs",
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
_LEAST_ALIKE = 0.6
_LEAST_REPEATED = 2
"""Characters in a row that count as repeated."""
_LONGEST = 1_000
"""Characters of a line whose signs are compared one by one."""
_TABLE = str.maketrans(_PLAIN)


def plain(text: str) -> str:
    """Return the text with ASCII in place of typographic quotes, dashes, blanks and ellipses."""
    return text if text.isascii() else text.translate(_TABLE)


def plain_line(line: str) -> str:
    """Return a line without typographic punctuation and without blanks at its edges, for comparing."""
    return plain(line).strip()


def plain_lines(lines: Sequence[str]) -> list[str]:
    """Return `plain_line` of all lines."""
    if "".join(lines).isascii():
        return [*map(str.strip, lines)]
    return [line.strip() if line.isascii() else plain_line(line) for line in lines]


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
    pairs = zip(own, given, strict=True)
    return any(tail != _tail_of(there) for there, line in pairs if (tail := _tail_of(line)))


def _tail_of(line: str) -> str:
    return line[len(line.rstrip()) :]


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
        for own, given in zip(self.own[start:end], self.quoted[start:end], strict=True):
            if plain(own).rstrip() != plain(given).rstrip():  # a sign without width behind a blank
                _refuse_unclear(own, given)
        near = range(start, end) or range(len(self.own))
        return [self._line(line, near) for line in new]

    def _line(self, new: str, near: range) -> str:
        """Return a new line, with the file's signs where it repeats what is quoted most alike."""
        if new.isascii() and all(self.own[at].isascii() for at in near):
            return self._in_manner_of_file(new)
        best = _most_alike(new, self.quoted, near)
        if best is None:
            best = _most_alike(new, self.quoted, range(len(self.quoted)))
        if best is None:
            return self._in_manner_of_file(new)
        return with_own_signs(self.own[best].rstrip(), new, self._in_manner_of_file)

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


def _most_alike(line: str, among: Sequence[str], where: Iterable[int]) -> int | None:
    """Return the number of the line that is most alike; None if none is alike enough to be its model."""
    wanted = plain(line)
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted)
    best, found = _LEAST_ALIKE, None
    if len(wanted) > _LONGEST:
        return None
    for at in where:
        if len(among[at]) > _LONGEST:
            continue
        matcher.set_seq1(plain(among[at]))
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best and matcher.ratio() > best:
            best, found = matcher.ratio(), at
    return found


def with_own_signs(own: str, new: str, write: Callable[[str], str] = str) -> str:
    """Return a new line with the file's signs wherever it repeats the file's line but for their typography.

    That is the smallest change: signs are changed only in text that is new.

    :param write: turns new text into what is written.
    """
    here, here_at = _plain_pieces(own)
    there, there_at = _plain_pieces(new)
    blocks = SequenceMatcher(None, here, there, autojunk=False).get_matching_blocks()
    result, at = "", 0
    for block in blocks:
        first, last = block.a, block.a + block.size
        start, end = block.b, block.b + block.size
        whole = {first, last} <= here_at.keys() and {start, end} <= there_at.keys()
        edge = first == start == 0 or (last, end) == (len(here), len(there))
        if block.size and (not whole or (block.size < _LEAST_REPEATED and not edge)):
            continue
        result += write(new[at : there_at[start]]) if at < there_at[start] else ""
        result += own[here_at[first] : here_at[last]]
        at = there_at[end]
    return result


def keep_signs(own: Sequence[str], new: Sequence[str], around: Sequence[str]) -> list[str]:
    """Return new lines with the file's signs in what they repeat of the lines that they replace.

    :param around: lines of the file that they may repeat else.
    """
    if all(map(str.isascii, (*around, *new))):
        return list(new)
    return [_with_signs_of(own, line) or _with_signs_of(around, line) or line for line in new]


def _with_signs_of(own: Sequence[str], line: str) -> str:
    model = _most_alike(line, own, range(len(own)))
    return "" if model is None else with_own_signs(own[model].removesuffix("\r"), line)


def _plain_pieces(text: str) -> tuple[str, dict[int, int]]:
    """Return the plain text, and for each index of it at which a character begins that character's index."""
    pieces = [plain(char) for char in text]
    at, indexes = 0, {0: 0}
    for number, piece in enumerate(pieces):
        at += len(piece)
        indexes[at] = number + 1
    return "".join(pieces), indexes


def common_edges(one: Sequence[Hashable], other: Sequence[Hashable]) -> tuple[int, int]:
    """Return the lengths of the common head and the common tail; they do not overlap."""
    most = min(len(one), len(other))
    head = next((index for index in range(most) if one[index] != other[index]), most)
    rest = most - head
    tail = next((count for count in range(rest) if one[-1 - count] != other[-1 - count]), rest)
    return head, tail


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
