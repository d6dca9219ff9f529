"""Programs that work against the update, the reading and the end of their guarded copy."""

from __future__ import annotations

import errno
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

from tests.snapshots.guarded.conftest import Opened
from tideate_core.process import Enclosure, Rules, make_environment
from tideate_core.project import open_directory_fd
from tideate_core.snapshots import GuardedCopy, ScratchDifference
from tideate_core.snapshots.guarded import base, difference, updating
from tideate_core.snapshots.guarded.base import UNKNOWN, lstat, state_at, state_in_copy
from tideate_core.snapshots.guarded.upper import DEEPEST

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.processes import Brood
    from tests.snapshots.guarded.conftest import Opening
    from tideate_core.workspace import FileState

overlay = pytest.mark.parametrize("kind", ["overlay"])


async def test_a_link_above_the_project_leads_no_write_outside(tmp_path: Path, brood: Brood) -> None:
    project, victim = tmp_path / "writable/above/project", tmp_path / "victim"
    for directory in (project, victim / "project", tmp_path / "home"):
        directory.mkdir(parents=True)
    private = tmp_path / "private"
    copy = await GuardedCopy.prepare(project, private=private, kind="overlay")
    try:
        await copy.open(Enclosure(tmp_path / "home", writable=(tmp_path / "writable",)))
        opened = Opened(copy, make_environment(brood.environment()))
        script = 'mv "$1/writable/above" "$1/writable/moved"; ln -s "$1/victim" "$1/writable/above"'
        await opened.change(script, "sh", str(tmp_path))
        attached = GuardedCopy.attach(project, copy.id, private=private)
        for name, one in {"owner": copy, "other": attached}.items():
            await one.leave_note(name, "text")
            assert (copy.place / "upper/.tideate" / name).read_text() == "text"
        assert list((victim / "project").iterdir()) == []
    finally:
        await copy.discard()


@pytest.mark.attack
async def test_a_program_that_fills_the_disk_is_ended_and_its_files_wait(
    root: Path, tmp_path: Path, brood: Brood
) -> None:
    (tmp_path / "home").mkdir()
    copy = await GuardedCopy.prepare(root, private=tmp_path / "private", kind="overlay")
    try:
        await copy.open(Enclosure(tmp_path / "home", rules=Rules(disk=4 << 20)))
        opened = Opened(copy, make_environment(brood.environment()))
        script = "trap '' TERM; echo 1 > new; mkdir d; while :; do head -c 1048576 /dev/zero >> d/big; done"
        done = await opened.run(["sh", "-c", script])
        report = await copy.close()
        assert not done.ok
        (line,) = (line for line in report.lines if line.startswith("ended the program"))
        assert "its changes took more than 4 MiB on the disk; `max_mib`" in line
        assert [path for path in (await copy.difference()).files if path == "new"] == ["new"]
    finally:
        await copy.discard()


@overlay
async def test_the_view_of_a_copy_outlives_the_program(opening: Opening, root: Path, private: Path) -> None:
    async with opening() as opened:
        other = GuardedCopy.attach(root, opened.copy.id, private=private)
        with other._view() as view:
            assert opened.copy._held is not None
            os.kill(opened.copy._held.pid, signal.SIGKILL)
            await opened.copy.close()
            assert (view / "src/one.py").read_bytes() == b"a = 1\nb = 2\n"
            (view / "late").write_text("1")
        assert list((await other.difference()).files) == ["late"]


