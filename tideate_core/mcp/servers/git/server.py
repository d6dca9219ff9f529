"""Create the MCP git server: its tools and resource, with descriptions and parameters."""

# ruff: noqa: TC001 the SDK evaluates the annotations of tools, so their names must exist at run time

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from tideate_core.mcp.servers.git import queries
from tideate_core.mcp.servers.git.repository import open_repository
from tideate_core.mcp.servers.git.revisions import (
    checked_branch,
    checked_revision,
    parse_time,
)
from tideate_core.mcp.servers.git.schemas import (
    Agent,
    Branch,
    BranchesShape,
    CommitResult,
    Context,
    Count,
    Cursor,
    Description,
    DiffShape,
    Files,
    LogShape,
    Moment,
    MovedShape,
    Paths,
    RepoPath,
    Revision,
    Scope,
    ShowShape,
    Skip,
    StagedShape,
    StatusShape,
    Untracked,
    Where,
)
from tideate_core.mcp.servers.git.writes import WriteQueue
from tideate_core.mcp.servers.tool_server import ADDING, REPLACING, ToolAnswer, ToolServer

if TYPE_CHECKING:
    from pathlib import Path

    from mcp.server.mcpserver import MCPServer

INSTRUCTIONS = """\
This server looks at one git repository and commits to it. Begin with `git_status`. `git_commit` with `files`
commits these files and nothing else; what a person has staged stays staged. Paths are relative to the top of
the repository. A long answer comes in pages: pass its `nextCursor` as `cursor`."""

HINTS = {
    ("git_commit", "message"): "git_commit has no `message`: it is made of `scope` and `description`, as in "
    "`scope: description`, and `agent` says who commits",
    ("git_log", "start_timestamp"): "git_log has no `start_timestamp`: it is called `since`",
    ("git_log", "end_timestamp"): "git_log has no `end_timestamp`: it is called `until`",
}
"""Messages for arguments of the reference server."""


def git_server(root: Path) -> MCPServer[Any]:
    """Create the MCP server for the repositories at and below a root.

    :param root: an existing absolute directory, without links.
    """
    server = ToolServer(
        "tideate-git",
        title="tideate: git",
        description="Looks at a git repository and commits to it; runs nothing that the repository brings.",
        instructions=INSTRUCTIONS,
        hints=HINTS,
    )
    _add_changes(server, root)
    _add_history(server, root)
    queue = WriteQueue(root)
    _add_commit(server, root, queue)
    _add_staging(server, root, queue)
    _add_branching(server, root, queue)
    return server


def _add_changes(server: ToolServer, root: Path) -> None:
    async def diff(repo_path: str, side: queries.Side, *query: Any) -> ToolAnswer[DiffShape]:
        return await queries.diff(await open_repository(root, repo_path), side, *query)

    @server.add("Show what is changed")
    async def git_status(
        repo_path: RepoPath = "", untracked: Untracked = "normal", cursor: Cursor = ""
    ) -> ToolAnswer[StatusShape]:
        """Show the branch and the staged, changed and untracked files."""
        return await queries.status(await open_repository(root, repo_path), untracked, cursor)

    @server.add("Show all changes")
    async def git_diff(
        repo_path: RepoPath = "",
        target: Revision = "HEAD",
        paths: Paths = [],  # noqa: B006 the SDK copies it
        context_lines: Context = 3,
        cursor: Cursor = "",
    ) -> ToolAnswer[DiffShape]:
        """Show the differences between the files and the last commit, or another one (`target`).

        Staged and unstaged changes are included; untracked files are not: `git_status` lists them.
        """
        return await diff(repo_path, "head", checked_revision(target), paths, context_lines, cursor)

    @server.add("Show what is not staged")
    async def git_diff_unstaged(
        repo_path: RepoPath = "",
        paths: Paths = [],  # noqa: B006
        context_lines: Context = 3,
        cursor: Cursor = "",
    ) -> ToolAnswer[DiffShape]:
        """Show the differences between the files and the index."""
        return await diff(repo_path, "unstaged", "", paths, context_lines, cursor)

    @server.add("Show what is staged")
    async def git_diff_staged(
        repo_path: RepoPath = "",
        paths: Paths = [],  # noqa: B006
        context_lines: Context = 3,
        cursor: Cursor = "",
    ) -> ToolAnswer[DiffShape]:
        """Show the differences between the index and the last commit."""
        return await diff(repo_path, "staged", "", paths, context_lines, cursor)


def _add_history(server: ToolServer, root: Path) -> None:
    @server.add("Show the history")
    async def git_log(
        repo_path: RepoPath = "",
        max_count: Count = 10,
        skip: Skip = 0,
        since: Moment = "",
        until: Moment = "",
        path: Annotated[str, "Only commits that changed this file or directory."] = "",
        revision: Revision = "HEAD",
        cursor: Cursor = "",
    ) -> ToolAnswer[LogShape]:
        """List commits, the newest first."""
        repository = await open_repository(root, repo_path)
        query = queries.LogQuery(
            revision=checked_revision(revision),
            count=max_count,
            skip=skip,
            since=parse_time(since) if since else "",
            until=parse_time(until) if until else "",
            path=repository.path(path) if path else "",
        )
        return await queries.log(repository, query, cursor)

    @server.add("Show a commit")
    async def git_show(
        revision: Revision = "HEAD",
        repo_path: RepoPath = "",
        paths: Paths = [],  # noqa: B006
        context_lines: Context = 3,
        cursor: Cursor = "",
    ) -> ToolAnswer[ShowShape]:
        """Show a commit: author, message and changes."""
        repository = await open_repository(root, repo_path)
        return await queries.show(repository, checked_revision(revision), paths, context_lines, cursor)

    @server.add("List branches")
    async def git_branch(
        repo_path: RepoPath = "",
        branch_type: Where = "local",
        contains: Revision = "",
        not_contains: Revision = "",
        cursor: Cursor = "",
    ) -> ToolAnswer[BranchesShape]:
        """List the branches, local, remote or all.

        Only those with (`contains`) or without (`not_contains`) a commit.
        """
        repository = await open_repository(root, repo_path)
        inside, outside = (checked_revision(name) if name else "" for name in (contains, not_contains))
        return await queries.branches(repository, branch_type, inside, outside, cursor)


