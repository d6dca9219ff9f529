"""Mirrors and layers: odd files, vanishing files, renewal, and what they leave on disk."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.snapshots.trees import looked_at
from tideate_core.errors import ScratchUnavailable
from tideate_core.snapshots import GuardedCopy
from tideate_core.snapshots.guarded import mirror, preparing
from tideate_core.snapshots.guarded.layers import copy_path
from tideate_core.snapshots.guarded.preparing import renew_mirror

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.snapshots.guarded.conftest import Opening


@pytest.fixture(params=[0o002, 0o077, 0o277])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def modes(root: Path) -> list[str]:
    paths = {".": root, **{path.name: path for path in root.iterdir()}}
    return sorted(f"{stat.S_IMODE(path.lstat().st_mode):o} {name}" for name, path in paths.items())


@pytest.mark.usefixtures("umask")
async def test_modes_do_not_depend_on_the_umask(opening: Opening, root: Path) -> None:
    (root / "locked").mkdir()
    (root / "locked/file").touch()
    (root / "locked/file").chmod(0o444)
    (root / "locked").chmod(0o555)
    script = "stat -c '%a %n' . * locked/file"
    for _ in range(2):
        async with opening({"src/laid": b""}) as opened:
            seen = (await opened.run(["sh", "-c", script])).stdout.text.splitlines()
            assert sorted(line for line in seen if "/" not in line) == modes(root)
            assert "444 locked/file" in seen
            assert not await opened.difference()
        (root / "src/one.py").write_text("changed")


async def test_a_read_only_directory_is_updated(opening: Opening, root: Path) -> None:
    (root / "locked").mkdir()
    (root / "locked/file").write_text("1")
    (root / "locked").chmod(0o555)
    async with opening() as opened:
        (root / "locked/file").write_text("2")
        await opened.copy.update()
        assert (await opened.run(["sh", "-c", "cat locked/file; stat -c %a locked"])).stdout.text == "2555\n"
        assert not await opened.difference()


async def test_attributes_and_access_lists_are_kept(opening: Opening, root: Path) -> None:
    os.setxattr(root / "src/one.py", "user.note", b"hello")
    os.setxattr(root / "src", "user.note", b"directory")
    os.setxattr(root / "src/deep", "user.overlay.opaque", b"y")  # hides nothing there
    read = "import os; print(os.getxattr('src/one.py', 'user.note'), os.getxattr('src', 'user.note'))"
    for _ in range(2):
        async with opening() as opened:
            done = await opened.run(["python3", "-c", read])
            assert done.stdout.text == "b'hello' b'directory'\n"
            assert (await opened.run(["cat", "src/deep/two.txt"])).ok
        (root / "src/one.py").write_text("changed")


async def test_what_is_no_file_is_named_and_left_out(opening: Opening, root: Path) -> None:
    os.mkfifo(root / "pipe")
    async with opening() as opened:
        said = "pipe is not in the guarded copy: it is neither a file nor a link nor a directory"
        assert said in opened.copy.notices
        assert not (await opened.run(["test", "-e", "pipe"])).ok


async def test_files_that_vanish_during_the_scan_are_left_out(
    opening: Opening, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = copy_path

    def vanish(source: str, target: str, cloner: Any) -> Any:
        if source.endswith("one.py"):
            Path(source).unlink()
        if source.endswith("two.txt") and (root / "src/deep").exists():
            shutil.rmtree(root / "src/deep")
        return real(source, target, cloner)

    monkeypatch.setattr(mirror, "copy_path", vanish)
    async with opening() as opened:
        assert (await opened.run(["find", "src"])).stdout.text in ("src\nsrc/deep\n", "src\n")
        assert not await opened.difference()


async def test_a_file_written_in_the_moment_of_the_scan_is_read_again(opening: Opening, root: Path) -> None:
    async with opening():
        pass
    for text in ("x = 1\nb = 2\n", "x = 1\nb = 3\n", "x = 1\nb = 4\n"):  # of the same size, within a tick
        (root / "src/one.py").write_text(text)
        async with opening() as opened:
            assert (await opened.run(["cat", "src/one.py"])).stdout.text == text


async def test_a_large_delta_is_replaced_by_a_new_mirror(
    opening: Opening, root: Path, private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait_for_a_tick(root)
    first = await GuardedCopy.prepare(root, private=private)
    monkeypatch.setattr(preparing, "_LARGEST_DELTA", 3)
    (root / "src/one.py").write_text("changed")
    (root / "run.sh").unlink()
    for number in range(4):
        (root / f"new{number}").write_text("1")
    before = looked_at(root, ())
    renew_mirror(private, root, threading.Event())
    places = private / "mirror"
    assert sorted(path.name for path in places.iterdir()) == ["1", "2"]
    old, new = ((places / name / "tree/logo.png").stat().st_ino for name in "12")
    assert old == new
    assert looked_at(places / "2/tree", ()) == before
    async with opening() as second:
        assert (await second.run(["cat", "src/one.py", "new3"])).stdout.text == "changed1"
        await first.update()
        assert not await first.difference()
    await first.discard()
    assert "1" not in [path.name for path in places.iterdir()]


def wait_for_a_tick(root: Path) -> None:
    """Wait until the clock of the file system is later than the project's files."""
    probe = root.parent / "probe"
    probe.touch()
    newest = max(path.lstat().st_ctime_ns for path in (probe, *root.rglob("*")))
    while probe.lstat().st_ctime_ns <= newest:
        probe.touch()


