"""Files over the limits are left out and reported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.snapshots.trees import taken
from tideate_core.snapshots import SnapshotLimits

if TYPE_CHECKING:
    from pathlib import Path


async def test_a_file_over_the_limit_is_left_out_and_said(root: Path) -> None:
    (root / "large.bin").write_bytes(b"x" * 3000)
    found = await taken(root, SnapshotLimits(max_file=2000))
    assert list(found.skipped) == ["large.bin"]
    assert "over the limit" in found.skipped["large.bin"]
    assert found.skipped_count == 1


async def test_files_over_the_limit_of_all_are_left_out_and_said(root: Path) -> None:
    for number in range(5):
        (root / f"part{number}").write_bytes(bytes([number]) * 1000)
    found = await taken(root, SnapshotLimits(max_total=2500))
    assert found.size <= 2500
    assert {path for path in found.skipped if path.startswith("part")} == {"part2", "part3", "part4"}


async def test_more_paths_than_there_may_be_are_left_out_and_said(root: Path) -> None:
    found = await taken(root, SnapshotLimits(max_files=4))
    assert len(found.files) == 4
    assert set(found.skipped) == {"logo.png", "run.sh", "src", "src/deep", "src/deep/dos.txt", "src/one.py"}
