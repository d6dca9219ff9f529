"""Parse tool names written in files: a tool of tideate or of an MCP server.

A bare name is one of tideate's tools or groups, or a server, which means all its tools; an ambiguous name is
rejected. `own:NAME` is always tideate's own, `SERVER/TOOL` is one tool of a server, `SERVER/*` all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from tideate_core.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection

OWN: Final = "own:"
"""Prefix of tideate's own tools and groups; no server's name has a colon."""
LOOK: Final = "look"
"""The group of all read-only tools of tideate."""


class NamedTool(NamedTuple):
    """A tool or group of tideate, or a tool of a server; `*` means all of its tools."""

    name: str
    server: str = ""
    """Empty for tideate's own tools."""

    @property
    def as_written(self) -> str:
        """The name including its server."""
        return f"{self.server}/{self.name}" if self.server else self.name


def read_tool_name(name: str, own: Collection[str], servers: Collection[str]) -> NamedTool:
    """Parse a tool's name; the server and its tool need not exist.

    :param own: names of tideate's tools and groups.
    :param servers: names of the configured MCP servers.
    :raises ConfigError: the name is ambiguous or unknown; says how to write it.
    """
    bare = name.removeprefix(OWN)
    if bare != name:
        if bare not in own:
            hint = did_you_mean(bare, own) or f"; there are {', '.join(sorted(own))}"
            raise ConfigError(f"no tool or group of tools of tideate is called {bare!r}{hint}")
        return NamedTool(bare)
    server, slash, tool = name.partition("/")
    if slash:
        return NamedTool(tool, server)
    if name not in own and (name in servers or not (hint := did_you_mean(name, own))):
        return NamedTool("*", name)
    if name not in own:
        raise ConfigError(f"no tool, group of tools or MCP server is called {name!r}{hint}")
    if name in servers:
        raise ConfigError(
            f"{name!r} is both a tool of tideate and an MCP server; write `{OWN}{name}` for tideate's, "
            f"or `{name}/*` for all tools of the server"
        )
    return NamedTool(name)
