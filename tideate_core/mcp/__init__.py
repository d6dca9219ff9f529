"""MCP: servers for files, git, tests, builds and workflows of a project; transports; the client.

Exports are lazy: importing the SDK takes 0.4 s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.mcp.client import MCPClient as MCPClient
    from tideate_core.mcp.protocol import (
        MessageValidator as MessageValidator,
        ProtocolViolation as ProtocolViolation,
    )
else:
    __getattr__, __dir__, __all__ = exports(__name__)
