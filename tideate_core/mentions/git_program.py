"""Run git for a question, so that nothing which the repository configures is run."""

from __future__ import annotations

import asyncio
import os
import re
from typing import TYPE_CHECKING, Final

from tideate_core.errors import AmbiguousCommit, InvalidInput, WorkspaceError
from tideate_core.git import SAFE_OPTIONS, GitOutput, find_git, find_repository, git_environment, query
from tideate_core.project import real_path

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "LARGEST",
    "ask_git",
    "check_place",
    "empty_tree",
    "find_commit",
    "refuse_commit",
    "without_filters",
]

TIMEOUT: Final = 10.0
"""Seconds that one call of git may take."""
LARGEST: Final = 4 * 1024 * 1024
"""Bytes of output that are read."""
LONGEST: Final = 250
"""Characters of the name of a commit."""
_FOREIGN_SCOPES: Final = frozenset({b"local", b"worktree"})
_REVISION: Final = re.compile(r"[^\x00-\x20\x7f:*?\[\\-][^\x00-\x20\x7f:*?\[\\]*")
_HARMLESS: Final = (
    # looking never writes: git would note in the index which files it found unchanged
    *("-c", "diff.autoRefreshIndex=false", "-c", "log.showSignature=false", "-c", "gpg.program=false"),
    *("-c", "core.quotePath=false", "-c", "diff.orderFile=/dev/null", "-c", "core.alternateRefsCommand=:"),
    *("-c", "color.ui=false", "-c", "status.submoduleSummary=false", "-c", "i18n.logOutputEncoding=UTF-8"),
    *("-c", "blame.ignoreRevsFile=", "-c", "core.warnAmbiguousRefs=true"),
)
_CERTAIN: Final = re.compile(r"(?:HEAD(?![\w/.-])|@|[0-9a-f]{40}(?:[0-9a-f]{24})?(?![\w/.-])).*")
"""Names that stand for the same commit whatever else is called so."""


async def check_place(root: Path) -> None:
    """Refuse a repository of which a part belongs to another project.

    :raises WorkspaceError: it is one, or there is none.
    """
    await asyncio.to_thread(find_repository, real_path(root))


async def find_commit(root: Path, name: str) -> str:
    """Return the id of the commit that a name stands for.

    :raises AmbiguousCommit: several things are called so: a tag and a branch, or the beginning of an id.
    :raises WorkspaceError: it is no such name, or stands for no commit.
    """
    # `^{/WORD}` would tell by its answer which words are in a message
    if len(name) > LONGEST or not _REVISION.fullmatch(name) or ".." in name or "^{" in name:
        raise WorkspaceError(
            f"{name[:LONGEST]!r} is not the name of a commit: give a branch, a tag, an id or HEAD, with ~N, "
            "^N or @{N} behind it if you like"
        )
    wanted = f"{name}^{{commit}}"
    # not quiet: of several things of one name git takes one, with a warning
    answer = await _answer(root, "rev-parse", "--verify", "--end-of-options", wanted)
    if answer.status:
        raise WorkspaceError(f"there is no commit {name!r}")
    if "is ambiguous" in answer.said and not _CERTAIN.fullmatch(name):
        raise AmbiguousCommit(
            f"several things here are called {name!r}: give heads/{name} for the branch, tags/{name} for the "
            "tag, or a whole id"
        )
    return answer.out.decode().strip()


async def refuse_commit(root: Path, path: str) -> None:
    """Refuse a path that may be meant as a commit.

    :raises InvalidInput: a commit goes by this name.
    """
    try:
        await find_commit(root, path)
    except AmbiguousCommit:
        pass
    except WorkspaceError:
        return
    raise InvalidInput(
        f"{path!r} is a file or folder here, and the name of a commit: give ./{path} for the one, "
        f"{path}~0 for the other"
    )


async def empty_tree(root: Path) -> str:
    """Return the id of the empty tree, with which all is compared that has nothing before it."""
    output, _ = await ask_git(root, "hash-object", "-t", "tree", "--stdin")
    return output.decode().strip()


async def without_filters(root: Path) -> list[str]:
    """Return settings that empty every filter that the repository itself brings.

    :raises WorkspaceError: one has a name that no such setting can have.
    """
    listed, _ = await ask_git(root, "config", "--list", "--show-scope", "--name-only", "-z")
    fields = listed.split(b"\0")
    settings: list[str] = []
    for scope, key in zip(fields[::2], fields[1::2], strict=False):
        if scope in _FOREIGN_SCOPES and key.lower().startswith(b"filter."):
            name = os.fsdecode(key)
            if "=" in name:  # git takes what is before the first as the name
                raise WorkspaceError(f"the repository configures {name!a}, which nothing can turn off")
            settings += ["-c", f"{name}={'false' if name.lower().endswith('.required') else ''}"]
    return settings


async def ask_git(
    root: Path, *arguments: str, largest: int | None = None, given: bytes = b""
) -> tuple[bytes, bool]:
    """Run git; return its output, and True if that is all of it.

    :param given: its standard input.
    :raises WorkspaceError: it cannot be run, does not answer, or fails.
    """
    answer = await _answer(root, *arguments, largest=largest, given=given)
    if answer.status:
        raise WorkspaceError("git finds no repository here that it can read; `git status` tells why")
    return answer.out, answer.whole


async def _answer(root: Path, *arguments: str, largest: int | None = None, given: bytes = b"") -> GitOutput:
    repository = await asyncio.to_thread(find_repository, real_path(root))
    return await query(
        [find_git(), *SAFE_OPTIONS, *_HARMLESS, *arguments],
        cwd=root,
        environment={**git_environment(), **repository.variables()},
        given=given,
        largest=LARGEST if largest is None else largest,
        patience=TIMEOUT,
    )
