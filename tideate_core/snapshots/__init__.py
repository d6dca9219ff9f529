"""Snapshots of a project's files: cheap when little changed, restored by hash, never silent about a gap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.snapshots.comparing import FileDiff
    from tideate_core.snapshots.limits import SnapshotLimits
    from tideate_core.snapshots.manager import SnapshotManager
    from tideate_core.snapshots.manifest import Snapshot
    from tideate_core.snapshots.results import Recovered, Restored
    from tideate_core.snapshots.since import Since

__all__ = [
    "FileDiff",
    "Recovered",
    "Restored",
    "Since",
    "Snapshot",
    "SnapshotLimits",
    "SnapshotManager",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(
        __name__,
        {
            "comparing": ("FileDiff",),
            "limits": ("SnapshotLimits",),
            "manager": ("SnapshotManager",),
            "manifest": ("Snapshot",),
            "results": (
                "Recovered",
                "Restored",
            ),
            "since": ("Since",),
        },
    )
