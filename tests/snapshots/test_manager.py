"""Creating, listing, finding and deleting snapshots, and refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.snapshots.trees import looked_at, manifest_of
from tideate_core.errors import OutsideRoot, SnapshotNotFound, StateError, WorkspaceError
from tideate_core.project import make_project_state, project_state
from tideate_core.snapshots import SnapshotLimits, SnapshotManager


async def test_a_project_without_snapshots_has_none_and_gets_no_directory(
    root: Path, snapshots: SnapshotManager
) -> None:
    assert await snapshots.list() == []
    assert await snapshots.get_latest() is None
    assert await snapshots.recover() is None
    with pytest.raises(SnapshotNotFound, match="no snapshot has the id"):
        await snapshots.get("0123456789abcdef")
    assert not (root / ".tideate").exists()


async def test_a_snapshot_is_listed_with_what_it_has(root: Path, snapshots: SnapshotManager) -> None:
    made = await snapshots.create("before the task")
    (listed,) = await snapshots.list()
    assert (listed.id, listed.name, listed.files) == (made, "before the task", ())
    assert listed.count == 7
    known = await snapshots.get(made)
    kinds = {entry.path: entry.kind for entry in known.files}
    assert kinds == {
        "empty": "directory",
        "folder": "link",
        "gone": "link",
        "latest": "link",
        "logo.png": "file",
        "run.sh": "file",
        "src": "directory",
        "src/deep": "directory",
        "src/deep/dos.txt": "file",
        "src/one.py": "file",
    }
    assert known.size == sum(len(node[2]) for node in looked_at(root).values() if node[0] == "file")


async def test_the_latest_is_the_one_made_last_whatever_the_clock_says(
    snapshots: SnapshotManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    await snapshots.create("one")
    monkeypatch.setattr("time.time_ns", lambda: 5_000_000)
    last = await snapshots.create("two")
    latest = await snapshots.get_latest()
    assert latest is not None
    assert (latest.id, latest.timestamp) == (last, 5)
    assert [one.name for one in await snapshots.list()] == ["one", "two"]


async def test_a_second_snapshot_of_the_same_files_stores_no_content_again(
    root: Path, snapshots: SnapshotManager
) -> None:
    await snapshots.create("one")
    (pack,) = (project_state(root) / "snapshots/packs").iterdir()
    (root / "src/copy.py").write_bytes((root / "src/one.py").read_bytes())
    await snapshots.create("two")
    assert list((project_state(root) / "snapshots/packs").iterdir()) == [pack]


async def test_only_the_newest_are_kept(root: Path) -> None:
    snapshots = SnapshotManager(root, limits=SnapshotLimits(keep=3))
    made = [await snapshots.create(str(number)) for number in range(5)]
    assert [one.id for one in await snapshots.list()] == made[2:]
    with pytest.raises(SnapshotNotFound):
        await snapshots.get(made[0])


async def test_a_restore_never_lets_the_snapshot_go_that_it_restores(root: Path) -> None:
    snapshots = SnapshotManager(root, limits=SnapshotLimits(keep=2))
    oldest = await snapshots.create("oldest")
    await snapshots.create("newer")
    before = looked_at(root)
    (root / "run.sh").write_text("another\n")
    restored = await snapshots.restore(oldest)
    assert looked_at(root) == before
    assert {oldest, restored.before} <= {one.id for one in await snapshots.list()}


async def test_a_deleted_snapshot_is_gone_with_what_only_it_had(
    root: Path, snapshots: SnapshotManager
) -> None:
    kept = await snapshots.create("kept")
    (root / "big.bin").write_bytes(bytes(range(256)) * 100)
    gone = await snapshots.create("gone")
    packs = project_state(root) / "snapshots/packs"
    assert len(list(packs.iterdir())) == 2
    await snapshots.delete(gone)
    assert [one.id for one in await snapshots.list()] == [kept]
    assert len(list(packs.iterdir())) == 1
    with pytest.raises(SnapshotNotFound):
        await snapshots.delete(gone)


async def test_the_home_directory_and_those_above_it_are_refused(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(root / "src"))
    for refused in (root / "src", root, Path("/")):
        with pytest.raises(OutsideRoot, match="all that you have"):
            await SnapshotManager(refused).create("everything")
    assert not (root / "src/.tideate").exists()


async def test_private_files_are_kept_from_others(root: Path, snapshots: SnapshotManager) -> None:
    made = await snapshots.create("one")
    (pack,) = (project_state(root) / "snapshots/packs").iterdir()
    assert {path.stat().st_mode & 0o077 for path in (pack, pack.parent, manifest_of(root, made))} == {0}


async def test_a_full_disk_leaves_nothing_behind_and_is_said(
    root: Path, snapshots: SnapshotManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    make_project_state(root)
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(WorkspaceError, match="No space left"):
        await snapshots.create("one")
    assert await snapshots.list() == []
    place = project_state(root) / "snapshots"
    assert [path.name for path in place.rglob("*") if path.is_file()] == ["lock"]


async def test_a_home_without_space_is_said_and_nothing_is_made(
    root: Path, snapshots: SnapshotManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(StateError, match="cannot be used for private state: No space left"):
        await snapshots.create("one")
    assert not (root / ".tideate").exists()


async def test_a_record_for_other_tools_is_in_the_project_and_goes_with_its_snapshot(
    root: Path, snapshots: SnapshotManager
) -> None:
    made = await snapshots.create("one")
    record = root / ".tideate/snapshots" / f"{made}.json"
    assert record.read_bytes() == manifest_of(root, made).read_bytes()
    record.write_text("forged")
    assert [one.id for one in await snapshots.list()] == [made]
    await snapshots.delete(made)
    assert not record.exists()


async def test_a_half_written_snapshot_is_not_listed_and_cleared_away(
    root: Path, snapshots: SnapshotManager
) -> None:
    made = await snapshots.create("one")
    place = project_state(root) / "snapshots"
    half = place / "00000000000000aa.json.new"
    half.write_bytes(manifest_of(root, made).read_bytes()[:100])
    (place / "packs/00000000000000bb.pack.new").write_bytes(b"half")
    assert len(await snapshots.list()) == 1
    await snapshots.create("two")
    assert list(place.rglob("*.new")) == []


async def test_of_those_that_one_run_pinned_for_a_moment_only_its_own_are_dropped(root: Path) -> None:
    snapshots = SnapshotManager(root)
    kept = await snapshots.create("by hand")
    shared = await snapshots.create("of two", pin="run1")
    await snapshots.pin(shared, "run2")
    await snapshots.create("of one", pin="run1")
    await snapshots.drop("run1")
    await snapshots.drop("unknown")
    assert [one.id for one in await snapshots.list()] == [kept, shared]


async def test_a_pinned_snapshot_is_not_evicted_until_it_is_released(root: Path) -> None:
    snapshots = SnapshotManager(root, limits=SnapshotLimits(keep=2))
    pinned = await snapshots.create("of a task", pin="run1")
    others = [await snapshots.create(str(number)) for number in range(4)]
    assert [one.id for one in await snapshots.list()] == [pinned, *others[-2:]]
    assert [one.pinned for one in await snapshots.list()] == [("run1",), (), ()]
    assert (await snapshots.get(pinned)).pinned == ("run1",)
    await snapshots.release("run1")
    last = await snapshots.create("last")
    assert [one.id for one in await snapshots.list()] == [others[-1], last]


async def test_a_snapshot_is_kept_until_all_who_pinned_it_released_it(root: Path) -> None:
    snapshots = SnapshotManager(root, limits=SnapshotLimits(keep=1))
    made = await snapshots.create("one")
    before = looked_at(root)
    for run in ("run1", "run2", "run2"):
        await snapshots.pin(made, run)
    await snapshots.release("run1")
    await snapshots.release("run1")
    await snapshots.release("never heard of")
    (root / "run.sh").write_text("another\n")
    await snapshots.create("two")
    assert [one.pinned for one in await snapshots.list()] == [("run2",), ()]
    await snapshots.restore(made)
    assert looked_at(root) == before


async def test_a_snapshot_that_is_not_there_cannot_be_pinned(root: Path, snapshots: SnapshotManager) -> None:
    with pytest.raises(SnapshotNotFound):
        await snapshots.pin("0" * 16, "run1")
    await snapshots.release("run1")
    assert not (root / ".tideate").exists()
