"""The canonical layout of a `.workflow` text; what it means stays the same.

A transition with its guidance is a group, and between groups stands one empty line; one-line transitions
may stand together. Comments keep their place, guidance of a block is indented by two spaces, an inline
guidance stays inline. Line ends are those of the first line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tideate_core.errors import InvalidWorkflowFile
from tideate_core.machines.language.guidance import block_text
from tideate_core.machines.language.lexer import Lexer, Token, TokenKind
from tideate_core.machines.language.parser import Parser
from tideate_core.machines.language.rendering import explain_all
from tideate_core.machines.language.writing import move_text, when_text

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["format_text"]


class _Piece(NamedTuple):
    """What stays together: a comment, a guidance line or a transition; lines from `first` to `last`."""

    kind: TokenKind
    text: str
    first: int
    last: int


def format_text(text: str, label: str = "workflow") -> str:
    """Return the text in the canonical layout.

    :raises InvalidWorkflowFile: it has errors; it is not changed then.
    """
    tokens = Lexer(text).tokens()
    parsed = Parser(tokens).parse()
    if parsed.errors:
        raise InvalidWorkflowFile("\n".join(explain_all(parsed.errors, text, label)), parsed.diagnostics)
    written = "".join(_laid_out([_piece(token) for token in tokens]))
    first_line = text.find("\n")
    return written.replace("\n", "\r\n") if text[first_line - 1 : first_line] == "\r" else written


def _piece(token: Token) -> _Piece:
    last = token.line
    if token.kind is TokenKind.WHEN:
        written = when_text(token.text)
    elif token.kind is TokenKind.COMMENT:
        written = token.text
    elif token.kind is not TokenKind.TRANSITION:
        raise ValueError(f"line {token.line} is {token.kind.value}: there is no layout for a mistake")
    else:
        inline = (token.inline or "").strip(" \t")
        guidance = block_text(inline, token.block)
        last += token.block.rstrip(" \t\n").count("\n")
        written = move_text(token.text, token.target, guidance, inline=bool(inline))
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
