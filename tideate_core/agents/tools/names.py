"""Tools by the names that files of workflows, agents and configuration have for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tideate_core.agents.tools.table import GROUPS, tools_named
from tideate_core.workflows import LOOK, read_tool_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from tideate_core.agents.tools.tool import WorkTool

__all__ = ["NamedTools", "named_tools", "own_tool_names"]


@dataclass(frozen=True, slots=True)
class NamedTools:
    """Named tools by who has them."""

    own: tuple[WorkTool[Any], ...] = ()
    """Those of the running Neovim, too, whether there is one or not; in the order of the table."""
    of_servers: tuple[str, ...] = ()
    """`SERVER/TOOL`, or `SERVER/*`."""


def own_tool_names() -> tuple[str, ...]:
    """Return the names of all tools and groups that come with tideate, groups first."""
    return (LOOK, *GROUPS, *(tool.name for tool in tools_named(GROUPS, editor=True)))


def named_tools(names: Iterable[str], servers: Collection[str]) -> NamedTools:
    """Return the tools that are meant; see `workflows.tool_names`.

    :param servers: names of the MCP servers that there are.
    :raises ConfigError: a name may be either, or is none of tideate's own; says how to write it.
    """
    known = own_tool_names()
    read = [read_tool_name(name, known, servers) for name in names]
    own = [one.name for one in read if not one.server]
    of_servers = dict.fromkeys(one.as_written for one in read if one.server)
    return NamedTools(_tools(own), tuple(of_servers))


def _tools(names: Collection[str]) -> tuple[WorkTool[Any], ...]:
    every = tools_named(GROUPS, editor=True)
    wanted = {tool.name for tool in tools_named((name for name in names if name != LOOK), editor=True)}
    if LOOK in names:
        wanted.update(tool.name for tool in every if tool.effect == "reads")
    return tuple(tool for tool in every if tool.name in wanted)
