"""The bundled model gives streamed, typed and consecutive answers."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING

import pytest
from pydantic import BaseModel

from tests.adapters.conftest import LOCAL_LIMIT, only_child
from tideate_core.adapters import Prompt
from tideate_core.adapters.local import CONTEXT_TOKENS
from tideate_core.errors import AdapterUnavailable, ContextTooLong

if TYPE_CHECKING:
    from tideate_core.adapters.model import ModelAdapter

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


class Step(BaseModel):
    what: str
    why: str


class Plan(BaseModel):
    title: str
    steps: list[Step]


async def test_it_answers_in_a_stream(local: ModelAdapter) -> None:
    tokens: list[str] = []
    async with asyncio.timeout(LOCAL_LIMIT):
        prompt = Prompt("Write a Python function that adds two numbers.")
        reply = await local.ask(prompt, on_token=tokens.append)
    assert "def " in reply.text
    assert "".join(tokens) == reply.text
    assert len(tokens) > 2
    assert reply.usage.output_tokens > 2
    assert local.demonstration


async def test_the_same_prompt_gets_the_same_answer(local: ModelAdapter) -> None:
    async with asyncio.timeout(LOCAL_LIMIT):
        prompt = Prompt("Name three fruits.", max_tokens=24)
        answers = {(await local.ask(prompt)).text for _ in range(2)}
    assert len(answers) == 1


async def test_a_typed_answer_of_unbounded_strings_and_lists_comes_back_valid(local: ModelAdapter) -> None:
    async with asyncio.timeout(LOCAL_LIMIT):
        reply = await local.ask(Prompt("Plan how to write a test in Python."), schema=Plan)
    assert isinstance(reply.parsed, Plan)
    assert 0 <= len(reply.parsed.steps) <= 4


async def test_cancelling_frees_the_only_slot(local: ModelAdapter) -> None:
    long = Prompt("Count from one to five thousand in words.", max_tokens=3500)
    async with asyncio.timeout(120):  # each of them to its end, one after the other, would take longer
        for _ in range(12):
            begun: asyncio.Queue[str] = asyncio.Queue()
            task = asyncio.create_task(local.ask(long, on_token=begun.put_nowait))
            await begun.get()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        await local.ask(Prompt("Say hi.", max_tokens=3))


async def test_a_prompt_that_does_not_fit_is_refused(local: ModelAdapter) -> None:
    async with asyncio.timeout(LOCAL_LIMIT):
        with pytest.raises(ContextTooLong, match=f"{CONTEXT_TOKENS} tokens"):
            await local.ask(Prompt("word " * (CONTEXT_TOKENS + 100)))


async def test_an_answer_ends_in_an_error_when_the_process_dies_in_it(local: ModelAdapter) -> None:
    def kill(_: str) -> None:
        if not killed:
            killed.append(only_child())
            os.kill(killed[0], signal.SIGKILL)

    killed: list[int] = []
    async with asyncio.timeout(LOCAL_LIMIT):
        with pytest.raises(AdapterUnavailable, match="cut off after"):
            await local.ask(Prompt("Count from one to a hundred in words."), on_token=kill)


async def test_prompts_at_the_same_time_wait_for_each_other(local: ModelAdapter) -> None:
    async with asyncio.timeout(LOCAL_LIMIT):
        replies = await asyncio.gather(*(local.ask(Prompt(f"Say {n}.", max_tokens=8)) for n in range(3)))
    assert all(reply.text for reply in replies)
    only_child()


async def test_the_bundled_model_is_offered_no_tools(local: ModelAdapter) -> None:
    assert not local.tools


async def test_an_answer_that_is_cut_off_ends_at_a_sentence(local: ModelAdapter) -> None:
    tokens: list[str] = []
    async with asyncio.timeout(LOCAL_LIMIT):
        reply = await local.ask(Prompt("What is a factorial?", max_tokens=60), on_token=tokens.append)
    assert reply.truncated
    assert reply.text.endswith((".", "!", "?"))
    assert "".join(tokens).rstrip() == reply.text
