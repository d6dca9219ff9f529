"""Snapshots of a project's files, restored by hash, and scratch copies of a project."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.snapshots.caches import CacheDirectories as CacheDirectories
    from tideate_core.snapshots.compare import ChangesSince as ChangesSince, FileDiff as FileDiff
    from tideate_core.snapshots.guard_sessions import (
        GUARD_TABLE as GUARD_TABLE,
        GuardEvent as GuardEvent,
        GuardSession as GuardSession,
        GuardState as GuardState,
        change_session as change_session,
        create_session as create_session,
        discard_session as discard_session,
        ended_now as ended_now,
        find_session as find_session,
        finish_session as finish_session,
        is_owned as is_owned,
        list_sessions as list_sessions,
        may_be_torn as may_be_torn,
        note_landing as note_landing,
        owning as owning,
        relocate_sessions as relocate_sessions,
    )
    from tideate_core.snapshots.guarded.copy import (
        GuardedCopy as GuardedCopy,
    )
    from tideate_core.snapshots.guarded.difference import ScratchDifference as ScratchDifference
    from tideate_core.snapshots.limits import SnapshotLimits as SnapshotLimits
    from tideate_core.snapshots.manager import SnapshotManager as SnapshotManager
    from tideate_core.snapshots.manifest import Snapshot as Snapshot
    from tideate_core.snapshots.polling import Changed as Changed, ChangePoll as ChangePoll
    from tideate_core.snapshots.restore import RestoreResult as RestoreResult
    from tideate_core.snapshots.scratch.scratch import (
        Scratch as Scratch,
        open_scratch as open_scratch,
        scratch_support as scratch_support,
    )
else:
    __getattr__, __dir__, __all__ = exports(__name__)
