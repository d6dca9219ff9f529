"""Makes a commit on a branch of its own; HEAD, the index and what is checked out stay as they are."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from mcp.server.mcpserver.exceptions import ToolError

from tideate_core.mcp.careful import short
from tideate_core.mcp.servers.git import porcelain
from tideate_core.mcp.servers.git.commits import NOTHING, describe, leave, wanted
from tideate_core.mcp.servers.git.errors import GitFailed
from tideate_core.mcp.servers.git.handoff import scratch
from tideate_core.mcp.servers.git.place import check_links
from tideate_core.mcp.servers.git.staging import refuse_filters, refuse_under_way
from tideate_core.mcp.servers.git.trusting import COMMIT_HOOKS, look

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.mcp.servers.git.commits import Wish
    from tideate_core.mcp.servers.git.repository import Repository
    from tideate_core.mcp.servers.git.shapes import CommitResult

__all__ = ["commit_aside"]

_ASIDE = "a commit on a branch that is not checked out"


async def commit_aside(repository: Repository, wish: Wish, branch: str) -> CommitResult:
    """Commit files as they are now, on top of HEAD, on a new branch. No hook is run.

    :raises ToolError: there is such a branch, no file is named, or none is changed.
    """
    if not wish.files:
        raise ToolError("with `branch`, name the `files`: what is staged belongs to the branch checked out")
    refuse_under_way(repository)
    check_links(repository.place, repository.root, branch)
    if await repository.exists(f"refs/heads/{branch}"):
        raise ToolError(f"the branch {short(branch)} exists; choose another name")
    found = await wanted(repository, wish)
    base = await repository.commit_of("HEAD")
    brought = look(repository)
    paths = [entry.path for entry in found.entries]
    await refuse_filters(repository, paths, brought)
    made = await _made(repository, wish, base, paths)
    try:
        # an empty old value: nobody made the branch meanwhile
        await repository.ask("update-ref", "--create-reflog", f"refs/heads/{branch}", made, "")
    except GitFailed as error:
        raise ToolError(f"the branch {short(branch)} cannot be made: {error}") from error
    result = await describe(repository, made, branch, brought)
    if brought.of_hooks(COMMIT_HOOKS) != "none":
        result.hooks = f"not run: {_ASIDE}"
    if brought.of_signing() != "none":
        result.signing = f"not signed: {_ASIDE}"
    leave(repository, result)
    return result


async def _made(repository: Repository, wish: Wish, base: str, paths: Sequence[str]) -> str:
    """Return the id of the commit, which no branch has yet."""
    with tempfile.TemporaryDirectory(prefix="index-", dir=scratch(repository.root)) as directory:
        index = {"GIT_INDEX_FILE": str(Path(directory, "index"))}
        await repository.ask("read-tree", base, environment=index)
        names = b"".join(os.fsencode(path) + b"\0" for path in paths)
        await repository.ask(
            *("update-index", "--add", "--remove", "-z", "--stdin"), given=names, environment=index
        )
        tree = porcelain.text_of((await repository.ask("write-tree", environment=index)).out).strip()
    if tree == porcelain.text_of((await repository.ask("rev-parse", f"{base}^{{tree}}")).out).strip():
        raise ToolError(NOTHING.format(why="these files are as in the last commit"))
    answer = await repository.ask("commit-tree", tree, "-p", base, given=wish.message.encode())
    return porcelain.text_of(answer.out).strip()
