"""Names of tideate's own MCP servers, and their creation for a checked root."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import InvalidInput
from tideate_core.project import expand_home, real_path

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

SERVERS: Final = ("build", "filesystem", "git", "test")
"""Each is created by `NAME_server` in the module `NAME.server`, imported on demand."""


def checked_root(name: str, root: str | None) -> Path:
    """Return the real path of the directory to serve.

    A server without a root would let its client choose the directory (CVE-2025-68143). The home directory and
    its
    parents are rejected, as for snapshots: they hold all the person's files, including keys.

    :raises InvalidInput: there is no root, or it cannot be served.
    """
    if not root:
        raise InvalidInput(
            f"the server {name!r} needs --root DIR: it works only in that directory, whatever its client "
            "requests"
        )
    path = real_path(expand_home(root))
    if not path.is_dir():
        raise InvalidInput(f"--root: {path} is not a directory")
    if real_path(Path.home()).is_relative_to(path):
        raise InvalidInput(
            f"--root: {path} is your home directory or one above it; a client could read all your "
            "files. Name a project's directory"
        )
    return path


def make_server(name: str, root: Path) -> MCPServer[Any]:
    """Create one of tideate's own servers.

    :param root: from `checked_root`.
    """
    module: Any = import_module(f"tideate_core.mcp.servers.{name}.server")
    made: MCPServer[Any] = getattr(module, f"{name}_server")(root)
    return made
