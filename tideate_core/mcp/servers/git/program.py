"""Run git and read its output; translate its failures into messages without foreign paths."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from mcp.server.mcpserver.exceptions import ToolError

from tideate_core import git
from tideate_core.errors import WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tideate_core.git import GitOutput

__all__ = ["GitFailed", "failure", "find_git", "query"]

LARGEST: Final = 16 << 20
"""Bytes of an answer that are read; git is ended after them."""
LONGEST: Final = 600
"""Characters of what git said."""

_ABSOLUTE: Final = re.compile(r"(?<![\w./~-])/[^\s'\":,;]*")
_UNSEEN: Final = dict.fromkeys(
    [*(c for c in range(32) if c not in (9, 10)), *range(127, 160), *range(0x202A, 0x202F)]
)
_PREFIXES: Final = ("fatal: ", "error: ", "warning: ", "hint: ")

_KNOWN: Final = (
    ("dubious ownership", "git does not read a repository that belongs to another user; if you trust it, "
     "`git config --global --add safe.directory PATH` says so to git"),
    ("index.lock': File exists", "another git program is writing the index (`.git/index.lock`); try again "
     "when it has ended. If none is running, it crashed: a person may remove that file"),
    (".lock': File exists", "another git program is writing to this repository; try again when it has ended"),
    ("Please tell me who you are", "git does not know who commits: set it with `git config --global "
     "user.name NAME` and `git config --global user.email ADDRESS`"),
    ("auto-detection is disabled", "git does not know who commits: set it with `git config --global "
     "user.name NAME` and `git config --global user.email ADDRESS`"),
    ("empty ident name", "git does not know who commits: set it with `git config --global user.name NAME`"),
    ("does not have any commits yet", "the repository has no commits yet"),
    ("not a git repository", "git finds no repository there that it can read; `git status` tells why"),
)  # fmt: skip


class GitFailed(ToolError):
    """git ended with an error.

    :param said: its own words, for whoever knows what to do about them.
    """

    def __init__(self, message: str, said: str = "", status: int | None = None) -> None:
        super().__init__(message)
        self.said = said
        self.status = status


def find_git() -> str:
    """Return where git is.

    :raises GitFailed: it is not installed.
    """
    try:
        return git.find_git()
    except WorkspaceError as error:
        raise GitFailed(str(error)) from error


async def query(
    argv: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    given: bytes = b"",
    largest: int = LARGEST,
) -> GitOutput:
    """Run git until it has said all, or enough.

    :raises GitFailed: it cannot be started, or does not answer in time.
    """
    try:
        return await git.query(argv, cwd=cwd, environment=environment, given=given, largest=largest)
    except WorkspaceError as error:
        raise GitFailed(str(error)) from error


def failure(command: str, said: str, status: int | None, root: Path) -> GitFailed:
    """Return the error for what git said; no path outside the root is in it."""
    for mark, words in _KNOWN:
        if mark in said:
            return GitFailed(words, said, status)
    shown = "; ".join(_plain(line) for line in said.splitlines() if line.strip())[:LONGEST]
    shown = _ABSOLUTE.sub(lambda found: found[0] if _inside(found[0], root) else "(a path outside)", shown)
    return GitFailed(f"`git {command}` failed: {shown or f'status {status}'}", said, status)


def _plain(line: str) -> str:
    for prefix in _PREFIXES:
        line = line.removeprefix(prefix)
    return line.translate(_UNSEEN).strip()


def _inside(path: str, root: Path) -> bool:
    return path == str(root) or path.startswith(f"{root}/")
