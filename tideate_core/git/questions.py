"""Query a project's own repository with all safe options: find commits, disable filters, run commands."""

from __future__ import annotations

import asyncio
import os
import re
from typing import TYPE_CHECKING, Final

from tideate_core.errors import AmbiguousCommit, InvalidInput, WorkspaceError
from tideate_core.git.layout import find_repository
from tideate_core.git.program import HARDENED, UNSIGNED, GitOutput, config_options, query_git
from tideate_core.project import real_path

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.git.program import Repository

TIMEOUT: Final = 10.0
"""Seconds until one git command times out."""
LARGEST: Final = 4 * 1024 * 1024
"""Bytes of output that are read."""
LONGEST: Final = 250
"""Characters of a revision."""
_FOREIGN_SCOPES: Final = frozenset({b"local", b"worktree"})
_REVISION: Final = re.compile(r"[^\x00-\x20\x7f:*?\[\\-][^\x00-\x20\x7f:*?\[\\]*")
_CERTAIN: Final = re.compile(r"(?:HEAD(?![\w/.-])|@|[0-9a-f]{40}(?:[0-9a-f]{24})?(?![\w/.-])).*")
"""Revisions that name the same commit even if a branch or tag has the same name."""


async def check_place(root: Path) -> None:
    """Reject a repository with a part that belongs to another project.

    :raises WorkspaceError: it has such a part, or there is no repository.
    """
    await asyncio.to_thread(find_repository, real_path(root))


async def find_commit(root: Path, name: str) -> str:
    """Resolve a revision to a commit id.

    :raises AmbiguousCommit: the name fits several objects, such as a tag and a branch.
    :raises WorkspaceError: the name is not a valid revision, or there is no such commit.
    """
    # the answer to `^{/WORD}` would reveal words of commit messages
    if len(name) > LONGEST or not _REVISION.fullmatch(name) or ".." in name or "^{" in name:
        raise WorkspaceError(
            f"{name[:LONGEST]!r} is not the name of a commit: give a branch, a tag, an id or HEAD, "
            "optionally followed by ~N, ^N or @{N}"
        )
    # without --quiet: git warns if the name is ambiguous
    answer = await ask(root, "rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}")
    if answer.status:
        raise WorkspaceError(f"there is no commit {name!r}")
    if "is ambiguous" in answer.said and not _CERTAIN.fullmatch(name):
        raise AmbiguousCommit(
            f"{name!r} is ambiguous: give heads/{name} for the branch, tags/{name} for the tag, or a full id"
        )
    return answer.out.decode().strip()


async def refuse_commit(root: Path, path: str) -> None:
    """Reject a path that is also the name of a commit.

    :raises InvalidInput: a commit has this name.
    """
    try:
        await find_commit(root, path)
    except AmbiguousCommit:
        pass
    except WorkspaceError:
        return
    raise InvalidInput(
        f"{path!r} names both a path and a commit: give ./{path} for the path, {path}~0 for the commit"
    )


async def empty_tree(root: Path) -> str:
    """Return the id of the empty tree, the base of a diff if there is no earlier commit."""
    output, _ = await ask_git(root, "hash-object", "-t", "tree", "--stdin")
    return output.decode().strip()


async def without_filters(root: Path) -> tuple[str, ...]:
    """Return git options that disable every filter configured by the repository itself.

    :raises WorkspaceError: the name of a filter cannot be overridden.
    """
    listed, _ = await ask_git(root, "config", "--list", "--show-scope", "--name-only", "-z")
    fields = listed.split(b"\0")
    settings: list[str] = []
    for scope, key in zip(fields[::2], fields[1::2], strict=False):
        if scope in _FOREIGN_SCOPES and key.lower().startswith(b"filter."):
            name = os.fsdecode(key)
            if "=" in name:  # git ends the name at the first one
                raise WorkspaceError(f"the repository configures {name!a}, which cannot be turned off")
            settings.append(f"{name}={'false' if name.lower().endswith('.required') else ''}")
    return config_options(*settings)


async def ask_git(
    root: Path, *arguments: str, largest: int | None = None, given: bytes = b""
) -> tuple[bytes, bool]:
    """Run a git command that must succeed; return its output, and True if the output is complete.

    :param largest: bytes of output that are read.
    :param given: standard input.
    :raises WorkspaceError: git cannot be run, times out or fails.
    """
    answer = await ask(root, *arguments, largest=largest, given=given)
    if answer.status:
        raise WorkspaceError("git finds no repository here that it can read; `git status` tells why")
    return answer.out, answer.whole


async def ask(
    root: Path,
    *arguments: str,
    repository: Repository | None = None,
    largest: int | None = None,
    given: bytes = b"",
    patience: float = TIMEOUT,
) -> GitOutput:
    """Run a git command in a directory, with all safe options; see `query_git`.

    :param repository: by default, the one of the directory.
    """
    if repository is None:
        repository = await asyncio.to_thread(find_repository, real_path(root))
    return await query_git(
        repository,
        *arguments,
        cwd=root,
        options=(*HARDENED, *UNSIGNED),
        given=given,
        largest=LARGEST if largest is None else largest,
        patience=patience,
    )