async def test_an_unchanged_project_needs_no_delta(root: Path, private: Path) -> None:
    wait_for_a_tick(root)
    for _ in range(2):
        copy = await GuardedCopy.prepare(root, private=private)
        assert list((copy.place / "delta").iterdir()) == []
        assert not (copy.place / "listing-0").exists()
        await copy.discard()


async def test_several_copies_of_one_project_do_not_see_each_other(opening: Opening, private: Path) -> None:
    async with opening() as one, opening() as two:
        await one.change("echo one > src/one.py")
        assert (await two.run(["cat", "src/one.py"])).stdout.text == "a = 1\nb = 2\n"
        assert not await two.difference()
        assert [path.name for path in (private / "mirror").iterdir()] == ["1"]


async def test_copies_that_are_made_at_once_share_one_mirror(root: Path, private: Path) -> None:
    made = await asyncio.gather(*(GuardedCopy.prepare(root, private=private) for _ in range(4)))
    assert [path.name for path in (private / "mirror").iterdir()] == ["1"]
    for copy in made:
        await copy.discard()


async def test_too_much_for_the_disk_or_for_a_copy_is_refused(
    root: Path, private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "large").touch()
    os.truncate(root / "large", 1 << 42)
    with pytest.raises(ScratchUnavailable, match="let git ignore directories of large files"):
        await GuardedCopy.prepare(root, private=private)
    (root / "large").unlink()
    monkeypatch.setattr(mirror, "MOST", 2)
    with pytest.raises(ScratchUnavailable, match="more than 2 files"):
        await GuardedCopy.prepare(root, private=private)
    assert not list((private / "unfinished").iterdir())


async def test_a_full_disk_leaves_nothing(root: Path, private: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    for name in ("copy_git", "outside_git", "fsync_directory"):
        with monkeypatch.context() as patch:
            patch.setattr(preparing, name, full)
            (root / ".git").mkdir(exist_ok=True)
            with pytest.raises(ScratchUnavailable, match="No space left on device"):
                await GuardedCopy.prepare(root, private=private)
        assert not list((private / "unfinished").glob("*/base.json"))


async def test_a_project_on_another_file_system_than_the_state(tmp_path: Path, opening: Opening) -> None:
    memory = Path("/dev/shm") / f"tideate-{os.getpid()}"
    memory.mkdir()
    try:
        (memory / "file").write_text("1")
        async with opening(root=memory) as opened:
            await opened.change("echo 2 > file")
            assert list((await opened.difference()).files) == ["file"]
            await opened.copy.update()
            assert not await opened.difference()
        assert (memory / "file").read_text() == "1"
    finally:
        shutil.rmtree(memory)


async def test_a_damaged_listing_costs_only_time(opening: Opening, root: Path, private: Path) -> None:
    async with opening():
        pass
    (private / "mirror/1/listing").write_text("damaged")
    (root / "run.sh").unlink()
    async with opening() as opened:
        assert (await opened.run(["cat", "src/one.py"])).ok
        assert not await opened.difference()


async def test_a_mirror_that_a_power_loss_may_have_torn_is_made_anew(
    root: Path, private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def numbers() -> list[str]:
        await GuardedCopy.prepare(root, private=private)
        return sorted(path.name for path in (private / "mirror").iterdir())

    assert await numbers() == ["1"]
    assert await numbers() == ["1"]
    monkeypatch.setattr(mirror, "boot_id", lambda: "the next boot")
    assert await numbers() == ["1", "2"]
    assert renew_mirror(private, root, threading.Event())  # it becomes durable
    monkeypatch.setattr(mirror, "boot_id", lambda: "the boot after that")
    assert await numbers() == ["1", "2"]
