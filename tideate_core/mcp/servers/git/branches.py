"""Create a branch and switch to an existing one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp.server.mcpserver.exceptions import ToolError

from tideate_core.mcp.servers.git import porcelain
from tideate_core.mcp.servers.git.layout import check_links
from tideate_core.mcp.servers.git.program import GitFailed
from tideate_core.mcp.servers.git.queries import read_status
from tideate_core.mcp.servers.git.schemas import MovedShape
from tideate_core.mcp.servers.git.staging import refuse_under_way
from tideate_core.mcp.servers.git.trust import SWITCH_HOOKS, inspect_programs
from tideate_core.mcp.servers.git.writes import git_write, temporary_index
from tideate_core.mcp.servers.schemas import short_repr

if TYPE_CHECKING:
    from tideate_core.mcp.servers.git.repository import Repository
    from tideate_core.mcp.servers.git.trust import RepositoryPrograms

__all__ = ["create_branch", "switch_branch"]


async def create_branch(repository: Repository, name: str, base: str) -> MovedShape:
    """Make a branch; HEAD stays where it is.

    :raises ToolError: there is one of this name, or no commit to begin at.
    """
    check_links(repository.layout, repository.root, name)
    start = await repository.commit_of(base)
    try:
        await git_write(repository, "branch", "--no-track", "--end-of-options", name, start)
    except GitFailed as error:
        if "already exists" in error.said:
            raise ToolError(f"the branch {short_repr(name)} exists; `git_checkout` goes to it") from error
        raise
    return MovedShape(branch=name, commit=start)


async def switch_branch(repository: Repository, name: str) -> MovedShape:
    """Go to a branch that exists, where no file is changed; files unknown to git stay as they are.

    :raises ToolError: there is no such branch, a file is changed, or one would come out of a filter.
    """
    refuse_under_way(repository)
    check_links(repository.layout, repository.root, name)
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
    """Refuse to write files that a filter would have to make, whosever it is: it may fetch and run more.

    :raises ToolError: there are such files.
    """
    if programs.trusted:
        return
    changed = await repository.query(
        *("diff-tree", "-r", "-z", "--name-only", "--no-renames", "--no-ext-diff", "--diff-filter=d"),
        *(here or await repository.empty_tree(), target, "--"),
    )
    if not changed.out:
        return
    # attributes count as they are in the branch that is gone to
    async with temporary_index(repository, target) as index:
        answer = await repository.query(
            *("check-attr", "--cached", "-z", "--stdin", "filter"), given=changed.out, environment=index
        )
    fields = porcelain.text_of(answer.out).split("\0")
    for path, name in zip(fields[::3], fields[2::3], strict=False):
        if name not in ("unspecified", "unset", "set", ""):
            raise ToolError(
                f"{short_repr(path)} is another in that branch and has the filter {short_repr(name)}, which "
                f"is not run: {programs.why}, or let a person check the branch out"
            )
