"""A recorded run replays the same answers without a model."""

from __future__ import annotations

import asyncio
import stat
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel

from scripts.reduce_recording import reduce_recording
from tests.adapters.conftest import LIMIT, MakeAdapter
from tideate_core.adapters import (
    AdapterPool,
    Conversation,
    ModelTurn,
    NewPart,
    OfferedTool,
    Origin,
    Prompt,
    ToolResult,
    Turn,
    Usage,
    UserMessage,
)
from tideate_core.adapters.recordings import RecordingAdapter, ReplayAdapter
from tideate_core.config import Config
from tideate_core.errors import AdapterUnavailable, InvalidReply

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.model_server import ModelServer
    from tideate_core.adapters import Message
    from tideate_core.adapters.model import ModelAdapter


class Answer(BaseModel):
    value: int


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "recordings" / "run.jsonl"


@pytest.fixture
def recording(make_adapter: MakeAdapter, path: Path) -> RecordingAdapter:
    return RecordingAdapter(make_adapter(), path)


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def replay(path: Path, *, exact: bool = False) -> ReplayAdapter:
    return ReplayAdapter(f"replay:{path}", path, exact=exact)


async def test_an_exchange_is_replayed_as_it_streamed(
    server: ModelServer, recording: RecordingAdapter, path: Path
) -> None:
    server.answers("greet", "one two\u2028three", pieces=["one ", "two\u2028", "three"])
    live: list[str] = []
    asked = await recording.ask(Prompt("greet", system="s"), on_token=live.append)
    tokens: list[str] = []
    player = replay(path)
    replayed = await player.ask(Prompt("greet", system="s"), on_token=tokens.append)
    assert live == tokens == ["one ", "two\u2028", "three"]
    assert replayed == asked
    assert (replayed.usage, player.tools) == (Usage(2, 3), False)
    assert stat.S_IMODE((await asyncio.to_thread(path.stat)).st_mode) == 0o600


async def test_where_an_answer_begins_anew_is_replayed(
    server: ModelServer, recording: RecordingAdapter, path: Path
) -> None:
    server.answers("count", '{"value":', times=1)
    server.answers("count", {"value": 3}, pieces=['{"value": ', "3}"])
    live: list[str] = []
    await recording.ask(Prompt("count"), schema=Answer, on_token=live.append)
    tokens: list[str] = []
    replayed = await replay(path).ask(Prompt("count"), schema=Answer, on_token=tokens.append)
    assert replayed.parsed == Answer(value=3)
    assert tokens == live == ['{"value":', '\n\n{"value": ', "3}"]
    assert [type(text) for text in tokens] == [type(text) for text in live] == [str, NewPart, str]


async def test_answers_to_one_prompt_come_in_order_and_the_last_stays(
    server: ModelServer, recording: RecordingAdapter, path: Path
) -> None:
    for text in ("first", "second"):
        server.answers("greet", text, times=1)
        await recording.ask(Prompt("greet"))
    player = replay(path)
    assert [(await player.ask(Prompt("greet"))).text for _ in range(3)] == ["first", "second", "second"]


@pytest.mark.parametrize(
    "other",
    [Prompt("greet!"), Prompt("greet", system="s"), Prompt("greet", history=(Turn("a", "b"),))],
    ids=["text", "instructions", "history"],
)
async def test_a_prompt_that_was_not_recorded_says_how_to_record_it(
    server: ModelServer, recording: RecordingAdapter, path: Path, other: Prompt
) -> None:
    server.answers("greet", "hello")
    await recording.ask(Prompt("greet"))
    with pytest.raises(InvalidReply, match="TIDEATE_RECORD="):
        await replay(path, exact=True).ask(other)


async def test_a_failed_exchange_is_not_recorded(
    server: ModelServer, recording: RecordingAdapter, path: Path
) -> None:
    server.cuts("greet", 5)
    with pytest.raises(AdapterUnavailable):
        await recording.ask(Prompt("greet"))
    assert not await asyncio.to_thread(path.exists)


async def test_a_replay_has_the_limits_of_the_model_that_was_recorded(
    server: ModelServer, make_adapter: MakeAdapter, path: Path
) -> None:
    server.answers("greet", "hello")
    inner = make_adapter(context_tokens=4096)
    inner.demonstration = True
    await RecordingAdapter(inner, path).ask(Prompt("greet"))
    await RecordingAdapter(make_adapter(), path).ask(Prompt("greet"))
    player = replay(path)
    assert (player.demonstration, player.context_tokens) == (True, 4096)
    for _ in range(3):
        await player.ask(Prompt("greet"))
    assert player.demonstration


