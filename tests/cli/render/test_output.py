"""Escaping of untrusted texts for a terminal."""

from __future__ import annotations

import pytest

from tideate_core.util.escaping import visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ünïcode 日本 \N{SNOWMAN}\n\ttab", "plain ünïcode 日本 \N{SNOWMAN}\n\ttab"),
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("a\rb\x08c\x07", r"a\rb\x08c\x07"),
        ("\x9b31m\x7f", r"\u009b31m\x7f"),
        ("if a\u202e{\u2066}", r"if a\u202e{\u2066}"),
        ("half \ud800", r"half \ud800"),
        ("family: \U0001f468\u200d\U0001f469", "family: \U0001f468\u200d\U0001f469"),
    ],
)
def test_what_a_terminal_would_obey_is_shown_instead(text: str, shown: str) -> None:
    assert visible(text) == shown
