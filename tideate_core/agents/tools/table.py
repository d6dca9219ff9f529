"""Lookup of the work loop's tools: by name, by group, and by the names in files, which may be MCP tools."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import InvalidInput, did_you_mean
from tideate_core.workflows import LOOK, read_tool_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from tideate_core.agents.tools.tool import WorkTool

GROUPS: Final = ("files", "search", "symbols", "git", "editor", "skills", "edits", "checks")
"""Groups of tools; each is a module of this package with a table `TOOLS`."""
OF_EDITOR: Final = "editor"
"""The group whose tools all need a running Neovim."""


@dataclass(frozen=True, slots=True)
class NamedTools:
    """Tools named by a file, by origin."""

    own: tuple[WorkTool[Any], ...] = ()
    """Tideate's own tools in table order, including the editor's, even if no editor is running."""
    of_servers: tuple[str, ...] = ()
    """Names of MCP tools, `SERVER/TOOL` or `SERVER/*`."""


def tools_named(names: Iterable[str], *, editor: bool) -> list[WorkTool[Any]]:
    """Return tools by names of tools and groups, each once, in table order.

    :param editor: a Neovim is running; else its tools are left out.
    :raises InvalidInput: a name is neither a tool nor a group; suggests the nearest one.
    """
    names = tuple(names)
    groups: Iterable[str] = GROUPS
    if set(names) <= set(GROUPS):  # do not load modules of other groups
        groups = [group for group in GROUPS if group in names and (editor or group != OF_EDITOR)]
    tables = {group: _table(group) for group in groups}
    every = [tool for table in tables.values() for tool in table]
    wanted: set[str] = set()
    known = [*GROUPS, *(tool.name for tool in every)]
    for name in names:
        if name not in known:
            raise InvalidInput(
                f"there is no tool or group of tools {name!r}{did_you_mean(name, known)} "
                f"(groups: {', '.join(GROUPS)})"
            )
        wanted.update([tool.name for tool in tables[name]] if name in tables else [name])
    return [tool for tool in every if tool.name in wanted and (editor or not tool.needs_editor)]


def own_tool_names() -> tuple[str, ...]:
    """Return the names of all of tideate's tools and groups, groups first."""
    return (LOOK, *GROUPS, *(tool.name for tool in tools_named(GROUPS, editor=True)))


def named_tools(names: Iterable[str], servers: Collection[str]) -> NamedTools:
    """Return the tools for names in files; see `workflows.tool_names`.

    :param servers: names of the configured MCP servers.
    :raises ConfigError: a name is ambiguous or unknown; says how to write it.
    """
    known = own_tool_names()
    read = [read_tool_name(name, known, servers) for name in names]
    own = [one.name for one in read if not one.server]
    of_servers = dict.fromkeys(one.as_written for one in read if one.server)
    wanted = {tool.name for tool in tools_named((name for name in own if name != LOOK), editor=True)}
    looks = LOOK in own
    tools = (
        tool
        for tool in tools_named(GROUPS, editor=True)
        if tool.name in wanted or (looks and tool.effect == "reads")
    )
    return NamedTools(tuple(tools), tuple(of_servers))


def _table(group: str) -> tuple[WorkTool[Any], ...]:
    # imported by name: a step without tools loads none of them
    tools: tuple[WorkTool[Any], ...] = import_module(f"tideate_core.agents.tools.{group}").TOOLS
    return tools
