"""Positions of sessions, valid moves, and the memory of a session."""

from __future__ import annotations

import gc
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client
from mcp_types import ClientCapabilities, Implementation, InitializeRequestParams

from tests.mcp.walker import call, connect, move, structured, text, walk
from tideate_core.mcp.servers.transitions.answers import MoveShape
from tideate_core.mcp.servers.transitions.guide import MAX_MOVES, MAX_PATH_CHARACTERS, Sessions, Walk
from tideate_core.mcp.servers.transitions.server import transitions_server

if TYPE_CHECKING:
    from tideate_core.machines.language import Workflow


async def test_a_move_from_where_the_session_does_not_stand_changes_nothing(harbour: Workflow) -> None:
    async with connect(harbour, walk=True) as one:
        await move(one, "*", "approaching_quay")
        late = await call(one, "transition", current_state="casting_off", next_state="*")
        lost = await call(one, "transition", current_state="casting_off", next_state="nowhere")
        after = await structured(one, "current_guidance")
        path = await structured(one, "path")
    for result in (late, lost):
        assert result.is_error
        assert result.structured_content["current_state"] == "approaching_quay"
        assert [shape["action"] for shape in result.structured_content["valid_transitions"]] == [
            "moored_fast",
            "waiting_anchorage",
        ]
        assert "stands at approaching_quay, not at casting_off" in result.structured_content["guidance"]
        assert "begin anew from *" in result.structured_content["guidance"]
    assert after["current_state"] == "approaching_quay"
    assert [move["target"] for move in path["moves"]] == ["approaching_quay"]


async def test_a_transition_is_answered_for_the_state_that_it_is_given(harbour: Workflow) -> None:
    async with connect(harbour) as one:
        await move(one, "*", "approaching_quay")
        end = await move(one, "casting_off", "*")
        again = await move(one, "*", "approaching_quay")
        wrong = await call(one, "transition", current_state="casting_off", next_state="moored_fast")
    assert end["ended"]
    assert again["current_state"] == "approaching_quay"
    assert wrong.is_error
    assert wrong.structured_content["current_state"] == "casting_off"


async def test_nobody_begins_a_shared_walk_anew_while_it_goes_on(harbour: Workflow) -> None:
    async with connect(harbour, shared_position=True) as one:
        await move(one, "*", "approaching_quay")
        again = await call(one, "transition", current_state="*", next_state="approaching_quay")
    assert again.is_error
    assert "begin anew" not in text(again)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_shared_position_is_shared_and_a_late_move_refused(harbour: Workflow, mode: str) -> None:
    server = transitions_server(harbour, shared_position=True)
    async with Client(server, mode=mode) as one, Client(server, mode=mode) as other:
        await move(one, "*", "approaching_quay")
        assert (await structured(other, "current_guidance"))["current_state"] == "approaching_quay"
        await move(other, "approaching_quay", "moored_fast")
        late = await call(one, "transition", current_state="approaching_quay", next_state="waiting_anchorage")
        path = await structured(one, "path")
    assert late.is_error
    assert late.structured_content["current_state"] == "moored_fast"
    assert [s["action"] for s in late.structured_content["valid_transitions"]] == [
        "unloading_cargo",
        "casting_off",
    ]
    assert "stands at moored_fast" in late.structured_content["guidance"]
    assert [move["target"] for move in path["moves"]] == ["approaching_quay", "moored_fast"]
    assert path["shared"]


async def test_a_shared_walk_can_begin_again_after_its_end(harbour: Workflow) -> None:
    async with connect(harbour, shared_position=True) as one:
        assert await walk(one)
        assert (await walk(one))[0] == "*"


def connection(version: str = "2025-11-25") -> Any:
    """A stand-in for the SDK's context of a connection."""
    params = InitializeRequestParams(
        protocol_version=version,
        capabilities=ClientCapabilities(),
        client_info=Implementation(name="test", version="1"),
    )
    return SimpleNamespace(client_params=params, protocol_version=version)


def test_two_connections_of_equal_clients_have_two_walks() -> None:
    sessions = Sessions(shared=False)
    one, other = connection(), connection()
    first = sessions.walk(one)
    assert first is not None
    assert sessions.walk(one) is first
    assert sessions.walk(other) is not first


@pytest.mark.slow
def test_a_walk_is_forgotten_with_its_connection() -> None:
    sessions = Sessions(shared=False)
    one = connection()
    sessions.walk(one)
    assert len(sessions) == 1
    del one
    gc.collect()
    assert len(sessions) == 0


def test_a_protocol_without_sessions_remembers_nothing() -> None:
    sessions = Sessions(shared=False)
    assert sessions.walk(connection("2026-07-28")) is None
    nobody = connection()
    nobody.client_params = None
    assert sessions.walk(nobody) is None
    assert len(sessions) == 0


def test_a_shared_walk_is_everybodys() -> None:
    sessions = Sessions(shared=True)
    assert sessions.walk(connection()) is sessions.walk(connection("2026-07-28"))


def went(source: object, target: object, notes: int = 0) -> MoveShape:
    """Return a move with this number of characters as a note."""
    data = {"project_data": "x" * notes} if notes else {}
    return MoveShape(source=str(source), target=str(target), notes=data)


def test_the_number_of_remembered_moves_is_bounded() -> None:
    walk = Walk()
    for number in range(MAX_MOVES + 7):
        walk.record(went(number, number + 1))
    assert len(walk.moves) == MAX_MOVES
    assert walk.forgotten == 7
    assert walk.moves[0].source == "7"
    assert walk.position == str(MAX_MOVES + 7)


def test_the_size_of_the_remembered_moves_is_bounded() -> None:
    walk = Walk()
    for _ in range(50):
        walk.record(went("a", "a", 8_000))
    assert sum(move.characters for move in walk.moves) <= MAX_PATH_CHARACTERS
    assert len(walk.moves) == 50 - walk.forgotten == MAX_PATH_CHARACTERS // 8_014


def test_a_move_from_elsewhere_begins_a_path_of_its_own() -> None:
    walk = Walk()
    for number in range(MAX_MOVES + 7):
        walk.record(went(number, number + 1))
    walk.record(went("*", "a", MAX_PATH_CHARACTERS - 50))
    walk.record(went("a", "b"))
    assert [(move.source, move.target) for move in walk.moves] == [("*", "a"), ("a", "b")]
    assert (walk.position, walk.forgotten) == ("b", 0)
