"""Tools of the git server that write: commit, stage, unstage, create a branch, check out."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, TypeAlias

from mcp_types import CallToolResult, ToolAnnotations
from pydantic import Field

from tideate_core.mcp.servers.git.revisions import checked_branch, checked_revision
from tideate_core.mcp.servers.git.schemas import (
    Agent,
    Branch,
    CommitResult,
    Description,
    Files,
    MovedShape,
    Paths,
    RepoPath,
    Revision,
    Scope,
    StagedShape,
)
from tideate_core.mcp.servers.git.writes import WriteQueue
from tideate_core.mcp.servers.schemas import tool_result

if TYPE_CHECKING:
    from tideate_core.mcp.servers.git.repository import Repositories
    from tideate_core.mcp.servers.tool_server import ToolServer

__all__ = ["add_write_tools"]

# what does it does not come back by itself, so a client may want to ask a person
WRITING = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)
STAGING = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)

CommitAnswer: TypeAlias = Annotated[CallToolResult, CommitResult]
StagedAnswer: TypeAlias = Annotated[CallToolResult, StagedShape]
MovedAnswer: TypeAlias = Annotated[CallToolResult, MovedShape]


def add_write_tools(server: ToolServer, repositories: Repositories) -> None:
    """Add the tools that write; one of them works at a time."""
    queue = WriteQueue(repositories.root)
    _add_commit(server, repositories, queue)
    _add_staging(server, repositories, queue)
    _add_branching(server, repositories, queue)


def _add_commit(server: ToolServer, repositories: Repositories, queue: WriteQueue) -> None:
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
    ) -> CommitAnswer:
        from tideate_core.mcp.servers.git.commits import CommitRequest, commit, commit_on_new_branch

        repository = await repositories.find(repo_path)
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
        return tool_result(made, "\n".join(lines))

    server.add_tool(
        git_commit,
        title="Commit",
        description="Commit with the subject `scope: description` and the trailer `Agent: agent`. With "
        "`files`: these files as they are now and nothing else, new and deleted ones too. With `auto_stage`: "
        "all changes. With neither: what is staged. With `branch`: on a new branch of that name, without "
        "checking it out. An empty commit is refused. Hooks and signing run only "
        "where a person trusts them; the answer says.",
        annotations=WRITING,
    )


def _add_staging(server: ToolServer, repositories: Repositories, queue: WriteQueue) -> None:
    async def git_add(files: Annotated[Files, Field(min_length=1)], repo_path: RepoPath = "") -> StagedAnswer:
        from tideate_core.mcp.servers.git.staging import stage_files

        repository = await repositories.find(repo_path)
        paths = [repository.path(file) for file in files]
        return _staged(await queue.submit(partial(stage_files, repository, paths)))

    async def git_reset(files: Paths = [], repo_path: RepoPath = "") -> StagedAnswer:  # noqa: B006
        from tideate_core.mcp.servers.git.staging import unstage_files

        repository = await repositories.find(repo_path)
        paths = [repository.path(file) for file in files]
        return _staged(await queue.submit(partial(unstage_files, repository, paths)))

    server.add_tool(
        git_add,
        title="Stage files",
        description="Stage files, or directories with all in them, as they are now. What was staged of them "
        "before is replaced; the answer says how to bring it back.",
        annotations=STAGING,
    )
    server.add_tool(
        git_reset,
        title="Unstage files",
        description="Take files out of what is staged, or all of them. The files stay as they are. "
        "The answer says how to bring back what was staged.",
        annotations=STAGING,
    )


def _staged(shape: StagedShape) -> CallToolResult:
    lines = [f"{shape.total} files are staged" if shape.total else "nothing is staged"]
    lines += [f"{file.staged} {file.path}" for file in shape.staged[:100]]
    if shape.index_before:
        lines.append(f"what was staged before: `git read-tree {shape.index_before}` brings it back")
    return tool_result(shape, "\n".join(lines))


def _add_branching(server: ToolServer, repositories: Repositories, queue: WriteQueue) -> None:
    async def git_create_branch(
        branch_name: Annotated[Branch, Field(description="The new branch.")],
        base_branch: Annotated[Revision, Field(description="Where it begins; HEAD if left out.")] = "HEAD",
        repo_path: RepoPath = "",
    ) -> MovedAnswer:
        from tideate_core.mcp.servers.git.branches import create_branch

        repository = await repositories.find(repo_path)
        name, base = checked_branch(branch_name), checked_revision(base_branch)
        made = await queue.submit(partial(create_branch, repository, name, base))
        return tool_result(made, f"made the branch {made.branch} at {made.commit[:12]}; HEAD is where it was")

    async def git_checkout(branch_name: Branch, repo_path: RepoPath = "") -> MovedAnswer:
        from tideate_core.mcp.servers.git.branches import switch_branch

        repository = await repositories.find(repo_path)
        moved = await queue.submit(partial(switch_branch, repository, checked_branch(branch_name)))
        hooks = f"\nhooks: {moved.hooks}" if moved.hooks != "none" else ""
        return tool_result(moved, f"on {moved.branch} at {moved.commit[:12]}{hooks}")

    server.add_tool(
        git_create_branch,
        title="Make a branch",
        description="Make a branch without going to it; `git_checkout` does.",
        annotations=WRITING,
    )
    server.add_tool(
        git_checkout,
        title="Go to a branch",
        description="Go to a local branch that exists. Only where no file is changed; files that git "
        "does not know or ignores are never overwritten.",
        annotations=WRITING,
    )
