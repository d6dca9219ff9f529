"""A restore writes only differences, all or nothing, and can be rolled back."""

from __future__ import annotations

import os
import struct
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import pytest

from tests.harness.buffers import Buffers
from tests.harness.modes import new_mode
from tests.harness.project import git
from tests.snapshots.trees import by_nobody, looked_at, nobodys
from tideate_core.errors import EditConflict, OutsideRoot, RollbackConflict, WorkspaceError
from tideate_core.project import project_state
from tideate_core.project.open_directories import open_directory
from tideate_core.snapshots import SnapshotLimits, SnapshotManager, restore
from tideate_core.snapshots.compare import Comparison, Tree
from tideate_core.snapshots.entries import Entry
from tideate_core.snapshots.packs import digest
from tideate_core.snapshots.restore import Restorer, plan_removal, plan_restore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.snapshots.trees import Node


def change_all(root: Path) -> None:
    (root / "src/one.py").write_bytes(b"other\n")
    (root / "run.sh").chmod(0o644)
    (root / "logo.png").unlink()
    (root / "empty").rmdir()
    (root / "latest").unlink()
    (root / "latest").symlink_to("run.sh")
    (root / "new.txt").write_bytes(b"new\n")
    (root / "made").mkdir()
    (root / "made/in.txt").write_bytes(b"in\n")


async def test_what_differs_is_written_and_what_was_made_since_is_listed_and_stays(
    root: Path, snapshots: SnapshotManager
) -> None:
    before = looked_at(root)
    made = await snapshots.create("one")
    untouched = (root / "src/deep/dos.txt").stat().st_ino
    change_all(root)
    done = await snapshots.restore(made)
    assert done.written == ("empty/", "latest", "logo.png", "run.sh", "src/one.py")
    assert (done.deleted, done.added, done.left) == ((), ("made/", "made/in.txt", "new.txt"), {})
    now = looked_at(root)
    assert {path: now[path] for path in before} == before
    assert set(now) - set(before) == {b"new.txt", b"made", b"made/in.txt"}
    assert (root / "src/deep/dos.txt").stat().st_ino == untouched


async def test_a_restore_is_logged_with_its_paths_and_their_number(
    root: Path, snapshots: SnapshotManager, caplog: pytest.LogCaptureFixture
) -> None:
    made = await snapshots.create("one")
    change_all(root)
    await snapshots.restore(made, delete_added=True)
    written = "5 written: empty/, latest, logo.png, run.sh, src/one.py"
    words = f"restore of snapshot {made}: {written}; 3 deleted: made/, made/in.txt, new.txt"
    assert [record.getMessage() for record in caplog.records] == [words]


async def test_a_restore_of_what_is_there_writes_nothing_and_makes_no_snapshot(
    root: Path, snapshots: SnapshotManager
) -> None:
    made = await snapshots.create("one")
    (root / "new.txt").write_text("n")
    done = await snapshots.restore(made)
    assert (done.before, done.written, done.added) == (None, (), ("new.txt",))
    assert len(await snapshots.list()) == 1


async def test_what_git_ignores_is_never_deleted(repository: Path, snapshots: SnapshotManager) -> None:
    made = await snapshots.create("one")
    (repository / "build").mkdir()
    (repository / "build/out.o").write_text("o")
    (repository / "new.log").write_text("l")
    (repository / "more").mkdir()
    (repository / "more/a.log").write_text("in a new directory")
    (repository / "node_modules/more.js").write_text("m")
    (repository / "new.txt").write_text("n")
    done = await snapshots.restore(made, delete_added=True)
    assert done.deleted == ("new.txt",)
    assert done.left == dict.fromkeys(("more/a.log", "new.log"), "git ignores it, so it was not deleted")
    for kept in ("build/out.o", "new.log", "more/a.log", "node_modules/more.js"):
        assert (repository / kept).exists()


async def test_what_was_ignored_when_the_snapshot_was_made_is_not_deleted_either(
    repository: Path, snapshots: SnapshotManager
) -> None:
    made = await snapshots.create("one")
    (repository / ".gitignore").write_text("")
    done = await snapshots.restore(made, delete_added=True)
    assert done.written == (".gitignore",)
    assert (repository / "node_modules/left/pad.js").exists()


async def test_what_is_ignored_by_now_is_restored_all_the_same(
    repository: Path, snapshots: SnapshotManager
) -> None:
    (repository / "src/extra.py").write_text("old")
    before = looked_at(repository)
    made = await snapshots.create("one")
    (repository / ".gitignore").write_text("src/\nnode_modules/\n*.log\n.env\nbuild/\n")
    (repository / "src/one.py").write_text("changed")
    (repository / "src/new.py").write_text("new, and ignored")
    (repository / "src/extra.py").unlink()
    done = await snapshots.restore(made, delete_added=True)
    assert (repository / "src/new.py").exists()
    assert done.left == {"src/new.py": "git ignores it, so it was not deleted"}
    (repository / "src/new.py").unlink()
    assert looked_at(repository) == before


