"""Formatter of `.workflow` texts, and writer of machine definitions as such texts.

A transition with its guidance is a group; an empty line separates groups, but one-line transitions may be
adjacent. Comments keep their place, block guidance is indented by two spaces, inline guidance stays inline.
Line endings follow the first line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from tideate_core.errors import InvalidWorkflowFile
from tideate_core.machines.language.diagnostics import explain_all
from tideate_core.machines.language.lexer import BLANKS, Lexer, Token, TokenKind, block_text
from tideate_core.machines.language.parser import Parser

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tideate_core.machines.language.definition import MachineDefinition, Transition

INDENT: Final = "  "


class _Piece(NamedTuple):
    """A comment, a guidance line, or a transition with its block; lines `first` to `last`."""

    kind: TokenKind
    text: str
    first: int
    last: int


def format_text(text: str, label: str = "workflow") -> str:
    """Return the text in the canonical layout.

    :raises InvalidWorkflowFile: it has errors and stays unformatted.
    """
    tokens = Lexer(text).tokens()
    parsed = Parser(tokens).parse()
    if parsed.errors:
        raise InvalidWorkflowFile("\n".join(explain_all(parsed.errors, text, label)), parsed.diagnostics)
    written = "".join(_laid_out([_piece(token) for token in tokens]))
    first_line = text.find("\n")
    return written.replace("\n", "\r\n") if text[first_line - 1 : first_line] == "\r" else written


def write_definition(definition: MachineDefinition) -> str:
    """Return a definition as text; parsing the text restores the definition except its positions.

    States without a transition, which no text can define, are lost.
    """
    return "\n".join(_transition_lines(transition) for transition in definition.transitions)


def _piece(token: Token) -> _Piece:
    last = token.line
    if token.kind is TokenKind.WHEN:
        written = _when_lines(token.text)
    elif token.kind is TokenKind.COMMENT:
        written = token.text
    elif token.kind is not TokenKind.TRANSITION:
        raise ValueError(f"line {token.line} is {token.kind.value}: there is no layout for a mistake")
    else:
        inline = (token.inline or "").strip(BLANKS)
        guidance = block_text(inline, token.block)
        last += token.block.rstrip(" \t\n").count("\n")
        written = _move_lines(token.text, token.target, guidance, inline=bool(inline))
    return _Piece(token.kind, written, token.line, last)


def _laid_out(pieces: list[_Piece]) -> Iterator[str]:
    before: _Piece | None = None
    open_guidance = False
    for piece in pieces:
        if before and not open_guidance and _apart(before, piece):
            yield "\n"
        yield f"{piece.text}\n"
        if piece.kind is not TokenKind.COMMENT:
            open_guidance = piece.kind is TokenKind.WHEN
        before = piece


def _apart(before: _Piece, piece: _Piece) -> bool:
    if piece.first > before.last + 1:
        return True
    if before.kind is TokenKind.COMMENT:
        return False
    grouped = piece.kind is TokenKind.WHEN or (piece.kind is TokenKind.TRANSITION and "\n" in piece.text)
    return grouped or "\n" in before.text


def _transition_lines(transition: Transition) -> str:
    when = f"{_when_lines(transition.when)}\n" if transition.when else ""
    return f"{when}{_move_lines(transition.source, transition.target, transition.guidance)}\n"


def _when_lines(text: str) -> str:
    """Return guidance lines without the last newline."""
    return "\n".join(f": {line}" if line else ":" for line in text.split("\n"))


def _move_lines(source: str, target: str, guidance: str, *, inline: bool = False) -> str:
    """Return a transition with its guidance, without the last newline.

    :param inline: one line of guidance follows the `:` directly.
    """
    move = f"{source} to {target}"
    if not guidance:
        return move
    if inline and "\n" not in guidance:
        return f"{move}: {guidance}"
    return f"{move}:\n{_indented(guidance)}"


def _indented(text: str) -> str:
    """Return guidance as an indented block."""
    return "\n".join(f"{INDENT}{line}" if line else "" for line in text.split("\n"))
