"""What a model is asked for a step: tools only where it can call them; text that came in pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from tests.engine.test_run import Looking
from tests.engine.test_scheduler import graph, step
from tideate_core.engine.step_model import SurrogateJoiner, mended

if TYPE_CHECKING:
    from tests.engine.conftest import Bench


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


async def test_tools_are_not_offered_to_a_model_that_cannot_call_them(bench: Bench) -> None:
    graph(bench, {"a": Looking(bench)}, step("a"))
    result = await bench.run("g")
    assert (result.ok, result.error_code) == (False, "ConfigError")
    assert result.error == "the adapter 'fake' cannot use tools (look are wanted)"
    assert bench.server.requests == []
