"""Tool calls of a step: permission, events, and no second call after a crash unasked."""

from __future__ import annotations

import json
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tideate_core.engine.events import EventName, error_fields
from tideate_core.engine.memory import digest_of
from tideate_core.engine.tools.permission import permit
from tideate_core.errors import ToolFailed, ToolInterrupted
from tideate_core.mcp.client import check_arguments
from tideate_core.workflows import MISSING, Declined

if TYPE_CHECKING:
    from tideate_core.engine.step_services import Services, ToolCaller
    from tideate_core.mcp.client import Connected, Tool
    from tideate_core.workflows import StepContext

__all__ = ["Repetition", "ToolCalls"]


SHOWN: Final = 2_000
"""Characters of a call's arguments that its event has."""
BETWEEN: Final = 0.1
"""Seconds between two words of how far a call is: a server may say it a thousand times."""
ENDED: Final = None
"""The memory of a call whose outcome is known."""


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
        tool = await self._find(server, name)
        check_arguments(tool, arguments)
        produce = partial(self._produce, tool, arguments, key)
        if tool.repeatable:
            return await produce()
        digest = digest_of(tool.digest, arguments)
        return await self._step.choose_once(f"{key}:{self._step.attempt}", digest, produce)

    async def _find(self, server: str, name: str) -> Tool:
        def report(connected: Connected) -> None:
            if connected.server == server:
                self._emit(EventName.MCP_CONNECTED, connected.as_json())

        stop = self._tools.on_connected(report)
        try:
            return await self._tools.tool(server, name)
        finally:
            stop()

    async def _produce(self, tool: Tool, arguments: dict[str, Any], key: str) -> Any:
        step = self._step
        gated = self._services.gated
        await permit(step, self._tools.permissions, tool, arguments, key=key, gated=gated)
        repetition = Repetition(step, tool, key)
        await repetition.ask(gated=gated)
        await repetition.begin()
        try:
            value = await self._told(tool, arguments)
        except ToolFailed:
            await repetition.end()  # it answered: another attempt is what the step's author wanted
            raise
        await repetition.end()
        return value

    async def _told(self, tool: Tool, arguments: dict[str, Any]) -> Any:
        place = {"server": tool.server, "tool": tool.name}
        self._emit(EventName.TOOL_CALLED, {**place, "arguments": _shown(arguments)})
        begun, ending = time.monotonic(), dict[str, Any](ok=False)
        try:
            value = await self._send(tool, arguments)
            ending = {"ok": True}
        except Exception as error:
            ending |= error_fields(error)
            raise
        finally:
            duration = round((time.monotonic() - begun) * 1000)
            self._emit(EventName.TOOL_COMPLETED, {**place, "duration_ms": duration, **ending})
        return value

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


def _shown(arguments: dict[str, Any]) -> Any:
    text = json.dumps(arguments, ensure_ascii=False)
    return arguments if len(text) <= SHOWN else f"{text[:SHOWN]} … ({len(text)} characters)"


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
