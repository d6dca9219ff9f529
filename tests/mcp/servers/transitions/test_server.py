"""The transitions tools, with the SDK's client in the same process."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from mcp import Client, MCPError

from tests.mcp.servers.calling import held_open
from tests.mcp.walker import call, connect, move, structured, text
from tideate_core.machines.language import Obfuscator, Workflow

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

KEY = bytes(range(32))
STATES = ["approaching_quay", "moored_fast", "waiting_anchorage", "unloading_cargo", "casting_off"]


@pytest.fixture
async def one(harbour: Workflow) -> AsyncIterator[Client]:
    """A client of the harbour's server."""
    async with held_open(connect(harbour)) as client:
        yield client


async def test_a_success_tells_what_to_do_and_what_may_follow(one: Client) -> None:
    result = await call(one, "transition", current_state="*", next_state="approaching_quay")
    assert not result.is_error
    assert text(result).startswith(
        "status: success\n"
        "current state: approaching_quay\n"
        "valid transitions:\n"
        "  - action: moored_fast\n"
        "    when: A berth is free\n"
        "  - action: waiting_anchorage\n"
        "    when: Every berth is taken\n"
        "guidance:\n"
        "      Slow down to four knots.\n"
    )
    assert result.structured_content["valid_transitions"] == [
        {"action": "moored_fast", "when": "A berth is free"},
        {"action": "waiting_anchorage", "when": "Every berth is taken"},
    ]
    assert not result.structured_content["ended"]


async def test_the_end_says_so_and_has_no_transitions(one: Client) -> None:
    answer = await move(one, "casting_off", "*")
    after = await structured(one, "current_guidance")
    named = [await structured(one, "current_guidance", state=name) for name in ("*", "unloading_cargo")]
    assert answer["ended"]
    assert answer["current_state"] == "*"
    assert answer["valid_transitions"] == []
    assert answer["guidance"] == "Write the log."
    assert after["ended"]
    assert "has ended" in after["guidance"]
    assert after["valid_transitions"], "a new walk can begin"
    assert not any(one["ended"] for one in named)
    assert "has not begun" in named[0]["guidance"]


async def test_a_move_that_is_not_allowed_changes_nothing(one: Client) -> None:
    await move(one, "*", "approaching_quay")
    result = await call(one, "transition", current_state="approaching_quay", next_state="casting_off")
    after = await structured(one, "current_guidance")
    path = await structured(one, "path")
    assert result.is_error
    assert result.structured_content["status"] == "error"
    assert result.structured_content["current_state"] == "approaching_quay"
    assert [shape["action"] for shape in result.structured_content["valid_transitions"]] == [
        "moored_fast",
        "waiting_anchorage",
    ]
    assert "approaching_quay" in result.structured_content["guidance"]
    assert "casting_off" in result.structured_content["guidance"]
    assert after["current_state"] == "approaching_quay"
    assert len(path["moves"]) == 1


@pytest.mark.parametrize(
    ("current", "following", "kept"),
    [("aproaching_quay", "moored_fast", ""), ("waiting_anchorage", "aproaching_quay", "waiting_anchorage")],
)
async def test_an_unknown_state_gets_the_nearest_and_the_known_names(
    current: str, following: str, kept: str, one: Client
) -> None:
    result = await call(one, "transition", current_state=current, next_state=following)
    assert result.is_error
    assert result.structured_content["current_state"] == kept
    guidance = result.structured_content["guidance"]
    assert "'aproaching_quay'; did you mean 'approaching_quay'?" in guidance
    assert all(name in guidance for name in STATES)


async def test_the_path_keeps_the_moves_and_what_was_said(one: Client) -> None:
    await move(
        one,
        "*",
        "approaching_quay",
        planner_operation="call the port",
        project_data='{"ship": ["Nora"]}',
        user_response="",
        task_status=None,
    )
    await move(
        one,
        "approaching_quay",
        "moored_fast",
        user_response="a\nb\tc",
    )
    path = await structured(one, "path")
    assert path["position"] == "moored_fast"
    assert path["moves"] == [
        {
            "source": "*",
            "target": "approaching_quay",
            "notes": {"planner_operation": "call the port", "project_data": '{"ship": ["Nora"]}'},
        },
        {"source": "approaching_quay", "target": "moored_fast", "notes": {"user_response": "a\nb\tc"}},
    ]


async def test_guidance_is_told_again_for_a_state_and_for_where_one_stands(one: Client) -> None:
    begin = await structured(one, "current_guidance")
    other = await structured(one, "current_guidance", state="unloading_cargo")
    await move(one, "approaching_quay", "moored_fast")
    here = await structured(one, "current_guidance")
    wrong = await call(one, "current_guidance", state="mored_fast")
    assert begin["current_state"] == "*"
    assert begin["valid_transitions"][0]["action"] == "approaching_quay"
    assert other["guidance"].startswith("Open the hatches.")
    assert (here["current_state"], here["guidance"]) == ("moored_fast", "Make all lines fast.")
    assert wrong.is_error
    assert "did you mean 'moored_fast'?" in text(wrong)


