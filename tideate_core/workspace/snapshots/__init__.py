"""Snapshots of a project's files: cheap when little changed, restored by hash, never silent about a gap."""

from __future__ import annotations

from tideate_core.workspace.snapshots.comparing import FileDiff
from tideate_core.workspace.snapshots.limits import SnapshotLimits
from tideate_core.workspace.snapshots.manager import SnapshotManager
from tideate_core.workspace.snapshots.manifest import Snapshot
from tideate_core.workspace.snapshots.results import Recovered, Restored
from tideate_core.workspace.snapshots.since import Since

__all__ = ["FileDiff", "Recovered", "Restored", "Since", "Snapshot", "SnapshotLimits", "SnapshotManager"]
