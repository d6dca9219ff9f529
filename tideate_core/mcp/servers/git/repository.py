"""Repositories below a root: lookup, read-only git commands, error messages without foreign paths."""

from __future__ import annotations

import os
import re
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from mcp.server.mcpserver.exceptions import ToolError

from tideate_core.errors import WorkspaceError
from tideate_core.git import (
    HARDENED,
    LARGEST,
    UNSIGNED,
    Settings,
    find_repository,
    git_environment,
    identity_variables,
    parse_settings,
    query_git,
    saved_files,
    setting_variables,
)
from tideate_core.mcp.servers.schemas import hide_outside_paths, short_repr
from tideate_core.project import real_path
from tideate_core.workspace import Root

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping, Sequence

    from tideate_core.git import GitOutput, Repository as RepositoryLayout

UNDER_WAY: Final = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "SQUASH_MSG": "a merge with --squash",
}
"""Files in the git directory that mark an unfinished operation."""
LONGEST: Final = 600
"""Characters of git's error output in a message."""
_LINKED: Final = (
    "this repository is linked to {what} outside the server's root, so it is neither read nor written; "
    "start the server with a root that holds all of it"
)
_NONE: Final = "there is no git repository {where}; `git init` makes one, or start the server with its root"
_UNSEEN: Final = dict.fromkeys(
    [*(c for c in range(32) if c not in (9, 10)), *range(127, 160), *range(0x202A, 0x202F)]
)
_PREFIX: Final = re.compile(r"\A(?:(?:fatal|error|warning|hint): )+")
_NO_IDENTITY: Final = (
    "git does not know who commits: set it with `git config --global user.name NAME` and "
    "`git config --global user.email ADDRESS`"
)
_KNOWN: Final = {
    "dubious ownership": "git does not read a repository that belongs to another user; if you trust it, "
    "run `git config --global --add safe.directory PATH`",
    "index.lock': File exists": "another git program is writing the index (`.git/index.lock`); try again "
    "when it has ended. If none is running, it crashed: a person may remove that file",
    ".lock': File exists": "another git program is writing to this repository; try again when it has ended",
    "Please tell me who you are": _NO_IDENTITY,
    "auto-detection is disabled": _NO_IDENTITY,
    "empty ident name": "git does not know who commits: set it with `git config --global user.name NAME`",
    "does not have any commits yet": "the repository has no commits yet",
    "not a git repository": "git finds no repository there that it can read; `git status` tells why",
}
"""Messages for known errors of git, by a part of its output; the first match counts."""


class GitFailed(ToolError):
    """git could not be started, timed out or exited with an error.

    :param said: git's error output.
    """

    def __init__(self, message: str, said: str = "") -> None:
        super().__init__(message)
        self.said = said


def failure(command: str, said: str, status: int | None, root: Path) -> GitFailed:
    """Return the error for git's error output, without paths outside the root."""
    for mark, words in _KNOWN.items():
        if mark in said:
            return GitFailed(words, said)
    lines = (_PREFIX.sub("", line).translate(_UNSEEN).strip() for line in said.splitlines())
    shown = "; ".join(filter(None, lines))[:LONGEST]
    shown = hide_outside_paths(shown, root)
    return GitFailed(f"`git {command}` failed: {shown or f'status {status}'}", said)


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository with the settings that keep git from running its programs."""

    root: Path
    layout: RepositoryLayout
    settings: Settings
    options: tuple[str, ...] = ()
    """Further options before git's command."""
    notes: tuple[str, ...] = ()
    """Notes on files that are not compared."""

    @asynccontextmanager
    async def saved(self, compared: Sequence[str] = (".",)) -> AsyncIterator[Self]:
        """Yield a view of the repository that compares staged and saved files by content.

        Index flags, file times, and the repository's configuration and excludes cannot hide a change.

        :param compared: paths of the saved files to compare.
        :raises GitFailed: git fails.
        """
        head = await self.commit_of("HEAD") if await self.exists("HEAD") else None
        try:
            async with saved_files(self.layout.top, head or await self.empty_tree()) as empty:
                files = await empty.as_staged(head, compared)
                yield replace(self, layout=files.repository, options=files.settings, notes=files.notes)
        except WorkspaceError as error:
            raise GitFailed(str(error)) from error

    async def query(
        self,
        command: str,
        *arguments: str,
        given: bytes = b"",
        allowed: Iterable[int] = (0,),
        largest: int = LARGEST,
        variables: Mapping[str, str] | None = None,
    ) -> GitOutput:
        """Run a read-only git command.

        :param allowed: exit statuses that are not failures.
        :raises GitFailed: git fails.
        """
        answer = await _query(
            self.layout,
            (*HARDENED, *UNSIGNED, *self.options, command, *arguments),
            {**self._variables(trusted=False), **(variables or {})},
            given=given,
            largest=largest,
        )
        if answer.status not in allowed:
            raise failure(command, answer.said, answer.status, self.root)
        return answer

    def environment(self, *, trusted: bool) -> dict[str, str]:
        """Return git's environment.

        :param trusted: the repository's own filters may run.
        """
        return git_environment(self.layout) | self._variables(trusted=trusted)

    def _variables(self, *, trusted: bool) -> dict[str, str]:
        filters = {} if trusted else setting_variables(self.settings.neutralized_filters())
        return identity_variables() | filters

    def path(self, name: str) -> str:
        """Return a path relative to the top without links in its directories; the last name may be a link.

        :raises ToolError: the path leaves the repository, or belongs to git or tideate.
        """
        root = Root(self.layout.top)
        try:
            path = root.relative(root.entry(name))
        except (WorkspaceError, OSError, ValueError):
            raise ToolError(
                f"{short_repr(name)} is not a path in the repository: give one relative to its top, without "
                "`..`, and not of .git or .tideate"
            ) from None
        try:
            path.encode("utf-8")
        except UnicodeEncodeError:
            raise ToolError(f"{short_repr(name)} is not valid UTF-8") from None
        return path

    def check_links(self, branch: str = "") -> None:
        """Reject links inside the repository that would make git write outside the root.

        :param branch: the branch to be written.
        :raises ToolError: there is such a link.
        """
        common = self.layout.common_dir
        for folder in (common / "objects", self.layout.git_dir / "logs", common / "logs"):
            _refuse_links(folder, self.root)
        for base in (common / "refs" / "heads", common / "logs" / "refs" / "heads"):
            path = base / branch if branch else base
            for part in (path, *path.parents[: len(path.parts) - len(common.parts)]):
                if part.is_symlink() and not real_path(part).is_relative_to(self.root):
                    raise ToolError(_LINKED.format(what="a branch"))

    async def exists(self, name: str) -> bool:
        """Tell whether a revision names a commit."""
        answer = await self.query(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}", allowed=(0, 1, 128)
        )
        return answer.status == 0

    async def commit_of(self, name: str) -> str:
        """Resolve a revision to a commit id.

        :raises ToolError: there is no such commit.
        """
        try:
            return await self.word(
                "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"
            )
        except GitFailed:
            raise unknown_commit(name) from None

    async def tree_of(self, commit: str) -> str:
        """Return the id of a commit's tree."""
        return await self.word("rev-parse", f"{commit}^{{tree}}")

    async def empty_tree(self) -> str:
        """Return the id of the empty tree, the base of a diff before the first commit."""
        return await self.word("hash-object", "-t", "tree", os.devnull)

    async def word(
        self, command: str, *arguments: str, given: bytes = b"", variables: Mapping[str, str] | None = None
    ) -> str:
        """Run a command as `query` does; return its output without surrounding white space."""
        answer = await self.query(command, *arguments, given=given, variables=variables)
        return answer.out.decode().strip()

    def under_way(self) -> str | None:
        """Return a description of the unfinished operation, such as a merge; None if there is none."""
        for name, words in UNDER_WAY.items():
            if os.path.lexists(self.layout.git_dir / name):
                return words
        return None


