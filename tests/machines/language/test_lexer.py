"""Tokens of `.workflow` lines."""

from __future__ import annotations

import re
import sys
from re import _parser as regex_parser  # type: ignore[attr-defined]
from typing import TYPE_CHECKING

import pytest

from tideate_core.machines.language import Lexer, Token, TokenKind, lexer as lexer_module, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

TRANSITION, WHEN, COMMENT = TokenKind.TRANSITION, TokenKind.WHEN, TokenKind.COMMENT
MALFORMED, CHARACTER = TokenKind.MALFORMED, TokenKind.CHARACTER


def tokens(text: str) -> list[Token]:
    return Lexer(text).tokens()


def test_a_line_becomes_the_token_of_its_kind_with_its_place() -> None:
    assert tokens("# top\n\n: yes\na to b: do\n  more\n// end\nnonsense") == [
        Token(COMMENT, 1, "# top"),
        Token(WHEN, 3, "yes"),
        Token(TRANSITION, 4, "a", 1, "b", 6, " do", "\n  more"),
        Token(COMMENT, 6, "// end"),
        Token(MALFORMED, 7, "nonsense"),
    ]


def test_columns_count_characters_and_see_every_blank() -> None:
    (token,) = tokens("alpha \t to\t\tbeta  ")
    assert (token.column, token.target_column) == (1, 13)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_both_line_ends_give_the_same_tokens(end: str) -> None:
    text = ": when\na to b:\n  x\n\n  y\n\n# c\nb to *\n"
    assert tokens(text.replace("\n", end)) == tokens(text)


def test_a_missing_final_newline_changes_nothing() -> None:
    for text in ("a to b\n", "a to b:\n  x\n", ": when\n", "# c\n", "nonsense\n", "  x\n"):
        assert [t._replace(block=t.block.rstrip("\n")) for t in tokens(text)] == [
            t._replace(block=t.block.rstrip("\n")) for t in tokens(text.removesuffix("\n"))
        ]


def test_a_byte_order_mark_is_skipped_only_at_the_start() -> None:
    assert tokens("\ufeffa to b") == tokens("a to b")
    assert tokens("a to b\n\ufeffa to c")[1].kind is MALFORMED
    assert tokens("\ufeff\ufeffa to b")[0].kind is MALFORMED


def test_a_block_ends_before_the_first_line_that_is_not_indented() -> None:
    first, second = tokens("a to b:\n  x\n\n\ty\n\nb to c")
    assert first.block == "\n  x\n\n\ty\n"
    assert (second.line, second.text) == (6, "b")
    assert tokens("a to b:\n\n\n\n  x\n\n\n\nb to c")[1].line == 9
    assert tokens("a b c:\n\n\n\n  x\n\n\n\nb to c")[1].line == 9


def test_a_comment_is_a_line_of_its_own_indented_or_not() -> None:
    assert [t.kind for t in tokens("  # a\n\t// b\n#\n//\n/ no\n")] == [COMMENT] * 4 + [MALFORMED]


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\u00a0", "\u3000"])
def test_only_line_feeds_end_lines_and_only_spaces_and_tabs_are_blank(separator: str) -> None:
    (token,) = tokens(f": one{separator}a to b")
    assert token.text == f"one{separator}a to b"
    assert tokens(f"a{separator}to b")[0].kind is MALFORMED


@pytest.mark.parametrize("bad", ["\0", "\x1b", "\x7f", "\x85", "\x0b", "\x0c", "\r", "\ud800", "\udfff"])
def test_a_character_that_no_text_may_have_is_a_token_with_its_place(bad: str) -> None:
    found = tokens(f"a to b\n: is {bad} here {bad}\n")
    assert found[0] == Token(CHARACTER, 2, bad, 6)
    assert [t.kind for t in found[1:]] == [TRANSITION, WHEN]


def test_a_carriage_return_before_a_line_end_is_a_lone_one() -> None:
    assert tokens("a to b\r\r\n")[0] == Token(CHARACTER, 1, "\r", 7)


def _repeats(pattern: object) -> Iterator[object]:
    """Yield the backtracking repetitions of a parsed pattern."""
    for operation, argument in pattern:  # type: ignore[attr-defined]
        if str(operation) in ("MAX_REPEAT", "MIN_REPEAT") and argument[1] > 1:
            yield operation
        for part in argument if isinstance(argument, list | tuple) else [argument]:
            parts = part if isinstance(part, list) else [part]
            for inner in parts:
                if isinstance(inner, regex_parser.SubPattern):
                    yield from _repeats(inner)


def test_no_repetition_of_the_line_pattern_backtracks() -> None:
    assert list(_repeats(regex_parser.parse(r"(?:a|b(c+))"))) != []
    line = lexer_module._LINE
    assert list(_repeats(regex_parser.parse(line.pattern, line.flags))) == []


@pytest.mark.parametrize(
    "text",
    [
        "x" * 2**20,
        "a " * 2**19,
        ":" * 2**20,
        " " * 2**20 + "x",
        "a to b:" + " " * 2**20,
        "a to b:" + "\n" * 2**20 + "x",
        "a to b:\n" + " \n" * 2**19 + "x",
        "a" * 2**20 + " to " + "b" * 2**20,
        "a to b:\n  " + "\t" * 2**20,
        "a" + " \t" * 2**19 + "to",
        "\0" * 2**20,
        "\r" * 2**20,
    ],
    ids=lambda text: repr(text[:8]),
)
def test_a_mebibyte_of_one_thing_is_read(text: str) -> None:
    """A quadratic lexer would take hours: the suite's time limit is the check."""
    assert parse(text).diagnostics


def test_a_hundred_thousand_levels_of_indentation_need_no_stack() -> None:
    deep = "".join(f"{' ' * (level % 97)}{level}\n" for level in range(1, 100_000))
    depth = sys.getrecursionlimit()
    (token,) = tokens("a to b:\n" + re.sub("(?m)^", " ", deep).rstrip(" "))
    assert token.block.count("\n") >= 99_999
    assert sys.getrecursionlimit() == depth
