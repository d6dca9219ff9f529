"""Files are read as they stood at one moment, and again only where they may have changed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.snapshots.trees import lay_out, looked_at, tick
from tideate_core.project import project_state
from tideate_core.snapshots import SnapshotLimits, file_reader, scan
from tideate_core.snapshots.capture import Capture
from tideate_core.snapshots.manifest import find, load, save
from tideate_core.snapshots.packs import digest
from tideate_core.workspace import SnapshotManager


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were opened to be read."""
    names: list[str] = []
    steady = file_reader._steady

    def counted(path: str, *values: Any) -> Any:
        names.append(Path(path).name)
        return steady(path, *values)

    monkeypatch.setattr(file_reader, "_steady", counted)
    return names


async def settled(root: Path, snapshots: SnapshotManager) -> None:
    """Make a snapshot when the clock of files has moved on since the last change."""
    tick(root.parent)
    await snapshots.create("settled")


async def test_untouched_files_are_not_read_again(
    root: Path, snapshots: SnapshotManager, opened: list[str]
) -> None:
    await settled(root, snapshots)
    opened.clear()
    (root / "run.sh").write_text("#!/bin/sh\necho changed\n")
    await snapshots.create("warm")
    assert opened == ["run.sh"]


@pytest.mark.parametrize(("later", "again"), [(0, ["run.sh"]), (1, [])])
async def test_what_was_written_in_the_moment_of_a_snapshot_is_read_again(
    root: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch, later: int, again: list[str]
) -> None:
    """Its size, times and inode could be the same, and its content not: time has steps."""
    await settled(root, SnapshotManager(root))
    (root / "run.sh").write_bytes(b"#!/bin/fi\n")
    changed = (root / "run.sh").stat().st_ctime_ns
    monkeypatch.setattr(Capture, "_file_system_time", lambda _self: changed + later)
    await SnapshotManager(root).create("in the same moment, or in the next one")
    opened.clear()
    made = await SnapshotManager(root).create("after it")
    assert opened == again
    assert await SnapshotManager(root).diff(made) == []


@pytest.mark.parametrize("spoil", ["remove", "cut", "change", "another version", "of nothing"])
async def test_without_what_the_last_snapshot_saw_all_is_read_and_nothing_is_lost(
    root: Path, snapshots: SnapshotManager, opened: list[str], spoil: str
) -> None:
    await settled(root, snapshots)
    path = project_state(root) / "snapshots" / "listing"
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
    (root / "src" / "one.py").write_bytes(b"changed\n")
    before = looked_at(root)
    made = await snapshots.create("two")
    assert sorted(opened) == ["dos.txt", "logo.png", "one.py", "run.sh"]
    lay_out(root, {})
    await snapshots.restore(made)
    assert looked_at(root) == before


@pytest.mark.parametrize("restored", [False, True])
async def test_a_last_snapshot_that_makes_no_sense_holds_up_nothing(
    root: Path, snapshots: SnapshotManager, *, restored: bool
) -> None:
    """As only somebody makes it who computes its digest, too."""
    first = await snapshots.create("first")
    (root / "run.sh").write_bytes(b"second\n")
    await settled(root, snapshots)
    last = await snapshots.get_latest()
    assert last is not None
    place = project_state(root) / "snapshots"
    manifest = load(find(place, last.id))
    odd = {path: entry._replace(size="much") for path, entry in manifest.entries.items()}  # type: ignore[arg-type]
    header = save(place, manifest.header, odd, {}, manifest.ignored).header
    listing = place / "listing"
    listing.write_bytes(listing.read_bytes().replace(manifest.header.digest.encode(), header.digest.encode()))
    (root / "logo.png").unlink()
    snapshots = SnapshotManager(root)
    if restored:
        await snapshots.restore(first)
        assert (root / "logo.png").exists()
    else:
        made = await snapshots.get(await snapshots.create("two"))
        assert {"run.sh", "src/one.py"} <= {entry.path for entry in made.files}
        assert "logo.png" not in {entry.path for entry in made.files}


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


async def test_what_git_no_longer_ignores_is_taken_in_and_the_other_way_round(repository: Path) -> None:
    snapshots = SnapshotManager(repository)
    await settled(repository, snapshots)
    rules = (repository / ".gitignore").read_text()
    (repository / ".gitignore").write_text("src/\n")
    turned = await snapshots.get(await snapshots.create("turned"))
    paths = {entry.path for entry in turned.files}
    assert {"node_modules", "node_modules/left/pad.js"} <= paths
    assert not any(path == "src" or path.startswith("src/") for path in paths)
    assert "src" in turned.ignored
    (repository / ".gitignore").write_text(rules)
    back = {entry.path for entry in (await snapshots.get(await snapshots.create("back"))).files}
    assert {"src", "src/one.py", "src/deep/dos.txt"} <= back
    assert "node_modules" not in back


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

    def vanishing(path: str, mode: int, size: int) -> Any:
        if path == "run.sh":
            (root / path).unlink()
        return real(path, mode, size)

    monkeypatch.setattr(scan, "_file", vanishing)
    made = await snapshots.get(await snapshots.create("one"))
    assert made.skipped == {}
    assert "run.sh" not in {entry.path for entry in made.files}


async def test_a_pipe_that_comes_in_the_place_of_a_file_holds_up_nothing(
    root: Path, snapshots: SnapshotManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = scan._file

    def swapped(path: str, mode: int, size: int) -> Any:
        if path == "run.sh":
            (root / path).unlink()
            os.mkfifo(root / path)
        return real(path, mode, size)

    monkeypatch.setattr(scan, "_file", swapped)
    made = await snapshots.get(await snapshots.create("one"))
    assert list(made.skipped) == ["run.sh"]


async def test_a_link_that_comes_in_the_place_of_a_file_is_not_followed(
    root: Path, tmp_path: Path, snapshots: SnapshotManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret").write_text("s")
    real = scan._file

    def swapped(path: str, mode: int, size: int) -> Any:
        if path == "run.sh":
            (root / path).unlink()
            (root / path).symlink_to(tmp_path / "secret")
        return real(path, mode, size)

    monkeypatch.setattr(scan, "_file", swapped)
    made = await snapshots.get(await snapshots.create("one"))
    assert list(made.skipped) == ["run.sh"]


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
    packs = project_state(root) / "snapshots" / "packs"
    assert sum(path.stat().st_size for path in packs.iterdir()) < 3_200_000
