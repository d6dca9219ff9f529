"""Calls of MCP tools by a step or its model: permission, progress, and no silent repeat after a crash."""

from __future__ import annotations

import asyncio
import json
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tideate_core.adapters import OfferedTool, tool_name
from tideate_core.engine.context.context import render_value
from tideate_core.engine.context.memory import PERMIT
from tideate_core.engine.events import EventName
from tideate_core.engine.step import accept
from tideate_core.errors import ConfigError, ToolError, ToolFailed, ToolInterrupted
from tideate_core.util.escaping import label
from tideate_core.util.json_digest import digest_of
from tideate_core.workflows import MISSING, Declined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.engine.context.context import Context
    from tideate_core.mcp.client import ConnectedServer, MCPClient, Tool
    from tideate_core.workflows import ToolCall


FOR_RUN: Final = "run"
FOR_PROJECT: Final = "project"
"""Values of a decision: how long a permission lasts; None: once."""

LONGEST_DESCRIPTION: Final = 1_000
MOST_LINES: Final = 12
"""Lines of a tool's description in a question; the arguments are shown whole."""
BETWEEN: Final = 0.1
"""Seconds between two progress events of a call."""
ENDED: Final = None
"""Stored value of a call with a known outcome."""
LONGEST: Final = 60_000
"""Characters of a result that a model gets."""


class _Once(Exception):
    """The person allowed this call only; nothing is stored for the run."""


def described(tool: Tool, arguments: dict[str, Any]) -> str:
    """Return the details of a permission question as Markdown."""
    from tideate_core.edits import fence_for
    from tideate_core.util.escaping import visible_json

    given, said = visible_json(arguments), tool.description.strip()
    # written by the server: it must not push the arguments out of view
    shown = "\n".join(said[:LONGEST_DESCRIPTION].split("\n")[:MOST_LINES])
    if left_out := len(said) - len(shown):
        shown += f" … ({left_out} more characters: `tideate mcp tools --json` has all)"
    hints = "it may destroy something" if tool.destructive else "it writes and destroys nothing"
    if tool.read_only:
        hints = "it only reads"
    fence = fence_for(given, shown)
    kept = f"Its own description ({hints}):\n\n{fence}text\n{shown or '(nothing)'}\n{fence}"
    return f"Arguments:\n\n{fence}json\n{given}\n{fence}\n\n{kept}"


