"""A server with the tools, resources and prompts that the conformance suite looks for, by its names."""

from __future__ import annotations

import base64
import json
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp_types import (
    AudioContent,
    Completion,
    EmbeddedResource,
    EmptyResult,
    ImageContent,
    SamplingMessage,
    SetLevelRequestParams,
    SubscribeRequestParams,
    TextContent,
    TextResourceContents,
    UnsubscribeRequestParams,
)
from pydantic import BaseModel, Field

from tideate_core.mcp.servers import ToolServer

Call = Context[Any, Any]
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
SCHEMA_2020 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "additionalProperties": False,
}


def _text(words: str) -> TextContent:
    return TextContent(type="text", text=words)


def _embedded(uri: str, kind: str, words: str) -> EmbeddedResource:
    return EmbeddedResource(
        type="resource", resource=TextResourceContents(uri=uri, mime_type=kind, text=words)
    )


def _image() -> ImageContent:
    return ImageContent(type="image", data=PNG, mime_type="image/png")


class Answer(BaseModel):
    """Answer to an elicitation."""

    response: str = Field(description="User's response")


class Defaults(BaseModel):
    """Elicitation whose fields have defaults."""

    name: str = Field(default="John Doe")
    age: int = Field(default=30)
    score: float = Field(default=95.5)
    status: str = Field(default="active", json_schema_extra={"enum": ["active", "inactive", "pending"]})
    verified: bool = Field(default=True)


def _titled(*pairs: tuple[str, str]) -> list[Any]:
    return [{"const": value, "title": title} for value, title in pairs]


PLAIN: Any = {"enum": ["option1", "option2", "option3"]}


class Choices(BaseModel):
    """Its names are the suite's."""

    untitled_single: str = Field(alias="untitledSingle", json_schema_extra={**PLAIN})
    titled_single: str = Field(
        alias="titledSingle", json_schema_extra={"oneOf": [*_titled(("a", "First"), ("b", "Second"))]}
    )
    legacy: str = Field(
        alias="legacyEnum",
        json_schema_extra={"enum": ["a", "b", "c"], "enumNames": ["First", "Second", "Third"]},
    )
    untitled_multi: list[str] = Field(
        alias="untitledMulti", json_schema_extra={"items": {"type": "string", **PLAIN}}
    )
    titled_multi: list[str] = Field(
        alias="titledMulti",
        json_schema_extra={"items": {"anyOf": [*_titled(("a", "First"), ("b", "Second"))]}},
    )


def everything_server() -> MCPServer[Any]:
    """Make the server."""
    server = ToolServer("tideate-everything")
    _add_contents(server)
    _add_asking(server)
    _add_resources(server)
    _add_prompts(server)
    _add_requests(server)
    return server


