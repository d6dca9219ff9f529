"""A server's text is shortened, escaped and set apart from our messages."""

from __future__ import annotations

import pytest

from tideate_core.mcp.client.server_text import LONGEST_NAME, is_tool_name, quoted, short, short_line


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (short("a\r\nb", 4), "a\nb"),
        (short("abcdef", 3), "abc … (6 characters)"),
        (quoted("\nfirst\nsecond\n"), "first\n    second"),
        (short_line("one\n  two", 100), "one two"),
    ],
)
def test_a_text_is_shortened_for_its_place(shown: str, expected: str) -> None:
    assert shown == expected


def test_a_terminal_sequence_is_escaped() -> None:
    assert "\x1b" not in short("\x1b[2Jgone")


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        *((name, True) for name in ("read_file", "fs/read.2", "a" * LONGEST_NAME)),
        *((name, False) for name in ("", "two words", "line\n", "a" * (LONGEST_NAME + 1), "é")),
    ],
)
def test_a_tool_name_has_plain_characters(name: str, is_one: bool) -> None:
    assert is_tool_name(name) is is_one
