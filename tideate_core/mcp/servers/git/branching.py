"""Makes branches and goes to one that exists."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from mcp.server.mcpserver.exceptions import ToolError

from tideate_core.mcp.careful import short
from tideate_core.mcp.servers.git import porcelain
from tideate_core.mcp.servers.git.errors import GitFailed
from tideate_core.mcp.servers.git.handoff import scratch
from tideate_core.mcp.servers.git.looking import read_status
from tideate_core.mcp.servers.git.place import check_links
from tideate_core.mcp.servers.git.shapes import MovedShape
from tideate_core.mcp.servers.git.staging import refuse_under_way
from tideate_core.mcp.servers.git.trusting import SWITCH_HOOKS, look
from tideate_core.mcp.servers.git.writing import write

if TYPE_CHECKING:
    from tideate_core.mcp.servers.git.repository import Repository
    from tideate_core.mcp.servers.git.trusting import Brought

__all__ = ["create", "switch"]


async def create(repository: Repository, name: str, base: str) -> MovedShape:
    """Make a branch; HEAD stays where it is.

    :raises ToolError: there is one of this name, or no commit to begin at.
    """
    check_links(repository.place, repository.root, name)
    start = await repository.commit_of(base)
    try:
        await write(repository, "branch", "--no-track", "--end-of-options", name, start)
    except GitFailed as error:
        if "already exists" in error.said:
            raise ToolError(f"the branch {short(name)} exists; `git_checkout` goes to it") from error
        raise
    return MovedShape(branch=name, commit=start)


async def switch(repository: Repository, name: str) -> MovedShape:
    """Go to a branch that exists, where no file is changed; files unknown to git stay as they are.

    :raises ToolError: there is no such branch, a file is changed, or one would come out of a filter.
    """
    refuse_under_way(repository)
    check_links(repository.place, repository.root, name)
    try:
        target = await repository.commit_of(f"refs/heads/{name}")
    except ToolError:
        raise ToolError(f"there is no local branch {short(name)}: `git_branch` lists them") from None
    before = await read_status(repository, "no")
    if before.entries:
        raise ToolError(
            f"{len(before.entries)} files are changed ({short(before.entries[0].path)} …): commit them, "
            "or let a person put them away, before another branch is checked out"
        )
    brought = look(repository)
    await _refuse_filtered(repository, before.commit, target, brought)
    await write(
        repository,
        *("switch", "--quiet", "--no-guess", "--no-recurse-submodules", "--no-overwrite-ignore"),
        *("--no-progress", name),
        brought=brought if brought.trusted else None,
    )
    hooks = brought.of_hooks(SWITCH_HOOKS)
    return MovedShape(branch=name, commit=target, previous=before.branch, hooks=hooks)


async def _refuse_filtered(repository: Repository, here: str | None, target: str, brought: Brought) -> None:
    """Refuse to write files that a filter would have to make, whosever it is: it may fetch and run more.

    :raises ToolError: there are such files.
    """
    if brought.trusted:
        return
    changed = await repository.ask(
        *("diff-tree", "-r", "-z", "--name-only", "--no-renames", "--no-ext-diff", "--diff-filter=d"),
        *(here or await repository.empty_tree(), target, "--"),
    )
    if not changed.out:
        return
    with tempfile.TemporaryDirectory(prefix="index-", dir=scratch(repository.root)) as directory:
        index = {"GIT_INDEX_FILE": str(Path(directory, "index"))}
        # attributes count as they are in the branch that is gone to
        await repository.ask("read-tree", target, environment=index)
        answer = await repository.ask(
            *("check-attr", "--cached", "-z", "--stdin", "filter"), given=changed.out, environment=index
        )
    fields = porcelain.text_of(answer.out).split("\0")
    for path, name in zip(fields[::3], fields[2::3], strict=False):
        if name not in ("unspecified", "unset", "set", ""):
            raise ToolError(
                f"{short(path)} is another in that branch and has the filter {short(name)}, which is not "
                f"run: {brought.why}, or let a person check the branch out"
            )