async def test_a_missing_recording_is_named(tmp_path: Path) -> None:
    player = replay(tmp_path / "absent.jsonl")
    assert (player.demonstration, player.context_tokens) == (False, None)
    with pytest.raises(AdapterUnavailable, match=r"absent.jsonl cannot be read"):
        await player.ask(Prompt("greet"))


async def test_a_damaged_recording_names_the_line(
    server: ModelServer, recording: RecordingAdapter, path: Path
) -> None:
    server.answers("greet", "hello")
    await recording.ask(Prompt("greet"))
    append(path, '{"key": 1}\n')
    with pytest.raises(AdapterUnavailable, match=r"run\.jsonl:2"):
        await replay(path).ask(Prompt("greet"))


async def test_a_replay_can_be_cancelled_between_tokens(
    server: ModelServer, recording: RecordingAdapter, path: Path
) -> None:
    server.answers("greet", "one two three")
    await recording.ask(Prompt("greet"))
    tokens: list[str] = []
    began = asyncio.Event()

    def first(token: str) -> None:
        tokens.append(token)
        began.set()

    async with asyncio.timeout(LIMIT):
        task = asyncio.create_task(replay(path).ask(Prompt("greet"), on_token=first))
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert len(tokens) < 3


async def test_a_variable_turns_recording_on(
    server: ModelServer, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEATE_RECORD", str(path))
    server.answers("greet", "hello")
    adapters = {"fake": {"base_url": server.base_url, "model": "scripted"}}
    pool = AdapterPool(Config.model_validate({"adapters": adapters}))
    await pool.get("fake").ask(Prompt("greet"))
    await pool.aclose()
    assert (await pool.get(f"replay:{path}").ask(Prompt("greet"))).text == "hello"
    assert len(server.requests) == 1


async def never(_arguments: dict[str, Any], _key: str) -> str:
    raise AssertionError("nothing is called here")


async def test_turns_of_a_work_loop_are_recorded_and_replayed(
    server: ModelServer, adapter: ModelAdapter, path: Path
) -> None:
    tool = OfferedTool("read", "Read.", {"type": "object", "properties": {}}, never)
    server.calls("look", "read", {"path": "a"}, times=1)
    server.answers("it says 41", "41")
    recorder = RecordingAdapter(adapter, path)
    assert recorder.tools
    asked = Conversation("s", (UserMessage("look"),))

    async def both(model: RecordingAdapter | ReplayAdapter) -> list[ModelTurn]:
        first = await model.take_turn(asked, [tool])
        result = ToolResult(replace(first.calls[0], id="another"), "it says 41")
        return [first, await model.take_turn(Conversation("s", (*asked.messages, first, result)), [])]

    recorded = await both(recorder)
    assert recorded[1].text == "41"
    requests = len(server.requests)
    again = replay(path)
    assert again.tools
    assert await both(again) == recorded
    assert len(server.requests) == requests
    with pytest.raises(InvalidReply, match="has no answer to this prompt"):
        await replay(path, exact=True).take_turn(Conversation("s", (UserMessage("something else"),)), [tool])


TOOL = OfferedTool("read", "Read.", {"type": "object", "properties": {}}, never)
LOOPS = ("a", "b")


async def work(model: RecordingAdapter | ReplayAdapter, words: str, run: str = "") -> list[ModelTurn]:
    """Take two turns of two concurrent loops with equal first turns."""

    def asked(loop: str, *more: Message) -> Conversation:
        return Conversation(words, (UserMessage(f"look {loop} {words}"), *more), Origin(f"step:{loop}", run))

    first = {loop: await model.take_turn(asked(loop), [TOOL]) for loop in LOOPS}
    second: list[ModelTurn] = []
    for loop in reversed(LOOPS):
        result = ToolResult(first[loop].calls[0], f"{loop} in /{words}")
        second.append(await model.take_turn(asked(loop, first[loop], result), [TOOL]))
    return [*first.values(), *second]


async def record_work(server: ModelServer, adapter: ModelAdapter, path: Path) -> list[ModelTurn]:
    server.calls("look", "read", {"path": "x"})
    for loop in LOOPS:
        server.answers(f"{loop} in /here", f"it is {loop}")
    return await work(RecordingAdapter(adapter, path), "here")


def said(turns: list[ModelTurn]) -> list[str]:
    return [turn.text for turn in turns]


async def test_turns_are_found_by_what_the_model_said_where_prompts_and_results_differ(
    server: ModelServer, adapter: ModelAdapter, path: Path
) -> None:
    recorded = await record_work(server, adapter, path)
    again = await work(replay(path), "there")
    assert said(again) == said(recorded) == ["", "", "it is b", "it is a"]
    assert all("the prompts differ from the recorded ones" in turn.notice for turn in again)
    assert {turn.notice for turn in await work(replay(path), "here")} == {""}


async def test_each_run_is_given_every_turn_once(
    server: ModelServer, adapter: ModelAdapter, path: Path
) -> None:
    recorded = await record_work(server, adapter, path)
    player = replay(path)
    for run in ("first", "second"):
        assert said(await work(player, "there", run)) == said(recorded)
        with pytest.raises(InvalidReply, match="has no answer to this prompt"):
            await work(player, "there", run)


async def test_a_loop_that_another_process_goes_on_with_is_told_from_those_that_begin_like_it(
    server: ModelServer, adapter: ModelAdapter, path: Path
) -> None:
    recorded = await record_work(server, adapter, path)
    call = recorded[1].calls[0]
    messages = (UserMessage("look b there"), recorded[1], ToolResult(call, "changed"))
    resumed = await replay(path).take_turn(Conversation("there", messages, Origin("step:a", "r")), [TOOL])
    assert resumed.text == "it is a"


async def test_conversations_that_have_other_names_now_are_told_apart_by_their_order(
    server: ModelServer, adapter: ModelAdapter, path: Path
) -> None:
    await record_work(server, adapter, path)
    player, texts = replay(path), []
    begun = {}
    for loop in ("y", "z"):
        asked = Conversation("s", (UserMessage(loop),), Origin(f"renamed:{loop}"))
        begun[loop] = (asked, await player.take_turn(asked, [TOOL]))
    for loop in ("y", "z"):
        asked, first = begun[loop]
        more = replace(asked, messages=(*asked.messages, first, ToolResult(first.calls[0], loop)))
        texts.append((await player.take_turn(more, [TOOL])).text)
    assert texts == ["it is a", "it is b"]


async def test_answers_are_found_in_order_among_those_of_their_schema(
    server: ModelServer, recording: RecordingAdapter, path: Path
) -> None:
    server.answers("text", "a text")
    for value in (1, 2):
        server.answers(f"count {value}", {"value": value})
    await recording.ask(Prompt("text"))
    for value in (1, 2):
        await recording.ask(Prompt(f"count {value}"), schema=Answer)
    player = replay(path)
    found = [(await player.ask(Prompt(f"other {n}"), schema=Answer)).parsed for n in (1, 2)]
    assert found == [Answer(value=1), Answer(value=2)]
    assert (await player.ask(Prompt("other"))).text == "a text"
    with pytest.raises(InvalidReply, match="has no answer to this prompt"):
        await player.ask(Prompt("a third"), schema=Answer)


async def test_answers_are_in_the_order_in_which_they_were_asked(
    server: ModelServer, make_adapter: MakeAdapter, path: Path
) -> None:
    gate = server.holds("slow", text="first")
    server.answers("fast", "second")
    recorder = RecordingAdapter(make_adapter(), path)
    async with asyncio.timeout(LIMIT), asyncio.TaskGroup() as tasks:
        tasks.create_task(recorder.ask(Prompt("slow")))
        await asyncio.to_thread(gate.wait_started)
        await recorder.ask(Prompt("fast"))
        gate.release()
    player = replay(path)
    assert [(await player.ask(Prompt(f"other {n}"))).text for n in (1, 2)] == ["first", "second"]


async def test_a_reduced_recording_has_the_turns_and_none_of_the_prompts(
    server: ModelServer, adapter: ModelAdapter, path: Path, tmp_path: Path
) -> None:
    recorded = await record_work(server, adapter, path)
    reduced = tmp_path / "reduced.jsonl"
    assert await asyncio.to_thread(reduce_recording, path, reduced) == 4
    text = await asyncio.to_thread(reduced.read_text)
    assert "b in /here" in await asyncio.to_thread(path.read_text)
    assert "look" not in text
    assert "/here" not in text
    again = await work(replay(reduced), "here")
    assert [(turn.text, turn.usage) for turn in again] == [(turn.text, turn.usage) for turn in recorded]
    assert {turn.notice for turn in again} == {
        f"{reduced} holds no prompts: its answers are matched by the model's earlier words, and may not fit"
    }
    with pytest.raises(InvalidReply, match="holds no prompts"):
        await work(replay(reduced, exact=True), "here")


async def test_a_file_that_is_no_text_is_refused_as_a_recording(tmp_path: Path) -> None:
    recording = tmp_path / "recording.jsonl"
    recording.write_bytes(b"\xff\xfe{}")
    with pytest.raises(AdapterUnavailable, match="not a recording: it is not UTF-8 text"):
        await ReplayAdapter("replay", recording).ask(Prompt("hello"))
