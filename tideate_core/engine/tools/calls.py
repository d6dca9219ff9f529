"""Tool calls of a step or its model: permission, events, and no second call after a crash unasked."""

from __future__ import annotations

import json
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tideate_core.adapters import OfferedTool, tool_name
from tideate_core.engine.events import EventName
from tideate_core.engine.memory import digest_of
from tideate_core.engine.state import render_value
from tideate_core.errors import ConfigError, ToolError, ToolFailed, ToolInterrupted
from tideate_core.util.escaping import label
from tideate_core.workflows import MISSING, Declined

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from tideate_core.adapters import Adapter
    from tideate_core.engine.step_services import Services, ToolCaller
    from tideate_core.mcp.client import ConnectedServer, Tool
    from tideate_core.workflows import StepContext, StepHandler, ToolCall

__all__ = ["Offering", "Repetition", "ToolCalls", "call_tool"]


BETWEEN: Final = 0.1
"""Seconds between two words of how far a call is: a server may say it a thousand times."""
ENDED: Final = None
"""The memory of a call whose outcome is known."""
LONGEST: Final = 60_000
"""Characters of a result that a model is told."""


class ToolCalls:
    """The calls of one attempt of a step."""

    def __init__(self, tools: ToolCaller, services: Services, step: StepContext) -> None:
        self._tools = tools
        self._services = services
        self._step = step

    async def call(self, server: str, name: str, arguments: dict[str, Any], *, key: str = "call") -> Any:
        """Return what a tool gives, as JSON.

        What was given is durable when this returns, unless the tool may be called again: a call that was
        answered is not made again after a crash.

        :param key: what tells this call from others of the step.
        :raises Declined: the person does not allow it.
        :raises ToolError: it cannot be called, or failed; says why.
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
        from tideate_core.engine.tools.permission import permit

        step = self._step
        gated = self._services.gated
        await permit(step, self._tools.permissions, tool, arguments, key=key, gated=gated)
        repetition = Repetition(step, tool, key)
        await repetition.ask(gated=gated)
        await repetition.begin()
        try:
            value = await self._call_with_events(tool, arguments)
        except ToolFailed:
            await repetition.end()  # it answered: another attempt is what the step's author wanted
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
        self._services.emit(event, {"step": self._step.step, **data})


class Repetition:
    """Remembers that a call was sent, over a crash too, until it is known what came of it.

    A tool that may be called again, by its own word or by that of the workflow's author, needs none of it.
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
        """After a crash the run asks of such a step by itself."""

    async def ask(self, *, gated: bool) -> None:
        """Return when the call may be sent.

        :param gated: a person may be asked.
        :raises Declined: the person does not want it sent again.
        :raises ToolInterrupted: nobody may be asked.
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
        """Remember that it is sent; durable when this returns."""
        if self._needed:
            await self._step.remember(self._key, self._step.attempt)

    async def end(self) -> None:
        """Remember that it was answered."""
        if self._needed:
            await self._step.remember(self._key, ENDED)


def call_tool(tool: ToolCall, services: Services) -> StepHandler:
    """Return what calls the tool with its arguments filled in, and returns what it gives."""

    async def call(step: StepContext) -> Any:
        if services.tools is None:
            raise ConfigError(
                f"step {step.step!r} wants the tool {tool.name!r} of the MCP server {tool.server!r}, and "
                "there are no MCP servers here; let a handler do it, or take the step out"
            )
        arguments = render_value(tool.arguments, step.values())
        return await ToolCalls(services.tools, services, step).call(tool.server, tool.name, arguments)

    return call


class Offering:
    """Finds tools of MCP servers for a step's model: `SERVER/TOOL`, `SERVER` or `SERVER/*`."""

    def __init__(self, services: Services) -> None:
        self._services = services

    @property
    def servers(self) -> Collection[str]:
        """Names of the servers."""
        return self._services.tools.names if self._services.tools is not None else ()

    async def __call__(self, step: StepContext, adapter: Adapter, names: Sequence[str]) -> list[OfferedTool]:
        tools = self._services.tools
        if tools is None:
            raise ConfigError(f"the tools {', '.join(names)} are wanted, and there are no MCP servers here")
        found = [tool for name in names for tool in await _found(tools, name)]
        for server in dict.fromkeys(one.server for one in found):
            for name, why in (await tools.left_out(server)).items():
                step.notice(f"{label(server)}/{label(name)} cannot be used: {why}", level="warn")
        calls = _Calls(ToolCalls(tools, self._services, step), step)
        return calls.offer({(one.server, one.name): one for one in found}.values())


async def _found(tools: ToolCaller, name: str) -> list[Tool]:
    server, _, tool = name.partition("/")
    return [await tools.tool(server, tool)] if tool not in ("", "*") else await tools.tools(server)


class _Calls:
    """The calls that a model makes for one answer."""

    def __init__(self, calls: ToolCalls, step: StepContext) -> None:
        self._calls = calls
        self._step = step

    def offer(self, tools: Iterable[Tool]) -> list[OfferedTool]:
        """Return tools under names that a model takes; no two have the same, whatever servers call them."""
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
        """Call a tool for the model; what goes wrong it is told, so that it can go on otherwise."""
        try:
            value = await self._calls.call(tool.server, tool.name, arguments, key=f"agent:{key}")
        except Declined as declined:
            return f"error: the person did not allow this call ({declined}); go on without it"
        except ToolError as error:
            return f"error: {self._step.hide_secrets(str(error))}"
        value = self._step.hide_secrets(value)
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return text if len(text) <= LONGEST else f"{text[:LONGEST]} … ({len(text)} characters; ask for less)"
