"""Text that came in pieces."""

from __future__ import annotations

from hypothesis import given, strategies as st

from tideate_core.engine.step_model import SurrogateJoiner, mended


def test_a_pair_that_was_cut_in_two_becomes_its_character() -> None:
    joiner = SurrogateJoiner()
    assert [joiner.feed(piece) for piece in ("hi \ud83d", "\ude00!", "")] == ["hi ", "😀!", ""]


def test_a_lone_half_is_replaced() -> None:
    assert mended("a\ude00b") == "a\ufffdb"
    assert SurrogateJoiner().feed("\ude00") == "\ufffd"


@given(st.lists(st.text(alphabet=st.characters(codec=None, categories=("Cs", "L", "So")))))
def test_what_is_shown_can_always_be_sent(pieces: list[str]) -> None:
    joiner = SurrogateJoiner()
    for piece in pieces:
        joiner.feed(piece).encode("utf-8")
