"""Find a review's target by the user's words: commit, snapshot or patch file, and the path to review."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from pydantic import BaseModel

from tideate_core.errors import AmbiguousCommit, InvalidInput, WorkspaceError
from tideate_core.git import ask_git, check_place, empty_tree, find_commit, refuse_commit
from tideate_core.snapshots import SnapshotManager
from tideate_core.util.escaping import label
from tideate_core.util.regular_files import read_bounded

if TYPE_CHECKING:
    from tideate_core.workspace import Workspace

LARGEST_PATCH: Final = 64 << 20
"""Bytes."""
HEAD: Final = "HEAD"
SINCE_BASE: Final = "..."
_PATCH_NAME: Final = (".diff", ".patch")
_PATCH: Final = re.compile(rb"(?m)^(?:diff --git |--- \S)")
_SNAPSHOT: Final = re.compile(r"(?:snapshot:)?([0-9a-f]{4,16})")
_SHOWN: Final = 9
"""Digits of an id in messages."""


class Target(BaseModel):
    """The other side of a review."""

    kind: Literal["commit", "snapshot", "patch"]
    id: str
    """Id of a commit, tree or snapshot, or the absolute path of a patch file."""
    since: str
    """Description, as `since HEAD (1a2b3c4d5)`."""
    path: str = ""
    """File or folder to review, relative to the root; empty for all."""


def project_root(workspace: Workspace) -> Path:
    """Return the project's root.

    :raises InvalidInput: there is no project.
    """
    if workspace.root is None:
        raise InvalidInput("there is no project here to review")
    return workspace.root


async def find_target(workspace: Workspace, what: str, path: str) -> Target:
    """Return the target that the user's words name.

    :param what: a folder, file, commit, branch, snapshot or patch file; empty for the last commit.
    :param path: a folder or file, if `what` is none.
    :raises InvalidInput: the words name nothing, or more than one thing.
    :raises OutsideRoot: the path is outside the project.
    :raises WorkspaceError: the repository is missing or cannot be read.
    """
    root = project_root(workspace)
    place = root / what
    stands = await asyncio.to_thread(os.path.lexists, place) and what != HEAD
    if what and stands:
        await refuse_commit(root, what)
        if path:
            raise InvalidInput(
                f"two paths are given, {what} and {path}; name one path, with or without a commit"
            )
        if await asyncio.to_thread(_is_patch, place):
            return Target(kind="patch", id=str(place), since=f"of {label(place.name)}")
        what, path = "", what
    name = workspace.name_of(workspace.entry(path)) if path else ""
    name = "" if name == "." else name
    snapshot = await _find_snapshot(workspace, root, what)
    if snapshot is not None:
        since = f"since the snapshot {snapshot[:_SHOWN]}"
        return Target(kind="snapshot", id=snapshot, since=since, path=name)
    return await _commit(root, what, name)


async def _find_snapshot(workspace: Workspace, root: Path, what: str) -> str | None:
    """Return the id of the snapshot with this prefix; None without one."""
    found = _SNAPSHOT.fullmatch(what)
    if found is None:
        return None
    known = await SnapshotManager(root, private=workspace.private).list()
    ids = [one.id for one in known if one.id.startswith(found[1])]
    if len(ids) > 1:
        raise InvalidInput(f"several snapshots begin with {found[1]!r}; give more digits")
    if not ids and what.startswith("snapshot:"):
        raise InvalidInput(f"no snapshot begins with {found[1]!r}; `tideate snapshot list` lists them")
    return ids[0] if ids else None


async def _commit(root: Path, what: str, path: str) -> Target:
    await check_place(root)
    name = what.removesuffix(SINCE_BASE)
    try:
        commit = await find_commit(root, name or HEAD)
    except AmbiguousCommit as error:
        raise InvalidInput(str(error)) from error
    except WorkspaceError as error:
        if not what:
            since = "in a repository without a commit"
            return Target(kind="commit", id=await empty_tree(root), since=since, path=path)
        if not path and await _was_there(root, what):
            return await _commit(root, "", what)
        raise InvalidInput(
            f"unknown target {what!r}: name a folder, a file, a commit, a branch, a snapshot or a patch file"
        ) from error
    words = name or HEAD
    if what.endswith(SINCE_BASE):
        output, _ = await ask_git(root, "merge-base", commit, HEAD)
        commit, words = output.decode().strip(), f"the merge base with {words}"
    since = f"since {label(words)}" + ("" if commit.startswith(words) else f" ({commit[:_SHOWN]})")
    return Target(kind="commit", id=commit, since=since, path=path)


async def _was_there(root: Path, path: str) -> bool:
    """Tell whether the last commit contains a path."""
    if path.startswith("/") or ".." in Path(path).parts:
        return False
    try:
        listed, _ = await ask_git(root, "ls-tree", HEAD, "--", path)
    except WorkspaceError:
        return False  # no commit yet
    return bool(listed)


def _is_patch(place: Path) -> bool:
    if not place.is_file() or not place.name.endswith(_PATCH_NAME):
        return False
    return _PATCH.search(read_bounded(place, LARGEST_PATCH) or b"") is not None


def read_patch(target: Target) -> bytes:
    """Return the content of the patch file; blocking.

    :raises InvalidInput: the file is gone or too large.
    """
    patch = read_bounded(Path(target.id), LARGEST_PATCH)
    if patch is None:
        raise InvalidInput(f"{target.id} is not a regular file of at most {LARGEST_PATCH >> 20} MiB")
    return patch
