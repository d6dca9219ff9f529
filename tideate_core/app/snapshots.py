"""Snapshots of a project: manager, choice by id, completion, JSON form."""

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

WHOLE_ID: Final = 16


def open_snapshots(root: str | None, note: Callable[[str], None] | None = None) -> SnapshotManager:
    """Open the snapshot manager of the project at `--root`.

    :param note: shows notices about the configuration.
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
    """Create the snapshot manager of a project.

    :param buffers: open buffers of the editor, None outside of one.
    """
    # here, so that the editor's host is ready sooner
    from tideate_core.snapshots import SnapshotLimits, SnapshotManager

    return SnapshotManager(root, buffers=buffers, limits=SnapshotLimits.configured(settings))


async def choose_snapshot(
    manager: SnapshotManager,
    wanted: str | None,
    *,
    damaged: bool = False,
    hint: str = "`tideate snapshot list` names them",
) -> str:
    """Return the id of the requested snapshot.

    :param wanted: a prefix of the id; None for the newest snapshot.
    :param damaged: accept the whole id of an unreadable snapshot.
    :param hint: end of the message for an unknown id.
    :raises SnapshotNotFound: no snapshot matches.
    :raises InvalidInput: the prefix is ambiguous.
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
    """Return the short ids of the current project's snapshots."""
    return [short_id(one.id) for one in asyncio.run(open_snapshots(None).list())]


def snapshot_json(one: Snapshot) -> dict[str, Any]:
    """Return the JSON form of a snapshot. Times are milliseconds since the epoch."""
    return {
        "id": one.id,
        "name": one.name,
        "timestamp": one.timestamp,
        "files": one.count,
        "size": one.size,
        "skipped_count": one.skipped_count,
        "series": one.series,
    }
