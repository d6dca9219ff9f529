"""Names of tools in files: whether tideate's own or an MCP server's are meant.

A bare name is a tool or a group that comes with tideate, or a server, all of whose tools are meant then; one
that may be either is refused. `own:NAME` is always tideate's own, `SERVER/TOOL` is one tool of a server and
`SERVER/*` all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from tideate_core.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["LOOK", "OWN", "NamedTool", "read_tool_name"]

OWN: Final = "own:"
"""Before the name of a tool or group that comes with tideate; no server's name has a colon."""
LOOK: Final = "look"
"""The group of all own tools that only read."""


class NamedTool(NamedTuple):
    """A tool or group that comes with tideate, or a tool of a server, `*` for all of its tools."""

    name: str
    server: str = ""
    """Empty of tideate's own."""

    @property
    def as_written(self) -> str:
        """The name with its server."""
        return f"{self.server}/{self.name}" if self.server else self.name


def read_tool_name(name: str, own: Collection[str], servers: Collection[str]) -> NamedTool:
    """Return what a name means; that there is such a server or tool of it is not looked at.

    :param own: names of the tools and groups that come with tideate.
    :param servers: names of the MCP servers that there are.
    :raises ConfigError: it may be either, or is none of tideate's own; says how to write it.
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
            f"the tools {name!r} may be tideate's own or those of the MCP server {name!r}; write "
            f"`{OWN}{name}` for tideate's, or `{name}/*` for all of the server's"
        )
    return NamedTool(name)
