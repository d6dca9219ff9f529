"""Parser of the `.workflow` language: tokens to a definition, with all errors of the text.

Rules beyond the grammar:

- Transitions, guidance lines and their `:` start in the first column. An indented line belongs to the
  transition above if that has a `:`; otherwise it is a mistake, never a transition.
- In such a block every line is text, including `#` and `//`. A block ends before the first line that is
  neither indented nor blank. Text after the `:` is the block's first line.
- Consecutive guidance lines form one text; an empty guidance line is an empty line in it. Comments and blank
  lines may stand between guidance lines and their transition.
- Trailing blanks and empty lines at both ends are not part of a text.
- `to` is a keyword only between two states: a state may be named `to`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from tideate_core.errors import InvalidWorkflowFile, did_you_mean
from tideate_core.machines.language.definition import (
    BOUNDARY,
    MachineDefinition,
    Position,
    State,
    Transition,
)
from tideate_core.machines.language.diagnostics import Diagnostic, explain_all, warnings_for
from tideate_core.machines.language.lexer import Lexer, Token, TokenKind, block_text

if TYPE_CHECKING:
    from collections.abc import Iterable

_WORD = re.compile(r"[^ \t]+")
_STATE = re.compile(r"\*|[A-Za-z_][A-Za-z0-9_]*")
_NAME_RULE: Final = "a state is '*' or a name of A-Z, a-z, 0-9 and _ that does not begin with a digit"
_END: Final = "the end of the line"
_SHOWN: Final = 40
_ALIKE: Final = 0.6


@dataclass(frozen=True)
class Parsed:
    """The definition in a text, and all diagnostics in text order."""

    definition: MachineDefinition
    diagnostics: tuple[Diagnostic, ...]
    text: str = ""
    """The parsed text; empty if the parser was given tokens."""

    @cached_property
    def errors(self) -> tuple[Diagnostic, ...]:
        return tuple(d for d in self.diagnostics if d.severity == "error")

    @cached_property
    def warnings(self) -> tuple[Diagnostic, ...]:
        return tuple(d for d in self.diagnostics if d.severity == "warning")

    def require(self, label: str) -> MachineDefinition:
        """Return the definition of a text without errors.

        :param label: the text's name in messages, such as a file's path.
        :raises InvalidWorkflowFile: there are errors; the message explains each.
        """
        if self.errors:
            raise InvalidWorkflowFile("\n".join(explain_all(self.errors, self.text, label)), self.diagnostics)
        return self.definition


def parse(text: str, name: str = "workflow") -> Parsed:
    """Parse any text; never raises."""
    return Parser(text, name).parse()


class Parser:
    """Parses one text once; a mistake affects only its line."""

    def __init__(self, source: str | Iterable[Token], name: str = "workflow") -> None:
        self._text = source if isinstance(source, str) else ""
        self._tokens = Lexer(source) if isinstance(source, str) else source
        self._name = name
        self._states: dict[str, State] = {}
        self._transitions: list[Transition] = []
        self._diagnostics: list[Diagnostic] = []
        self._pending: list[Token] = []
        self._unreadable: set[int] = set()
        self._indented_line = -1  # no line follows this number

    def parse(self) -> Parsed:
        """Return the definition and all diagnostics."""
        transition, when = TokenKind.TRANSITION, TokenKind.WHEN
        add, pending = self._add, self._pending
        for token in self._tokens:
            kind = token[0]
            if kind is transition:
                add(token)
            elif kind is when:
                pending.append(token)
            elif kind is not TokenKind.COMMENT:
                self._mistake(token)
        self._check_end()
        definition = MachineDefinition(self._name, self._states, tuple(self._transitions))
        mistakes = any(diagnostic.severity == "error" for diagnostic in self._diagnostics)
        self._diagnostics += warnings_for(definition, mistakes=mistakes)
        self._diagnostics.sort(key=lambda diagnostic: diagnostic.position)
        return Parsed(definition, tuple(self._diagnostics), self._text)

    def _add(self, token: Token) -> None:
        _, line, source, column, target, target_column, inline, block = token
        states, new = self._states, tuple.__new__
        guidance = "" if inline is None else self._guidance(token, inline, block)
        known = states.get(source)
        if known is not None:
            source = known[0]  # share one string among all mentions
        elif source != BOUNDARY:
            states[source] = new(State, (source, "", new(Position, (line, column))))
        known = states.get(target)
        if known is not None:
            target = known[0]
            if guidance and not known[1]:
                states[target] = new(State, (target, guidance, known[2]))
        elif target != BOUNDARY:
            states[target] = new(State, (target, guidance, new(Position, (line, target_column))))
        when = self._when() if self._pending else ""
        self._transitions.append(new(Transition, (source, target, when, guidance, line, target_column)))

    def _guidance(self, token: Token, inline: str, block: str) -> str:
        text = block_text(inline, block)
        if not text:
            place = Position(token.line, token.target_column + len(token.target))
            message = "expected guidance after ':', on this line or indented below"
            self._warn(place, 1, "empty-guidance", message)
        return text

    def _when(self) -> str:
        """Return and clear the guidance lines before a transition."""
        pending = self._pending
        if len(pending) == 1:
            text = pending[0].text
        else:
            text = "\n".join(token.text for token in pending).strip("\n")
        if not text:
            self._warn(Position(pending[0].line, 1), 1, "empty-guidance", "expected guidance after ':'")
        pending.clear()
        return text

    def _mistake(self, token: Token) -> None:
        if token.kind is TokenKind.CHARACTER:
            self._unreadable.add(token.line)
            self._diagnostics.append(_character_error(token))
            return
        mistake = _find_mistake(token, after_guidance=bool(self._pending))
        if not self._is_reported(token, mistake.diagnostic):
            self._diagnostics.append(mistake.diagnostic)
        if mistake.diagnostic.code == "unexpected-indent":
            return
        source, target = mistake.source, mistake.target
        if source and target:
            recovered = token._replace(text=source.text, target=target.text, target_column=target.column)
            self._add(recovered)
            return
        self._pending.clear()
        for word in (source, target):
            if word and word.text != BOUNDARY:
                self._states.setdefault(
                    word.text, State(word.text, position=Position(token.line, word.column))
                )

    def _is_reported(self, token: Token, diagnostic: Diagnostic) -> bool:
        """Return whether another error covers this one: a bad character, or an indented line above."""
        follows = False
        if diagnostic.code == "unexpected-indent":
            follows = token.line == self._indented_line + 1
            self._indented_line = token.line
        return follows or token.line in self._unreadable

    def _check_end(self) -> None:
        if not self._transitions and all(d.severity == "warning" for d in self._diagnostics):
            message = "expected at least one transition, such as '* to start'"
            self._diagnostics.append(Diagnostic(Position(1, 1), 1, "error", "no-transitions", message))
        if self._pending:
            first = self._pending[0]
            message = "expected a transition after this guidance"
            self._warn(Position(first.line, 1), len(first.text) + 1, "dangling-guidance", message)

    def _warn(self, position: Position, length: int, code: str, message: str) -> None:
        self._diagnostics.append(Diagnostic(position, length, "warning", code, message))


class _Word(NamedTuple):
    """A word of a malformed line, `column` from 1."""

    text: str
    column: int

    @property
    def is_state(self) -> bool:
        return _STATE.fullmatch(self.text) is not None


class _Mistake(NamedTuple):
    """A diagnostic, and the states recognized in the line: both form a transition."""

    diagnostic: Diagnostic
    source: _Word | None = None
    target: _Word | None = None


def _character_error(token: Token) -> Diagnostic:
    """Return the error for a forbidden character."""
    if token.text == "\r":
        code, message = (
            "lone-carriage-return",
            "a carriage return without a line feed; lines end with \\n or \\r\\n",
        )
    else:
        kind = "lone surrogate" if "\ud800" <= token.text <= "\udfff" else "control character"
        code, message = "invalid-character", f"{kind} U+{ord(token.text):04X} is not allowed; remove it"
    return Diagnostic(Position(token.line, token.column), 1, "error", code, message)


def _find_mistake(token: Token, *, after_guidance: bool = False) -> _Mistake:
    """Return the first mistake of a malformed line.

    :param after_guidance: the line follows a guidance line.
    """
    if token.text[:1] in (" ", "\t"):
        return _indented(token, after_guidance=after_guidance)
    words = [_Word(m[0], m.start() + 1) for m in islice(_WORD.finditer(token.text), 4)]
    ended = _Word("", len(token.text) + 1)
    source, to, target, more = (*words, *[ended] * (4 - len(words)))
    found_end = _END if token.inline is None else "':'"
    if not source.is_state:
        return _Mistake(_wrong_name(token, source), target=target if target.is_state else None)
    if to.text != "to":
        return _no_to(token, words, found_end)
    if not target.text:
        message = f"expected a state or '*' after 'to', found {found_end}"
        return _Mistake(_error(token, target, "expected-state", message), source=source)
    if not target.is_state:
        return _Mistake(_wrong_name(token, target), source=source)
    return _Mistake(_too_much(token, target, more), source, target)


def _indented(token: Token, *, after_guidance: bool) -> _Mistake:
    text = token.text.strip(" \t")
    start = len(token.text) - len(token.text.lstrip(" \t")) + 1
    message = "unexpected indentation: " + (
        "each line of guidance before a transition begins with ':'"
        if after_guidance
        else "no transition above opens a guidance block; end that transition with ':' "
        "if this is guidance, or start the line in the first column"
    )
    return _Mistake(_error(token, _Word(text, start), "unexpected-indent", message))


def _no_to(token: Token, words: list[_Word], found_end: str) -> _Mistake:
    source = words[0]
    if len(words) == 1:
        place = _Word("", len(token.text) + 1)
        message = f"expected 'to' after {_shown(source)}, found {found_end}"
        return _Mistake(_error(token, place, "expected-to", message), source=source)
    found = words[1]
    word = found.text[:_SHOWN].lower()
    hint = did_you_mean(word, get_close_matches(word, ["to"], cutoff=_ALIKE))
    clear = bool(hint) or not found.is_state
    if not clear and len(words) > 2:
        hint = "; guidance stands after a ':' or is indented below a transition that ends with ':'"
    message = f"expected 'to' after {_shown(source)}, found {_shown(found)}{hint}"
    diagnostic = _error(token, found, "expected-to", message)
    if clear and len(words) == 3 and words[2].is_state:
        return _Mistake(diagnostic, source, words[2])
    return _Mistake(diagnostic)


def _too_much(token: Token, target: _Word, more: _Word) -> Diagnostic:
    rest = token.text[more.column - 1 :].rstrip(" \t")
    place = _Word(rest, more.column)
    if more.text.startswith(("#", "//")):
        message = "a comment stands on a line of its own; move it above the transition"
        return _error(token, place, "trailing-comment", message)
    message = f"expected ':' or {_END} after {_shown(target)}, found {_shown(more)}"
    return _error(token, place, "unexpected-text", message)


def _wrong_name(token: Token, word: _Word) -> Diagnostic:
    return _error(token, word, "invalid-name", f"expected a state, found {_shown(word)}; {_NAME_RULE}")


def _error(token: Token, word: _Word, code: str, message: str) -> Diagnostic:
    return Diagnostic(Position(token.line, word.column), max(1, len(word.text)), "error", code, message)


def _shown(word: _Word) -> str:
    text = word.text
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")
