"""`tideate mcp call`: call one tool, with the permission that a workflow needs."""

from __future__ import annotations

import json
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter, validators
from rich.text import Text

from tideate_core.app import open_project
from tideate_core.cli.arguments import Json, Root, Yes, as_text, read_stdin
from tideate_core.cli.commands.mcp.tools import Strict, TokenEnv, client_at, complete_servers
from tideate_core.cli.confirmations import has_person, report_declined
from tideate_core.cli.process import DECLINED, DONE, FAILED, INTERRUPTED, USAGE, log_to_file, run_async
from tideate_core.cli.render.output import (
    fail,
    messages,
    print_json,
    print_message,
    print_text,
)
from tideate_core.cli.render.words import tool_running
from tideate_core.errors import (
    ConfigError,
    InvalidArguments,
    InvalidInput,
    TideateError,
    UnknownServer,
    UnknownTool,
)
from tideate_core.util.escaping import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tideate_core.mcp.client import MCPClient, Tool, ToolResult

_USAGE = (ConfigError, InvalidArguments, InvalidInput, UnknownServer, UnknownTool)


def call(
    server: Annotated[
        str,
        Parameter(
            metavar="NAME|URL", help="A configured server, or its address.", completer=complete_servers
        ),
    ],
    tool: Annotated[str, Parameter(metavar="TOOL", help="A tool, see `tideate mcp tools NAME`.")],
    /,
    *arguments: Annotated[
        str, Parameter(help="KEY=VALUE: text as it is, everything else as JSON (3, true, [1]).")
    ],
    given: Annotated[
        str | None,
        Parameter(
            name="--arguments",
            metavar="JSON",
            help="Arguments as one object; `-` reads it from stdin.",
            allow_leading_hyphen=True,
        ),
    ] = None,
    yes: Yes = None,
    timeout: Annotated[
        float | None,
        Parameter(
            name="--timeout",
            metavar="SECONDS",
            help="Time limit of the call. Default: the server's.",
            validator=validators.Number(gt=0),
        ),
    ] = None,
    token_env: TokenEnv = None,
    strict: Strict = False,
    json: Json = False,
    root: Root = None,
) -> int:
    """Call a tool and print its result; return the exit status."""
    try:
        text = read_stdin() if given == "-" else as_text(given or "{}", "--arguments")
        parsed = object_of(text)
        project = open_project(root)
        log_to_file()  # before the SDK is used: it would log to the terminal
        client = client_at(project, server, token_env, strict=strict)
        return run_async(_call(client, _Call(server, tool, arguments, parsed, yes, timeout, json)))
    except TideateError as error:
        fail(error, as_json=json)
        return USAGE if isinstance(error, _USAGE) else FAILED
    except KeyboardInterrupt:
        print_message("interrupted; the call was cancelled", "yellow")
        return INTERRUPTED


@dataclass(frozen=True, slots=True)
class _Call:
    server: str
    tool: str
    pairs: tuple[str, ...]
    """Arguments as `KEY=VALUE`."""
    given: dict[str, Any]
    """Arguments that were given as JSON."""
    policy: bool | None
    """The answer to the question; None asks."""
    timeout: float | None
    """Seconds."""
    as_json: bool


async def _call(client: MCPClient, wanted: _Call) -> int:
    from tideate_core.mcp.client import check_arguments

    try:
        tool = await client.tool(wanted.server, wanted.tool)
        arguments = arguments_of(tool, wanted.pairs, wanted.given)
        check_arguments(tool, arguments)
        why = await _refused(client, tool, arguments, wanted.policy)
        if why:
            report_declined(why, as_json=wanted.as_json)
            return DECLINED
        result = await _send(client, tool, arguments, wanted.timeout)
    finally:
        await client.aclose()
    _print(tool, result, as_json=wanted.as_json)
    return DONE