def _add_commit(server: ToolServer, root: Path, queue: WriteQueue) -> None:
    # only a client that writes needs the modules of these tools
    @server.add("Commit", ADDING)
    async def git_commit(
        agent: Agent,
        scope: Scope,
        description: Description,
        files: Files = [],  # noqa: B006 the SDK copies it
        auto_stage: Annotated[
            bool, Field(strict=True, description="Without `files`: commit all changes, new files too.")
        ] = False,
        branch: Annotated[
            Branch, Field(description="Commit `files` on a new branch of this name; HEAD stays where it is.")
        ] = "",
        repo_path: RepoPath = "",
    ) -> ToolAnswer[CommitResult]:
        """Commit with the subject `scope: description` and the trailer `Agent: agent`.

        With `files`: these files as they are now and nothing else, new and deleted ones too. With
        `auto_stage`: all changes. With neither: what is staged. With `branch`: on a new branch of that name,
        without checking it out. An empty commit is refused. Hooks and signing run only where a person trusts
        them; the answer says.
        """
        from tideate_core.mcp.servers.git.commits import CommitRequest, commit, commit_on_new_branch

        repository = await open_repository(root, repo_path)
        paths = tuple(dict.fromkeys(repository.path(file) for file in files))
        request = CommitRequest(agent, scope, description, paths, auto_stage)
        if branch:
            make = partial(commit_on_new_branch, repository, request, checked_branch(branch))
        else:
            make = partial(commit, repository, request)
        made = await queue.submit(make)
        lines = [f"committed {made.commit_hash[:12]} to {made.branch}: {made.message.splitlines()[0]}"]
        lines += [f"  {file}" for file in made.files[:100]]
        lines += [f"hooks: {made.hooks}"] if made.hooks != "none" else []
        lines += [f"signing: {made.signing}"] if made.signing != "none" else []
        return made, "\n".join(lines)


def _add_staging(server: ToolServer, root: Path, queue: WriteQueue) -> None:
    @server.add("Stage files", REPLACING)
    async def git_add(
        files: Annotated[Files, Field(min_length=1)], repo_path: RepoPath = ""
    ) -> ToolAnswer[StagedShape]:
        """Stage the current content of files, or of all files in directories.

        Their earlier staged content is replaced; the answer says how to restore it.
        """
        from tideate_core.mcp.servers.git.staging import stage_files

        repository = await open_repository(root, repo_path)
        paths = [repository.path(file) for file in files]
        return _staged(await queue.submit(partial(stage_files, repository, paths)))

    @server.add("Unstage files", REPLACING)
    async def git_reset(files: Paths = [], repo_path: RepoPath = "") -> ToolAnswer[StagedShape]:  # noqa: B006
        """Unstage files, or all files.

        The files themselves stay unchanged. The answer says how to restore the staged state.
        """
        from tideate_core.mcp.servers.git.staging import unstage_files

        repository = await open_repository(root, repo_path)
        paths = [repository.path(file) for file in files]
        return _staged(await queue.submit(partial(unstage_files, repository, paths)))


def _staged(shape: StagedShape) -> ToolAnswer[StagedShape]:
    lines = [f"{shape.total} files are staged" if shape.total else "nothing is staged"]
    lines += [f"{file.staged} {file.path}" for file in shape.staged[:100]]
    if shape.index_before:
        lines.append(f"`git read-tree {shape.index_before}` restores the earlier staged state")
    return shape, "\n".join(lines)


def _add_branching(server: ToolServer, root: Path, queue: WriteQueue) -> None:
    @server.add("Make a branch", ADDING)
    async def git_create_branch(
        branch_name: Annotated[Branch, Field(description="The new branch.")],
        base_branch: Annotated[Revision, Field(description="Where it begins; HEAD if left out.")] = "HEAD",
        repo_path: RepoPath = "",
    ) -> ToolAnswer[MovedShape]:
        """Create a branch without checking it out; `git_checkout` does."""
        from tideate_core.mcp.servers.git.branches import create_branch

        repository = await open_repository(root, repo_path)
        name, base = checked_branch(branch_name), checked_revision(base_branch)
        made = await queue.submit(partial(create_branch, repository, name, base))
        return made, f"made the branch {made.branch} at {made.commit[:12]}; HEAD is unchanged"

    @server.add("Go to a branch", ADDING)
    async def git_checkout(branch_name: Branch, repo_path: RepoPath = "") -> ToolAnswer[MovedShape]:
        """Check out an existing local branch.

        Refused if a file is changed; untracked and ignored files are never overwritten.
        """
        from tideate_core.mcp.servers.git.branches import switch_branch

        repository = await open_repository(root, repo_path)
        moved = await queue.submit(partial(switch_branch, repository, checked_branch(branch_name)))
        hooks = f"\nhooks: {moved.hooks}" if moved.hooks != "none" else ""
        return moved, f"on {moved.branch} at {moved.commit[:12]}{hooks}"
