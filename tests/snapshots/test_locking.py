"""Only one process at a time creates or restores snapshots; a long wait ends with a message."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tideate_core.errors import WorkspaceError
from tideate_core.project import project_state
from tideate_core.snapshots import SnapshotManager, manager as module

if TYPE_CHECKING:
    from pathlib import Path


async def test_who_waits_too_long_for_another_process_is_told(
    root: Path, snapshots: SnapshotManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    await snapshots.create("one")
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    async with snapshots._locked():
        with pytest.raises(WorkspaceError, match="another process"):
            await SnapshotManager(root).create("two")
    await SnapshotManager(root).create("three")


async def test_snapshots_made_at_once_are_all_made(root: Path) -> None:
    made = await asyncio.gather(*(SnapshotManager(root).create(str(number)) for number in range(4)))
    listed = await SnapshotManager(root).list()
    assert {one.id for one in listed} == set(made)
    for one in made:
        assert await SnapshotManager(root).diff(one) == []


async def test_a_cancelled_snapshot_lets_go_of_the_lock_and_leaves_nothing(
    root: Path, snapshots: SnapshotManager
) -> None:
    task: asyncio.Task[str]

    def cancel(_done: int, _total: int) -> None:
        loop.call_soon_threadsafe(task.cancel)

    loop = asyncio.get_running_loop()
    for number in range(40):
        (root / f"{number}.bin").write_bytes(bytes([number]) * 400_000)
    task = asyncio.create_task(snapshots.create("one", progress=cancel))
    with pytest.raises(asyncio.CancelledError):
        await task
    place = project_state(root) / "snapshots"
    assert list(place.rglob("*.new")) == []
    assert await snapshots.create("two")
    assert [one.name for one in await snapshots.list()][-1] == "two"
