"""From tokens to a machine's definition, with every mistake of the text on the way.

The rules beyond the grammar:

- A transition, a guidance line and the `:` of a guidance line stand in the first column. An indented line
  belongs to the transition above that has a `:`; without one it is a mistake and never a transition.
- Within such a block every line is text, `#` and `//` included. A block ends before the first line that
  is neither indented nor blank. Text after the `:` is the block's first line.
- Guidance lines in a row are one text; an empty one between them is an empty line. Comments and blank
  lines may stand between them and their transition.
- Blanks at the ends of lines are no part of a text; nor are empty lines at its ends.
- `to` is a word only between two states: a state may have that name.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from tideate_core.errors import InvalidWorkflowFile
from tideate_core.machines.language.checks import warnings_for
from tideate_core.machines.language.guidance import block_text
from tideate_core.machines.language.lexer import Lexer, Token, TokenKind
from tideate_core.machines.language.mistakes import bad_character, mistake_in, named_in
from tideate_core.machines.language.model import (
    BOUNDARY,
    Diagnostic,
    MachineDefinition,
    Position,
    State,
    Transition,
)
from tideate_core.machines.language.rendering import explain_all

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Parsed", "Parser", "parse"]


@dataclass(frozen=True)
class Parsed:
    """What was understood of a text, and all that is wrong with it, in its order."""

    definition: MachineDefinition
    diagnostics: tuple[Diagnostic, ...]
    text: str = ""
    """What was parsed; empty where the parser was given tokens."""

    @cached_property
    def errors(self) -> tuple[Diagnostic, ...]:
        return tuple(d for d in self.diagnostics if d.severity == "error")

    @cached_property
    def warnings(self) -> tuple[Diagnostic, ...]:
        return tuple(d for d in self.diagnostics if d.severity == "warning")

    def require(self, label: str) -> MachineDefinition:
        """Return the definition of a text without errors.

        :param label: the text's name in messages, as a file's path.
        :raises InvalidWorkflowFile: there are errors; the message explains each.
        """
        if self.errors:
            raise InvalidWorkflowFile("\n".join(explain_all(self.errors, self.text, label)), self.diagnostics)
        return self.definition


def parse(text: str, name: str = "workflow") -> Parsed:
    """Parse a text; never raises, whatever the text is."""
    return Parser(text, name).parse()


class Parser:
    """Parses once; a mistake costs its line, not the rest."""

    def __init__(self, source: str | Iterable[Token], name: str = "workflow") -> None:
        self._text = source if isinstance(source, str) else ""
        self._tokens = Lexer(source) if isinstance(source, str) else source
        self._name = name
        self._states: dict[str, State] = {}
        self._transitions: list[Transition] = []
        self._diagnostics: list[Diagnostic] = []
        self._pending: list[Token] = []
        self._unsure: set[str] = set()
        self._unreadable: set[int] = set()
        self._indented_line = -1  # no line follows it

    def parse(self) -> Parsed:
        """Return all that was understood and all diagnostics."""
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
        self._at_the_end()
        definition = MachineDefinition(self._name, self._states, tuple(self._transitions))
        if self._transitions:
            self._diagnostics += warnings_for(definition, self._unsure)
        self._diagnostics.sort(key=lambda diagnostic: diagnostic.position)
        return Parsed(definition, tuple(self._diagnostics), self._text)

    def _add(self, token: Token) -> None:
        _, line, source, column, target, target_column, inline, block = token
        states, new = self._states, tuple.__new__
        guidance = "" if inline is None else self._guidance(token, inline, block)
        known = states.get(source)
        if known is not None:
            source = known[0]  # one string for all mentions
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
        """Take the guidance lines before a transition."""
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
            self._diagnostics.append(bad_character(token))
            return
        mistake = mistake_in(token, after_guidance=bool(self._pending))
        if not self._is_told(token, mistake.diagnostic):
            self._diagnostics.append(mistake.diagnostic)
        source, target = mistake.source, mistake.target
        if mistake.diagnostic.code != "unexpected-indent":
            self._unsure.update(named_in(token))
        if mistake.clear and source and target:
            recovered = token._replace(text=source.text, target=target.text, target_column=target.column)
            self._add(recovered)
            return
        if mistake.diagnostic.code != "unexpected-indent":
            self._pending.clear()
        for word in (source, target):
            if word and word.text != BOUNDARY:
                self._states.setdefault(
                    word.text, State(word.text, position=Position(token.line, word.column))
                )

    def _is_told(self, token: Token, diagnostic: Diagnostic) -> bool:
        """One error for a line with a bad character, and one for a run of indented lines."""
        follows = False
        if diagnostic.code == "unexpected-indent":
            follows = token.line == self._indented_line + 1
            self._indented_line = token.line
        return follows or token.line in self._unreadable

    def _at_the_end(self) -> None:
        if not self._transitions and all(d.severity == "warning" for d in self._diagnostics):
            message = "expected at least one transition, such as '* to start'"
            self._diagnostics.append(Diagnostic(Position(1, 1), 1, "error", "no-transitions", message))
        if self._pending:
            first = self._pending[0]
            message = "expected a transition after this guidance"
            self._warn(Position(first.line, 1), len(first.text) + 1, "dangling-guidance", message)

    def _warn(self, position: Position, length: int, code: str, message: str) -> None:
        self._diagnostics.append(Diagnostic(position, length, "warning", code, message))
