"""Tool calls of a run: permission, events, and replay after a crash."""

from __future__ import annotations

import asyncio
import json
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tideate_core.adapters import OfferedTool, tool_name
from tideate_core.engine.context.context import render_value
from tideate_core.engine.events import EventName
from tideate_core.errors import ConfigError, ToolError, ToolFailed, ToolInterrupted
from tideate_core.util.escaping import label
from tideate_core.util.json_digest import digest_of
from tideate_core.workflows import MISSING, Declined

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence

    from tideate_core.engine.run import Run
    from tideate_core.mcp.client import ConnectedServer, MCPClient, Tool, ToolPermissions
    from tideate_core.workflows import StepContext, StepHandler, ToolCall


FOR_RUN: Final = "run"
FOR_PROJECT: Final = "project"
"""Values of a decision: how long a permission lasts; None: once."""

LONGEST_DESCRIPTION: Final = 1_000
MOST_LINES: Final = 12
"""Lines of a tool's description in a question; the arguments are shown whole."""


class _Once(Exception):
    """The person allowed this call only; nothing is stored for the run."""


async def permit(
    step: StepContext,
    permissions: ToolPermissions,
    tool: Tool,
    arguments: dict[str, Any],
    *,
    key: str,
    gated: bool,
) -> None:
    """Ask for permission to call a tool, unless it was given.

    :param key: identifies the call in its step; a retry needs no new permission.
    :param gated: a person is asked; otherwise only a policy may allow the call.
    :raises Declined: the call is not allowed.
    :raises ConfigError: the stored permissions cannot be read or written.
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
        # of concurrent steps with the same tool the first asks, and its answer may apply to all
        return await step.choose_for_run(f"tool:{tool.digest}", tool.digest, ask)
    except _Once:
        return "once"


def described(tool: Tool, arguments: dict[str, Any]) -> str:
    """Return the details of a permission question as Markdown."""
    from tideate_core.edits import fence_for
    from tideate_core.util.escaping import visible_json

    given = visible_json(arguments)
    said = _beginning(tool.description.strip())
    fence = fence_for(given, said)
    kept = f"Its own description ({_hints(tool)}):\n\n{fence}text\n{said or '(nothing)'}\n{fence}"
    return f"Arguments:\n\n{fence}json\n{given}\n{fence}\n\n{kept}"


def _beginning(said: str) -> str:
    # written by the server: it must not push the arguments out of view
    shown = "\n".join(said[:LONGEST_DESCRIPTION].split("\n")[:MOST_LINES])
    left_out = len(said) - len(shown)
    return (
        f"{shown} … ({left_out} more characters: `tideate mcp tools --json` has all)" if left_out else shown
    )


def _hints(tool: Tool) -> str:
    if tool.read_only:
        return "it only reads"
    return "it may destroy something" if tool.destructive else "it writes and destroys nothing"


BETWEEN: Final = 0.1
"""Seconds between two progress events of a call."""
ENDED: Final = None
"""Stored value of a call with a known outcome."""
LONGEST: Final = 60_000
"""Characters of a result that a model gets."""


class ToolCalls:
    """Tool calls of one attempt of a step."""

    def __init__(self, tools: MCPClient, run: Run, step: StepContext) -> None:
        self._tools = tools
        self._run = run
        self._step = step

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

    async def _find(self, server: str, name: str) -> Tool:
        def report(connected: ConnectedServer) -> None:
            if connected.server == server:
                self._emit(EventName.MCP_CONNECTED, connected.as_json())

        stop = self._tools.on_connected(report)
        try:
            return await self._tools.tool(server, name)
        finally:
            stop()

    async def _produce(self, tool: Tool, arguments: dict[str, Any], key: str) -> Any:

        step = self._step
        gated = self._run.gated
        await permit(step, self._tools.permissions, tool, arguments, key=key, gated=gated)
        repetition = Repetition(step, tool, key)
        await repetition.ask(gated=gated)
        await repetition.begin()
        try:
            value = await self._call_with_events(tool, arguments)
        except ToolFailed:
            await repetition.end()  # it answered: a retry is the author's decision
            raise
        await repetition.end()
        return value

    async def _call_with_events(self, tool: Tool, arguments: dict[str, Any]) -> Any:
        with self._step.report_call(tool.name, arguments, server=tool.server):
            return await self._send(tool, arguments)

    async def _send(self, tool: Tool, arguments: dict[str, Any]) -> Any:
        place = {"server": tool.server, "tool": tool.name}
        last = 0.0

        def on_progress(progress: float, total: float | None, message: str | None) -> None:
            nonlocal last
            if (now := time.monotonic()) - last >= BETWEEN:
                last = now
                how = {"progress": progress, "total": total, "message": message or ""}
                self._emit(EventName.TOOL_PROGRESS, {**place, **how})

        definition = self._step.definition
        timeout = definition.timeout / 1000 if definition is not None and definition.timeout else None
        result = await self._tools.call(
            tool.server, tool.name, arguments, permitted=tool, timeout=timeout, on_progress=on_progress
        )
        return result.value

    def _emit(self, event: EventName, data: dict[str, Any]) -> None:
        self._run.recorder.event(event, {"step": self._step.step, **data})


class Repetition:
    """Memory of a call that was sent and not answered yet; it survives a crash.

    Not needed for a tool that may be called again, as the tool or the workflow's author declares.
    """

    def __init__(self, step: StepContext, tool: Tool, key: str) -> None:
        definition = step.definition
        vouched = (
            definition is not None and definition.idempotent and "idempotent" in definition.model_fields_set
        )
        self._step = step
        self._tool = tool
        self._key = f"sent:{key}"
        self._needed = not (tool.repeatable or vouched)
        self._asked_before = definition is not None and not definition.idempotent
        """After a crash the run itself asks about such a step."""

    async def ask(self, *, gated: bool) -> None:
        """Ask whether to repeat a call with an unknown outcome.

        :param gated: a person may be asked.
        :raises Declined: the person declined.
        :raises ToolInterrupted: no person may be asked.
        """
        attempt = self._step.recall(self._key)
        if not self._needed or attempt is MISSING or attempt is ENDED:
            return
        if attempt == self._step.attempt and self._asked_before:
            return
        what = f"{self._tool.name!r} of the MCP server {self._tool.server!r}"
        if not gated:
            raise ToolInterrupted(
                f"{self._step.step}: {what} was called before, and it is not known what came of it; it is "
                "not called twice unasked. Let the run ask, or say `idempotent: true` in the step if a "
                "second call does no harm"
            )
        decision = await self._step.confirm(
            "gate",
            f"{self._step.step}: {what} was called before, and no answer came. It may have done its work. "
            "Call it again?",
        )
        if not decision.accepted:
            raise Declined(decision.reason)

    async def begin(self) -> None:
        """Store that the call is sent; durable on return."""
        if self._needed:
            await self._step.remember(self._key, self._step.attempt)

    async def end(self) -> None:
        """Store that the call was answered."""
        if self._needed:
            await self._step.remember(self._key, ENDED)


def call_tool(tool: ToolCall, run: Run) -> StepHandler:
    """Return a handler that calls the tool with rendered arguments and returns its result."""

    async def call(step: StepContext) -> Any:
        if run.runner.tools is None:
            raise ConfigError(
                f"step {step.step!r} wants the tool {tool.name!r} of the MCP server {tool.server!r}, and "
                "there are no MCP servers here; let a handler do it, or take the step out"
            )
        arguments = render_value(tool.arguments, step.values())
        return await ToolCalls(run.runner.tools, run, step).call(tool.server, tool.name, arguments)

    return call


class Offering:
    """Lookup of MCP tools for a step's model: `SERVER/TOOL`, `SERVER` or `SERVER/*`."""

    def __init__(self, run: Run) -> None:
        self._run = run

    @property
    def servers(self) -> Collection[str]:
        """Names of the servers."""
        return self._run.runner.tools.names if self._run.runner.tools is not None else ()

    async def find(self, step: StepContext, names: Sequence[str]) -> list[OfferedTool]:
        """Return tools by name.

        :raises ConfigError: there are no MCP servers.
        :raises ToolError: a tool cannot be found.
        """
        tools = self._run.runner.tools
        if tools is None:
            raise ConfigError(f"the tools {', '.join(names)} are wanted, and there are no MCP servers here")
        found = [tool for name in names for tool in await _found(tools, name)]
        for server in dict.fromkeys(one.server for one in found):
            for name, why in (await tools.left_out(server)).items():
                step.notice(f"{label(server)}/{label(name)} cannot be used: {why}", level="warn")
        calls = _Calls(ToolCalls(tools, self._run, step), step)
        return calls.offer({(one.server, one.name): one for one in found}.values())


