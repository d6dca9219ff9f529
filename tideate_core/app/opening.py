"""Open a project's store before a run, and roll back an interrupted restore of a snapshot."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tideate_core.app.projects import note_use
from tideate_core.project import Documents, make_project_state, project_state
from tideate_core.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tideate_core.workspace import Buffers

NAMED: Final = 10
"""File names in a message; the rest is counted."""

log = logging.getLogger(__name__)


def open_store(root: Path | None) -> Store:
    """Open a project's store for writing; create it if necessary; blocking.

    :param root: None outside of a project.
    :raises ConfigError: the private state cannot be created or used.
    :raises StoreError: the store cannot be opened.
    """
    private = make_project_state(root)
    if root is not None:
        note_project(root)
    return Store.open(private, None if root is None else Documents(root))


def note_project(root: Path) -> None:
    """Record how to recognise the project after a move; blocking."""
    try:
        note_use(root)
    except OSError as error:
        log.warning("a move of %s will not be recognised: %s", root, error)


async def interrupted_restore(root: Path | None, buffers: Buffers | None = None) -> list[str]:
    """Return the files of an interrupted snapshot restore that a rollback would change; read-only."""
    if root is None or not (project_state(root) / "snapshots" / "journal").is_dir():
        return []
    # here, because restores are rarely interrupted
    from tideate_core.snapshots import SnapshotManager

    return list(await SnapshotManager(root, buffers=buffers).interrupted())


async def recover_before(
    root: Path | None, say: Callable[[str], None], buffers: Buffers | None = None
) -> None:
    """Roll back an interrupted snapshot restore, after a message with the affected files.

    Called only when the person runs, resumes, restores or rolls back.

    An interrupted opening of a bundle is reverted, too.

    :param root: None outside of a project.
    :param buffers: open buffers of the editor, None outside of one.
    :raises WorkspaceError: the rollback fails.
    """
    await _finish_openings(root, say, buffers)
    pending = await interrupted_restore(root, buffers)
    if root is None or not pending:
        return
    from tideate_core.snapshots import SnapshotManager

    say(recovery_words(pending))
    done = await SnapshotManager(root, buffers=buffers).recover()
    if done is not None:
        left = f"; left as they are: {'; '.join(done.left)}" if done.left else ""
        back = recovery_names(done.restored) or "nothing"
        say(f"the interrupted restore was rolled back: {back}{left}")


async def _finish_openings(root: Path | None, say: Callable[[str], None], buffers: Buffers | None) -> None:
    private = project_state(root)
    if not (private / "portable" / "opening").is_dir():
        return
    # here, because few projects have opened a bundle
    from tideate_core.portable import finish_openings, lock_openings, openings
    from tideate_core.store import Reader
    from tideate_core.workspace import Workspace

    lock = lock_openings(private) if openings(private) else None
    if lock is None:
        return  # nothing was interrupted, or another process is opening a bundle
    try:
        place = Path.cwd() if root is None else root
        workspace = Workspace(place, private=private, buffers=buffers)
        for run in await finish_openings(private, Reader(private), workspace):
            say(f"the opening of a bundle was interrupted; what it wrote of run {run[:8]} is reverted")
    finally:
        os.close(lock)


def recovery_words(pending: Sequence[str]) -> str:
    """Return the message that names the files of an interrupted restore."""
    return (
        "a restore of a snapshot was interrupted; these files go back to what they were before it: "
        f"{recovery_names(pending)}"
    )


def recovery_names(names: Sequence[str]) -> str:
    """Return the first names and the number of the others."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"
