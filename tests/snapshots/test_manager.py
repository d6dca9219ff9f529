"""Making, listing, finding and deleting snapshots, and what they refuse."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.snapshots.trees import looked_at
from tideate_core.errors import OutsideRoot, SnapshotNotFound, StateError, WorkspaceError
from tideate_core.project import make_project_state, project_state
from tideate_core.snapshots import SnapshotLimits, manager as module
from tideate_core.snapshots.packs import digest
from tideate_core.workspace import SnapshotManager


def manifest_of(root: Path, snapshot_id: str) -> Path:
    return project_state(root) / "snapshots" / f"{snapshot_id}.json"


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


async def test_the_manifest_is_json_that_other_tools_can_read(root: Path, snapshots: SnapshotManager) -> None:
    made = await snapshots.create("one")
    shape = json.loads(manifest_of(root, made).read_text())
    assert (shape["id"], shape["name"], shape["count"]) == (made, "one", 7)
    (row,) = [row for row in shape["tree"]["entries"] if row[0] == "run.sh"]
    assert row == ["run.sh", "file", 0o751, 10, digest(b"#!/bin/sh\n"), ""]


async def test_a_manifest_of_the_first_version_is_restored_and_gone_on_from(
    root: Path, snapshots: SnapshotManager
) -> None:
    made = await snapshots.create("one")
    path = manifest_of(root, made)
    first, _, rest = path.read_bytes().partition(b"\n")
    tree = json.loads(rest.removesuffix(b"}\n"))
    rows = [json.dumps([*row[:4], 1, 2, 3, *row[4:]]) for row in tree.pop("entries")]
    lines = ",\n".join(rows)
    old = f'{json.dumps(tree).removesuffix("}")},"entries":[\n{lines}\n]}}}}\n'.encode()
    head = json.loads(first.removesuffix(b',"tree":') + b"}") | {"version": 1, "digest": digest(old)}
    del head["pinned"]
    path.write_bytes(json.dumps(head).removesuffix("}").encode() + b',"tree":\n' + old)
    before = looked_at(root)
    (root / "run.sh").unlink()
    await snapshots.restore(made)
    assert looked_at(root) == before
    await snapshots.create("two")
    assert await snapshots.damaged() == []


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
    (pack,) = (project_state(root) / "snapshots" / "packs").iterdir()
    (root / "src" / "copy.py").write_bytes((root / "src" / "one.py").read_bytes())
    await snapshots.create("two")
    assert list((project_state(root) / "snapshots" / "packs").iterdir()) == [pack]


async def test_only_the_newest_are_kept(root: Path) -> None:
    snapshots = SnapshotManager(root, limits=SnapshotLimits(keep=3))
    made = [await snapshots.create(str(number)) for number in range(5)]
    assert [one.id for one in await snapshots.list()] == made[2:]
    with pytest.raises(SnapshotNotFound):
        await snapshots.get(made[0])


async def test_ten_are_kept_by_default() -> None:
    assert SnapshotLimits().keep == 10


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
    packs = project_state(root) / "snapshots" / "packs"
    assert len(list(packs.iterdir())) == 2
    await snapshots.delete(gone)
    assert [one.id for one in await snapshots.list()] == [kept]
    assert len(list(packs.iterdir())) == 1
    with pytest.raises(SnapshotNotFound):
        await snapshots.delete(gone)


@pytest.mark.parametrize("wanted", ["../../etc/passwd", "", "0123456789ABCDEF", "0" * 17])
async def test_an_id_that_is_none_finds_nothing(snapshots: SnapshotManager, wanted: str) -> None:
    await snapshots.create("one")
    with pytest.raises(SnapshotNotFound):
        await snapshots.restore(wanted)


async def test_the_home_directory_and_those_above_it_are_refused(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(root / "src"))
    for refused in (root / "src", root, Path("/")):
        with pytest.raises(OutsideRoot, match="all that you have"):
            await SnapshotManager(refused).create("everything")
    assert not (root / "src" / ".tideate").exists()


async def test_private_files_are_kept_from_others(root: Path, snapshots: SnapshotManager) -> None:
    made = await snapshots.create("one")
    (pack,) = (project_state(root) / "snapshots" / "packs").iterdir()
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
    record = root / ".tideate" / "snapshots" / f"{made}.json"
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
    (place / "packs" / "00000000000000bb.pack.new").write_bytes(b"half")
    assert len(await snapshots.list()) == 1
    await snapshots.create("two")
    assert list(place.rglob("*.new")) == []


async def test_a_damaged_snapshot_is_said_deleted_and_holds_up_nothing(
    root: Path, snapshots: SnapshotManager
) -> None:
    made = await snapshots.create("one")
    text = manifest_of(root, made).read_bytes()
    manifest_of(root, made).write_bytes(text.replace(b"run.sh", b"ran.sh"))
    with pytest.raises(WorkspaceError, match=rf"is damaged .* snapshot delete {made}"):
        await snapshots.restore(made)
    manifest_of(root, made).write_bytes(text[:30])
    assert await snapshots.list() == []
    (said,) = await snapshots.damaged()
    assert made in said
    await snapshots.create("two")
    await snapshots.delete(made)
    assert await snapshots.damaged() == []


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


async def test_of_those_that_one_run_pinned_for_a_moment_only_its_own_are_dropped(root: Path) -> None:
    snapshots = SnapshotManager(root)
    kept = await snapshots.create("by hand")
    shared = await snapshots.create("of two", pin="run1")
    await snapshots.pin(shared, "run2")
    await snapshots.create("of one", pin="run1")
    await snapshots.drop("run1")
    await snapshots.drop("unknown")
    assert [one.id for one in await snapshots.list()] == [kept, shared]


async def test_a_pinned_snapshot_is_not_tidied_away_until_it_is_released(root: Path) -> None:
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


async def test_many_pinned_snapshots_leave_as_many_others_as_are_to_be_kept(root: Path) -> None:
    snapshots = SnapshotManager(root, limits=SnapshotLimits(keep=2))
    pinned = [await snapshots.create(f"pinned {number}", pin="run") for number in range(4)]
    others = [await snapshots.create(str(number)) for number in range(3)]
    assert [one.id for one in await snapshots.list()] == [*pinned, *others[1:]]
