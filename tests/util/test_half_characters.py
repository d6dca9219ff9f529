"""Text with lone surrogates, whole and in pieces."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from tideate_core.util.half_characters import SurrogateJoiner, mended, mended_json


def test_a_pair_that_was_cut_in_two_becomes_its_character() -> None:
    joiner = SurrogateJoiner()
    assert [joiner.feed(piece) for piece in ("hi \ud83d", "\ude00!", "")] == ["hi ", "😀!", ""]


def test_a_lone_half_is_replaced() -> None:
    assert mended("a\ude00b") == "a\ufffdb"
    assert SurrogateJoiner().feed("\ude00") == "\ufffd"


@pytest.mark.slow
@given(st.lists(st.text(alphabet=st.characters(codec=None, categories=("Cs", "L", "So")))))
def test_what_is_shown_can_always_be_sent(pieces: list[str]) -> None:
    joiner = SurrogateJoiner()
    for piece in pieces:
        joiner.feed(piece).encode("utf-8")


def test_a_half_that_nothing_follows_is_told_at_the_end() -> None:
    joiner = SurrogateJoiner()
    assert [joiner.feed("a\ud83d"), joiner.end(), joiner.end()] == ["a", "\ufffd", ""]


def test_all_texts_of_a_json_value_are_mended() -> None:
    assert mended_json({"\ud83d": ["\ud83d\ude00", 1, None]}) == {"\ufffd": ["😀", 1, None]}
