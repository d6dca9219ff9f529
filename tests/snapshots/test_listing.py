"""The listing only saves reads: if it is damaged, lost or of other limits, all files are read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.snapshots.trees import lay_out, looked_at, settled
from tideate_core.project import project_state
from tideate_core.snapshots import SnapshotLimits, SnapshotManager

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("spoil", ["remove", "cut", "change", "another version", "of nothing"])
async def test_without_what_the_last_snapshot_saw_all_is_read_and_nothing_is_lost(
    root: Path, snapshots: SnapshotManager, opened: list[str], spoil: str
) -> None:
    await settled(root, snapshots)
    path = project_state(root) / "snapshots/listing"
    data = path.read_bytes()
    head = json.loads(data.partition(b"\n")[0])
    spoiled = {
        "cut": data[:-9],
        "change": data[:-9] + b"x" + data[-8:],
        "another version": data.replace(head["version"].encode(), b"tideate listing 0"),
        "of nothing": data.replace(head["tree"].encode(), b"0" * 64),
    }
    path.unlink() if spoil == "remove" else path.write_bytes(spoiled[spoil])
    opened.clear()
    (root / "src/one.py").write_bytes(b"changed\n")
    before = looked_at(root)
    made = await snapshots.create("two")
    assert sorted(opened) == ["dos.txt", "logo.png", "one.py", "run.sh"]
    lay_out(root, {})
    await snapshots.restore(made)
    assert looked_at(root) == before


async def test_the_snapshot_that_the_listing_is_of_may_be_deleted(
    root: Path, snapshots: SnapshotManager
) -> None:
    await settled(root, snapshots)
    for one in await snapshots.list():
        await snapshots.delete(one.id)
    before = looked_at(root)
    made = await snapshots.create("anew")
    lay_out(root, {})
    await snapshots.restore(made)
    assert looked_at(root) == before


async def test_other_limits_hold_for_files_that_are_as_they_were(root: Path) -> None:
    await settled(root, SnapshotManager(root))
    limited = SnapshotManager(root, limits=SnapshotLimits(max_file=10))
    made = await limited.get(await limited.create("less"))
    assert set(made.skipped) == {"src/one.py", "src/deep/dos.txt"}
    whole = await SnapshotManager(root).get(await SnapshotManager(root).create("more"))
    assert whole.skipped == {}
    assert {"src/one.py", "src/deep/dos.txt"} <= {entry.path for entry in whole.files}


async def test_what_fits_again_is_taken_in_again(root: Path) -> None:
    snapshots = SnapshotManager(root, limits=SnapshotLimits(max_total=60))
    (root / "a.bin").write_bytes(bytes(50))
    cut = await snapshots.get(await snapshots.create("cut"))
    assert "src/one.py" in cut.skipped
    await settled(root, snapshots)
    (root / "a.bin").unlink()
    made = await snapshots.get(await snapshots.create("whole"))
    assert "src/one.py" in {entry.path for entry in made.files}
    assert "src/one.py" not in made.skipped