async def _found(tools: MCPClient, name: str) -> list[Tool]:
    server, _, tool = name.partition("/")
    return [await tools.tool(server, tool)] if tool not in ("", "*") else await tools.tools(server)


class _Calls:
    """Tools offered to a model for one answer."""

    def __init__(self, calls: ToolCalls, step: StepContext) -> None:
        self._calls = calls
        self._step = step

    def offer(self, tools: Iterable[Tool]) -> list[OfferedTool]:
        """Return tools under unique names that models accept."""
        named: dict[str, OfferedTool] = {}
        for tool in tools:
            name = tool_name(f"{tool.server}__{tool.name}", named)
            named[name] = self._offered(tool, name)
        return list(named.values())

    def _offered(self, tool: Tool, name: str) -> OfferedTool:
        async def call(arguments: dict[str, Any], key: str) -> str:
            return await self._call(tool, arguments, key)

        return OfferedTool(name, tool.description, tool.input_schema, call)

    async def _call(self, tool: Tool, arguments: dict[str, Any], key: str) -> str:
        """Call a tool for the model; an error becomes the result, so that the model can react."""
        try:
            value = await self._calls.call(tool.server, tool.name, arguments, key=f"agent:{key}")
        except Declined as declined:
            return f"error: the person did not allow this call ({declined}); continue without it"
        except ToolError as error:
            return f"error: {self._step.hide_secrets(str(error))}"
        value = self._step.hide_secrets(value)
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return text if len(text) <= LONGEST else f"{text[:LONGEST]} … ({len(text)} characters; ask for less)"
