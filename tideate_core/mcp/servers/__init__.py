"""MCP servers of a project: git, files, tests, builds and workflow transitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.mcp.servers.filesystem.change_log import recorded_changes as recorded_changes
    from tideate_core.mcp.servers.git.schemas import CommitResult as CommitResult
    from tideate_core.mcp.servers.git.trust import (
        RepositoryPrograms as RepositoryPrograms,
        repository_programs as repository_programs,
        trust_programs as trust_programs,
    )
    from tideate_core.mcp.servers.registry import (
        SERVERS as SERVERS,
        checked_root as checked_root,
        make_server as make_server,
    )
    from tideate_core.mcp.servers.tool_server import ToolServer as ToolServer
    from tideate_core.mcp.servers.transitions.server import transitions_server as transitions_server
else:
    __getattr__, __dir__, __all__ = exports(__name__)
