"""Permission of tool calls: by policy, by an earlier answer, or by asking."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tideate_core.engine.memory import digest_of
from tideate_core.workflows import Declined

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tideate_core.engine.step_services import Permissions
    from tideate_core.mcp.client import Tool
    from tideate_core.workflows import StepContext

__all__ = ["FOR_PROJECT", "FOR_RUN", "described", "permit"]

FOR_RUN: Final = "run"
FOR_PROJECT: Final = "project"
"""A decision's values: for how long a permission is; None is once."""

LONGEST_DESCRIPTION: Final = 1_000
MOST_LINES: Final = 12
"""Of what a tool says of itself; of what it is sent, a question shows all."""


class _Once(Exception):
    """It was allowed for this one call, so that nothing is to be remembered for the run."""


async def permit(
    step: StepContext,
    permissions: Permissions,
    tool: Tool,
    arguments: dict[str, Any],
    *,
    key: str,
    gated: bool,
) -> None:
    """Return when a tool may be called.

    :param key: what tells this call from others of the step; another attempt at it needs no other permission.
    :param gated: a person is asked where a step wants it; else only a policy may allow the call.
    :raises Declined: it may not be called.
    :raises ConfigError: what the person allowed cannot be read or written.
    """
    if await asyncio.to_thread(permissions.allows, tool):
        return

    async def ask() -> str:
        details = await asyncio.to_thread(described, tool, arguments)
        decision = await step.confirm(
            "tool",
            f"{step.step}: may {tool.name!r} of the MCP server {tool.server!r} be called?",
            details=details,
            payload={
                "server": tool.server,
                "tool": tool.name,
                "arguments": arguments,
                **({} if gated else {"unattended": True}),
            },
        )
        if not decision.accepted:
            raise Declined(decision.reason)
        if decision.value == FOR_PROJECT:
            await asyncio.to_thread(permissions.allow, tool)
        if decision.value in (FOR_RUN, FOR_PROJECT):
            return str(decision.value)
        raise _Once

    await step.choose_once(
        f"permit:{key}", digest_of(tool.digest, arguments), partial(_for_all, step, tool, ask)
    )


async def _for_all(step: StepContext, tool: Tool, ask: Callable[[], Awaitable[Any]]) -> Any:
    try:
        # of steps that want the same tool at the same time the first asks, and the answer may be for all
        return await step.choose_for_run(f"tool:{tool.digest}", tool.digest, ask)
    except _Once:
        return "once"


def described(tool: Tool, arguments: dict[str, Any]) -> str:
    """Return in Markdown what a person is to know before they allow a call."""
    from tideate_core.edits import fence_for
    from tideate_core.util.escaping import visible_json

    given = visible_json(arguments)
    said = _beginning(tool.description.strip())
    fence = fence_for(given, said)
    kept = f"It says of itself ({_hints(tool)}):\n\n{fence}text\n{said or '(nothing)'}\n{fence}"
    return f"Arguments:\n\n{fence}json\n{given}\n{fence}\n\n{kept}"


def _beginning(said: str) -> str:
    # a server writes it: it must not push away what the tool is sent
    shown = "\n".join(said[:LONGEST_DESCRIPTION].split("\n")[:MOST_LINES])
    left_out = len(said) - len(shown)
    return (
        f"{shown} … ({left_out} more characters: `tideate mcp tools --json` has all)" if left_out else shown
    )


def _hints(tool: Tool) -> str:
    if tool.read_only:
        return "it only reads"
    return "it may destroy something" if tool.destructive else "it writes and destroys nothing"
