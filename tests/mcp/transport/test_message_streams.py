"""Every input of a client is answered, and the next call works."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, strategies as st
from mcp import Client

from tests.mcp.conftest import HARBOUR
from tests.mcp.walker import call, move, structured, text
from tideate_core.machines.language import Workflow
from tideate_core.mcp.servers.transitions.server import MAX_NAME, MAX_NOTE, transitions_server

WORKFLOW = Workflow(HARBOUR.read_text(), "harbour")
SERVER = transitions_server(WORKFLOW, walk=True)
"""Each client has a session of its own."""
ALLOWED = sorted({(move.source, move.target) for move in WORKFLOW.definition.transitions})
TOOLS = ["transition", "current_guidance", "list_states", "path", "", "transition\n", "../path"]
NAMES = [
    "current_state",
    "next_state",
    "planner_operation",
    "project_data",
    "state",
    "offset",
    "context",
    "self",
]
TEXT = st.text() | st.sampled_from(
    ["*", "**", "approaching_quay", "moored_fast", "\x00", "\x1b[2J", "{}", "[]", "null", "1" * 5000]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
MOVE = {"current_state": "*", "next_state": "approaching_quay"}

NONSENSE: list[tuple[str, dict[str, Any], str]] = [
    ("nonsense", {}, "unknown tool 'nonsense' (known: current_guidance, list_states, path, transition)"),
    ("transitions", {}, "did you mean 'transition'?"),
    ("n" * 100_000, {}, "unknown tool 'nnn"),
    ("transition", {}, "current_state: Field required; next_state: Field required"),
    ("transition", MOVE | {"next_state": None}, "next_state: Input should be a valid string"),
    ("transition", MOVE | {"current_state": 1}, "current_state: Input should be a valid string"),
    ("transition", MOVE | {"next_state": "x" * (MAX_NAME + 1)}, f"at most {MAX_NAME} characters"),
    ("transition", MOVE | {"project_data": "x" * (MAX_NOTE + 1)}, f"at most {MAX_NOTE} characters"),
    ("transition", MOVE | {"user_response": "\x1b]0;x\x07"}, "control character U+001B is not allowed"),
    (
        "transition",
        MOVE | {"user_respons": "y"},
        "unknown argument 'user_respons'; did you mean 'user_response'?",
    ),
    ("transition", MOVE | {"next_state": "\x1b[2J"}, "unknown state '\\x1b[2J'"),
    ("transition", MOVE | {"next_state": ""}, "unknown state ''"),
    ("transition", {"current_state": "*", "next_state": "*"}, "no transition leads from '*' to '*'"),
    ("list_states", {"offset": -1}, "offset: Input should be greater than or equal to 0"),
    ("list_states", {"offset": "1"}, "offset: Input should be a valid integer"),
]


@pytest.mark.parametrize(("tool", "arguments", "words"), NONSENSE)
async def test_nonsense_is_an_error_that_says_what_is_wrong(
    tool: str, arguments: dict[str, Any], words: str
) -> None:
    async with Client(SERVER, mode="legacy") as client:
        result = await call(client, tool, **arguments)
        assert result.is_error
        assert words in text(result)
        assert len(text(result)) < 1_000, "what was sent is not sent back"
        assert (await structured(client, "path"))["moves"] == [], "and nothing has moved"
        assert (await move(client, "*", "approaching_quay"))["status"] == "success"


@pytest.mark.slow
@given(
    tool=st.sampled_from(TOOLS), arguments=st.dictionaries(st.sampled_from(NAMES) | TEXT, JSON, max_size=6)
)
def test_every_call_is_answered_and_the_next_one_works(tool: str, arguments: dict[str, Any]) -> None:
    async def attempt() -> None:
        async with Client(SERVER, mode="legacy", raise_exceptions=True) as client:
            result = await client.call_tool(tool, arguments)
            assert len(text(result)) < 1_500
            assert "Traceback" not in text(result)
            assert (await move(client, "*", "approaching_quay"))["status"] == "success"

    asyncio.run(attempt())


@pytest.mark.slow
@given(
    moves=st.lists(
        st.sampled_from(ALLOWED)
        | st.tuples(
            st.sampled_from(["*", *WORKFLOW.definition.states]),
            st.sampled_from(["*", *WORKFLOW.definition.states]),
        ),
        max_size=12,
    )
)
def test_exactly_the_moves_of_the_file_are_allowed_from_where_one_stands(
    moves: list[tuple[str, str]],
) -> None:
    async def attempt() -> None:
        async with Client(SERVER, mode="legacy") as client:
            chain: list[tuple[str, str]] = []
            for source, target in moves:
                stands = not chain or source in ("*", chain[-1][1])
                result = await call(client, "transition", current_state=source, next_state=target)
                assert result.is_error != (stands and (source, target) in ALLOWED)
                if not result.is_error:
                    unbroken = chain if chain and chain[-1][1] == source else []
                    chain = [*unbroken, (source, target)]
            path = await structured(client, "path")
            made = [(move["source"], move["target"]) for move in path["moves"]]
            assert made == chain
            assert all(before[1] == after[0] for before, after in pairwise(made))

    asyncio.run(attempt())
