"""Validation of messages against the protocol."""

from __future__ import annotations

import copy
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest

from tests.mcp.served import HANDSHAKE
from tideate_core.mcp.protocol import REMEMBERED, MessageValidator, ProtocolViolation
from tideate_core.mcp.servers.registry import SERVERS, make_server
from tideate_core.mcp.servers.transitions.server import transitions_server

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.machines.language import Workflow

VERSION = "io.modelcontextprotocol/protocolVersion"
CLIENT = "io.modelcontextprotocol/clientInfo"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
SERVER = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}
MODERN = {VERSION: "2026-07-28", CAPABILITIES: {}, CLIENT: {"name": "t", "version": "1"}}


def asked(method: str, number: Any = 1, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, **({"params": params} if params else {})}


def result(number: Any = 1, **fields: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "result": fields}


def error(number: Any, **fields: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": -32600, "message": "no", **fields}}


TOOL = {"name": "a", "inputSchema": {"type": "object"}}
CALL = asked("tools/call", name="a", arguments={})

RIGHT: list[list[tuple[str, dict[str, Any]]]] = [
    [("sent", asked("initialize", **HANDSHAKE)), ("received", result(**SERVER))],
    [("sent", asked("ping")), ("received", result())],
    [("received", asked("ping", "x")), ("sent", result("x"))],
    [("sent", asked("tools/list")), ("received", result(tools=[TOOL]))],
    [("sent", CALL), ("received", result(content=[{"type": "text", "text": "a"}]))],
    [("sent", CALL), ("received", error(1, code=-32602))],
    [("sent", asked("logging/setLevel", level="info")), ("received", result())],
    [("received", error(None, code=-32700))],
    [("sent", {"jsonrpc": "2.0", "method": "notifications/initialized"})],
    [
        (
            "received",
            {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}},
        )
    ],
    [
        ("sent", CALL),
        ("sent", {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}),
        ("received", result(content=[])),
    ],
    [("sent", asked("ping")), ("received", asked("ping")), ("sent", result()), ("received", result())],
    [("sent", asked("ping")), ("received", result()), ("sent", asked("ping")), ("received", result())],
]


@pytest.mark.parametrize("messages", RIGHT)
def test_what_is_the_protocol_is_taken(messages: list[tuple[str, dict[str, Any]]]) -> None:
    validator = MessageValidator()
    for direction, message in messages:
        before = copy.deepcopy(message)
        validator.check_json(message, direction)
        assert message == before


WRONG: list[tuple[list[tuple[str, Any]], str]] = [
    ([("sent", [])], "a message is a JSON object"),
    ([("sent", {"id": 1, "method": "ping"})], "jsonrpc: field required"),
    ([("sent", {"jsonrpc": "1.0", "id": 1, "method": "ping"})], "jsonrpc: input should be '2.0'"),
    ([("sent", asked("ping", 1.5))], "id.str: input should be"),
    (
        [("sent", asked("tools/lst"))],
        "method: 'tools/lst' is not a request of a client; did you mean 'tools/list'?",
    ),
    ([("received", CALL)], "method: 'tools/call' is not a request of a server"),
    ([("sent", asked("ping")), ("sent", asked("ping"))], "id: 1 is the id of another request under way"),
    ([("sent", asked("tools/call", nme="a"))], "params.name: field required"),
    (
        [("sent", asked("tools/call", name="a", arguments=[]))],
        "params.arguments: input should be an object",
    ),
    ([("received", result(7))], "id: 7 answers no request that is under way"),
    ([("sent", asked("ping")), ("received", result()), ("received", result())], "id: 1 answers no request"),
    ([("sent", asked("ping")), ("sent", result())], "id: 1 answers no request"),
    (
        [
            ("sent", asked("tools/list")),
            ("received", result(tools=[TOOL, {"name": "a", "input_schema": {}}])),
        ],
        "result.tools.1.inputSchema: field required",
    ),
    (
        [
            ("sent", asked("tools/list")),
            ("received", result(tools=[{**TOOL, "inputSchema": {"type": "array"}}])),
        ],
        "result.tools.0.inputSchema.type: input should be 'object'",
    ),
    (
        [("sent", CALL), ("received", result(content=[{"type": "text", "txt": "a"}]))],
        "result.content.0.text: field required",
    ),
    (
        [
            ("sent", CALL),
            ("received", result(content=[{"type": "image", "data": 1, "mimeType": "image/png"}])),
        ],
        "result.content.0.data: input should be a valid string",
    ),
    ([("sent", CALL), ("received", result(content="a"))], "result.content: input should be a valid array"),
    ([("sent", CALL), ("received", error(1, code="x"))], "error.code: input should be a valid integer"),
    (
        [
            (
                "received",
                {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "warn", "data": 1}},
            )
        ],
        "'notice' or 'warning'",
    ),
    ([("sent", asked("server/discover"))], "method: 'server/discover' is not a request of a client"),
    ([("sent", asked("initialize", _meta=MODERN, **HANDSHAKE))], "method: 'initialize' is not a request"),
    (
        [("sent", asked("tools/list", _meta=MODERN)), ("received", result(tools=[{"name": "a~/b"}]))],
        "received, MCP 2026-07-28: result.",
    ),
    ([("sent", asked("tools/call", name={"a/b~c": "x" * 9_000}))], "params.name: "),
]