async def _query(
    layout: RepositoryLayout, words: Sequence[str], variables: Mapping[str, str], **limits: Any
) -> GitOutput:
    try:
        return await query_git(layout, *words, cwd=layout.top, options=(), variables=variables, **limits)
    except WorkspaceError as error:
        raise GitFailed(str(error)) from error


def unknown_commit(name: str) -> ToolError:
    """Return the error for a commit that the repository does not have."""
    return ToolError(f"there is no commit {short_repr(name)}: `git_log` and `git_branch` list what there is")


async def open_repository(root: Path, repo_path: str = "") -> Repository:
    """Return the repository at a root, or the one below it that contains a path.

    :param root: a path without links.
    :raises ToolError: there is no git or no repository, or part of it is outside the root.
    """
    layout = _find_layout(root, repo_path)
    words = (*HARDENED, "config", "--list", "--show-scope", "-z")
    answer = await _query(layout, words, identity_variables())
    if answer.status or not answer.whole:
        raise failure("config", answer.said, answer.status, root)
    settings = parse_settings(answer.out)
    _refuse_other_worktree(settings, layout)
    return Repository(root, layout, settings)


def _refuse_other_worktree(settings: Settings, layout: RepositoryLayout) -> None:
    """:raises ToolError: the repository configures another work tree."""
    for worktree in settings.local.get("core.worktree", ()):
        if real_path(layout.git_dir / worktree) != layout.top:
            raise ToolError(
                "the repository has its files elsewhere (core.worktree), so tideate does not use it; "
                "`git config --unset core.worktree` makes its top directory the work tree"
            )


def _find_layout(root: Path, repo_path: str) -> RepositoryLayout:
    start = root
    if repo_path:
        try:
            start = Root(root).resolve(repo_path)
        except (WorkspaceError, OSError, ValueError):
            raise ToolError(
                f"repo_path {short_repr(repo_path)} is not inside the root of this server"
            ) from None
        if not start.is_dir():
            raise ToolError(f"repo_path {short_repr(repo_path)} is not a directory")
    above = (start, *start.parents[: len(start.parts) - len(root.parts)])
    if not any(os.path.lexists(directory / ".git") for directory in above):
        raise ToolError(
            _NONE.format(where=f"at {short_repr(repo_path)}" if repo_path else "at the server's root")
        )
    try:
        return find_repository(start, within=root)
    except WorkspaceError as error:
        raise ToolError(str(error)) from error


def _refuse_links(folder: Path, root: Path) -> None:
    """Reject links out of the root among the entries of a directory."""
    try:
        with os.scandir(folder) as entries:
            links = [entry.path for entry in entries if entry.is_symlink()]
    except FileNotFoundError:
        return
    except OSError as error:
        raise ToolError(f"the repository cannot be read ({error.strerror})") from error
    if any(not real_path(Path(link)).is_relative_to(root) for link in links):
        raise ToolError(_LINKED.format(what="a file"))
