"""Completion candidates for a review: branches, tags and snapshots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tideate_core.app.runs import short_id
from tideate_core.errors import WorkspaceError
from tideate_core.git import ask_git
from tideate_core.snapshots import SnapshotManager

if TYPE_CHECKING:
    from pathlib import Path

MOST: Final = 500
_REFS: Final = (
    *("for-each-ref", f"--count={MOST}", "--sort=-creatordate", "--format=%(refname:short)"),
    *("refs/heads", "refs/remotes", "refs/tags"),
)


async def review_names(root: Path | None) -> list[str]:
    """Return `HEAD`, branches, tags and snapshot ids, newest first; empty without a project."""
    if root is None:
        return []
    try:
        output, _ = await ask_git(root, *_REFS)
        refs = ["HEAD", *output.decode("utf-8", "replace").splitlines()]
    except WorkspaceError:
        refs = []  # no repository
    snapshots = [short_id(one.id) for one in reversed(await SnapshotManager(root).list())]
    return [*refs, *snapshots]
