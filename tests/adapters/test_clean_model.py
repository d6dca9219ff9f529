"""Cleaned answers of a real server: thoughts, split characters, call ids."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel

from tests.adapters.test_turns import ASKED, READ
from tideate_core.adapters import Conversation, ModelTurn, Prompt, ToolResult, UserMessage
from tideate_core.adapters.base import NewPart

if TYPE_CHECKING:
    from tests.harness.model_server import ModelServer
    from tideate_core.adapters.model import ModelAdapter

CUTS = {
    "tags of their own": ("<think>", "secret", "\n", "</think>", '{"n": 2}'),
    "a blank line with the closing tag": ("<think>", "secret", "\n", "</think>\n\n", '{"n": 2}'),
    "a line end with the opening tag": ("<think>\n", "secret", "</think>", '{"n": 2}'),
    "a tag in two deltas": ("<th", "ink>", "secret", "</think>", '{"n": 2}'),
    "only a closing tag": ("secret", "\n", "</think>", "\n\n", '{"n": 2}'),
    "channels": (
        "<|channel|>",
        "analysis<|mess",
        "age|>secret<|end|><|start|>assistant<|channel|>final",
        "<|message|>",
        '{"n": 2}',
    ),
}


class Numbered(BaseModel):
    n: int


def deltas(*texts: str) -> list[dict[str, Any]]:
    return [{"content": text} for text in texts]


@pytest.mark.parametrize("pieces", CUTS.values(), ids=CUTS.keys())
async def test_thoughts_are_no_part_of_an_answer(
    server: ModelServer, adapter: ModelAdapter, pieces: tuple[str, ...]
) -> None:
    server.streams("look", *deltas(*pieces))
    turn = await adapter.take_turn(ASKED, [READ])
    assert (turn.text.strip(), turn.reasoning.strip()) == ('{"n": 2}', "secret")
    typed = await adapter.ask(Prompt("look"), schema=Numbered)
    assert typed.parsed == Numbered(n=2)
    assert (await adapter.ask(Prompt("look"))).text.strip() == '{"n": 2}'
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    "pieces",
    [
        ('{"a": "', "<think>", "x", "</think>", '"}'),
        ('{"a": "', "<think>", "x", "</think>y", '"}'),
        ("<p>", "\n", "<think>", "x", "</think>", "<think>", "</think>", "\n", "</p>"),
        ("\n", "<p>", "<think>"),
    ],
)
async def test_tags_of_an_answer_in_code_stay(
    server: ModelServer, adapter: ModelAdapter, pieces: tuple[str, ...]
) -> None:
    server.streams("look", *deltas(*pieces))
    told: list[str] = []
    turn = await adapter.take_turn(ASKED, [READ], on_token=told.append)
    assert turn.reasoning == ""
    assert turn.text == "".join(told) == "".join(pieces)


async def test_thoughts_stream_as_such(server: ModelServer, adapter: ModelAdapter) -> None:
    server.streams("look", *deltas("<thi", "nk>se", "cret</thin", "k>\n\none ", "two"))
    told: list[str] = []
    thought: list[str] = []
    await adapter.take_turn(ASKED, [READ], on_token=told.append, on_reasoning=thought.append)
    assert ("".join(told), "".join(thought)) == ("one two", "secret")


async def test_an_answer_behind_a_late_closing_tag_streams_as_a_new_one(
    server: ModelServer, adapter: ModelAdapter
) -> None:
    server.streams("look", *deltas("secret", "\n</think>\n\n", "answer"))
    told: list[str] = []
    turn = await adapter.take_turn(ASKED, [READ], on_token=told.append)
    assert (turn.text, turn.reasoning.strip()) == ("answer", "secret")
    assert isinstance(told[-1], NewPart)
    assert told[-1].strip() == "answer"


async def test_thoughts_before_a_call_do_not_become_its_text(
    server: ModelServer, adapter: ModelAdapter
) -> None:
    call = {"index": 0, "id": "c", "function": {"name": "read", "arguments": '{"path": "a"}'}}
    server.streams(
        "look", *deltas("hm, a", "\n</think>\n"), {"tool_calls": [call]}, finish_reason="tool_calls"
    )
    turn = await adapter.take_turn(ASKED, [READ])
    assert (turn.text.strip(), turn.reasoning.strip()) == ("", "hm, a")
    assert [(one.name, one.arguments) for one in turn.calls] == [("read", {"path": "a"})]


async def test_a_turn_of_thoughts_only_has_no_text(server: ModelServer, adapter: ModelAdapter) -> None:
    server.answers("look", "<think>\nhm, what now", finish_reason="length")
    turn = await adapter.take_turn(ASKED, [READ])
    assert (turn.text, turn.calls, turn.reasoning.strip(), turn.truncated) == ("", (), "hm, what now", True)


@pytest.mark.parametrize(
    ("pieces", "text"),
    [(("a\ud83d", "\ude00b"), "a😀b"), (("a\ud83d b",), "a\ufffd b"), (("a\ud83d",), "a\ufffd")],
)
async def test_half_of_a_character_fails_nothing(
    server: ModelServer, adapter: ModelAdapter, pieces: tuple[str, ...], text: str
) -> None:
    server.streams("look", {"reasoning_content": pieces[0]}, *deltas(*pieces))
    told: list[str] = []
    turn = await adapter.take_turn(ASKED, [READ], on_token=told.append)
    assert turn.text == "".join(told) == text
    json.dumps(turn.as_json(), ensure_ascii=False).encode()
    assert (await adapter.ask(Prompt("look"))).text == text


async def test_half_of_a_character_in_a_call_fails_nothing(
    server: ModelServer, adapter: ModelAdapter
) -> None:
    pieces = ('{"path": "\ud83d', "\ude00 \\ud83d", '\\ude00 \\ud83d"}')
    first = {"index": 0, "id": "c", "function": {"name": "read", "arguments": pieces[0]}}
    rest = [{"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in pieces[1:]]
    server.streams("look", {"tool_calls": [first]}, *rest, finish_reason="tool_calls")
    (call,) = (await adapter.take_turn(ASKED, [READ])).calls
    assert call.arguments == {"path": "😀 😀 \ufffd"}


async def test_calls_of_a_conversation_have_ids_of_their_own(
    server: ModelServer, adapter: ModelAdapter
) -> None:
    def call(index: int, name: str | None) -> dict[str, Any]:
        return {
            "index": index,
            "id": name,
            "type": "function",
            "function": {"name": "read", "arguments": "{}"},
        }

    calls = {"tool_calls": [call(0, "call_0"), call(1, "call_0"), call(2, ""), call(3, None)]}
    server.streams("look", calls, finish_reason="tool_calls")
    conversation = ASKED
    turns: list[ModelTurn] = []
    for _ in range(3):
        turn = await adapter.take_turn(conversation, [READ])
        turns.append(turn)
        results = [ToolResult(one, "text") for one in turn.calls]
        conversation = Conversation("", (*conversation.messages, turn, *results))
    ids = [one.id for turn in turns for one in turn.calls]
    assert len(set(ids)) == len(ids) == 12
    assert all(ids)
    await adapter.take_turn(Conversation("", (*conversation.messages, UserMessage("and?"))), [READ])
    sent = server.requests[-1]["messages"]
    asked = [one["id"] for message in sent for one in message.get("tool_calls") or ()]
    given = [message["tool_call_id"] for message in sent if message["role"] == "tool"]
    assert asked == given == ids
