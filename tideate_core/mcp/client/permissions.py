"""Permission to call tools without a question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.project import Trust

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.mcp.client.tools import Tool

__all__ = ["ToolPermissions"]


class ToolPermissions:
    """What a person allowed in a project, for ever.

    Allowed is a tool as it is: its server's command or address and all that it says of itself. When a server
    describes it otherwise, it is another tool, and asks again. Kept with the person, not with the project.
    """

    def __init__(self, root: Path, trust: Trust | None = None) -> None:
        self._trust = trust or Trust(root)

    def allows(self, tool: Tool) -> bool:
        """Tell whether a tool may be called without a question.

        :raises ConfigError: what is allowed cannot be read.
        """
        # a server that is not ours may say of anything that it only reads
        return (tool.own and tool.read_only) or self._trust.allows(_meaning(tool))

    def allow(self, tool: Tool) -> None:
        """Allow a tool in this project from now on; `tideate trust --revoke` takes it back.

        :raises ConfigError: what is allowed cannot be read or written.
        """
        self._trust.allow(_meaning(tool), f"the tool {tool.name!r} of the MCP server {tool.server!r}")


def _meaning(tool: Tool) -> str:
    return f"mcp tool\0{tool.digest}"
