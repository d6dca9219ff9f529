"""Files are read as they stood at one moment, and again only where they may have changed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.workspace.snapshots.trees import lay_out, looked_at
from tideate_core.workspace import SnapshotManager
from tideate_core.workspace.snapshots import contents, scan
from tideate_core.workspace.snapshots.manifest import load, save
from tideate_core.workspace.snapshots.packs import digest


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were opened to be read."""
    names: list[str] = []
    steady = contents._steady

    def counted(path: str, *values: Any) -> Any:
        names.append(Path(path).name)
        return steady(path, *values)

    monkeypatch.setattr(contents, "_steady", counted)
    return names


async def settled(root: Path, snapshots: SnapshotManager) -> None:
    """Make snapshots until the clock of files has moved on since the last change."""
    for _ in range(1000):
        made = await snapshots.get(await snapshots.create("settling"))
        clock = (root / ".tideate" / "snapshots" / "lock").stat().st_mtime_ns
        if all(entry.ctime_ns < clock for entry in made.files):
            return
    raise AssertionError("the clock of the file system stands still")


async def test_untouched_files_are_not_read_again(
    root: Path, snapshots: SnapshotManager, opened: list[str]
) -> None:
    await settled(root, snapshots)
    opened.clear()
    (root / "run.sh").write_text("#!/bin/sh\necho changed\n")
    await snapshots.create("warm")
    assert opened == ["run.sh"]


async def test_a_file_that_changed_in_the_moment_of_a_snapshot_is_read_again(
    root: Path, snapshots: SnapshotManager, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its size, times and inode are the same as in the manifest, and its content is not."""
    made = await snapshots.create("one")
    path = root / ".tideate" / "snapshots" / f"{made}.json"
    known = next(entry for entry in (await snapshots.get(made)).files if entry.path == "run.sh")
    (root / "run.sh").write_bytes(b"#!/bin/fi\n")
    status = (root / "run.sh").stat()
    # as if it had been written in the tick of the clock in which the snapshot was made
    same = known._replace(mtime_ns=status.st_mtime_ns, ctime_ns=status.st_ctime_ns)
    old = await rewritten(path, known, same, clock=status.st_ctime_ns)
    (diff,) = await SnapshotManager(root).diff(old)
    assert diff.path == "run.sh"
    opened.clear()
    await snapshots.create("two")
    assert "run.sh" in opened
    # in a later tick nobody could have changed it without being seen
    opened.clear()
    await rewritten(path, same, same, clock=status.st_ctime_ns + 1)
    assert await SnapshotManager(root).diff(old) == []


async def rewritten(path: Path, old: Any, new: Any, *, clock: int) -> str:
    """Write a manifest anew with one entry and the clock changed, and make it the only one."""
    manifest = load(path)
    entries = [new if entry.path == old.path else entry for entry in manifest.entries.values()]
    for other in path.parent.glob("*.json"):
        if other != path:
            other.unlink()
    save(path.parent, manifest.header.model_copy(update={"clock": clock}), entries, {}, [])
    return path.stem


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


async def test_a_file_that_vanishes_while_it_is_looked_for_is_no_part_of_it(
    root: Path, snapshots: SnapshotManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = scan._file

    def vanishing(path: str, status: os.stat_result) -> Any:
        if path == "run.sh":
            (root / path).unlink()
        return real(path, status)

    monkeypatch.setattr(scan, "_file", vanishing)
    made = await snapshots.get(await snapshots.create("one"))
    assert made.skipped == {}
    assert "run.sh" not in {entry.path for entry in made.files}


async def test_a_pipe_that_comes_in_the_place_of_a_file_holds_up_nothing(
    root: Path, snapshots: SnapshotManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = scan._file

    def swapped(path: str, status: os.stat_result) -> Any:
        if path == "run.sh":
            (root / path).unlink()
            os.mkfifo(root / path)
        return real(path, status)

    monkeypatch.setattr(scan, "_file", swapped)
    made = await snapshots.get(await snapshots.create("one"))
    assert list(made.skipped) == ["run.sh"]


async def test_a_link_that_comes_in_the_place_of_a_file_is_not_followed(
    root: Path, tmp_path: Path, snapshots: SnapshotManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret").write_text("s")
    real = scan._file

    def swapped(path: str, status: os.stat_result) -> Any:
        if path == "run.sh":
            (root / path).unlink()
            (root / path).symlink_to(tmp_path / "secret")
        return real(path, status)

    monkeypatch.setattr(scan, "_file", swapped)
    made = await snapshots.get(await snapshots.create("one"))
    assert list(made.skipped) == ["run.sh"]


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
    packs = root / ".tideate" / "snapshots" / "packs"
    assert sum(path.stat().st_size for path in packs.iterdir()) < 3_200_000