@pytest.mark.parametrize(("messages", "words"), WRONG)
def test_the_field_that_is_wrong_is_named(messages: list[tuple[str, Any]], words: str) -> None:
    validator = MessageValidator()
    *right, (direction, wrong) = messages
    for one, message in right:
        validator.check_json(message, one)
    with pytest.raises(ProtocolViolation) as refused:
        validator.check_json(wrong, direction)
    assert words in str(refused.value)
    assert len(str(refused.value)) < 400, "what was sent is not sent back"


def test_the_version_is_the_one_that_was_agreed_on() -> None:
    validator = MessageValidator()
    validator.check_json(asked("initialize", **HANDSHAKE), "sent")
    validator.check_json(result(**{**SERVER, "protocolVersion": "2024-11-05"}), "received")
    with pytest.raises(ProtocolViolation, match=r"^sent, MCP 2024-11-05: method"):
        validator.check_json(asked("nonsense"), "sent")


@pytest.mark.slow
def test_a_connection_of_cancelled_calls_does_not_grow() -> None:
    validator = MessageValidator()
    for number in range(3 * REMEMBERED):
        validator.check_json(asked("ping", number), "sent")
        note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}
        validator.check_json(note, "sent")
    assert len(validator._asked) == 0
    assert len(validator._cancelled) == REMEMBERED


def test_messages_of_the_sdk_are_checked_as_they_stand_on_the_wire() -> None:
    message = JSONRPCRequest(jsonrpc="2.0", id=1, method="tools/call", params={"nme": "a"})
    with pytest.raises(ProtocolViolation, match=r"params.name: field required"):
        MessageValidator().check(SessionMessage(message), "sent")


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("name", [*SERVERS, "transitions"])
async def test_our_servers_answer_all_requests_that_change_nothing(
    name: str, mode: str, tmp_path: Path, harbour: Workflow
) -> None:
    (tmp_path / "a.txt").write_text("a\n")
    server = transitions_server(harbour) if name == "transitions" else make_server(name, tmp_path)
    async with Client(server, mode=mode) as client:
        for tool in (await client.list_tools()).tools:
            await client.call_tool(tool.name, {"no such argument": 1})
            if tool.annotations and tool.annotations.read_only_hint and not tool.input_schema.get("required"):
                await client.call_tool(tool.name, {})
        assert (await client.call_tool("no_such_tool", {})).is_error
        for resource in (await client.list_resources()).resources:
            with suppress(MCPError):  # there may be nothing in it yet
                await client.read_resource(resource.uri)
        await client.list_resource_templates()
        await client.list_prompts()
