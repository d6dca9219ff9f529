"""Table of tideate's own MCP servers by name, each imported when it is served; check of the served root."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import InvalidInput
from tideate_core.project import expand_home, real_path

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

__all__ = ["SERVERS", "checked_root", "make_server"]

SERVERS: Final = ("build", "filesystem", "git", "test")
"""`NAME_server` in the module `NAME.server` makes it."""


def checked_root(name: str, root: str | None) -> Path:
    """Return the directory to serve, without links.

    Without it a client would decide what is served (CVE-2025-68143). The home directory and what is above it
    hold all that a person owns, keys included: they are refused, as for snapshots.

    :raises InvalidInput: there is none, or it cannot be served.
    """
    if not root:
        raise InvalidInput(
            f"the server {name!r} needs --root DIR: it works in that directory and nowhere else, whatever "
            "its client says"
        )
    path = real_path(expand_home(root))
    if not path.is_dir():
        raise InvalidInput(f"--root: {path} is not a directory")
    if real_path(Path.home()).is_relative_to(path):
        raise InvalidInput(
            f"--root: {path} is your home directory or one above it; a client would have all that you own. "
            "Name a project's directory"
        )
    return path


def make_server(name: str, root: Path) -> MCPServer[Any]:
    """Make the server.

    :param root: from `checked_root`.
    """
    made: MCPServer[Any] = getattr(_module(name), f"{name}_server")(root)
    return made


def _module(name: str) -> Any:
    return import_module(f"tideate_core.mcp.servers.{name}.server")
