"""Work-loop turns over the wire: offered tools, calls, results and failures."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.adapters.conftest import LIMIT, MakeAdapter
from tideate_core.adapters import (
    Conversation,
    ModelTurn,
    OfferedTool,
    RequestedCall,
    ToolResult,
    UserMessage,
)
from tideate_core.adapters.base import NewPart
from tideate_core.adapters.turns import LONGEST, AnswerStream
from tideate_core.errors import AuthenticationFailed, InvalidReply

if TYPE_CHECKING:
    from tests.harness.model_server import ModelServer
    from tideate_core.adapters.model import ModelAdapter

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


async def never(_arguments: dict[str, Any], _key: str) -> str:
    raise AssertionError("the adapter calls no tool")


READ = OfferedTool("read", "Read a file.", SCHEMA, never)
ASKED = Conversation("be good", (UserMessage("look at a"),))


async def test_a_call_is_asked_for_and_its_result_given_back(
    server: ModelServer, adapter: ModelAdapter
) -> None:
    server.calls("look at a", "read", {"path": "a"}, times=1)
    server.answers("it says 41", "41 it is")
    first = await adapter.take_turn(ASKED, [READ])
    (call,) = first.calls
    assert (call.name, call.arguments, first.text) == ("read", {"path": "a"}, "")
    after = (*ASKED.messages, first, ToolResult(call, "it says 41"), UserMessage("and?"))
    second = await adapter.take_turn(Conversation("be good", after), [READ])
    assert (second.text, second.calls) == ("41 it is", ())
    offered, sent = server.requests[0]["tools"], server.requests[1]["messages"]
    assert offered[0]["function"]["name"] == "read"
    assert offered[0]["function"]["parameters"]["required"] == ["path"]
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "tool", "user"]
    assert sent[2]["tool_calls"][0]["id"] == sent[3]["tool_call_id"] == call.id
    assert second.usage.input_tokens > 0


async def test_its_text_streams_after_a_retry(server: ModelServer, adapter: ModelAdapter) -> None:
    server.fails("look", 429, headers={"Retry-After": "0"}, times=1)
    server.answers("look", "one two three", finish_reason="length")
    pieces: list[str] = []
    turn = await adapter.take_turn(ASKED, [READ], on_token=pieces.append)
    assert (turn.text, "".join(pieces), turn.truncated) == ("one two three", "one two three", True)
    assert len(pieces) > 1


async def test_a_turn_survives_json(server: ModelServer, adapter: ModelAdapter) -> None:
    server.calls("look", "read", {"path": "ä"})
    turn = await adapter.take_turn(ASKED, [READ])
    assert ModelTurn.of_json(json.loads(json.dumps(turn.as_json()))) == turn
    whole = Conversation("s", (UserMessage("u"), turn, ToolResult(turn.calls[0], "r")))
    assert Conversation.of_json(json.loads(json.dumps(whole.as_json()))) == whole


async def test_a_turn_without_the_providers_own_words_can_be_given_back(
    server: ModelServer, adapter: ModelAdapter
) -> None:
    server.answers("look", "fine")
    call = RequestedCall("c1", "read", {"path": "a"})
    made = ModelTurn("I look.", (call,), "other")
    after = (*ASKED.messages, made, ToolResult(call, "text"))
    assert (await adapter.take_turn(Conversation("", after), [READ])).text == "fine"
    assistant = server.requests[0]["messages"][1]
    assert (assistant["content"], assistant["tool_calls"][0]["id"]) == ("I look.", "c1")


@pytest.mark.parametrize(("own", "given_back"), [(True, "as they wrote it"), (False, "fine")])
async def test_the_providers_own_words_are_given_back_to_the_model_that_made_them(
    server: ModelServer, adapter: ModelAdapter, own: bool, given_back: str
) -> None:
    server.answers("look", "fine")
    made = await adapter.take_turn(ASKED, [READ])
    assert made.made_by.endswith(server.base_url)
    raw = made.raw.replace("fine", "as they wrote it")
    kept = replace(made, raw=raw, made_by=made.made_by if own else "another:model")
    await adapter.take_turn(Conversation("", (*ASKED.messages, kept, UserMessage("and?"))), [READ])
    assert server.requests[1]["messages"][1]["content"] == given_back


async def test_an_empty_turn_is_refused(server: ModelServer, adapter: ModelAdapter) -> None:
    server.answers("look", " ")
    with pytest.raises(InvalidReply, match="empty answer"):
        await adapter.take_turn(ASKED, [READ])


async def test_its_errors_are_ours(server: ModelServer, adapter: ModelAdapter) -> None:
    server.fails("look", 401)
    with pytest.raises(AuthenticationFailed, match="refused the key"):
        await adapter.take_turn(ASKED, [READ])


async def test_a_cancelled_turn_closes_the_request(server: ModelServer, make_adapter: MakeAdapter) -> None:
    gate = server.holds("look")
    task = asyncio.create_task(make_adapter().take_turn(ASKED, [READ]))
    await asyncio.to_thread(gate.wait_started)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(asyncio.to_thread(gate.wait_disconnected), LIMIT)


def test_a_model_that_writes_without_end_is_stopped() -> None:
    from pydantic_ai.messages import PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta, ThinkingPart

    told: list[str] = []
    thought: list[str] = []
    stream = AnswerStream(told.append, thought.append)
    stream.take(PartStartEvent(index=0, part=ThinkingPart("hm")))
    stream.take(PartStartEvent(index=1, part=TextPart("a")))
    stream.take(PartDeltaEvent(index=1, delta=TextPartDelta("b")))
    assert (told, thought, stream.characters) == (["a", "b"], ["hm"], 4)
    with pytest.raises(InvalidReply, match="more than"):
        for _ in range(5):
            stream.take(PartDeltaEvent(index=1, delta=TextPartDelta("x" * 1_000_000)))


def test_the_arguments_of_a_tool_that_hands_in_an_answer_stream_as_a_text_does() -> None:
    from pydantic_ai.messages import PartDeltaEvent, PartStartEvent, TextPart, ToolCallPart, ToolCallPartDelta

    told: list[str] = []
    stream = AnswerStream(told.append, answers={"submit"})
    stream.take(PartStartEvent(index=0, part=TextPart("so")))
    stream.take(PartStartEvent(index=1, part=ToolCallPart("read", '{"path": "a"}')))
    stream.take(PartStartEvent(index=2, part=ToolCallPart("submit", "")))
    stream.take(PartDeltaEvent(index=2, delta=ToolCallPartDelta(args_delta='{"a')))
    stream.take(PartDeltaEvent(index=1, delta=ToolCallPartDelta(args_delta=" ")))
    stream.take(PartDeltaEvent(index=2, delta=ToolCallPartDelta(args_delta='": 1}')))
    assert told == ["so", '\n\n{"a', '": 1}']
    assert [isinstance(text, NewPart) for text in told] == [False, True, False]


def test_arguments_that_come_as_an_object_stream_as_its_json_and_count() -> None:
    from pydantic_ai.messages import PartDeltaEvent, PartStartEvent, TextPart, ToolCallPart, ToolCallPartDelta

    told: list[str] = []
    stream = AnswerStream(told.append, answers={"submit"})
    stream.take(PartStartEvent(index=0, part=TextPart("so")))
    stream.take(PartStartEvent(index=1, part=ToolCallPart("submit", {"a": "ä"})))
    stream.take(PartDeltaEvent(index=1, delta=ToolCallPartDelta(args_delta={"b": 1})))
    assert told == ["so", '\n\n{"a": "\\u00e4"}', '{"b": 1}']
    assert stream.characters == len("so") + len('{"a": "\\u00e4"}') + len('{"b": 1}')
    with pytest.raises(InvalidReply, match="more than"):
        stream.take(PartStartEvent(index=2, part=ToolCallPart("read", {"path": "x" * LONGEST})))
