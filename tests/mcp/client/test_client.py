"""Calls of a server in a separate process: results, and the death of the server."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.mcp.client.conftest import SERVER, error_of, has_line, lines, spec_of
from tideate_core.errors import (
    CommandError,
    InvalidAnswer,
    InvalidArguments,
    ServerNotTrusted,
    ServerUnavailable,
    ToolFailed,
    ToolInterrupted,
    ToolNotPermitted,
    ToolTimedOut,
    UnknownServer,
    UnknownTool,
)

if TYPE_CHECKING:
    from tests.mcp.client.conftest import Make
    from tideate_core.mcp.client.client import ConnectedServer


def is_alive(pid: int) -> bool:
    with suppress(ProcessLookupError):
        os.kill(pid, 0)
        return not _is_zombie(pid)
    return False


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


async def test_a_server_is_started_once_and_only_when_it_is_wanted(make: Make, tmp_path: Path) -> None:
    client = make()
    told: list[ConnectedServer] = []
    client.on_connected(told.append)
    assert [(one.name, one.state) for one in client.status()] == [("tests", "idle")]
    assert lines(tmp_path / "starts") == []
    results = await asyncio.gather(*(client.call("tests", "echo", {"text": text}) for text in "abc"))
    assert [result.value for result in results] == ["a", "b", "c"]
    assert len(lines(tmp_path / "starts")) == 1
    assert [(one.server, one.transport) for one in told] == [("tests", "stdio")]
    assert client.status()[0].state == "connected"


@pytest.mark.slow
async def test_a_server_on_the_sdk_speaks_the_newest_protocol(make: Make, tmp_path: Path) -> None:
    client = make(spec_of(tmp_path, SERVER))
    told: list[ConnectedServer] = []
    client.on_connected(told.append)
    tools = {tool.name: tool for tool in await client.tools("tests")}
    assert told[0].protocol == "2026-07-28"
    assert (tools["echo"].read_only, tools["work"].read_only, tools["echo"].own) == (True, False, False)
    assert (await client.call("tests", "size", {"text": "abc"})).value == {"size": 3}

    progress: list[tuple[float, float | None, str | None]] = []
    done = await client.call(
        "tests", "work", {"seconds": 0.01}, on_progress=lambda *how: progress.append(how)
    )
    assert (done.value, progress) == ("worked", [(1.0, 2.0, "halfway")])

    large = await error_of(client.call("tests", "echo", {"text": "x" * 100, "times": 50_000}))
    assert isinstance(large, InvalidAnswer)
    assert "at most 4096 KiB" in str(large)

    (tmp_path / "works").unlink()
    task = asyncio.create_task(client.call("tests", "work", {}))
    await has_line(tmp_path / "works", "begun")
    task.cancel()
    await asyncio.wait({task}, timeout=60)
    await has_line(tmp_path / "works", "cancelled")

    assert (await client.call("tests", "grow")).value == "grew"
    async with asyncio.timeout(60):
        # until the server's word of it has come
        while "grown" not in {tool.name for tool in await client.tools("tests")}:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert (await client.call("tests", "grown")).text == "I am new"


async def test_a_server_of_an_earlier_protocol_does_as_well(make: Make) -> None:
    client = make()
    told: list[ConnectedServer] = []
    client.on_connected(told.append)
    progress: list[tuple[float, float | None, str | None]] = []
    done = await client.call(
        "tests", "work", {"seconds": 0.01}, on_progress=lambda *how: progress.append(how)
    )
    assert (done.value, progress, told[0].protocol) == ("worked", [(1.0, 2.0, "halfway")], "2025-06-18")

    failed = await error_of(client.call("tests", "fail", {"why": "the disk is full"}))
    assert isinstance(failed, ToolFailed)
    assert "the disk is full" in str(failed)

    unknown = await error_of(client.call("tests", "ecko", {}))
    assert isinstance(unknown, UnknownTool)
    assert "did you mean 'echo'?" in str(unknown)


async def test_wrong_arguments_are_told_by_name_and_never_sent(make: Make, tmp_path: Path) -> None:
    client = make()
    for arguments, words in (
        ({}, "'text' is a required property"),
        ({"txt": "a"}, "'txt' is not known; did you mean 'text'? (known: text, times)"),
        ({"text": 1}, "text: 1 is not of type 'string'"),
        ({"text": "a", "tims": 2}, "'tims' is not known; did you mean 'times'?"),
    ):
        error = await error_of(client.call("tests", "echo", arguments))
        assert isinstance(error, InvalidArguments)
        assert words in str(error)
    await error_of(client.call("tests", "work", {"seconds": "long"}))
    assert lines(tmp_path / "works") == []


async def test_a_call_that_takes_too_long_is_cancelled_at_the_server(make: Make, tmp_path: Path) -> None:
    client = make()
    error = await error_of(client.call("tests", "work", {}, timeout=0.3))
    assert isinstance(error, ToolTimedOut)
    assert "0.3 s" in str(error)
    await has_line(tmp_path / "works", "cancelled")
    assert (await client.call("tests", "echo", {"text": "here"})).value == "here"
    assert len(lines(tmp_path / "starts")) == 1


async def test_cancelling_the_task_cancels_the_call_at_the_server(make: Make, tmp_path: Path) -> None:
    client = make()
    task = asyncio.create_task(client.call("tests", "work", {}))
    await has_line(tmp_path / "works", "begun")
    task.cancel()
    await asyncio.wait({task}, timeout=60)
    assert task.cancelled()
    await has_line(tmp_path / "works", "cancelled")


async def test_a_server_that_is_killed_during_a_call_ends_it_and_is_started_again(
    make: Make, tmp_path: Path
) -> None:
    client = make()
    error = await error_of(client.call("tests", "die"))
    assert isinstance(error, ToolInterrupted)
    assert "something is wrong with me" in str(error)
    assert lines(tmp_path / "deaths") == ["died"]
    assert (await client.call("tests", "echo", {"text": "again"})).value == "again"
    assert len(lines(tmp_path / "starts")) == 2


async def test_a_tool_that_only_looks_is_called_again_when_its_server_died(
    make: Make, tmp_path: Path
) -> None:
    client = make()
    assert (await client.call("tests", "look")).value == "looked twice"
    assert len(lines(tmp_path / "starts")) == 2


async def test_closing_leaves_nothing_of_a_server(make: Make) -> None:
    client = make()
    pids = json.loads((await client.call("tests", "pid")).value)
    assert all(is_alive(pid) for pid in pids)
    await client.aclose()
    async with asyncio.timeout(60):
        while any(is_alive(pid) for pid in pids):  # noqa: ASYNC110 of the system's work nobody is told
            await asyncio.sleep(0.01)
    assert isinstance(await error_of(client.tools("tests")), ServerUnavailable)


@pytest.mark.slow
async def test_a_server_that_does_not_start_is_told_with_its_last_words(make: Make, tmp_path: Path) -> None:
    (tmp_path / "broken").touch()
    client = make()
    error = await error_of(client.tools("tests"))
    assert isinstance(error, ServerUnavailable)
    assert "I cannot start: the folder is broken" in str(error)
    assert "tried 3 times" in str(error)
    assert len(lines(tmp_path / "starts")) == 3
    again = await error_of(client.tools("tests"))
    assert "tried again in" in str(again)
    assert len(lines(tmp_path / "starts")) == 3
    assert client.status()[0].state == "failed"


async def test_a_server_gets_no_more_of_the_environment_than_is_named(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", "secret")
    monkeypatch.setenv("WANTED", "yes")
    client = make(spec_of(tmp_path, environment={"GIVEN": "1"}, inherit=("WANTED",)))
    names = str((await client.call("tests", "environment")).value).split()
    assert {"GIVEN", "WANTED", "PATH"} <= set(names)
    assert "SECRET_KEY" not in names


async def test_what_is_no_server_is_told_without_starting_anything(make: Make, tmp_path: Path) -> None:
    missing = replace(spec_of(tmp_path), name="missing", command=("no-such-program-here",))
    client = make(spec_of(tmp_path), missing, untrusted=["theirs"])
    unknown = await error_of(client.tools("test"))
    assert isinstance(unknown, UnknownServer)
    assert "did you mean 'tests'?" in str(unknown)
    waiting = await error_of(client.tools("theirs"))
    assert isinstance(waiting, ServerNotTrusted)
    assert "tideate trust" in str(waiting)
    try:
        await client.tools("missing")
    except CommandError as error:
        assert "no-such-program-here is not installed" in str(error)
        assert "[mcp.servers.missing]" in str(error)
    else:
        raise AssertionError("a missing program was started")
    assert lines(tmp_path / "starts") == []


@pytest.mark.slow
async def test_strict_finds_nothing_wrong_with_a_server_on_the_sdk_and_names_what_is_elsewhere(
    make: Make, tmp_path: Path
) -> None:
    client = make(spec_of(tmp_path, SERVER), strict=True)
    assert (await client.call("tests", "size", {"text": "abc"})).value == {"size": 3}
    (tmp_path / "odd").touch()
    odd = make(strict=True)
    error = await error_of(odd.tools("tests"))
    assert isinstance(error, InvalidAnswer)
    assert "readOnlyHint" in str(error)
    lenient = make()
    assert "echo" in {tool.name for tool in await lenient.tools("tests")}


async def test_only_tools_that_the_configuration_permits_are_offered_and_called(
    make: Make, tmp_path: Path
) -> None:
    every = {tool.name for tool in await make().tools("tests")}
    client = make(replace(spec_of(tmp_path), permissions=("ec*",)))
    assert [tool.name for tool in await client.tools("tests")] == ["echo"]
    assert (await client.execute_tool("tests", "echo", {"text": "a"})).value == "a"
    other = min(every - {"echo"})
    error = await error_of(client.call("tests", other))
    assert isinstance(error, ToolNotPermitted)
    assert f"{other!r} of the MCP server 'tests' is not among `permissions`" in str(error)
    unknown = await error_of(client.call("tests", "ecco"))
    assert isinstance(unknown, UnknownTool)
    assert other not in str(unknown)


async def test_a_server_that_lacks_a_wanted_capability_is_not_used(make: Make, tmp_path: Path) -> None:
    assert await make(replace(spec_of(tmp_path), capabilities=("tools",))).tools("tests")
    client = make(replace(spec_of(tmp_path), capabilities=("tools", "telepathy")))
    error = await error_of(client.tools("tests"))
    assert "does not offer telepathy, which `capabilities` requires (it offers: " in str(error)
