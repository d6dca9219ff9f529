"""What is wrong with a line that is none of the language, and what can still be read from it."""

from __future__ import annotations

import re
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from tideate_core.errors import did_you_mean
from tideate_core.machines.language.model import Diagnostic, Position

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tideate_core.machines.language.lexer import Token

__all__ = ["Mistake", "bad_character", "mistake_in", "named_in"]

_WORD = re.compile(r"[^ \t]+")
_NO_NAME = re.compile(r"[^A-Za-z0-9_]+")
_STATE = re.compile(r"\*|[A-Za-z_][A-Za-z0-9_]*")
_NAME_RULE: Final = "a state is '*' or a name of A-Z, a-z, 0-9 and _ that does not begin with a digit"
_END: Final = "the end of the line"
_SHOWN: Final = 40
_ALIKE: Final = 0.6


class Word(NamedTuple):
    """A piece of a malformed line, `column` from 1."""

    text: str
    column: int

    @property
    def is_state(self) -> bool:
        return _STATE.fullmatch(self.text) is not None


class Mistake(NamedTuple):
    """A diagnostic, and the states that the line still names; both: the transition is clear."""

    diagnostic: Diagnostic
    source: Word | None = None
    target: Word | None = None
    clear: bool = False


def bad_character(token: Token) -> Diagnostic:
    """Say what a character that no line may have is."""
    if token.text == "\r":
        code, message = (
            "lone-carriage-return",
            "a carriage return without a line feed; lines end with \\n or \\r\\n",
        )
    else:
        kind = "lone surrogate" if "\ud800" <= token.text <= "\udfff" else "control character"
        code, message = "invalid-character", f"{kind} U+{ord(token.text):04X} is not allowed; remove it"
    return Diagnostic(Position(token.line, token.column), 1, "error", code, message)


def mistake_in(token: Token, *, after_guidance: bool = False) -> Mistake:
    """Find the first mistake of a malformed line.

    :param after_guidance: the line follows a guidance line.
    """
    if token.text[:1] in (" ", "\t"):
        return _indented(token, after_guidance=after_guidance)
    words = [Word(m[0], m.start() + 1) for m in islice(_WORD.finditer(token.text), 4)]
    ended = Word("", len(token.text) + 1)
    source, to, target, more = (*words, *[ended] * (4 - len(words)))
    found_end = _END if token.inline is None else "':'"
    if not source.is_state:
        return Mistake(_wrong_name(token, source), target=_state(target))
    if to.text != "to":
        return _no_to(token, words, found_end)
    if not target.text:
        message = f"expected a state or '*' after 'to', found {found_end}"
        return Mistake(_error(token, target, "expected-state", message), source=source)
    if not target.is_state:
        return Mistake(_wrong_name(token, target), source=source)
    return Mistake(_too_much(token, target, more), source, target, clear=True)


def named_in(token: Token) -> Iterator[str]:
    """Give the words of a line with a mistake that may have been meant as states, `*` included."""
    for match in islice(_WORD.finditer(token.text), 4):
        word = match[0]
        yield word if word == "*" else _NO_NAME.sub("_", word)


def _indented(token: Token, *, after_guidance: bool) -> Mistake:
    text = token.text.strip(" \t")
    start = len(token.text) - len(token.text.lstrip(" \t")) + 1
    message = "unexpected indentation: " + (
        "each line of guidance before a transition begins with ':'"
        if after_guidance
        else "no transition above opens a guidance block; end that transition with ':' "
        "if this is guidance, or start the line in the first column"
    )
    return Mistake(_error(token, Word(text, start), "unexpected-indent", message))


def _no_to(token: Token, words: list[Word], found_end: str) -> Mistake:
    source = words[0]
    if len(words) == 1:
        place = Word("", len(token.text) + 1)
        message = f"expected 'to' after {_shown(source)}, found {found_end}"
        return Mistake(_error(token, place, "expected-to", message), source=source)
    found = words[1]
    word = found.text[:_SHOWN].lower()
    hint = did_you_mean(word, get_close_matches(word, ["to"], cutoff=_ALIKE))
    clear = bool(hint) or not found.is_state
    if not clear and len(words) > 2:
        hint = "; guidance stands after a ':' or is indented below a transition that ends with ':'"
    message = f"expected 'to' after {_shown(source)}, found {_shown(found)}{hint}"
    diagnostic = _error(token, found, "expected-to", message)
    if clear and len(words) == 3 and words[2].is_state:
        return Mistake(diagnostic, source, words[2], clear=True)
    return Mistake(diagnostic)


def _too_much(token: Token, target: Word, more: Word) -> Diagnostic:
    rest = token.text[more.column - 1 :].rstrip(" \t")
    place = Word(rest, more.column)
    if more.text.startswith(("#", "//")):
        message = "a comment stands on a line of its own; move it above the transition"
        return _error(token, place, "trailing-comment", message)
    message = f"expected ':' or {_END} after {_shown(target)}, found {_shown(more)}"
    return _error(token, place, "unexpected-text", message)


def _wrong_name(token: Token, word: Word) -> Diagnostic:
    return _error(token, word, "invalid-name", f"expected a state, found {_shown(word)}; {_NAME_RULE}")


def _error(token: Token, word: Word, code: str, message: str) -> Diagnostic:
    return Diagnostic(Position(token.line, word.column), max(1, len(word.text)), "error", code, message)


def _state(word: Word) -> Word | None:
    return word if word.is_state else None


def _shown(word: Word) -> str:
    text = word.text
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")