async def test_without_sessions_the_server_says_that_it_remembers_nothing(harbour: Workflow) -> None:
    async with connect(harbour, mode="auto") as one:
        assert one.protocol_version == "2026-07-28"
        answer = await move(one, "*", "approaching_quay")
        guidance = await call(one, "current_guidance")
        path = await call(one, "path")
        named = await structured(one, "current_guidance", state="approaching_quay")
    assert not answer["position_remembered"]
    assert guidance.is_error
    assert "no sessions" in text(guidance)
    assert "`state`" in text(guidance)
    assert path.is_error
    assert "no sessions" in text(path)
    assert named["guidance"].startswith("Slow down")


async def test_states_are_listed_page_by_page() -> None:
    names = [f"s{number:03}" for number in range(450)]
    lines = [
        f"* to {names[0]}",
        *(f"{a} to {b}" for a, b in pairwise(names)),
        "s449 to *",
    ]
    async with connect(Workflow("\n".join(lines) + "\n", "long")) as one:
        seen: list[str] = []
        offset: int | None = 0
        pages = 0
        while offset is not None:
            page = await structured(one, "list_states", offset=offset)
            seen += [state["name"] for state in page["states"]]
            assert (page["total"], page["entry"], page["workflow"]) == (450, ["s000"], "long")
            offset = page["next_offset"]
            pages += 1
        beyond = await structured(one, "list_states", offset=1000)
        unknown = await call(one, "transition", current_state="s44", next_state="*")
    assert seen == names
    assert pages == 3
    assert (beyond["states"], beyond["next_offset"]) == ([], None)
    assert page["states"][-1]["next"] == ["*"]
    assert len(text(unknown)) < 1_000, "an error does not list all names of a long machine"
    assert "410 more (see `list_states`)" in text(unknown)


async def test_the_tools_tell_a_client_what_they_do(one: Client) -> None:
    tools = {tool.name: tool for tool in (await one.list_tools()).tools}
    assert "harbour" in (one.instructions or "")
    assert set(tools) == {"transition", "current_guidance", "list_states", "path"}
    assert tools["transition"].input_schema["required"] == ["current_state", "next_state"]
    assert list(tools["transition"].input_schema["properties"]) == [
        "current_state",
        "next_state",
        "planner_operation",
        "validation_result",
        "task_status",
        "user_response",
        "project_data",
    ]
    for name, tool in tools.items():
        assert tool.output_schema
        assert tool.annotations
        assert tool.annotations.read_only_hint is (name != "transition")
        assert tool.annotations.open_world_hint is False
        properties = tool.input_schema.get("properties", {}).values()
        assert all(shape["description"] and shape["type"] in ("string", "integer") for shape in properties)


async def test_the_whole_machine_can_be_read(harbour: Workflow, one: Client) -> None:
    uris = {str(resource.uri) for resource in (await one.list_resources()).resources}
    diagram = await one.read_resource("tideate://workflow/diagram")
    definition = await one.read_resource("tideate://workflow/definition")
    assert uris == {"tideate://workflow/diagram", "tideate://workflow/definition"}
    assert all(name in diagram.contents[0].model_dump()["text"] for name in STATES)
    again = Workflow(definition.contents[0].model_dump()["text"], "harbour")
    assert again.definition.states.keys() == harbour.definition.states.keys()
    assert again.valid_actions("approaching_quay") == harbour.valid_actions("approaching_quay")


async def test_the_prompt_names_the_entry_and_the_task(one: Client) -> None:
    plain = (await one.get_prompt("walk")).messages[0].content.model_dump()["text"]
    task = (await one.get_prompt("walk", {"task": "Bring the {Nora} in"})).messages[0].content
    with pytest.raises(MCPError, match=r"unknown prompt 'walc'; did you mean 'walk'\?"):
        await one.get_prompt("walc")
    with pytest.raises(MCPError, match=r"task: .*U\+001B"):
        await one.get_prompt("walk", {"task": "\x1b[2J"})
    assert "next_state one of: approaching_quay." in plain
    assert "Bring the {Nora} in" in task.model_dump()["text"]


async def test_a_plain_name_is_no_oracle_where_names_are_secret(harbour: Workflow) -> None:
    obfuscator = Obfuscator(KEY, harbour.definition)
    async with connect(harbour, obfuscator=obfuscator) as one:
        answers = [
            text(await call(one, "transition", current_state=name, next_state="obf_000000000000"))
            for name in ("moored_fast", "moored_slow", "something_else")
        ]
        guidance = [
            text(await call(one, "current_guidance", state=n)) for n in ("moored_fast", "moored_slow")
        ]
    assert answers[0] == answers[1] == answers[2]
    assert guidance[0] == guidance[1]
    assert "status: error" in answers[0]
    assert "moored" not in answers[0] + guidance[0]
