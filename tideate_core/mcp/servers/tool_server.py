"""Base class of the MCP servers: registration of tools, error messages for models, hiding of secrets.

Errors repeat no more than a short name of the client's input, so they can be shown anywhere. Alternative
spellings of a name are accepted: `git/commit` and `autoStage`.
"""

from __future__ import annotations

import inspect
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias, TypeVar, get_args, get_origin

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, ValidationError
from pydantic.alias_generators import to_camel, to_snake

from tideate_core import __version__
from tideate_core.errors import did_you_mean
from tideate_core.mcp.servers.schemas import SHOWN, short_repr, tool_result
from tideate_core.mentions import hide_secrets, hide_secrets_within

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Container, Iterable, Mapping

    from mcp_types import GetPromptResult, InputRequiredResult

Model = TypeVar("Model", bound=BaseModel)
Call: TypeAlias = Context[Any, Any]
"""Parameter type of the SDK's context of a call."""
ToolAnswer: TypeAlias = tuple[Model | dict[str, Any], str]
"""Structured result of a tool, as its model or the model's JSON, and the text beside it."""


def _hints(*, reads: bool = False, destroys: bool = False, repeats: bool = False) -> ToolAnnotations:
    return ToolAnnotations(
        read_only_hint=reads, destructive_hint=destroys, idempotent_hint=repeats, open_world_hint=False
    )


READ_ONLY: Final = _hints(reads=True, repeats=True)
ADDING: Final = _hints()
"""Hints of a tool whose second call adds more."""
ENSURING: Final = _hints(repeats=True)
"""Hints of a tool whose second call changes nothing."""
REPLACING: Final = _hints(destroys=True, repeats=True)
EDITING: Final = _hints(destroys=True)


def _unknown(kind: str, name: str, known: Iterable[str]) -> str:
    known = sorted(known)
    return f"unknown {kind} {short_repr(name)}{did_you_mean(name[:SHOWN], known)} (known: {', '.join(known)})"


def _meant(name: str, known: Container[str]) -> str:
    """Return the tool's name for an accepted spelling such as `git/commit`."""
    underscored = name.replace("/", "_")
    return name if name in known or underscored not in known else underscored


def _snake_case(name: str, known: Container[str]) -> str:
    """Return the argument's name for an accepted spelling such as `autoStage`."""
    if name in known or len(name) > SHOWN:  # the conversion takes quadratic time
        return name
    snake = to_snake(name)
    return snake if snake in known and to_camel(snake) == name else name


def _named(arguments: dict[str, Any], known: Container[str]) -> dict[str, Any]:
    """Rename arguments to the tool's own spelling.

    :raises ToolError: an argument is given twice.
    """
    named: dict[str, Any] = {}
    for given, value in arguments.items():
        name = _snake_case(given, known)
        if name in named:
            raise ToolError(f"argument {name} is given twice, once as {to_camel(name)}; leave one out")
        named[name] = value
    return named


def _problems(error: ValidationError) -> str:
    """Describe each invalid argument without its value, which can be huge and is the client's."""
    details = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}" for detail in details)


class ToolServer(MCPServer[Any]):
    """MCP server with errors that name the invalid argument, the nearest name and the allowed names.

    :param hints: messages for arguments that other servers have, by tool and argument.
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

    def add(
        self, title: str, hints: ToolAnnotations = READ_ONLY
    ) -> Callable[[Callable[..., Awaitable[Any]]], None]:
        """Register the decorated function as a tool; its docstring becomes the description.

        The return annotation names the result's model: `ToolAnswer[MODEL]`, or a form that the SDK takes.
        """

        def register(function: Callable[..., Awaitable[Any]]) -> None:
            @wraps(function)
            async def answer(**arguments: Any) -> CallToolResult:
                return tool_result(*await function(**arguments))

            signature = inspect.signature(function, eval_str=True)
            is_answer = get_origin(signature.return_annotation) is tuple
            if is_answer:
                shape = get_args(get_args(signature.return_annotation)[0])[0]
                signature = signature.replace(return_annotation=Annotated[CallToolResult, shape])
                answer.__signature__ = signature  # type: ignore[attr-defined]
            about = " ".join((function.__doc__ or "").split())
            tool = answer if is_answer else function
            self.add_tool(tool, title=title, description=about, annotations=hints)

        return register

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Call | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool; `null` for an optional argument is the same as leaving it out.

        :raises ToolError: there is no such tool, an argument is invalid, or the tool raised it; the SDK turns
            it into a result with `isError`.
        """
        # not `list_tools`, which builds all of them again for each call
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
            return _without_secrets(await super().call_tool(name, given, context))
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                raise ToolError(f"wrong arguments for {name!r}: {_problems(error.__cause__)}") from error
            if (words := hide_secrets(str(error))) != str(error):
                raise ToolError(words) from error
            raise

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Call | None = None
    ) -> GetPromptResult | InputRequiredResult:
        """Render a prompt.

        :raises MCPError: there is no such prompt, or its arguments are invalid.
        """
        prompts = [prompt.name for prompt in await self.list_prompts()]
        if name not in prompts:
            raise MCPError(INVALID_PARAMS, _unknown("prompt", name, prompts))
        try:
            return await super().get_prompt(name, arguments, context)
        except ValueError as error:
            raise MCPError(INVALID_PARAMS, f"prompt {name!r}: {_why(error)}") from error


def _without_secrets(result: CallToolResult | InputRequiredResult) -> CallToolResult | InputRequiredResult:
    """Hide probable secrets in a result, as its reader is a model."""
    if not isinstance(result, CallToolResult):
        return result
    content = [
        one.model_copy(update={"text": hide_secrets(one.text)}) if isinstance(one, TextContent) else one
        for one in result.content
    ]
    structured = hide_secrets_within(result.structured_content)
    return result.model_copy(update={"content": content, "structured_content": structured})


def _why(error: BaseException) -> str:
    """Describe the invalid arguments found below the SDK's wrapped errors."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ValidationError):
            return _problems(cause)
        cause = cause.__cause__
    return "unusable arguments"
