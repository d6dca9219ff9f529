"""Unused contents are deleted, needed ones never."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.snapshots.trees import looked_at
from tideate_core.project import project_state
from tideate_core.snapshots import SnapshotLimits, SnapshotManager, retention

if TYPE_CHECKING:
    from pathlib import Path


def packs(root: Path) -> list[Path]:
    return sorted((project_state(root) / "snapshots/packs").iterdir())


async def test_packs_of_snapshots_that_went_go_too(root: Path) -> None:
    snapshots = SnapshotManager(root, limits=SnapshotLimits(keep=2))
    for number in range(6):
        (root / "changing.bin").write_bytes(os.urandom(1000) + bytes([number]))
        await snapshots.create(str(number))
    assert len(packs(root)) == 3  # the first one has the unchanged files


@pytest.mark.slow
async def test_many_packs_become_few_and_every_snapshot_is_whole(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "MOST_PACKS", 5)
    monkeypatch.setattr(retention, "FEW_PACKS", 2)
    snapshots = SnapshotManager(root, limits=SnapshotLimits(keep=4))
    trees = {}
    for number in range(12):
        # each pack has permanently needed and unneeded contents
        (root / f"kept{number}.bin").write_bytes(os.urandom(300))
        (root / "changing.bin").write_bytes(os.urandom(20_000))
        trees[await snapshots.create(str(number))] = looked_at(root)
        assert len(packs(root)) <= 5
    for one in await snapshots.list():
        await snapshots.restore(one.id, delete_added=True)
        assert looked_at(root) == trees[one.id]
    assert sum(path.stat().st_size for path in packs(root)) < 12 * 20_000


async def test_as_long_as_a_snapshot_is_damaged_no_content_goes(
    root: Path, snapshots: SnapshotManager
) -> None:
    (root / "only.bin").write_bytes(os.urandom(100))
    damaged = await snapshots.create("one")
    path = project_state(root) / "snapshots" / f"{damaged}.json"
    text = path.read_bytes()
    path.write_bytes(b"{")
    (root / "only.bin").unlink()
    other = await snapshots.create("two")
    await snapshots.delete(other)
    path.write_bytes(text)
    await snapshots.restore(damaged)
    assert (root / "only.bin").exists()


async def test_a_pack_of_which_nothing_is_needed_goes_at_the_next_snapshot(
    root: Path, snapshots: SnapshotManager
) -> None:
    """A process killed before it wrote the manifest leaves such a pack."""
    (root / ".tideate").mkdir()
    made = await snapshots.create("one")
    (pack,) = packs(root)
    lost = pack.with_name("00000000000000aa.pack")
    lost.write_bytes(pack.read_bytes())
    await snapshots.create("two")
    assert len(packs(root)) == 1
    before = looked_at(root)
    (root / "run.sh").unlink()
    await snapshots.restore(made)
    assert looked_at(root) == before