def _add_contents(server: ToolServer) -> None:
    @server.tool(description="What the suite calls test_simple_text.")
    async def test_simple_text() -> str:
        return "This is a simple text response for testing."

    @server.tool(description="What the suite calls test_image_content.")
    async def test_image_content() -> list[ImageContent]:
        return [_image()]

    @server.tool(description="What the suite calls test_audio_content.")
    async def test_audio_content() -> list[AudioContent]:
        return [AudioContent(type="audio", data=WAV, mime_type="audio/wav")]

    @server.tool(description="What the suite calls test_embedded_resource.")
    async def test_embedded_resource() -> list[EmbeddedResource]:
        return [_embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")]

    @server.tool(description="What the suite calls test_multiple_content_types.")
    async def test_multiple_content_types() -> list[TextContent | ImageContent | EmbeddedResource]:
        data = _embedded(
            "test://mixed-content-resource", "application/json", '{"test": "data", "value": 123}'
        )
        return [_text("Multiple content types test:"), _image(), data]

    @server.tool(description="What the suite calls test_error_handling.")
    async def test_error_handling() -> str:
        raise ToolError("This tool intentionally returns an error for testing")

    @server.tool(description="What the suite calls json_schema_2020_12_tool.")
    async def json_schema_2020_12_tool() -> str:
        return "json_schema_2020_12_tool"

    tool = server._tool_manager.get_tool("json_schema_2020_12_tool")
    assert tool
    # the SDK makes schemas from signatures only
    tool.parameters = SCHEMA_2020


def _add_asking(server: ToolServer) -> None:
    @server.tool(description="What the suite calls test_tool_with_logging.")
    async def test_tool_with_logging(ctx: Call) -> str:
        for words in ("started", "processing data", "completed"):
            await ctx.info(f"Tool execution {words}")
        return "Tool with logging executed successfully"

    @server.tool(description="What the suite calls test_tool_with_progress.")
    async def test_tool_with_progress(ctx: Call) -> str:
        for done in (0, 50, 100):
            await ctx.report_progress(progress=done, total=100, message=f"Completed step {done} of 100")
        return "done"

    @server.tool(description="What the suite calls test_sampling.")
    async def test_sampling(prompt: str, ctx: Call) -> str:
        result = await ctx.session.create_message(
            messages=[SamplingMessage(role="user", content=_text(prompt))],
            max_tokens=100,
            related_request_id=ctx.request_id,
        )
        said = result.content
        return f"LLM response: {said.text if isinstance(said, TextContent) else 'none'}"

    @server.tool(description="What the suite calls test_elicitation.")
    async def test_elicitation(message: str, ctx: Call) -> str:
        return await _elicited(ctx, message, Answer)

    @server.tool(description="What the suite calls test_elicitation_sep1034_defaults.")
    async def test_elicitation_sep1034_defaults(ctx: Call) -> str:
        return await _elicited(ctx, "Please provide user information", Defaults)

    @server.tool(description="What the suite calls test_elicitation_sep1330_enums.")
    async def test_elicitation_sep1330_enums(ctx: Call) -> str:
        return await _elicited(ctx, "Please select values", Choices)

    @server.tool(description="What the suite calls test_reconnection.")
    async def test_reconnection(ctx: Call) -> str:
        await ctx.close_sse_stream()
        return "Reconnection test completed"


async def _elicited(ctx: Call, message: str, schema: type[BaseModel]) -> str:
    result = await ctx.elicit(message=message, schema=schema)
    content = result.data.model_dump_json() if result.action == "accept" else "{}"
    return f"User response: action={result.action}, content={content}"


def _add_resources(server: ToolServer) -> None:
    @server.resource("test://static-text")
    def static_text() -> str:
        return "This is the content of the static text resource."

    @server.resource("test://static-binary", mime_type="image/png")
    def static_binary() -> bytes:
        return base64.b64decode(PNG)

    @server.resource("test://template/{id}/data", mime_type="application/json")
    def template(id: str) -> str:  # noqa: A002 the suite's name
        return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})

    @server.resource("test://watched-resource")
    def watched() -> str:
        return "Watched resource content"


def _add_prompts(server: ToolServer) -> None:
    @server.prompt(description="What the suite calls test_simple_prompt.")
    def test_simple_prompt() -> list[UserMessage]:
        return [UserMessage(_text("This is a simple prompt for testing."))]

    @server.prompt(description="What the suite calls test_prompt_with_arguments.")
    def test_prompt_with_arguments(arg1: str, arg2: str) -> list[UserMessage]:
        return [UserMessage(_text(f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"))]

    @server.prompt(description="What the suite calls test_prompt_with_embedded_resource.")
    def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage]:  # noqa: N803
        resource = _embedded(resourceUri, "text/plain", "Embedded resource content for testing.")
        return [UserMessage(resource), UserMessage(_text("Please process the embedded resource above."))]

    @server.prompt(description="What the suite calls test_prompt_with_image.")
    def test_prompt_with_image() -> list[UserMessage]:
        return [UserMessage(_image()), UserMessage(_text("Please analyze the image above."))]


def _add_requests(server: ToolServer) -> None:
    """Register handlers of requests without a decorator in the SDK."""

    async def accept(_context: Any, _params: Any) -> EmptyResult:
        return EmptyResult()

    lowlevel = server._lowlevel_server
    lowlevel.add_request_handler("logging/setLevel", SetLevelRequestParams, accept)
    lowlevel.add_request_handler("resources/subscribe", SubscribeRequestParams, accept)
    lowlevel.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, accept)

    async def complete(_ref: Any, _argument: Any, _context: Any) -> Completion:
        return Completion(values=[], total=0, has_more=False)

    register: Any = server.completion
    register()(complete)
