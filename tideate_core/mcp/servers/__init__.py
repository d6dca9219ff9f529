"""MCP servers of a project: git, filesystem, tests, build, and workflow transitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.mcp.servers.filesystem.change_log import recorded_changes
    from tideate_core.mcp.servers.git.schemas import CommitResult
    from tideate_core.mcp.servers.git.trust import (
        RepositoryPrograms,
        repository_programs,
        trust_programs,
    )
    from tideate_core.mcp.servers.registry import SERVERS, checked_root, make_server
    from tideate_core.mcp.servers.tool_server import ToolServer
    from tideate_core.mcp.servers.transitions.server import transitions_server

__all__ = [
    "SERVERS",
    "CommitResult",
    "RepositoryPrograms",
    "ToolServer",
    "checked_root",
    "make_server",
    "recorded_changes",
    "repository_programs",
    "transitions_server",
    "trust_programs",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(
        __name__,
        {
            "filesystem.change_log": ("recorded_changes",),
            "git.schemas": ("CommitResult",),
            "git.trust": ("RepositoryPrograms", "repository_programs", "trust_programs"),
            "registry": ("SERVERS", "checked_root", "make_server"),
            "tool_server": ("ToolServer",),
            "transitions.server": ("transitions_server",),
        },
    )
