"""A hostile MCP server that sends too much, too little, too slowly, or without end."""

from __future__ import annotations

import asyncio
import math
import time
from contextlib import aclosing
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.hostile import bounded, connected, gone, hostile, said
from tideate_core.errors import ToolError
from tideate_core.mcp.client import (
    MCPClient,
    ToolPermissions,
    bounds,
    connection as connections,
    stdio,
    supervisor as supervisors,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from mcp.shared.message import SessionMessage

pytestmark = [pytest.mark.bulk, pytest.mark.attack, pytest.mark.slow]

AT_START = (
    *("silent", "deaf", "slow", "endless line", "garbage", "large garbage", "last words", "stderr"),
    *("stderr line", "exit at start", "half an answer", "odd version"),
)
IN_LISTS = (
    "no list",
    "endless pages",
    "slow pages",
    "many tools",
    "large schemas",
    "listed objects",
)
IN_CALLS = (
    *("never", "exit", "half a result", "slow result", "huge result", "many parts", "many objects"),
    *("many numbers", "deep", "progress", "log", "large log", "wrong notifications", "changes", "pings"),
    *("same pings", "answers to nothing", "stderr line aside"),
)
ANSWERED = ("banner", "stderr aside", "odd progress", "idle flood", "stays", "children")


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "GRACE", 0.15)
    monkeypatch.setattr(supervisors, "TRIES", 1)


async def fails_in_time(folder: Path, behaviour: str, work: Callable[[MCPClient], Awaitable[Any]]) -> None:
    """Assert that work with a server ends in a short error, and that no process is left."""
    with bounded(), pytest.raises(ToolError) as caught:
        async with connected(folder, behaviour) as client:
            await work(client)
    assert len(str(caught.value)) < 4_000
    assert await gone(folder)


@pytest.mark.parametrize("behaviour", AT_START)
async def test_a_server_that_does_not_start_properly_is_an_error_in_time(
    behaviour: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "START", 0.5)
    await fails_in_time(tmp_path, behaviour, lambda client: client.tools("evil"))


@pytest.mark.parametrize("behaviour", IN_LISTS)
async def test_a_list_of_tools_without_end_is_an_error_in_time(
    behaviour: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "LIST", 1.0)
    await fails_in_time(tmp_path, behaviour, lambda client: client.tools("evil"))


@pytest.mark.parametrize("behaviour", IN_CALLS)
async def test_a_call_that_is_not_answered_properly_is_an_error_in_time(
    behaviour: str, tmp_path: Path
) -> None:
    def call(client: MCPClient) -> Awaitable[Any]:
        return client.call("evil", "act", timeout=0.4, on_progress=lambda *_: None)

    await fails_in_time(tmp_path, behaviour, call)


@pytest.mark.parametrize("behaviour", ANSWERED)
async def test_what_comes_beside_an_answer_does_no_harm(behaviour: str, tmp_path: Path) -> None:
    told: list[float] = []
    with bounded():
        async with connected(tmp_path, behaviour) as client:
            result = await client.call(
                "evil", "act", timeout=60, on_progress=lambda done, *_: told.append(done)
            )
            assert result.text == "done"
            async with asyncio.timeout(60):
                while behaviour == "children" and not said(tmp_path, "grandchild"):  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
    assert all(math.isfinite(done) for done in told)
    assert await gone(tmp_path)


class Flood:
    """A frozen second: the messages accepted in it, and the wait after the limit."""

    def __init__(self) -> None:
        self.now = time.monotonic()
        self.taken = 0
        self.over = asyncio.Event()
        self._received = bounds.MessagePace.received

    async def received(self, pace: bounds.MessagePace, item: SessionMessage) -> None:
        self.taken += 1
        if self.taken > bounds.PER_SECOND + 1:
            self.over.set()
        await self._received(pace, item)

    async def hold(self, _seconds: float) -> None:
        self.over.set()
        await asyncio.Event().wait()


@pytest.mark.parametrize(
    "behaviour", ["progress", "log", "changes", "answers to nothing", "wrong notifications", "wrong changes"]
)
async def test_a_flood_takes_little_of_the_processor_and_of_the_log(
    behaviour: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    flood = Flood()
    monkeypatch.setattr(bounds, "time", SimpleNamespace(monotonic=lambda: flood.now))
    monkeypatch.setattr(bounds, "asyncio", SimpleNamespace(sleep=flood.hold))
    monkeypatch.setattr(bounds.MessagePace, "received", lambda pace, item: flood.received(pace, item))
    async with connected(tmp_path, behaviour) as client:
        call = asyncio.create_task(client.call("evil", "act", timeout=600, on_progress=lambda *_: None))
        try:
            await asyncio.wait_for(flood.over.wait(), 60)
            for _ in range(100):
                await asyncio.sleep(0)
            assert flood.taken == bounds.PER_SECOND + 1
            assert len(caplog.records) < 100
        finally:
            call.cancel()
            await asyncio.wait({call})


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        ("pings", "without reading the answers"),
        ("same pings", "without reading the answers"),
        ("garbage aside", "lines that are not messages"),
    ],
)
async def test_a_server_that_cannot_be_spoken_with_is_left(
    behaviour: str, words: str, tmp_path: Path
) -> None:
    async with connected(tmp_path, behaviour) as client:
        with bounded(), pytest.raises(ToolError, match=words):
            await client.call("evil", "act", timeout=90)


async def test_a_flood_that_was_left_does_not_hold_others_up(tmp_path: Path) -> None:
    calm = replace(hostile(tmp_path / "b"), name="calm")
    servers = [hostile(tmp_path / "a", "log"), calm]
    async with aclosing(MCPClient(servers, permissions=ToolPermissions(tmp_path))) as client:
        with bounded():
            busy = asyncio.create_task(client.call("evil", "act", timeout=600))
            for _ in range(20):
                assert (await client.call("calm", "act", timeout=60)).text == "done"
            assert not busy.done()
            busy.cancel()
            await asyncio.wait({busy})


async def test_a_long_description_is_cut(tmp_path: Path) -> None:
    with bounded():
        async with connected(tmp_path, "large page") as client:
            (tool,) = await client.tools("evil")
    assert len(tool.description) < 11_000
    assert "12582912 characters" in tool.description


async def test_a_tool_with_a_large_schema_is_left_out_and_named(tmp_path: Path) -> None:
    async with connected(tmp_path, "large schema") as client:
        listed = {tool.name for tool in await client.tools("evil")}
        left_out = await client.left_out("evil")
    assert left_out
    assert not listed & left_out.keys()
    assert all("KiB" in why for why in left_out.values())


async def test_answers_to_other_requests_are_not_taken_for_this_ones(tmp_path: Path) -> None:
    async with connected(tmp_path, "ids") as client:
        assert (await client.call("evil", "act", timeout=60)).text == "right"
        assert (await client.call("evil", "act", timeout=60)).text == "right"


async def test_a_batch_is_read_message_by_message(tmp_path: Path) -> None:
    async with connected(tmp_path, "batch") as client:
        assert (await client.call("evil", "act", timeout=60)).text == "in a batch"