async def _refused(client: MCPClient, tool: Tool, arguments: dict[str, Any], policy: bool | None) -> str:
    """Ask for permission; return the reason for a refusal, empty if the call is allowed."""
    if policy is not None:
        return "" if policy else "declined; nothing was called"
    if client.permissions.allows(tool):
        return ""
    if not has_person():
        return (
            f"{tool.name!r} of {tool.server!r} needs your permission, and there is no terminal to ask at: "
            "--yes allows this call, and in a terminal it can be allowed always"
        )
    # here, because it imports the engine
    from tideate_core.cli.questions import Questions
    from tideate_core.engine import FOR_PROJECT, ConfirmationRequest, described

    request = ConfirmationRequest(
        "",
        "call",
        "call",
        "tool",
        f"May {tool.name!r} of the MCP server {tool.server!r} be called?",
        details=described(tool, arguments),
        payload={"single": True},
    )
    decision = await Questions(messages()).ask(request)
    if decision.value == FOR_PROJECT:
        client.permissions.allow(tool)
    return "" if decision.accepted else "declined; nothing was called"


async def _send(client: MCPClient, tool: Tool, arguments: dict[str, Any], within: float | None) -> ToolResult:
    place = {"server": tool.server, "tool": tool.name}
    console = messages()
    shown = console.status(visible(tool_running(place))) if console.is_terminal else nullcontext()

    with shown as status:

        def on_progress(progress: float, total: float | None, message: str | None) -> None:
            how = {"progress": progress, "total": total, "message": message or ""}
            if status is not None:
                status.update(Text(visible(" ".join(tool_running({**place, **how}).split()))))

        return await client.call(
            tool.server, tool.name, arguments, permitted=tool, timeout=within, on_progress=on_progress
        )


def _print(tool: Tool, result: ToolResult, *, as_json: bool) -> None:
    if as_json:
        print_json({"ok": True, "server": tool.server, "tool": tool.name, "result": result.value})
    else:
        print_text(result.text or json.dumps(result.value, indent=2, ensure_ascii=False))


def object_of(text: str) -> dict[str, Any]:
    """Parse the value of `--arguments`.

    :raises InvalidInput: the text is not a JSON object.
    """
    try:
        found = json.loads(text)
    except ValueError as error:
        raise InvalidInput(f"--arguments is not valid JSON: {error}") from error
    if not isinstance(found, dict):
        raise InvalidInput('--arguments is a JSON object, as in \'{"path": "README.md"}\'')
    return found


def arguments_of(tool: Tool, pairs: Iterable[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """Combine JSON arguments with `KEY=VALUE` pairs.

    The tool's schema decides the type of a value: text is used verbatim, other types are JSON (`3`, `["a"]`).

    :raises InvalidInput: a pair has no key, or an argument is repeated.
    """
    found = dict(given)
    for pair in pairs:
        key, mark, value = pair.partition("=")
        if not mark or not key:
            raise InvalidInput(f"{pair!r}: an argument is given as KEY=VALUE")
        if key in found:
            raise InvalidInput(f"the argument {key!r} is given twice")
        found[key] = value
        if "string" not in _kinds(tool.input_schema, tool.properties.get(key)):
            with suppress(ValueError):  # invalid JSON is text, which the schema may refuse
                found[key] = json.loads(value)
    return found


def _kinds(schema: Mapping[str, Any], shape: Any) -> set[str]:
    """Return the types named in a value's schema, including references and alternatives."""
    definitions = schema.get("$defs")
    known = definitions if isinstance(definitions, dict) else {}
    found: set[str] = set()
    seen: set[int] = set()
    left = [shape]
    while left:
        shape = left.pop()
        if not isinstance(shape, dict) or id(shape) in seen:
            continue
        seen.add(id(shape))
        named = shape.get("type")
        found.update(one for one in (named if isinstance(named, list) else [named]) if isinstance(one, str))
        left.append(known.get(str(shape.get("$ref", "")).removeprefix("#/$defs/")))
        for word in ("anyOf", "oneOf", "allOf"):
            left += shape[word] if isinstance(shape.get(word), list) else []
    return found
