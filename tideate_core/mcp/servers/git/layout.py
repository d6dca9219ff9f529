"""Find a repository's directories and check that all of them are inside the root."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mcp.server.mcpserver.exceptions import ToolError

from tideate_core.errors import WorkspaceError
from tideate_core.mcp.servers.schemas import short_repr
from tideate_core.project import real_path
from tideate_core.workspace import Root

__all__ = ["RepositoryLayout", "check_links", "find_layout"]

_POINTER: Final = 4_096
"""Bytes of a file that only says where something is."""
_LONG: Final = 1 << 20
"""Bytes of a list of other places."""
_DEEPEST: Final = 5
"""As many alternates of alternates as git follows."""
_PARTS: Final = (
    *("objects", "objects/info", "objects/pack"),
    *("refs", "refs/heads", "refs/remotes", "refs/tags"),
)
"""Directories of which no entry may be a link out."""
_LINKED: Final = (
    "this repository is linked to {what} outside the server's root, so it is neither read nor written; "
    "start the server with a root that holds all of it"
)
_NONE: Final = "there is no git repository {where}; `git init` makes one, or start the server with its root"


@dataclass(frozen=True, slots=True)
class RepositoryLayout:
    """A repository."""

    top: Path
    """Its files."""
    git_dir: Path
    """The directory of this worktree: HEAD and the index."""
    common_dir: Path
    """The directory that all worktrees share: objects, branches, config."""


def find_layout(root: Path, repo_path: str = "") -> RepositoryLayout:
    """Return the repository at the root, or the one that `repo_path` is in.

    :param root: without links.
    :raises ToolError: there is none, or a part of it is outside the root.
    """
    top = _top(root, _start(root, repo_path), repo_path)
    directory = _directory(top, root)
    common = _common(directory, root)
    for folder in {directory, common, *(common / name for name in _PARTS)}:
        _refuse_links(folder, root)
    _refuse_alternates(common / "objects", root, _DEEPEST)
    return RepositoryLayout(top, directory, common)


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


def _top(root: Path, start: Path, repo_path: str) -> Path:
    for directory in (start, *start.parents):
        if os.path.lexists(directory / ".git"):
            return directory
        if directory == root:
            break
    raise ToolError(
        _NONE.format(where=f"at {short_repr(repo_path)}" if repo_path else "at the server's root")
    )


def _directory(top: Path, root: Path) -> Path:
    entry = top / ".git"
    if entry.is_file():
        word = _pointer(entry)
        if not word.startswith("gitdir: "):
            raise ToolError(_NONE.format(where="there that git could read"))
        entry = top / word.removeprefix("gitdir: ")
    directory = real_path(entry)
    if not directory.is_relative_to(root):
        raise ToolError(_LINKED.format(what="a directory"))
    if not directory.is_dir():
        raise ToolError(_NONE.format(where="there that git could read"))
    return directory


def _common(directory: Path, root: Path) -> Path:
    pointer = directory / "commondir"
    if not os.path.lexists(pointer):
        return directory
    common = real_path(directory / _pointer(pointer))
    if not common.is_relative_to(root):
        raise ToolError(_LINKED.format(what="a directory"))
    return common


def _pointer(file: Path) -> str:
    return _read_small(file, _POINTER).rstrip("\r\n")


def _read_small(file: Path, limit: int) -> str:
    try:
        if not file.is_file():  # a pipe would block
            raise ToolError(_NONE.format(where="there that git could read"))
        with file.open("rb") as stream:
            words = stream.read(limit + 1)
    except OSError as error:
        raise ToolError(f"the repository cannot be read ({error.strerror})") from error
    if len(words) > limit:
        raise ToolError(f"the repository's file {file.name} is longer than any that git writes")
    return os.fsdecode(words)


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


def _refuse_alternates(objects: Path, root: Path, depth: int) -> None:
    file = objects / "info" / "alternates"
    if not os.path.lexists(file):
        return
    for line in _read_small(file, _LONG).split("\n"):
        if not line or line.startswith("#"):
            continue
        other = real_path(objects / line)
        # one in quotes would have to be read as git reads it
        if line.startswith('"') or not other.is_relative_to(root):
            raise ToolError(_LINKED.format(what="objects"))
        if depth > 0:
            _refuse_links(other, root)
            _refuse_alternates(other, root, depth - 1)
