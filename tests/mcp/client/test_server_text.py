"""A server's text is shortened, escaped and set apart from our messages."""

from __future__ import annotations

import pytest

from tideate_core.mcp.client.server_text import LONGEST_NAME, is_tool_name, quoted, short, short_line


def test_short_text_stays_as_it_is() -> None:
    assert short("a\r\nb", 4) == "a\nb"


def test_long_text_is_cut_and_its_length_is_told() -> None:
    assert short("abcdef", 3) == "abc … (6 characters)"


def test_a_terminal_sequence_is_escaped() -> None:
    assert "\x1b" not in short("\x1b[2Jgone")


def test_further_lines_of_a_quoted_text_are_indented() -> None:
    assert quoted("\nfirst\nsecond\n") == "first\n    second"


def test_a_text_for_one_line_has_no_line_break() -> None:
    assert short_line("one\n  two", 100) == "one two"


@pytest.mark.parametrize("name", ["read_file", "fs/read.2", "a" * LONGEST_NAME])
def test_a_name_of_plain_characters_is_a_tool_name(name: str) -> None:
    assert is_tool_name(name)


@pytest.mark.parametrize("name", ["", "two words", "line\n", "a" * (LONGEST_NAME + 1), "é"])
def test_another_name_is_not_a_tool_name(name: str) -> None:
    assert not is_tool_name(name)