async def test_a_repository_that_was_cloned_since_keeps_its_git(
    repository: Path, snapshots: SnapshotManager
) -> None:
    made = await snapshots.create("one")
    (repository / "clone").mkdir()
    git(repository / "clone", "init", "--quiet")
    (repository / "clone/file").write_text("f")
    done = await snapshots.restore(made, delete_added=True)
    assert done.deleted == ("clone/file",)
    assert (repository / "clone/.git/HEAD").exists()


async def test_a_directory_with_new_files_in_the_place_of_a_file_is_left_and_said(
    root: Path, snapshots: SnapshotManager
) -> None:
    made = await snapshots.create("one")
    (root / "run.sh").unlink()
    (root / "run.sh").mkdir()
    (root / "run.sh/mine").write_text("m")
    (root / "logo.png").unlink()
    done = await snapshots.restore(made)
    assert done.written == ("logo.png",)
    assert done.left == {"run.sh": "a directory is there now, with files made since"}
    assert (root / "run.sh/mine").read_text() == "m"
    before = await snapshots.restore(made, delete_added=True)
    assert (before.left, (root / "run.sh").read_bytes()) == ({}, b"#!/bin/sh\n")


async def test_a_link_in_the_place_of_a_directory_is_replaced_and_what_it_leads_to_is_not_written(
    root: Path, snapshots: SnapshotManager, tmp_path: Path
) -> None:
    before = looked_at(root)
    made = await snapshots.create("one")
    elsewhere = tmp_path / "elsewhere"
    (root / "src").rename(elsewhere)
    (elsewhere / "one.py").write_text("not to be written")
    (root / "src").symlink_to(elsewhere)
    await snapshots.restore(made)
    assert looked_at(root) == before
    assert (elsewhere / "one.py").read_text() == "not to be written"


async def test_a_pipe_in_the_place_of_a_file_is_left_and_said(root: Path, snapshots: SnapshotManager) -> None:
    made = await snapshots.create("one")
    (root / "run.sh").unlink()
    os.mkfifo(root / "run.sh")
    (root / "logo.png").unlink()
    done = await snapshots.restore(made)
    assert list(done.left) == ["run.sh"]
    assert "neither a file" in done.left["run.sh"]
    assert done.written == ("logo.png",)


async def test_a_file_that_grew_over_the_limit_is_left_because_it_could_not_be_had_back(root: Path) -> None:
    snapshots = SnapshotManager(root, limits=SnapshotLimits(max_file=2000))
    made = await snapshots.create("one")
    (root / "run.sh").write_bytes(b"x" * 3000)
    done = await snapshots.restore(made)
    assert "over the limit" in done.left["run.sh"]
    assert (root / "run.sh").stat().st_size == 3000


CLOSED = """
async def main(root):
    snapshots = SnapshotManager(root)
    made = await snapshots.create("one")
    (root / "in/file").write_text("changed")
    (root / "in").chmod(0o500)
    await snapshots.restore(made)
"""


@pytest.mark.slow
def test_a_directory_that_was_closed_since_is_opened_to_be_restored() -> None:
    with nobodys({"in/file": "text"}) as root:
        before = looked_at(root)
        by_nobody(CLOSED, root)
        assert looked_at(root) == before


async def test_permissions_of_directories_come_back(root: Path, snapshots: SnapshotManager) -> None:
    (root / "src/deep").chmod(0o500)
    before = looked_at(root)
    made = await snapshots.create("one")
    (root / "src/deep").chmod(0o700)
    (root / "src/deep/dos.txt").write_bytes(b"changed")
    (root / "src").chmod(0o555)
    await snapshots.restore(made)
    assert looked_at(root) == before


async def test_the_editors_unsaved_text_is_not_lost(root: Path) -> None:
    editor = Buffers()
    snapshots = SnapshotManager(root, buffers=editor)
    made = await snapshots.create("one")
    change_all(root)
    before = looked_at(root)
    editor.load(root / "src/one.py", "typed", modified=True)
    editor.load(root / "logo.png", "not changed", modified=False)
    editor.load(root / "src/deep/dos.txt", "typed where nothing is restored", modified=True)
    with pytest.raises(RollbackConflict, match=r"unsaved in the editor.*: src/one\.py\. Save or discard"):
        await snapshots.restore(made)
    assert looked_at(root) == before
    assert len(await snapshots.list()) == 1


