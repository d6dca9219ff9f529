"""Opening a project's private state to work in it: what has to be done before a run starts."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from tideate_core.app.projects import note_use
from tideate_core.project import Documents, make_project_state, project_state
from tideate_core.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tideate_core.workspace import Buffers

__all__ = [
    "interrupted_restore",
    "note_project",
    "open_store",
    "recover_before",
    "recovery_names",
    "recovery_words",
]

NAMED: Final = 10
"""Files that are named one by one."""

log = logging.getLogger(__name__)


def open_store(root: Path | None) -> Store:
    """Open the runs of a project to write, made where need be; blocking.

    :param root: of the project, None outside of any.
    :raises ConfigError: the private state cannot be made or used.
    :raises StoreError: the runs cannot be opened.
    """
    private = make_project_state(root)
    if root is not None:
        note_project(root)
    return Store.open(private, None if root is None else Documents(root))


def note_project(root: Path) -> None:
    """Note how a project that has state is recognised when it has been moved; blocking."""
    try:
        note_use(root)
    except OSError as error:
        log.warning("a move of %s will not be recognised: %s", root, error)


async def interrupted_restore(root: Path | None, buffers: Buffers | None = None) -> list[str]:
    """Return the files that an interrupted restore of a snapshot would be rolled back in; only looks."""
    if root is None or not (project_state(root) / "snapshots" / "journal").is_dir():
        return []
    # here, because a restore is seldom interrupted
    from tideate_core.snapshots import SnapshotManager

    return list(await SnapshotManager(root, buffers=buffers).interrupted())


async def recover_before(
    root: Path | None, say: Callable[[str], None], buffers: Buffers | None = None
) -> None:
    """Roll back a restore of a snapshot that was interrupted, after saying in which files.

    Called when the person runs, resumes, restores or rolls back; nothing else does it.

    :param root: of the project, None outside of any.
    :param buffers: the editor's, None outside it.
    :raises WorkspaceError: it cannot be rolled back; the message says why.
    """
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


def recovery_words(pending: Sequence[str]) -> str:
    """Say in which files an interrupted restore would be rolled back."""
    return (
        "a restore of a snapshot was interrupted; these files go back to what they were before it: "
        f"{recovery_names(pending)}"
    )


def recovery_names(names: Sequence[str]) -> str:
    """Return the first of these names, and how many more there are."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"
