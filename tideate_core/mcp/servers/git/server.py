"""Tools of the git server that read: status, diffs, log, show, branches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp_types import CallToolResult

from tideate_core.mcp.servers.git import queries
from tideate_core.mcp.servers.git.program import GitFailed
from tideate_core.mcp.servers.git.repository import Repositories
from tideate_core.mcp.servers.git.revisions import checked_revision, commit_id, parse_time
from tideate_core.mcp.servers.git.schemas import (
    BranchesShape,
    Context,
    Count,
    Cursor,
    DiffShape,
    LogShape,
    Moment,
    Paths,
    RepoPath,
    Revision,
    ShowShape,
    Skip,
    StatusShape,
    Untracked,
    Where,
)
from tideate_core.mcp.servers.git.write_tools import add_write_tools
from tideate_core.mcp.servers.schemas import tool_result
from tideate_core.mcp.servers.tool_server import READ_ONLY, ToolServer

if TYPE_CHECKING:
    from pathlib import Path

    from mcp.server.mcpserver import MCPServer

__all__ = ["git_server"]

INSTRUCTIONS = """\
This server looks at one git repository and commits to it. Begin with `git_status`. `git_commit` with `files`
commits these files and nothing else; what a person has staged stays staged. Paths are relative to the top of
the repository. A long answer comes in pages: pass its `nextCursor` as `cursor`."""

# The SDK evaluates the annotations of a tool's function, so what they name has to exist at run time.
StatusAnswer: TypeAlias = Annotated[CallToolResult, StatusShape]
DiffAnswer: TypeAlias = Annotated[CallToolResult, DiffShape]
LogAnswer: TypeAlias = Annotated[CallToolResult, LogShape]
ShowAnswer: TypeAlias = Annotated[CallToolResult, ShowShape]
BranchesAnswer: TypeAlias = Annotated[CallToolResult, BranchesShape]


HINTS = {
    ("git_commit", "message"): "git_commit has no `message`: it is made of `scope` and `description`, as in "
    "`scope: description`, and `agent` says who commits",
    ("git_log", "start_timestamp"): "git_log has no `start_timestamp`: it is called `since`",
    ("git_log", "end_timestamp"): "git_log has no `end_timestamp`: it is called `until`",
}
"""Arguments of the reference server."""


def git_server(root: Path) -> MCPServer[Any]:
    """Return a server for the repositories at and below a root.

    :param root: an existing absolute directory, without links.
    """
    repositories = Repositories(root)
    server = ToolServer(
        "tideate-git",
        title="tideate: git",
        description="Looks at a git repository and commits to it; runs nothing that the repository brings.",
        instructions=INSTRUCTIONS,
        hints=HINTS,
    )
    _add_changes(server, repositories)
    _add_history(server, repositories)
    add_write_tools(server, repositories)
    _add_resources(server, repositories)
    return server


def _add_changes(server: ToolServer, repositories: Repositories) -> None:
    async def diff(repo_path: str, side: queries.Side, *query: Any) -> CallToolResult:
        return tool_result(*await queries.diff(await repositories.find(repo_path), side, *query))

    async def git_status(
        repo_path: RepoPath = "", untracked: Untracked = "normal", cursor: Cursor = ""
    ) -> StatusAnswer:
        repository = await repositories.find(repo_path)
        return tool_result(*await queries.status(repository, untracked, cursor))

    async def git_diff(
        repo_path: RepoPath = "",
        target: Revision = "HEAD",
        paths: Paths = [],  # noqa: B006 the SDK copies it
        context_lines: Context = 3,
        cursor: Cursor = "",
    ) -> DiffAnswer:
        return await diff(repo_path, "head", checked_revision(target), paths, context_lines, cursor)

    async def git_diff_unstaged(
        repo_path: RepoPath = "",
        paths: Paths = [],  # noqa: B006
        context_lines: Context = 3,
        cursor: Cursor = "",
    ) -> DiffAnswer:
        return await diff(repo_path, "unstaged", "", paths, context_lines, cursor)

    async def git_diff_staged(
        repo_path: RepoPath = "",
        paths: Paths = [],  # noqa: B006
        context_lines: Context = 3,
        cursor: Cursor = "",
    ) -> DiffAnswer:
        return await diff(repo_path, "staged", "", paths, context_lines, cursor)

    server.add_tool(
        git_status,
        title="Show what is changed",
        description="Show the branch, what is staged, what is changed and which files git does not know.",
        annotations=READ_ONLY,
    )
    server.add_tool(
        git_diff,
        title="Show all changes",
        description="Show how the files differ from the last commit, or from another (`target`), staged or "
        "not. New files that git does not know are not in it: `git_status` lists them.",
        annotations=READ_ONLY,
    )
    server.add_tool(
        git_diff_unstaged,
        title="Show what is not staged",
        description="Show how the files differ from what is staged.",
        annotations=READ_ONLY,
    )
    server.add_tool(
        git_diff_staged,
        title="Show what is staged",
        description="Show how what is staged differs from the last commit.",
        annotations=READ_ONLY,
    )


def _add_history(server: ToolServer, repositories: Repositories) -> None:
    async def git_log(
        repo_path: RepoPath = "",
        max_count: Count = 10,
        skip: Skip = 0,
        since: Moment = "",
        until: Moment = "",
        path: Annotated[str, "Only commits that changed this file or directory."] = "",
        revision: Revision = "HEAD",
        cursor: Cursor = "",
    ) -> LogAnswer:
        repository = await repositories.find(repo_path)
        query = queries.LogQuery(
            revision=checked_revision(revision),
            count=max_count,
            skip=skip,
            since=parse_time(since) if since else "",
            until=parse_time(until) if until else "",
            path=repository.path(path) if path else "",
        )
        return tool_result(*await queries.log(repository, query, cursor))

    async def git_show(
        revision: Revision = "HEAD",
        repo_path: RepoPath = "",
        paths: Paths = [],  # noqa: B006
        context_lines: Context = 3,
        cursor: Cursor = "",
    ) -> ShowAnswer:
        repository = await repositories.find(repo_path)
        return tool_result(
            *await queries.show(repository, checked_revision(revision), paths, context_lines, cursor)
        )

    async def git_branch(
        repo_path: RepoPath = "",
        branch_type: Where = "local",
        contains: Revision = "",
        not_contains: Revision = "",
        cursor: Cursor = "",
    ) -> BranchesAnswer:
        repository = await repositories.find(repo_path)
        inside = checked_revision(contains) if contains else ""
        outside = checked_revision(not_contains) if not_contains else ""
        return tool_result(*await queries.branches(repository, branch_type, inside, outside, cursor))

    server.add_tool(
        git_log,
        title="Show the history",
        description="List commits, the newest first.",
        annotations=READ_ONLY,
    )
    server.add_tool(
        git_show,
        title="Show a commit",
        description="Show a commit: its author, its message and what it changed.",
        annotations=READ_ONLY,
    )
    server.add_tool(
        git_branch,
        title="List branches",
        description="List the branches, local, remote or all; only those with (`contains`) or without "
        "(`not_contains`) a commit.",
        annotations=READ_ONLY,
    )


def _add_resources(server: ToolServer, repositories: Repositories) -> None:
    @server.resource(
        "git://commit/{sha}",
        title="A commit",
        description="A commit with what it changed, by its id; the first 60,000 characters.",
        mime_type="text/x-patch",
    )
    async def commit(sha: str) -> str:
        try:
            repository = await repositories.find()
            _, text = await queries.show(repository, commit_id(sha), (), 3, "")
        except (ToolError, GitFailed) as error:
            raise ResourceNotFoundError(str(error)) from error
        return text
