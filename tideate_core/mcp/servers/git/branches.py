"""Create branches and switch to existing ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp.server.mcpserver.exceptions import ToolError

from tideate_core.git import parse_attribute
from tideate_core.mcp.servers.git.queries import read_status
from tideate_core.mcp.servers.git.repository import GitFailed
from tideate_core.mcp.servers.git.schemas import MovedShape
from tideate_core.mcp.servers.git.staging import NO_FILTER, refuse_under_way
from tideate_core.mcp.servers.git.trust import SWITCH_HOOKS, inspect_programs
from tideate_core.mcp.servers.git.writes import git_write, temporary_index
from tideate_core.mcp.servers.schemas import short_repr

if TYPE_CHECKING:
    from tideate_core.mcp.servers.git.repository import Repository
    from tideate_core.mcp.servers.git.trust import RepositoryPrograms


async def create_branch(repository: Repository, name: str, base: str) -> MovedShape:
    """Create a branch without switching to it.

    :raises ToolError: the branch exists, or there is no such base commit.
    """
    repository.check_links(name)
    start = await repository.commit_of(base)
    try:
        await git_write(repository, "branch", "--no-track", "--end-of-options", name, start)
    except GitFailed as error:
        if "already exists" in error.said:
            raise ToolError(f"the branch {short_repr(name)} exists; `git_checkout` goes to it") from error
        raise
    return MovedShape(branch=name, commit=start)


async def switch_branch(repository: Repository, name: str) -> MovedShape:
    """Switch to an existing branch if no file is changed; untracked files are never overwritten.

    :raises ToolError: there is no such branch, a file is changed, or a filter would have to run.
    """
    refuse_under_way(repository)
    repository.check_links(name)
    try:
        target = await repository.commit_of(f"refs/heads/{name}")
    except ToolError:
        raise ToolError(f"there is no local branch {short_repr(name)}: `git_branch` lists them") from None
    before = await read_status(repository, "no")
    if before.entries:
        raise ToolError(
            f"{len(before.entries)} files are changed ({short_repr(before.entries[0].path)} …): commit them, "
            "or let a person put them away, before another branch is checked out"
        )
    programs = inspect_programs(repository)
    await _refuse_filtered(repository, before.commit, target, programs)
    await git_write(
        repository,
        *("switch", "--quiet", "--no-guess", "--no-recurse-submodules", "--no-overwrite-ignore"),
        *("--no-progress", name),
        programs=programs if programs.trusted else None,
    )
    hooks = programs.hooks_report(SWITCH_HOOKS)
    return MovedShape(branch=name, commit=target, previous=before.branch, hooks=hooks)


async def _refuse_filtered(
    repository: Repository, here: str | None, target: str, programs: RepositoryPrograms
) -> None:
    """Reject a switch that would run a filter, even the person's own: it may fetch and run more.

    :raises ToolError: a file that differs in the target has a filter.
    """
    if programs.trusted:
        return
    changed = await repository.query(
        *("diff-tree", "-r", "-z", "--name-only", "--no-renames", "--no-ext-diff", "--diff-filter=d"),
        *(here or await repository.empty_tree(), target, "--"),
    )
    if not changed.out:
        return
    # the attributes of the target branch apply
    async with temporary_index(repository, target) as index:
        answer = await repository.query(
            *("check-attr", "--cached", "-z", "--stdin", "filter"), given=changed.out, variables=index
        )
    for path, name in parse_attribute(answer.out):
        if name not in NO_FILTER:
            raise ToolError(
                f"{short_repr(path)} differs in that branch and has the filter {short_repr(name)}, which is "
                f"not run: {programs.why}, or let a person check out the branch"
            )
