"""Tools that a model may call while it answers, with the same permissions as a step's tool calls."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from tideate_core.adapters import OfferedTool, ToolAdapter
from tideate_core.engine.memory import digest_of
from tideate_core.engine.tools.calls import ToolCalls
from tideate_core.errors import ConfigError, ToolError
from tideate_core.workflows import Declined

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tideate_core.adapters import Adapter
    from tideate_core.engine.step_context import OfferTools
    from tideate_core.engine.step_services import Services, ToolCaller
    from tideate_core.mcp.client import Tool
    from tideate_core.workflows import StepContext

__all__ = ["offering"]

MOST_CALLS: Final = 30
"""Of one answer."""
LONGEST_NAME: Final = 64
LONGEST: Final = 60_000
"""Characters of a result that a model is told."""


def offering(services: Services) -> OfferTools:
    """Return what finds tools by their names, `SERVER/TOOL` or `SERVER`, for a step's questions."""

    async def offer(step: StepContext, adapter: Adapter, names: Sequence[str]) -> list[OfferedTool]:
        if services.tools is None:
            raise ConfigError(f"the tools {', '.join(names)} are wanted, and there are no MCP servers here")
        if not isinstance(adapter, ToolAdapter):
            raise ConfigError(
                f"the adapter {adapter.name!r} cannot use tools ({', '.join(names)} are wanted)"
            )
        found = [tool for name in names for tool in await _found(services.tools, name)]
        calls = _Calls(ToolCalls(services.tools, services, step))
        return calls.offer({(one.server, one.name): one for one in found}.values())

    return offer


async def _found(tools: ToolCaller, name: str) -> list[Tool]:
    server, slash, tool = name.partition("/")
    return [await tools.tool(server, tool)] if slash else await tools.tools(server)


class _Calls:
    """The calls that a model makes for one answer."""

    def __init__(self, calls: ToolCalls) -> None:
        self._calls = calls
        self._made = Counter[str]()

    def offer(self, tools: Iterable[Tool]) -> list[OfferedTool]:
        """Return tools under names that a model takes; no two have the same, whatever servers call them."""
        named: dict[str, OfferedTool] = {}
        for tool in tools:
            name = re.sub(r"[^A-Za-z0-9_-]", "_", f"{tool.server}__{tool.name}")[:LONGEST_NAME]
            number = 1
            while name in named:
                number += 1
                end = f"_{number}"
                name = f"{name[: LONGEST_NAME - len(end)]}{end}"
            named[name] = self._offered(tool, name)
        return list(named.values())

    def _offered(self, tool: Tool, name: str) -> OfferedTool:
        async def call(arguments: dict[str, Any]) -> str:
            return await self._call(tool, arguments)

        return OfferedTool(name, tool.description, tool.input_schema, call)

    async def _call(self, tool: Tool, arguments: dict[str, Any]) -> str:
        """Call a tool for the model; what goes wrong it is told, so that it can go on otherwise."""
        digest = digest_of(tool.digest, arguments)
        self._made[digest] += 1
        if self._made.total() > MOST_CALLS:
            return f"error: no more than {MOST_CALLS} calls are allowed; answer with what you know"
        # the same call again is another one: it is told apart by its number, in the next process, too
        key = f"agent:{digest}:{self._made[digest]}"
        try:
            value = await self._calls.call(tool.server, tool.name, arguments, key=key)
        except Declined as declined:
            return f"error: the person did not allow this call ({declined}); go on without it"
        except ToolError as error:
            return f"error: {error}"
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return text if len(text) <= LONGEST else f"{text[:LONGEST]} … ({len(text)} characters; ask for less)"
