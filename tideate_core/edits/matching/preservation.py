"""Preservation of the file's lines, blanks and punctuation in text that an answer only repeats."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from tideate_core.errors import UnusableAnswer
from tideate_core.workspace import PROSE, matching_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

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
"""Characters around a wrong one in a message."""
_LEAST_ALIKE = 0.6
_LEAST_REPEATED = 2
"""Consecutive characters that count as repeated."""
_LONGEST = 1_000
"""Characters of the longest line with preserved punctuation."""
_TABLE = str.maketrans(_PLAIN)


def plain(text: str) -> str:
    """Replace typographic quotes, dashes, blanks and ellipses by ASCII."""
    return text if text.isascii() else text.translate(_TABLE)


def plain_line(line: str) -> str:
    """Return a line in ASCII punctuation, stripped, for comparison."""
    return plain(line).strip()


def plain_lines(lines: Sequence[str]) -> list[str]:
    """Apply `plain_line` to all lines."""
    if "".join(lines).isascii():
        return [*map(str.strip, lines)]
    return [line.strip() if line.isascii() else plain_line(line) for line in lines]


def with_plain_indent(line: str) -> str:
    """Return the line with ASCII whitespace before its text."""
    text = line.lstrip()
    return plain(line[: len(line) - len(text)]) + text


def keep_repeated(
    own: Sequence[str],
    keys: Sequence[str],
    new: Sequence[str],
    new_keys: Sequence[str],
    changed: Callable[[range, list[str]], list[str]],
) -> list[str]:
    """Return the new lines, with the file's line wherever the keys match.

    :param changed: returns the replacement for a range of the file's lines.
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
    """Tell whether an answer's lines have trailing blanks that the file's lines lack."""
    pairs = zip(own, given, strict=True)
    return any(tail != _tail_of(there) for there, line in pairs if (tail := _tail_of(line)))


def _tail_of(line: str) -> str:
    return line[len(line.rstrip()) :]


def without_trailing_blanks(lines: Sequence[str], language: str) -> list[str]:
    """Strip trailing blanks from new lines.

    :raises UnusableAnswer: the blanks may be meant: two of them break a line of Markdown.
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
    """Lines of the file as misquoted by a model, in punctuation or trailing blanks."""

    own: Sequence[str]
    quoted: Sequence[str]

    def replace_lines(self, start: int, end: int, new: Sequence[str]) -> list[str]:
        """Return the replacement of lines `start` to `end`, with the file's punctuation in repeated text.

        :raises UnusableAnswer: the model misquoted the characters that it changes, so the new ones are
            ambiguous.
        """
        if not new:
            return []
        for own, given in zip(self.own[start:end], self.quoted[start:end], strict=True):
            if plain(own).rstrip() != plain(given).rstrip():  # such as a zero-width character after a blank
                _refuse_unclear(own, given)
        near = range(start, end) or range(len(self.own))
        return [self._line(line, near) for line in new]

    def _line(self, new: str, near: range) -> str:
        """Return a new line with the file's punctuation where it repeats the most similar quoted line."""
        if new.isascii() and all(self.own[at].isascii() for at in near):
            return self._in_file_style(new)
        best = _most_alike(new, self.quoted, near)
        if best is None:
            best = _most_alike(new, self.quoted, range(len(self.quoted)))
        if best is None:
            return self._in_file_style(new)
        return with_file_punctuation(self.own[best].rstrip(), new, self._in_file_style)

    def _in_file_style(self, new: str) -> str:
        """Return new text in ASCII if the model wrote typographic characters for the file's ASCII ones."""
        own, quoted = set("\n".join(self.own)), set("\n".join(self.quoted))
        made_plain = {_PLAIN[char] for char in own - quoted if char in _PLAIN}
        if any(sign and sign in new for sign in made_plain):
            raise UnusableAnswer(
                "your search lines and new lines have plain punctuation where the file has typographic "
                "characters; copy the file's characters exactly"
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
    """Return the index of the most similar line; None if no line is similar enough."""
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


def with_file_punctuation(own: str, new: str, write: Callable[[str], str] = str) -> str:
    """Return a new line with the file's punctuation where it repeats the file's line.

    :param write: converts the text that is not repeated.
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


def keep_punctuation(own: Sequence[str], new: Sequence[str], around: Sequence[str]) -> list[str]:
    """Return new lines with the file's punctuation where they repeat the replaced lines.

    :param around: further lines of the file that they may repeat.
    """
    if all(map(str.isascii, (*around, *new))):
        return list(new)
    return [_with_punctuation_of(own, line) or _with_punctuation_of(around, line) or line for line in new]


def _with_punctuation_of(own: Sequence[str], line: str) -> str:
    model = _most_alike(line, own, range(len(own)))
    return "" if model is None else with_file_punctuation(own[model].removesuffix("\r"), line)


def _plain_pieces(text: str) -> tuple[str, dict[int, int]]:
    """Return the ASCII text, and the original index of each position where a character begins."""
    pieces = [plain(char) for char in text]
    at, indexes = 0, {0: 0}
    for number, piece in enumerate(pieces):
        at += len(piece)
        indexes[at] = number + 1
    return "".join(pieces), indexes


def common_edges(one: Sequence[Hashable], other: Sequence[Hashable]) -> tuple[int, int]:
    """Return the lengths of the common prefix and suffix, which do not overlap."""
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
