"""Find a repository's directories and check that all of them are inside the root."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mcp.server.mcpserver.exceptions import ToolError

from tideate_core.errors import WorkspaceError
from tideate_core.git import find_repository
from tideate_core.mcp.servers.schemas import short_repr
from tideate_core.project import real_path
from tideate_core.workspace import Root

if TYPE_CHECKING:
    from tideate_core.git import Repository as RepositoryLayout

__all__ = ["check_links", "find_layout"]

_LINKED: Final = (
    "this repository is linked to {what} outside the server's root, so it is neither read nor written; "
    "start the server with a root that holds all of it"
)
_NONE: Final = "there is no git repository {where}; `git init` makes one, or start the server with its root"


def find_layout(root: Path, repo_path: str = "") -> RepositoryLayout:
    """Return the repository at the root, or the one that `repo_path` is in.

    :param root: without links.
    :raises ToolError: there is none, or a part of it is outside the root.
    """
    start = _start(root, repo_path)
    above = (start, *start.parents[: len(start.parts) - len(root.parts)])
    if not any(os.path.lexists(directory / ".git") for directory in above):
        raise ToolError(
            _NONE.format(where=f"at {short_repr(repo_path)}" if repo_path else "at the server's root")
        )
    try:
        return find_repository(start, within=root)
    except WorkspaceError as error:
        raise ToolError(str(error)) from error


def check_links(layout: RepositoryLayout, root: Path, branch: str = "") -> None:
    """Refuse to write where a link inside the repository would lead git out of the root.

    :param branch: whose file is written.
    :raises ToolError: there is such a link.
    """
    for folder in (layout.common_dir / "objects", layout.git_dir / "logs", layout.common_dir / "logs"):
        _refuse_links(folder, root)
    for base in (layout.common_dir / "refs" / "heads", layout.common_dir / "logs" / "refs" / "heads"):
        path = base / branch if branch else base
        for part in (path, *path.parents[: len(path.parts) - len(layout.common_dir.parts)]):
            if part.is_symlink() and not real_path(part).is_relative_to(root):
                raise ToolError(_LINKED.format(what="a branch"))


def _start(root: Path, repo_path: str) -> Path:
    if not repo_path:
        return root
    try:
        start = Root(root).resolve(repo_path)
    except (WorkspaceError, OSError, ValueError):
        raise ToolError(f"repo_path {short_repr(repo_path)} is not inside the root of this server") from None
    if not start.is_dir():
        raise ToolError(f"repo_path {short_repr(repo_path)} is not a directory")
    return start


def _refuse_links(folder: Path, root: Path) -> None:
    """Look for links among the entries of one directory, and whether it is one itself."""
    try:
        with os.scandir(folder) as entries:
            links = [entry.path for entry in entries if entry.is_symlink()]
    except FileNotFoundError:
        return
    except OSError as error:
        raise ToolError(f"the repository cannot be read ({error.strerror})") from error
    if any(not real_path(Path(link)).is_relative_to(root) for link in links):
        raise ToolError(_LINKED.format(what="a file"))
