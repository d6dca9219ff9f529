"""Snapshots whenever the project's files settle after a change, to restore files that programs destroy."""

from __future__ import annotations

import asyncio
import math
import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tideate_core.errors import TideateError, WorkspaceError
from tideate_core.project import make_project_state, project_state
from tideate_core.util.escaping import counted
from tideate_core.util.file_locks import take_lock

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tideate_core.config import Config
    from tideate_core.snapshots import Changed, Snapshot, SnapshotManager

SERIES: Final = "watch"
LONGEST: Final = 15
"""Multiple of `settle` after which a snapshot is made even if files never settle."""
SHARE: Final = 20
"""Pause after each look, as a multiple of its duration: looks take at most 5 % of one processor."""
OFTEN: Final = 1.0
"""Pause in seconds after a short look."""
LOCKED: Final = 5.0
"""Seconds until another attempt while another process watches."""


@dataclass(frozen=True, slots=True)
class Watched:
    """Snapshot that a watch made."""

    snapshot: Snapshot
    changes: int
    gone: int


def watch_manager(root: Path, config: Config) -> SnapshotManager:
    """Return the snapshot manager with the filter and the bounds of `[watch]`."""
    from tideate_core.snapshots import SnapshotLimits, SnapshotManager

    return SnapshotManager(root, limits=SnapshotLimits.of_watch(config.watch, config.snapshots))


async def watch_project(
    root: Path,
    config: Config,
    *,
    wait: bool,
    tell: Callable[[Watched], None],
    trouble: Callable[[str], None],
) -> None:
    """Make a snapshot now and whenever files settle after a change, until cancelled.

    Changes made in Neovim count, because another program can destroy them.

    :param wait: if another process watches this project, take its place when it ends.
    :param trouble: called with the reason of each failed snapshot; the watch continues.
    :raises WorkspaceError: another process watches this project, and `wait` is not set.
    """
    await asyncio.to_thread(make_project_state, root)
    path = project_state(root) / "watch.lock"
    while (lock := take_lock(path)) is None:
        if not wait:
            raise WorkspaceError(f"another process watches {root} already")
        await asyncio.sleep(LOCKED)
    try:
        await _watch(root, config, tell, trouble)
    finally:
        os.close(lock)


async def _watch(
    root: Path, config: Config, tell: Callable[[Watched], None], trouble: Callable[[str], None]
) -> None:
    from tideate_core.snapshots import ChangePoll, SnapshotLimits

    settle, manager = config.watch.settle, watch_manager(root, config)
    poll = ChangePoll(root, SnapshotLimits.of_watch(config.watch, config.snapshots))
    await asyncio.to_thread(poll.look)
    pending = _Pending()
    newest = ""
    while True:
        if pending.is_due(settle):
            try:
                made = await manager.create(f"watch: {pending.words}", series=SERIES)
            except TideateError as error:
                pending.postpone()
                trouble(str(error))
            else:
                if made != newest:  # else only times changed
                    tell(Watched(await manager.get(made), len(pending.written), len(pending.gone)))
                pending, newest = _Pending(first=None), made
        begun = time.monotonic()
        pending.add(await asyncio.to_thread(poll.look))
        cost = time.monotonic() - begun
        await asyncio.sleep(max(min(settle / 2, OFTEN), SHARE * cost))


@dataclass(slots=True)
class _Pending:
    """Changes since the newest snapshot; the first snapshot is due at once."""

    written: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    first: float | None = -math.inf
    """Time of the first change; None without a change."""
    last: float = -math.inf

    @property
    def words(self) -> str:
        return counted(changed=sorted(self.written), gone=sorted(self.gone)) or "at the start"

    def add(self, found: Changed) -> None:
        if found.written or found.gone:
            self.written = (self.written | found.written) - found.gone
            self.gone = (self.gone | found.gone) - found.written
            self.last = time.monotonic()
            self.first = self.last if self.first is None else self.first

    def is_due(self, settle: float) -> bool:
        now = time.monotonic()
        return self.first is not None and (now - self.last >= settle or now - self.first >= LONGEST * settle)

    def postpone(self) -> None:
        self.first = self.last = time.monotonic()
