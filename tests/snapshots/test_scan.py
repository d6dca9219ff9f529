"""Files included in a snapshot, files left out, and the report of them."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

import pytest

from tests.harness.project import git
from tests.snapshots.trees import at, by_nobody, looked_at, nobodys, paths, taken, tick
from tideate_core.errors import EditConflict
from tideate_core.snapshots import SnapshotLimits, SnapshotManager
from tideate_core.snapshots.restore import Restorer

if TYPE_CHECKING:
    from pathlib import Path


async def test_ignored_files_are_taken_in_and_what_is_in_ignored_directories_is_not(repository: Path) -> None:
    found = await taken(repository)
    assert {".env", ".gitignore", "logs/a.log"} <= paths(found)
    assert "node_modules/left/pad.js" not in paths(found)
    assert "node_modules" in found.ignored


async def test_what_is_in_ignored_directories_is_taken_in_where_that_is_wanted(repository: Path) -> None:
    found = await taken(repository, SnapshotLimits(ignored_directories=True))
    assert "node_modules/left/pad.js" in paths(found)


async def test_tracked_files_in_an_ignored_directory_are_taken_in(repository: Path) -> None:
    (repository / "build").mkdir()
    (repository / "build/tracked").write_text("t")
    git(repository, "add", "--force", "build/tracked")
    (repository / "build/made").write_text("m")
    assert "build/tracked" in paths(await taken(repository))


async def test_links_are_never_followed(root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("s")
    (root / "out").symlink_to(tmp_path / "outside")
    found = await taken(root)
    assert not any("secret" in path or path.startswith("folder/") for path in paths(found))
    assert {entry.path: entry.target for entry in found.files}["out"] == str(tmp_path / "outside")


async def test_what_is_no_file_is_left_out_and_said(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(root / "pipe")
    monkeypatch.chdir(root)  # the name of a socket must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("sock")
        found = await taken(root)
    assert set(found.skipped) == {"pipe", "sock"}
    assert "neither a file" in found.skipped["pipe"]


async def test_what_was_left_out_is_neither_restored_nor_deleted_nor_told_to_differ(root: Path) -> None:
    (root / "large.bin").write_bytes(b"x" * 3000)
    snapshots = SnapshotManager(root, limits=SnapshotLimits(max_file=2000))
    made = await snapshots.create("one")
    (root / "large.bin").write_bytes(b"small now")
    assert await snapshots.diff(made) == []
    await snapshots.restore(made, delete_added=True)
    assert (root / "large.bin").read_bytes() == b"small now"


async def test_what_is_left_over_of_a_killed_write_is_no_part_of_the_project(root: Path) -> None:
    (root / "src/.tideate-0123456789abcdef.tmp").write_text("half")
    (root / "src/.tideate-notes.tmp").write_text("mine")
    found = paths(await taken(root))
    assert "src/.tideate-notes.tmp" in found
    assert "src/.tideate-0123456789abcdef.tmp" not in found


UNREADABLE = """
async def main(root):
    snapshots = SnapshotManager(root)
    found = await snapshots.get(await snapshots.create("one"))
    print(sorted(found.skipped.items()), sorted(entry.path for entry in found.files))
"""


@pytest.mark.slow
def test_what_cannot_be_read_is_left_out_and_said() -> None:
    with nobodys({"closed/in": "i", "secret": "s", "open": "o"}) as root:
        (root / "closed").chmod(0)
        (root / "secret").chmod(0)
        said = by_nobody(UNREADABLE, root)
    assert "('closed', 'cannot be read: Permission denied')" in said
    assert "('secret', 'cannot be read: Permission denied')" in said
    assert said.strip().endswith("['closed', 'open']")


async def test_odd_names_come_back(root: Path) -> None:
    names = [b"-rf", b"new\nline", b"\xff\xfe.bin", b"x" * 255, b"tab\t", "ümläut".encode(), b'q"uote\\']
    for name in names:
        at(root, name).write_bytes(name)
    before = looked_at(root)
    snapshots = SnapshotManager(root)
    made = await snapshots.create("odd")
    for name in names:
        at(root, name).unlink()
    diffs = await snapshots.diff(made)
    assert {os.fsencode(diff.path) for diff in diffs} == set(names)
    await snapshots.restore(made)
    assert looked_at(root) == before


async def test_a_directory_that_is_never_looked_at_is_said_also_where_nothing_else_changed(
    root: Path,
) -> None:
    tick(root.parent)
    assert ".hg" not in (await taken(root)).ignored
    (root / ".hg").mkdir()
    assert ".hg" in (await taken(root)).ignored


async def test_an_ignored_directory_that_was_looked_into_for_a_restore_is_not_in_the_next_snapshot(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(*_: object) -> None:
        raise EditConflict("a file changed meanwhile")

    monkeypatch.setattr(Restorer, "restore", refused)
    snapshots = SnapshotManager(repository)
    (repository / "out").mkdir()
    made = await snapshots.create("one")
    (repository / ".git/info/exclude").write_text("out\n")
    (repository / "run.sh").write_text("another\n")
    tick(repository.parent)
    with pytest.raises(EditConflict):
        await snapshots.restore(made)
    before = await snapshots.get_latest()
    assert before is not None
    assert "out" in {entry.path for entry in before.files}
    found = await taken(repository)
    assert "out" in found.ignored
    assert "out" not in {entry.path for entry in found.files}
