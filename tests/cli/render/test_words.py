"""Phrases for token usage."""

from __future__ import annotations

from typing import Any

import pytest

from tideate_core.cli.render.words import cached_words, count_words, usage_words


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, "0"), (999, "999"), (1000, "1k"), (12_345, "12.3k"), (999_900, "999.9k"), (1_250_000, "1.2M")],
)
def test_a_number_of_tokens_is_short(count: int, words: str) -> None:
    assert count_words(count) == words


@pytest.mark.parametrize(
    ("usage", "words"),
    [
        ({"input_tokens": 0, "output_tokens": 0}, ""),
        ({"input_tokens": 40, "output_tokens": 3}, "40 tokens in, 3 out"),
        (
            {"input_tokens": 12_300, "output_tokens": 1_200, "cached_tokens": 9_840, "cost": 0.04},
            "12.3k tokens in (80 % cached), 1.2k out, $0.04",
        ),
        ({"input_tokens": 10, "output_tokens": 1, "cost": 0.00012}, "10 tokens in, 1 out, $0.0001"),
    ],
)
def test_usage_says_what_is_known(usage: dict[str, Any], words: str) -> None:
    assert usage_words(usage) == words


def test_nothing_cached_is_not_said() -> None:
    assert cached_words(0, 10) == ""