class ServerCalls:
    """Calls of MCP tools in one attempt of a step.

    :raises ConfigError: there are no MCP servers.
    """

    def __init__(self, step: Context, wanted: str) -> None:
        if step.run.runner.tools is None:
            raise ConfigError(
                f"step {step.step!r} wants {wanted}, and there are no MCP servers here; let a handler do it, "
                "or take it out"
            )
        self._tools: MCPClient = step.run.runner.tools
        self._step = step
        self._gated = step.run.gated

    async def call(self, server: str, name: str, arguments: dict[str, Any], *, key: str = "call") -> Any:
        """Call a tool and return its result as JSON.

        The result is durable on return, unless the tool may be called again: an answered call is not repeated
        after a crash.

        :param key: identifies the call in its step.
        :raises Declined: the person does not allow the call.
        :raises ToolError: the tool cannot be called, or failed; says why.
        """
        from tideate_core.mcp.client import check_arguments

        tool = await self._find(server, name)
        check_arguments(tool, arguments)
        produce = partial(self._produce, tool, arguments, key)
        if tool.repeatable:
            return await produce()
        digest = digest_of(tool.digest, arguments)
        return await self._step.choose_once(f"{key}:{self._step.attempt}", digest, produce)

    async def offer(self, names: Sequence[str]) -> list[OfferedTool]:
        """Return tools for the step's model, each under a unique name that models accept.

        :param names: `SERVER/TOOL`, `SERVER` or `SERVER/*`.
        :raises ToolError: a tool cannot be found.
        """
        found: dict[tuple[str, str], Tool] = {}
        for wanted in names:
            server, _, name = wanted.partition("/")
            one = name not in ("", "*")
            tools = [await self._tools.tool(server, name)] if one else await self._tools.tools(server)
            found |= {(tool.server, tool.name): tool for tool in tools}
        for server in dict.fromkeys(server for server, _ in found):
            for name, why in (await self._tools.left_out(server)).items():
                self._step.notice(f"{label(server)}/{label(name)} cannot be used: {why}", level="warn")
        offered: dict[str, OfferedTool] = {}
        for tool in found.values():
            name = tool_name(f"{tool.server}__{tool.name}", offered)
            work = partial(self._answer, tool)
            offered[name] = OfferedTool(name, tool.description, tool.input_schema, work)
        return list(offered.values())

    async def _answer(self, tool: Tool, arguments: dict[str, Any], key: str) -> str:
        """Call a tool for the model; an error becomes the result, so that the model can react."""
        try:
            value = await self.call(tool.server, tool.name, arguments, key=f"agent:{key}")
        except Declined as declined:
            return f"error: the person did not allow this call ({declined}); continue without it"
        except ToolError as error:
            return f"error: {self._step.hide_secrets(str(error))}"
        value = self._step.hide_secrets(value)
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return text if len(text) <= LONGEST else f"{text[:LONGEST]} … ({len(text)} characters; ask for less)"

    async def _find(self, server: str, name: str) -> Tool:
        def report(connected: ConnectedServer) -> None:
            if connected.server == server:
                self._step.emit(EventName.MCP_CONNECTED, **connected.as_json())

        stop = self._tools.on_connected(report)
        try:
            return await self._tools.tool(server, name)
        finally:
            stop()

    async def _produce(self, tool: Tool, arguments: dict[str, Any], key: str) -> Any:
        step, sent = self._step, f"sent:{key}"
        await self._permit(tool, arguments, key)
        definition = step.definition
        is_vouched = definition is not None and "idempotent" in definition.model_fields_set
        if tool.repeatable or (is_vouched and definition is not None and definition.idempotent):
            return await self._send(tool, arguments)
        await self._ask_to_repeat(tool, sent)
        await step.remember(sent, step.attempt)
        try:
            value = await self._send(tool, arguments)
        except ToolFailed:
            await step.remember(sent, ENDED)  # it answered: a retry is the author's decision
            raise
        await step.remember(sent, ENDED)
        return value

    async def _permit(self, tool: Tool, arguments: dict[str, Any], key: str) -> None:
        """Ask for permission to call a tool, unless it was given; a retry needs no new permission.

        :raises Declined: the call is not allowed.
        :raises ConfigError: the stored permissions cannot be read or written.
        """
        permissions = self._tools.permissions
        if await asyncio.to_thread(permissions.allows, tool):
            return
        payload: dict[str, Any] = {"server": tool.server, "tool": tool.name, "arguments": arguments}
        if not self._gated:  # only a policy may allow it
            payload["unattended"] = True

        async def ask() -> str:
            details = await asyncio.to_thread(described, tool, arguments)
            question = f"{self._step.step}: may {tool.name!r} of the MCP server {tool.server!r} be called?"
            decision = await self._step.confirm("tool", question, details=details, payload=payload)
            accept(decision)
            if decision.value == FOR_PROJECT:
                await asyncio.to_thread(permissions.allow, tool)
            if decision.value in (FOR_RUN, FOR_PROJECT):
                return str(decision.value)
            raise _Once

        async def ask_for_all() -> str:
            try:
                # of concurrent steps with the same tool the first asks, and its answer may apply to all
                return str(await self._step.choose_for_run(f"{PERMIT}tool:{tool.digest}", tool.digest, ask))
            except _Once:
                return "once"

        await self._step.choose_once(f"{PERMIT}{key}", digest_of(tool.digest, arguments), ask_for_all)

    async def _ask_to_repeat(self, tool: Tool, sent: str) -> None:
        """Ask whether to repeat a call that was sent before and has no known outcome.

        :raises Declined: the person declined.
        :raises ToolInterrupted: no person may be asked.
        """
        step = self._step
        attempt = step.recall(sent)
        if attempt is MISSING or attempt is ENDED:
            return
        if attempt == step.attempt and step.definition is not None and not step.definition.idempotent:
            return  # the run itself asked about the step
        what = f"{tool.name!r} of the MCP server {tool.server!r}"
        if not self._gated:
            raise ToolInterrupted(
                f"{step.step}: {what} was called before, and it is not known what came of it; it is "
                "not called twice unasked. Let the run ask, or say `idempotent: true` in the step if a "
                "second call does no harm"
            )
        question = f"{step.step}: {what} was called before, and no answer came. It may have done its work. "
        accept(await step.confirm("gate", f"{question}Call it again?"))

    async def _send(self, tool: Tool, arguments: dict[str, Any]) -> Any:
        last = 0.0

        def on_progress(progress: float, total: float | None, message: str | None) -> None:
            nonlocal last
            if (now := time.monotonic()) - last >= BETWEEN:
                last = now
                self._step.emit(
                    EventName.TOOL_PROGRESS,
                    server=tool.server,
                    tool=tool.name,
                    progress=progress,
                    total=total,
                    message=message or "",
                )

        definition = self._step.definition
        timeout = definition.timeout / 1000 if definition is not None and definition.timeout else None
        with self._step.report_call(tool.name, arguments, server=tool.server):
            result = await self._tools.call(
                tool.server, tool.name, arguments, permitted=tool, timeout=timeout, on_progress=on_progress
            )
        return result.value


async def call_tool(tool: ToolCall, step: Context) -> Any:
    """Call a tool with rendered arguments and return its result."""
    calls = ServerCalls(step, f"the tool {tool.name!r} of the MCP server {tool.server!r}")
    arguments = render_value(tool.arguments, step.values())
    return await calls.call(tool.server, tool.name, arguments)
