"""MCP server base class with errors that a model can act on: unknown names, wrong arguments, hints.

Nothing that the client sent is repeated beyond a short name, so that an answer can be shown anywhere.
Other ways to write a name that exists are taken for it: `git/commit` and `autoStage`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult, TextContent, ToolAnnotations
from pydantic import ValidationError

from tideate_core import __version__
from tideate_core.errors import did_you_mean
from tideate_core.mcp.servers.schemas import SHOWN, short_repr
from tideate_core.mentions import hide_secrets, hide_secrets_within

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from mcp.server.mcpserver import Context
    from mcp_types import GetPromptResult, InputRequiredResult

__all__ = ["READ_ONLY", "ToolServer"]

READ_ONLY: Final = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
"""Of a tool that changes nothing."""

_HUMP = re.compile(r"(?<=[a-z0-9])[A-Z]")


def _unknown(kind: str, name: str, known: Iterable[str]) -> str:
    known = sorted(known)
    return f"unknown {kind} {short_repr(name)}{did_you_mean(name[:SHOWN], known)} (known: {', '.join(known)})"


def _meant(name: str, known: Container[str]) -> str:
    """Return the tool of that name, or the one that `git/commit` stands for."""
    underscored = name.replace("/", "_")
    return name if name in known or underscored not in known else underscored


def _snake_case(name: str, known: Container[str]) -> str:
    """Return the argument of that name, or the one that `autoStage` stands for."""
    if name in known or not (humps := _HUMP.findall(name)) or len(humps) > SHOWN:
        return name
    snake = _HUMP.sub(lambda hump: f"_{hump[0].lower()}", name)
    return snake if snake in known else name


def _named(arguments: dict[str, Any], known: Container[str]) -> dict[str, Any]:
    """Return the arguments by the names that the tool has for them.

    :raises ToolError: one is given twice.
    """
    named: dict[str, Any] = {}
    for given, value in arguments.items():
        name = _snake_case(given, known)
        if name in named:
            raise ToolError(f"argument {name} is given twice, once as {_camel_case(name)}; leave one out")
        named[name] = value
    return named


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def _what_is_wrong(error: ValidationError) -> str:
    """List each wrong argument. The rejected values stay out: they can be huge, and are the client's."""
    details = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}" for detail in details)


class ToolServer(MCPServer[Any]):
    """A server whose errors name the argument, the nearest name and what is allowed.

    :param hints: what to say of an argument that a tool does not have, by tool and argument: other servers
        have it.
    """

    def __init__(
        self,
        name: str,
        *,
        title: str | None = None,
        description: str | None = None,
        instructions: str | None = None,
        hints: Mapping[tuple[str, str], str] | None = None,
    ) -> None:
        super().__init__(
            name,
            title=title,
            description=description,
            instructions=instructions,
            version=__version__,
            log_level="WARNING",
        )
        self._hints = hints or {}

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool; `null` for an optional argument is the same as leaving it out.

        :raises ToolError: no such tool, an unknown, missing or unusable argument, or what the tool raises;
            the SDK answers it as a result with `isError`.
        """
        # not `list_tools`, which makes all of them anew for each call
        tools = {tool.name: tool.parameters for tool in self._tool_manager.list_tools()}
        name = _meant(name, tools)
        if name not in tools:
            raise ToolError(_unknown("tool", name, tools))
        known, required = tools[name].get("properties", {}), tools[name].get("required", [])
        arguments = _named(arguments, known)
        for argument in arguments:
            if argument not in known:
                hint = self._hints.get((name, argument))
                raise ToolError(hint or _unknown("argument", argument, known))
        given = {key: value for key, value in arguments.items() if value is not None or key in required}
        try:
            return _shown(await super().call_tool(name, given, context))
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                raise ToolError(f"wrong arguments for {name!r}: {_what_is_wrong(error.__cause__)}") from error
            if (words := hide_secrets(str(error))) != str(error):
                raise ToolError(words) from error
            raise

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Context[Any, Any] | None = None
    ) -> GetPromptResult | InputRequiredResult:
        """Render a prompt.

        :raises MCPError: invalid parameters: no such prompt, or unusable arguments.
        """
        prompts = [prompt.name for prompt in await self.list_prompts()]
        if name not in prompts:
            raise MCPError(INVALID_PARAMS, _unknown("prompt", name, prompts))
        try:
            return await super().get_prompt(name, arguments, context)
        except ValueError as error:
            raise MCPError(INVALID_PARAMS, f"prompt {name!r}: {_why(error)}") from error


def _shown(result: CallToolResult | InputRequiredResult) -> CallToolResult | InputRequiredResult:
    """Return a result without secrets in its texts: who calls a tool is a model."""
    if not isinstance(result, CallToolResult):
        return result
    content = [
        one.model_copy(update={"text": hide_secrets(one.text)}) if isinstance(one, TextContent) else one
        for one in result.content
    ]
    structured = hide_secrets_within(result.structured_content)
    return result.model_copy(update={"content": content, "structured_content": structured})


def _why(error: BaseException) -> str:
    """Look below the SDK's wrappers for the arguments that are wrong."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ValidationError):
            return _what_is_wrong(cause)
        cause = cause.__cause__
    return "unusable arguments"
