"""Conversations cut after a turn, without unanswered calls, and for models without tools."""

from __future__ import annotations

import pytest

from tideate_core.adapters import Conversation, ModelTurn, RequestedCall, ToolResult, Turn, UserMessage
from tideate_core.errors import InvalidInput

READ = RequestedCall("1", "read_file", {"path": "a.py"})
LIST = RequestedCall("2", "list_files", {})
WHOLE = Conversation(
    "be short",
    (
        UserMessage("what is it?"),
        ModelTurn("I look.", (READ, LIST), "m", raw="their own words"),
        ToolResult(READ, "x = 1"),
        ToolResult(LIST, "a.py"),
        ModelTurn("It is one.", (), "m"),
        UserMessage("sure?"),
        ModelTurn("Yes.", (), "m"),
    ),
)


def test_it_counts_its_turns_and_survives_json() -> None:
    assert WHOLE.turns == 3
    assert Conversation.of_json(WHOLE.as_json()) == WHOLE


@pytest.mark.parametrize(("turn", "length"), [(2, 5), (3, 7)])
def test_it_is_cut_after_a_turn(turn: int, length: int) -> None:
    assert WHOLE.after(turn) == Conversation("be short", WHOLE.messages[:length])


def test_the_calls_of_the_last_turn_go_and_its_text_stays() -> None:
    said = WHOLE.after(1)
    assert said.messages == (UserMessage("what is it?"), ModelTurn("I look.", (), "m"))


@pytest.mark.parametrize("turn", [-1, 0, 4])
def test_a_turn_that_it_does_not_have_is_refused(turn: int) -> None:
    with pytest.raises(InvalidInput, match=f"there is no turn {turn}: the conversation has 3 turns"):
        WHOLE.after(turn)


def test_calls_of_which_one_has_no_result_are_left_out_with_those_that_have() -> None:
    cut_off = Conversation("", (UserMessage("go"), ModelTurn("", (READ, LIST), "m"), ToolResult(READ, "x")))
    assert cut_off.answered() == Conversation("", (UserMessage("go"),))


def test_answered_calls_stay() -> None:
    looked = Conversation("be short", WHOLE.messages[:4])
    assert looked.answered() == looked
    assert Conversation("").answered() == Conversation("")


def test_a_model_without_tools_is_told_what_was_said() -> None:
    assert WHOLE.exchanges() == (
        Turn("what is it?", "I look.\n\nIt is one."),
        Turn("sure?", "Yes."),
    )
    asked_twice = Conversation("", (UserMessage("a"), UserMessage("b"), ModelTurn("c", (), "m")))
    assert asked_twice.exchanges() == (Turn("a\n\nb", "c"),)
