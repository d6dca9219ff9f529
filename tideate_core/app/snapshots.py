"""Snapshots of one project: open its manager, choose by id, JSON form."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from tideate_core.app.runs import short_id
from tideate_core.app.wiring import open_project
from tideate_core.errors import ConfigError, InvalidInput, SnapshotNotFound

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tideate_core.config import SnapshotsConfig
    from tideate_core.snapshots import Snapshot, SnapshotManager
    from tideate_core.workspace import Buffers

__all__ = ["choose_snapshot", "make_snapshot_manager", "open_snapshots", "snapshot_ids", "snapshot_json"]

WHOLE_ID: Final = 16


def open_snapshots(root: str | None, note: Callable[[str], None] | None = None) -> SnapshotManager:
    """Return the manager of the project's snapshots.

    :param note: shows a message about the configuration.
    :raises ConfigError: there is no project.
    """
    project = open_project(root)
    if project.root is None:
        raise ConfigError("there is no project here to make snapshots of; name one with --root")
    if note is not None:
        for notice in project.loaded.notices:
            note(notice)
    return make_snapshot_manager(project.root, project.loaded.config.snapshots)


def make_snapshot_manager(
    root: Path, settings: SnapshotsConfig, buffers: Buffers | None = None
) -> SnapshotManager:
    """Return the manager of a project's snapshots.

    :param buffers: the editor's, None outside of one.
    """
    # here, because an editor's host is to be ready before they are loaded
    from tideate_core.snapshots import SnapshotLimits, SnapshotManager

    return SnapshotManager(root, buffers=buffers, limits=SnapshotLimits.configured(settings))


async def choose_snapshot(
    manager: SnapshotManager,
    wanted: str | None,
    *,
    damaged: bool = False,
    hint: str = "`tideate snapshot list` names them",
) -> str:
    """Return the id of the snapshot that is meant.

    :param wanted: the beginning of its id; None for the newest.
    :param damaged: one that cannot be read may be named by its whole id.
    :param hint: end of the message for an unknown id.
    :raises SnapshotNotFound: there is none.
    :raises InvalidInput: several begin so.
    """
    known = [one.id for one in await manager.list()]
    if wanted is None:
        if not known:
            raise SnapshotNotFound("there are no snapshots yet; `tideate snapshot create` makes one")
        return known[-1]
    found = [one for one in known if wanted and one.startswith(wanted)]
    if len(found) > 1:
        raise InvalidInput(
            f"several snapshots begin with {wanted!r}: {', '.join(found[:5])}; give more digits"
        )
    if not found and not (damaged and len(wanted) == WHOLE_ID):
        raise SnapshotNotFound(f"no snapshot has the id {wanted!r}; {hint}")
    return found[0] if found else wanted


def snapshot_ids() -> list[str]:
    """Return the ids of the snapshots of the project here, as lists show them."""
    return [short_id(one.id) for one in asyncio.run(open_snapshots(None).list())]


def snapshot_json(one: Snapshot) -> dict[str, Any]:
    """Return a snapshot as tools get it. Times are milliseconds since the epoch."""
    return {
        "id": one.id,
        "name": one.name,
        "timestamp": one.timestamp,
        "files": one.count,
        "size": one.size,
        "skipped_count": one.skipped_count,
    }
