"""Errors that a model can act on."""

from __future__ import annotations

import pytest
from mcp import Client

from tests.mcp.walker import call, text
from tideate_core.mcp.careful import SHOWN, CarefulServer

LONG = "turn_the_ship_around_in_the_basin_behind_the_second_lock_gate"[:SHOWN]


@pytest.mark.parametrize("tail", ["", "!" * 20_000])
async def test_the_nearest_name_is_found_by_what_is_shown_of_a_word(tail: str) -> None:
    server = CarefulServer("test")

    async def turn() -> str:
        return "turned"

    server.add_tool(turn, name=LONG, description="Turn.")
    async with Client(server, mode="legacy") as client:
        result = await call(client, LONG[:-1] + "_" + tail)
    assert result.is_error
    assert f"did you mean '{LONG}'?" in text(result)