async def test_an_unreadable_file_waits_for_a_later_update(
    opening: Opening, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = state_at

    def refuse(path: Path | str, directory: int | None = None, largest: int | None = None) -> FileState:
        if directory is not None and path in ("one.py", "run.sh"):  # the superuser may read all files
            raise PermissionError(13, "Permission denied")
        return real(path, directory, largest)

    async with opening() as opened:
        await opened.change("echo agent > src/one.py")
        for name in ("src/one.py", "run.sh", "more"):
            (root / name).write_text("person\n")
        monkeypatch.setattr(base, "state_at", refuse)
        await opened.copy.update(landed=ScratchDifference())
        found = await opened.difference()
        assert (list(found.files), found.left) == (["src/one.py"], {})
        assert (await opened.run(["cat", "more", "run.sh"])).stdout.text.startswith("person\n#!/bin/sh")
        monkeypatch.undo()
        await opened.copy.update(landed=ScratchDifference())
        assert (await opened.run(["cat", "run.sh", "src/one.py"])).stdout.text == "person\nagent\n"


async def test_a_directory_that_cannot_be_entered_does_not_end_an_update(
    opening: Opening, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = open_directory_fd

    def refuse(start: Path | str, parts: Any, *, make: bool = False) -> int:
        if list(parts) == ["src"]:
            raise PermissionError(13, "Permission denied")
        return real(start, parts, make=make)

    async with opening() as opened:
        await opened.change("echo agent > src/new")
        (root / "src/one.py").write_text("person\n")
        (root / "run.sh").write_text("person\n")
        for module in (base, updating):
            monkeypatch.setattr(module, "open_directory_fd", refuse)
        await opened.copy.update(landed=ScratchDifference())
        assert (await opened.run(["cat", "run.sh"])).stdout.text == "person\n"
        monkeypatch.undo()
        await opened.copy.update(landed=ScratchDifference())
        assert (await opened.run(["cat", "src/one.py", "src/new"])).stdout.text == "person\nagent\n"


def test_a_huge_file_and_a_pipe_have_no_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = os.open(tmp_path, os.O_RDONLY)
    try:
        with (tmp_path / "huge").open("wb") as file:
            file.truncate(1 << 43)
        assert state_in_copy("huge", held) == UNKNOWN
        os.mkfifo(tmp_path / "pipe")
        writer = os.open(tmp_path / "pipe", os.O_RDWR)  # a reader would wait for it
        (tmp_path / "file").write_text("1")
        real = os.open

        def opening(path: Any, flags: int, **options: Any) -> int:
            return real("pipe" if path == "file" else path, flags, **options)

        monkeypatch.setattr(os, "open", opening)
        assert state_in_copy("file", held).kind == "other"
        os.close(writer)
    finally:
        os.close(held)


@overlay
async def test_a_path_that_is_too_long_is_named_and_not_entered(opened: Opened) -> None:
    script = f"for i in $(seq {DEEPEST + 5}); do mkdir d; cd d; done; echo 1 > file"
    await opened.change(f"{script}; cd '{opened.root}'; echo 1 > new")
    found = await opened.difference()
    assert [path for path in found.files if path != "new"] == []
    (path,) = found.left
    assert (path.count("/"), found.left[path]) == (DEEPEST, "its path is too long")


async def test_a_path_that_vanishes_into_a_locked_directory_is_named(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = lstat

    def refuse(path: Path) -> os.stat_result | None:
        if path.name == "locked":
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(path)

    monkeypatch.setattr(difference, "lstat", refuse)
    await opened.change("echo 1 > locked; echo 1 > new")
    found = await opened.difference()
    assert (list(found.files), found.left) == (["new"], {"locked": "cannot be read: Permission denied"})


async def test_the_rights_of_an_owner_are_named_and_do_not_land(opened: Opened) -> None:
    await opened.change("echo 1 > new; chmod 6755 new; chmod u+s src/one.py; chmod 2751 run.sh")
    found = await opened.difference()
    assert set(found.left) == {"new", "src/one.py", "run.sh"}
    assert (found.files["new"][1].state.mode, list(found.files), found.modes) == (0o755, ["new"], {})


async def test_no_more_than_a_bound_of_paths_is_read_and_the_rest_stays(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    await opened.change("for i in 1 2 3 4 5 6; do mkdir new$i; echo $i > new$i/file; done")
    monkeypatch.setattr(difference, "MOST_READ", 3)
    found = await opened.difference()
    assert (len(found.made) < 4, list(found.left.values())) == (
        True,
        [f"and later paths come after the 3 that are read{difference.ADVICE}"],
    )
    await opened.copy.update(landed=found)
    monkeypatch.undo()
    assert "new6/file" in (await opened.difference()).files
