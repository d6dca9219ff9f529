"""What is remembered of a session, for how long, and how much."""

from __future__ import annotations

import gc
from types import SimpleNamespace
from typing import Any

from mcp_types import ClientCapabilities, Implementation, InitializeRequestParams

from tideate_core.mcp.servers.transitions.guide import MAX_MOVES, MAX_PATH_CHARACTERS, Move, Sessions, Walk


def connection(version: str = "2025-11-25") -> Any:
    """What the SDK gives a tool of a connection."""
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


def test_the_number_of_remembered_moves_is_bounded() -> None:
    walk = Walk()
    for number in range(MAX_MOVES + 7):
        walk.record(Move(str(number), str(number + 1), {}))
    assert len(walk.moves) == MAX_MOVES
    assert walk.forgotten == 7
    assert walk.moves[0].source == "7"
    assert walk.position == str(MAX_MOVES + 7)


def test_the_size_of_the_remembered_moves_is_bounded() -> None:
    walk = Walk()
    for _ in range(50):
        walk.record(Move("a", "a", {"project_data": "x" * 8_000}))
    assert sum(move.size for move in walk.moves) <= MAX_PATH_CHARACTERS
    assert len(walk.moves) == 50 - walk.forgotten == MAX_PATH_CHARACTERS // 8_014


def test_a_move_from_elsewhere_begins_a_path_of_its_own() -> None:
    walk = Walk()
    for number in range(MAX_MOVES + 7):
        walk.record(Move(str(number), str(number + 1), {}))
    walk.record(Move("*", "a", {"project_data": "x" * (MAX_PATH_CHARACTERS - 50)}))
    walk.record(Move("a", "b", {}))
    assert [(move.source, move.target) for move in walk.moves] == [("*", "a"), ("a", "b")]
    assert (walk.position, walk.forgotten) == ("b", 0)
