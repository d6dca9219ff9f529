"""Untrusted texts are displayed without control effects, hidden parts or look-alikes."""

from __future__ import annotations

import pytest

from tideate_core.util.escaping import escape, one_line, shortened_runs, visible


@pytest.mark.parametrize(
    ("character", "shown"),
    [
        ("\n", r"\n"),
        ("\x1b", r"\x1b"),
        ("\u202e", r"\u202e"),
        ("\U000e0041", r"\U000e0041"),
        ("\udcff", r"\xff"),
    ],
)
def test_a_character_is_written_by_its_number(character: str, shown: str) -> None:
    assert escape(character) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("rm\x1b[2K", r"rm\x1b[2K"),
        ("a\u202eb", r"a\u202eb"),
        ("p\u0430ypal", r"p\u0430ypal"),
        ("x\u200by", r"x\u200by"),
        ("a\rb\x08c\x07\x9b31m", r"a\rb\x08c\x07\u009b31m"),
        ("half \ud800", r"half \ud800"),
    ],
)
def test_what_a_screen_would_obey_or_a_reader_mistake_is_escaped(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_a_quotation_begins_no_line_of_ours() -> None:
    assert one_line("a\nApply? yes") == r"a\nApply? yes"
    assert shortened_runs("a" + "\n" * 200 + "b") == "a\n\\n{200}\nb"
    assert shortened_runs("a" + "\n" * 24 + "b") == "a" + "\n" * 24 + "b"
