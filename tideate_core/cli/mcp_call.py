"""`tideate mcp call`: one call of a tool, with the permission that a workflow would need for it."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.text import Text

from tideate_core.cli.exits import DECLINED, DONE, FAILED, INTERRUPTED, USAGE
from tideate_core.cli.mcp_arguments import arguments_of, object_of
from tideate_core.cli.mcp_tools import client_at
from tideate_core.cli.output import fail, messages, print_json, print_text, tell, visible
from tideate_core.cli.tool_words import tool_running
from tideate_core.cli.wiring import log_to_file, open_project
from tideate_core.errors import (
    ConfigError,
    InvalidArguments,
    InvalidInput,
    TideateError,
    UnknownServer,
    UnknownTool,
)

if TYPE_CHECKING:
    from rich.status import Status

    from tideate_core.mcp.client import MCPClient, Tool, ToolResult

__all__ = ["CallOptions", "call"]

_USAGE = (ConfigError, InvalidArguments, InvalidInput, UnknownServer, UnknownTool)


@dataclass(frozen=True, slots=True)
class CallOptions:
    """What was asked for.

    :param pairs: arguments as `KEY=VALUE`.
    :param given: arguments as JSON, or `-` for standard input.
    :param policy: the answer to the question; None asks.
    :param timeout: seconds.
    """

    server: str
    tool: str
    pairs: tuple[str, ...]
    given: str | None
    policy: bool | None
    timeout: float | None
    token_env: str | None
    strict: bool
    as_json: bool
    root: str | None


def call(options: CallOptions) -> int:
    """Call a tool and print what it gives; returns the exit status."""
    try:
        given = _given(options)
        return asyncio.run(_call(options, given))
    except TideateError as error:
        fail(error, as_json=options.as_json)
        return USAGE if isinstance(error, _USAGE) else FAILED
    except KeyboardInterrupt:
        tell(messages(), Text("interrupted; the call was cancelled", style="yellow"))
        return INTERRUPTED


def _given(options: CallOptions) -> dict[str, Any]:
    if options.given is None:
        return {}
    return object_of(sys.stdin.read() if options.given == "-" else options.given)


async def _call(options: CallOptions, given: dict[str, Any]) -> int:
    project = open_project(options.root)
    log_to_file()  # before the SDK is used: it would log to the terminal
    from tideate_core.mcp.client import check_arguments

    client = client_at(project, options.server, options.token_env, strict=options.strict)
    try:
        tool = await client.tool(options.server, options.tool)
        arguments = arguments_of(tool, options.pairs, given)
        check_arguments(tool, arguments)
        why = await _refused(client, tool, arguments, options.policy)
        if why:
            return _declined(why, as_json=options.as_json)
        result = await _sent(client, tool, arguments, options)
    finally:
        await client.aclose()
    _print(tool, result, as_json=options.as_json)
    return DONE


async def _refused(client: MCPClient, tool: Tool, arguments: dict[str, Any], policy: bool | None) -> str:
    """Return why a tool may not be called; empty if it may."""
    if policy is not None:
        return "" if policy else "declined; nothing was called"
    if client.permissions.allows(tool):
        return ""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return (
            f"{tool.name!r} of {tool.server!r} needs your permission, and there is no terminal to ask at: "
            "--yes allows this call, and in a terminal it can be allowed always"
        )
    # here, because it takes the engine
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


def _declined(why: str, *, as_json: bool) -> int:
    if as_json:
        print_json({"ok": False, "error": why, "error_code": "Declined"})
    else:
        tell(messages(), Text(visible(why), style="yellow"))
    return DECLINED


async def _sent(client: MCPClient, tool: Tool, arguments: dict[str, Any], options: CallOptions) -> ToolResult:
    place = {"server": tool.server, "tool": tool.name}
    console = messages()
    shown = console.status(visible(tool_running(place))) if console.is_terminal else nullcontext()

    with shown as status:

        def on_progress(progress: float, total: float | None, message: str | None) -> None:
            how = {"progress": progress, "total": total, "message": message or ""}
            _show(status, Text(visible(" ".join(tool_running({**place, **how}).split()))))

        return await client.call(
            tool.server,
            tool.name,
            arguments,
            permitted=tool,
            timeout=options.timeout,
            on_progress=on_progress,
        )


def _show(status: Status | None, words: Text) -> None:
    if status is not None:
        status.update(words)


def _print(tool: Tool, result: ToolResult, *, as_json: bool) -> None:
    if as_json:
        print_json({"ok": True, "server": tool.server, "tool": tool.name, "result": result.value})
    else:
        print_text(result.text or json.dumps(result.value, indent=2, ensure_ascii=False))
