"""Files are read at one moment, and replacements are not followed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.snapshots.trees import lay_out, looked_at
from tideate_core.project import project_state
from tideate_core.snapshots import scan
from tideate_core.snapshots.packs import digest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tideate_core.snapshots import SnapshotManager


async def test_a_file_that_changes_while_it_is_read_is_read_again(
    root: Path, snapshots: SnapshotManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = iter([b"second"])
    real = os.fstat

    def fstat(handle: int) -> os.stat_result:
        status = real(handle)
        if Path(f"/proc/self/fd/{handle}").readlink().name == "run.sh" and (data := next(changes, None)):
            (root / "run.sh").write_bytes(data)
        return status

    monkeypatch.setattr(os, "fstat", fstat)
    made = await snapshots.get(await snapshots.create("one"))
    (entry,) = [entry for entry in made.files if entry.path == "run.sh"]
    assert entry.hash == digest(b"second")
    assert made.skipped == {}


async def test_a_file_that_never_stands_still_is_left_out_and_said(
    root: Path, snapshots: SnapshotManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 0
    real = os.fstat

    def fstat(handle: int) -> os.stat_result:
        nonlocal count
        status = real(handle)
        if Path(f"/proc/self/fd/{handle}").readlink().name == "run.sh":
            count += 1
            (root / "run.sh").write_bytes(b"x" * count)
        return status

    monkeypatch.setattr(os, "fstat", fstat)
    made = await snapshots.get(await snapshots.create("one"))
    assert made.skipped == {"run.sh": "changed while it was read, 3 times"}
    assert "run.sh" not in {entry.path for entry in made.files}
    assert count == 6


@pytest.mark.slow
async def test_large_files_and_many_small_ones_come_back(root: Path, snapshots: SnapshotManager) -> None:
    for number in range(600):
        (root / f"small{number}").write_bytes(b"%d" % number)
    (root / "large").write_bytes(os.urandom(3_000_000))
    (root / "same").write_bytes((root / "large").read_bytes())
    seen: list[tuple[int, int]] = []
    made = await snapshots.create("one", progress=lambda done, total: seen.append((done, total)))
    assert seen[-1][0] == seen[-1][1]
    before = looked_at(root)
    lay_out(root, {})
    await snapshots.restore(made)
    assert looked_at(root) == before
    packs = project_state(root) / "snapshots/packs"
    assert sum(path.stat().st_size for path in packs.iterdir()) < 3_200_000


@pytest.mark.parametrize("put", [os.mkfifo, lambda path: path.symlink_to("logo.png")], ids=["pipe", "link"])
async def test_what_takes_the_place_of_a_file_is_neither_followed_nor_waited_for(
    root: Path, snapshots: SnapshotManager, monkeypatch: pytest.MonkeyPatch, put: Callable[[Path], None]
) -> None:
    real = scan._file

    def swapped(path: str, mode: int, size: int) -> Any:
        if path == "run.sh":
            (root / path).unlink()
            put(root / path)
        return real(path, mode, size)

    monkeypatch.setattr(scan, "_file", swapped)
    made = await snapshots.get(await snapshots.create("one"))
    assert list(made.skipped) == ["run.sh"]
