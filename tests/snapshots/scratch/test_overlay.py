"""Overlays: mounted only inside their namespace, and refused for unsuitable projects."""

from __future__ import annotations

import asyncio
import os
import select
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tideate_core.errors import ScratchUnavailable
from tideate_core.snapshots import open_scratch
from tideate_core.snapshots.scratch.overlay import Overlay, check_overlay
from tideate_core.snapshots.scratch.places import remove_tree

if TYPE_CHECKING:
    from tests.snapshots.scratch.conftest import Opening
    from tideate_core.snapshots import Scratch


NAMES = ["a:b", "a,b", "a\\b", "a\nb", "a\\,b:c", "ü ñ", "x" * 200]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("untouched")
async def test_a_project_may_have_every_name(root: Path, private: Path, kind: Any, name: str) -> None:
    inner = root / name
    inner.mkdir()
    async with open_scratch(inner, private, {"laid": b"over"}, kind=kind) as scratch:
        assert (await scratch.run(["sh", "-c", "cat laid; pwd"])).stdout.text == f"over{scratch.root}\n"
    inner.rmdir()


async def test_the_root_has_its_own_mode_in_there(opening: Opening, root: Path) -> None:
    os.chmod(root, 0o711)  # noqa: PTH101 it takes no time
    async with opening() as scratch:
        assert scratch.view.stat().st_mode & 0o7777 == 0o711


@pytest.mark.usefixtures("untouched")
async def test_nobody_in_there_reaches_the_project_by_unmounting(scratch: Scratch) -> None:
    done = await scratch.run(["sh", "-c", 'cd /; umount "$1"; umount -l "$1"', "sh", str(scratch.root)])
    assert not done.ok
    assert (await scratch.run(["sh", "-c", "echo 1 > made"])).ok


async def test_when_what_holds_it_is_gone_that_is_said(opening: Opening, private: Path) -> None:
    async with opening() as scratch:
        if scratch.kind == "overlay":
            holder = int(scratch.view.parts[2])
            seen = os.pidfd_open(holder)
            os.kill(holder, signal.SIGKILL)
            assert await asyncio.to_thread(select.select, [seen], [], [], 60) == ([seen], [], [])
            os.close(seen)
        else:
            await asyncio.to_thread(remove_tree, scratch.root)
        with pytest.raises(ScratchUnavailable, match="is gone"):
            await scratch.run(["true"])
    assert not os.path.lexists(private)  # noqa: ASYNC240 it takes no time


def test_a_directory_with_mounts_below_it_is_refused() -> None:
    with pytest.raises(ScratchUnavailable, match="is mounted below /, and an overlay would hide it"):
        check_overlay(Path("/"), Path("nowhere"))


def test_a_file_system_without_attributes_is_refused(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "setxattr", refuse)
    (tmp_path / "place").mkdir()
    with pytest.raises(ScratchUnavailable, match="has no attributes of users"):
        Overlay.mount(root, tmp_path / "place")


def test_a_project_of_another_group_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "getegid", lambda: 1 + root.stat().st_gid)
    monkeypatch.setattr(os, "getgroups", lambda: [root.stat().st_gid])
    with pytest.raises(ScratchUnavailable, match="is in another group than yours"):
        check_overlay(root, Path("/nowhere"))


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("1 user namespaces are not available here", "sysctl user.max_user_namespaces is 0"),
        ("22 an overlay cannot be mounted here", r"cannot be mounted here \(Invalid argument"),
        ("Traceback", "does not start"),
        ("", "does not start"),
    ],
)
def test_what_the_holder_says_is_the_reason(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, message: str
) -> None:
    program, setting = tmp_path / "holder.py", tmp_path / "user/max_user_namespaces"
    program.write_text(f"print({said!r})\n")
    setting.parent.mkdir()
    setting.write_text("0\n")
    monkeypatch.setattr("tideate_core.process.namespaces.HOLDER", str(program))
    monkeypatch.setattr("tideate_core.process.namespaces.SETTINGS", tmp_path)
    (tmp_path / "place").mkdir()
    with pytest.raises(ScratchUnavailable, match=message):
        Overlay.mount(root, tmp_path / "place")