async def test_the_editor_is_told_which_files_changed(root: Path) -> None:
    editor = Buffers()
    snapshots = SnapshotManager(root, buffers=editor)
    made = await snapshots.create("one")
    (root / "src/one.py").write_bytes(b"other\n")
    await snapshots.restore(made)
    assert editor.disk_checks == [root / "src/one.py"]


async def test_a_file_that_changes_in_the_last_moment_keeps_its_text_and_all_is_rolled_back(
    root: Path, snapshots: SnapshotManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await snapshots.create("one")
    change_all(root)
    real = restore.plan_writing

    def writing(*values: object) -> object:
        plan = real(*values)  # type: ignore[arg-type]
        (root / "src/one.py").write_bytes(b"typed in the last moment\n")
        return plan

    monkeypatch.setattr(restore, "plan_writing", writing)
    before = looked_at(root)
    with pytest.raises(EditConflict):
        await snapshots.restore(made, delete_added=True)
    assert looked_at(root) == before | {b"src/one.py": ("file", new_mode(), b"typed in the last moment\n")}


async def test_a_restore_that_cannot_be_written_is_rolled_back_whole(
    root: Path, snapshots: SnapshotManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await snapshots.create("one")
    change_all(root)
    (root / "bare").mkdir(mode=0o700)
    (root / "latest").unlink()
    (root / "latest").write_bytes(b"a file with other permissions")
    (root / "run.sh").write_bytes(b"other text and other permissions")
    (root / "src/one.py").chmod(0o600)
    before = looked_at(root)
    real, count = os.replace, 0

    def replace(source: object, target: object, **named: object) -> None:
        nonlocal count
        if str(source).endswith(".tmp"):
            count += 1
            if count == 4:
                raise OSError(28, "No space left on device")
        real(source, target, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(WorkspaceError, match="rolled back"):
        await snapshots.restore(made, delete_added=True)
    assert looked_at(root) == before
    assert await SnapshotManager(root).recover() is None
    monkeypatch.undo()
    await snapshots.restore(made, delete_added=True)


async def test_a_damaged_content_is_said_and_nothing_is_written(
    root: Path, snapshots: SnapshotManager
) -> None:
    made = await snapshots.create("one")
    change_all(root)
    before = looked_at(root)
    (pack,) = (project_state(root) / "snapshots/packs").iterdir()
    data = bytearray(pack.read_bytes())
    data[20:40] = bytes(20)
    pack.write_bytes(data)
    with pytest.raises(WorkspaceError, match="damaged"):
        await snapshots.restore(made, delete_added=True)
    assert looked_at(root) == before


async def test_what_a_lost_pack_had_is_stored_again_by_the_next_snapshot(
    root: Path, snapshots: SnapshotManager
) -> None:
    await snapshots.create("one")
    (pack,) = (project_state(root) / "snapshots/packs").iterdir()
    pack.unlink()
    before = looked_at(root)
    made = await snapshots.create("two")
    (root / "run.sh").unlink()
    await snapshots.restore(made)
    assert looked_at(root) == before


@pytest.mark.parametrize(
    "path", ["../out", "/etc/out", ".git/hooks/x", "a/../../out", ".tideate/x", "src//x"]
)
async def test_a_manifest_that_somebody_made_up_writes_nowhere_else(
    root: Path, snapshots: SnapshotManager, path: str
) -> None:
    from tideate_core.snapshots.manifest import load_manifest, save_manifest

    made = await snapshots.create("one")
    place = project_state(root) / "snapshots"
    manifest = load_manifest(place / f"{made}.json")
    entries = {
        name: entry._replace(path=path) if name == "run.sh" else entry
        for name, entry in manifest.entries.items()
    }
    save_manifest(place, manifest.header, entries, {}, [])
    before = looked_at(root.parent, leave_out=(".tideate",))
    with pytest.raises(OutsideRoot):
        await snapshots.restore(made)
    assert looked_at(root.parent, leave_out=(".tideate",)) == before


@pytest.fixture
async def interrupted(
    root: Path, snapshots: SnapshotManager, monkeypatch: pytest.MonkeyPatch
) -> dict[bytes, Node]:
    """What stood there before a restore that was killed just before its end."""
    made = await snapshots.create("one")
    change_all(root)
    (root / "bare").mkdir(mode=0o700)
    before = looked_at(root)
    with monkeypatch.context() as patch:
        patch.setattr(Restorer, "_close_journal", lambda _self, _run: None)
        await snapshots.restore(made, delete_added=True)
    return before


async def test_the_journal_of_an_interrupted_restore_is_apart_from_those_of_runs(
    root: Path, interrupted: dict[bytes, Node]
) -> None:
    assert not (project_state(root) / "journal").exists()
    recovered = await SnapshotManager(root).recover()
    assert recovered is not None
    assert (set(recovered.restored) >= {"new.txt", "src/one.py"}, recovered.left) == (True, ())
    assert looked_at(root) == interrupted
    assert await SnapshotManager(root).recover() is None


async def test_a_rollback_that_is_interrupted_itself_goes_on_where_it_stopped(
    root: Path, interrupted: dict[bytes, Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def stopping(path: Path, *, make: bool = False) -> Iterator[int]:
        with open_directory(path, make=make) as directory:
            if path.name == "bare":
                raise OSError(5, "stopped", str(path))
            yield directory

    monkeypatch.setattr("tideate_core.workspace.rollback.open_directory", stopping)
    with pytest.raises(WorkspaceError, match="stopped"):
        await SnapshotManager(root).recover()
    assert (root / "bare").exists()
    monkeypatch.undo()
    await SnapshotManager(root).recover()
    assert looked_at(root) == interrupted


async def test_what_was_changed_after_an_interrupted_restore_stays_and_is_said(
    root: Path, interrupted: dict[bytes, Node]
) -> None:
    (root / "src/one.py").write_bytes(b"written since\n")
    wanted = interrupted | {b"src/one.py": ("file", new_mode(), b"written since\n")}
    later = SnapshotManager(root)
    await later.diff(await later.create("next"))
    assert "src/one.py" in await later.interrupted()
    assert looked_at(root) != wanted
    recovered = await later.recover()
    assert recovered is not None
    assert "src/one.py" in recovered.left[0]
    assert await later.interrupted() == []
    assert looked_at(root) == wanted


NOBODY: Final = 0xFFFFFFFF
ACCESS: Final = struct.pack("<I", 2) + b"".join(
    struct.pack("<HHI", *entry)
    for entry in ((1, 6, NOBODY), (2, 6, 1000), (4, 4, NOBODY), (16, 6, NOBODY), (32, 0, NOBODY))
)
"""An access control list: a named user may write, the group only reads."""


async def test_a_deleted_file_comes_back_with_its_attributes(root: Path, snapshots: SnapshotManager) -> None:
    attributes = {"user.note": b"\x00\xff", "system.posix_acl_access": ACCESS}
    for name, value in attributes.items():
        os.setxattr(root / "run.sh", name, value)
    await snapshots.create("before")  # others are reused
    (root / "other").write_text("x")
    made = await snapshots.create("one")
    mode = (root / "run.sh").stat().st_mode
    (root / "run.sh").unlink()
    await snapshots.restore(made)
    assert {name: os.getxattr(root / "run.sh", name) for name in os.listxattr(root / "run.sh")} == attributes
    assert (root / "run.sh").stat().st_mode == mode


async def test_attributes_that_are_given_later_are_in_the_next_snapshot(
    root: Path, snapshots: SnapshotManager
) -> None:
    await snapshots.create("before")
    os.setxattr(root / "run.sh", "user.note", b"1")
    made = await snapshots.create("one")
    (root / "run.sh").unlink()
    await snapshots.restore(made)
    assert os.getxattr(root / "run.sh", "user.note") == b"1"


def file(path: str, data: bytes = b"") -> Entry:
    return Entry(path, "file", 0o644, len(data), digest(data), "")


def directory(path: str) -> Entry:
    return Entry(path, "directory", 0o755, 0, "", "")


def tree(*entries: Entry, ignored: tuple[str, ...] = (), ignored_files: tuple[str, ...] = ()) -> Tree:
    named = {entry.path: entry for entry in entries}
    return Tree(named, {}, frozenset(ignored), frozenset(ignored_files))


def test_only_what_will_hold_something_else_is_touched() -> None:
    was, mode_only = file("a", b"1"), file("b")
    found = Comparison(modified=[(was, file("a", b"2")), (mode_only, mode_only._replace(mode=0o600))])
    assert plan_restore(found, tree(), delete_added=False).touched == ["a"]


def test_inner_directories_go_before_outer_ones_and_a_file_that_changed_stops_it(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/c").write_bytes(b"new")
    added = [directory("a"), directory("a/b"), file("a/b/c", b"new")]
    plan = plan_restore(Comparison(added=added), tree(*added), delete_added=True)
    removal = plan_removal(tmp_path, plan)
    assert [operation.path.name for operation in removal.removed] == ["b", "a"]
    assert [operation.name for operation in removal.files] == ["a/b/c"]
    (tmp_path / "a/b/c").write_bytes(b"newer")
    with pytest.raises(EditConflict, match="changed just now"):
        plan_removal(tmp_path, plan)
