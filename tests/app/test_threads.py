"""Titles of runs."""

from __future__ import annotations

import pytest

from tideate_core.app import title_of


@pytest.mark.parametrize(
    ("prompt", "title"),
    [
        ("", ""),
        ("short", "short"),
        ("\n\n  the first \t line\nthe second", "the first line"),
        ("x" * 60, "x" * 60),
        ("word " * 20, "word word word word word word word word word word word word…"[:59] + "…"),
    ],
)
def test_a_title_is_the_first_line_shortened(prompt: str, title: str) -> None:
    assert title_of(prompt) == title
