"""Errors that let a model correct its call."""

from __future__ import annotations

import pytest
from mcp import Client

from tests.mcp.walker import call, text
from tideate_core.mcp.servers.schemas import SHOWN
from tideate_core.mcp.servers.tool_server import ToolServer

LONG = "turn_the_ship_around_in_the_basin_behind_the_second_lock_gate"[:SHOWN]


@pytest.mark.parametrize("tail", ["", "!" * 20_000])
async def test_the_nearest_name_is_found_by_what_is_shown_of_a_word(tail: str) -> None:
    server = ToolServer("test")

    async def turn() -> str:
        return "turned"

    server.add_tool(turn, name=LONG, description="Turn.")
    async with Client(server, mode="legacy") as client:
        result = await call(client, LONG[:-1] + "_" + tail)
    assert result.is_error
    assert f"did you mean '{LONG}'?" in text(result)


async def commit(scope: str, auto_stage: bool = False, dry_run: bool = False) -> str:
    return f"{scope} {auto_stage} {dry_run}"


async def plain(scopeName: str = "") -> str:  # noqa: N803
    return scopeName


def committing() -> ToolServer:
    server = ToolServer("test")
    server.add_tool(commit, name="git_commit", description="Commit.")
    server.add_tool(plain, name="git/plain", description="Has a slash and a hump of its own.")
    return server


@pytest.mark.parametrize("tool", ["git_commit", "git/commit"])
@pytest.mark.parametrize("argument", ["auto_stage", "autoStage"])
async def test_names_of_the_document_are_taken_for_ours(tool: str, argument: str) -> None:
    async with Client(committing(), mode="legacy") as client:
        result = await call(client, tool, scope="x", **{argument: True})
    assert text(result) == "x True False"


@pytest.mark.timeout(60)  # converting such a name would take hours
async def test_an_argument_with_a_huge_name_is_refused_at_once() -> None:
    async with Client(committing(), mode="legacy") as client:
        result = await call(client, "git_commit", scope="x", **{"A" * 1_000_000: True})
    assert "unknown argument" in text(result)


async def test_a_name_that_exists_is_no_alias() -> None:
    async with Client(committing(), mode="legacy") as client:
        assert text(await call(client, "git/plain", scopeName="x")) == "x"


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("git/comit", {"scope": "x"}, "unknown tool 'git/comit'; did you mean 'git_commit'?"),
        ("git//commit", {"scope": "x"}, "unknown tool 'git//commit'"),
        ("git/commit", {"scope": "x", "autoStages": True}, "unknown argument 'autoStages'"),
        ("git/commit", {"scope": "x", "AutoStage": True}, "unknown argument 'AutoStage'"),
        ("git/commit", {"Scope": "x"}, "unknown argument 'Scope'"),
        ("git/plain", {"scope_name": "x"}, "unknown argument 'scope_name'"),
        ("git/commit", {"scope": "x", "autoStage": 1, "auto_stage": 1}, "auto_stage is given twice"),
        ("git/commit", {"aB" * 50_000: 1}, "unknown argument 'aBaB"),
    ],
)
async def test_an_alias_stands_only_for_what_exists(
    tool: str, arguments: dict[str, object], words: str
) -> None:
    async with Client(committing(), mode="legacy") as client:
        result = await call(client, tool, **arguments)
    assert result.is_error
    assert words in text(result)
    assert len(text(result)) < 500
