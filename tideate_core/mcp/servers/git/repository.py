"""One repository: its directories and settings, and git commands that change nothing."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Self

from mcp.server.mcpserver.exceptions import ToolError

from tideate_core.errors import WorkspaceError
from tideate_core.mcp.servers.git.layout import find_layout
from tideate_core.mcp.servers.git.program import LARGEST, GitFailed, failure, find_git, query
from tideate_core.mcp.servers.git.settings import (
    HARDENED,
    UNSIGNED,
    Settings,
    SettingsReader,
    base_environment,
    with_settings,
)
from tideate_core.mcp.servers.schemas import short_repr
from tideate_core.workspace import Root

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence
    from pathlib import Path

    from tideate_core.git import GitOutput, Repository as RepositoryLayout

__all__ = ["Repositories", "Repository"]

UNDER_WAY: Final = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "SQUASH_MSG": "a merge with --squash",
}


@dataclass(frozen=True, slots=True)
class Repository:
    """One repository, with the settings that keep git from running what it brings."""

    git: str
    root: Path
    layout: RepositoryLayout
    settings: Settings
    options: tuple[str, ...] = ()
    """Further options of git itself, before its command."""
    notes: tuple[str, ...] = ()
    """Notes on files that are not compared."""

    @asynccontextmanager
    async def saved(self, compared: Sequence[str] = (".",)) -> AsyncIterator[Self]:
        """Yield a view of the repository that compares the staged and saved files by their content.

        Flags and times of the index, and the repository's configuration and excludes, hide no change in it.

        :param compared: the paths of the saved files that are compared.
        :raises GitFailed: git does not answer.
        """
        from tideate_core.mentions import saved_files

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
        environment: dict[str, str] | None = None,
    ) -> GitOutput:
        """Run a command of git that changes nothing.

        :param allowed: the statuses that are no failure.
        :raises GitFailed: it fails.
        """
        answer = await query(
            [self.git, *HARDENED, *UNSIGNED, *self.options, command, *arguments],
            cwd=self.layout.top,
            environment=self.environment() | (environment or {}),
            given=given,
            largest=largest,
        )
        if answer.status not in allowed:
            raise failure(command, answer.said, answer.status, self.root)
        return answer

    def environment(self, *, trusted: bool = False) -> dict[str, str]:
        """Return git's environment.

        :param trusted: the repository's own filters may run.
        """
        found = base_environment(self.layout)
        return found if trusted else with_settings(found, self.settings.neutralized_filters())

    def path(self, name: str) -> str:
        """Return a path relative to the top, with no link on its way; the last name may be one.

        :raises ToolError: it leaves the repository, or is of git or tideate.
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
            raise ToolError(f"{short_repr(name)} is not a name that can be written in UTF-8") from None
        return path

    async def exists(self, name: str) -> bool:
        """Tell whether a name stands for a commit."""
        answer = await self.query(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}", allowed=(0, 1, 128)
        )
        return answer.status == 0

    async def commit_of(self, name: str) -> str:
        """Return the id of the commit that a name stands for.

        :raises ToolError: it stands for none.
        """
        try:
            answer = await self.query(
                "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"
            )
        except GitFailed:
            raise unknown_commit(name) from None
        return answer.out.decode().strip()

    async def tree_of(self, commit: str) -> str:
        """Return the id of a commit's tree."""
        answer = await self.query("rev-parse", f"{commit}^{{tree}}")
        return answer.out.decode().strip()

    async def empty_tree(self) -> str:
        """Return the id of the empty tree, with which all is compared before the first commit."""
        answer = await self.query("hash-object", "-t", "tree", os.devnull)
        return answer.out.decode().strip()

    def under_way(self) -> str | None:
        """Return what a person has begun and not ended, in words."""
        for name, words in UNDER_WAY.items():
            if os.path.lexists(self.layout.git_dir / name):
                return words
        return None


def unknown_commit(name: str) -> ToolError:
    """Return the error for a commit that the repository does not have."""
    return ToolError(f"there is no commit {short_repr(name)}: `git_log` and `git_branch` list what there is")


class Repositories:
    """The repositories below a root.

    :param root: without links.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._git: str | None = None
        self._settings: SettingsReader | None = None

    async def find(self, repo_path: str = "") -> Repository:
        """Return the one at the root, or the one that a path is in.

        :raises ToolError: there is none, it is not all inside the root, or there is no git.
        """
        if self._git is None or self._settings is None:
            self._git = find_git()
            self._settings = SettingsReader(self._git, self.root)
        layout = find_layout(self.root, repo_path)
        return Repository(self._git, self.root, layout, await self._settings.read(layout))
