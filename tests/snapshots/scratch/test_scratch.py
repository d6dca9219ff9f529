"""Scratch copies: content, programs in them, and removal."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from typing import TYPE_CHECKING

import pytest

from tests.process.long_running import FOREVER, Told
from tests.snapshots.trees import looked_at
from tideate_core.errors import (
    OutsideRoot,
    ProgramMissing,
    ProgramNotExecutable,
    ScratchUnavailable,
    WorkspaceError,
)
from tideate_core.process import ProcessLimits
from tideate_core.snapshots import open_scratch, scratch_support
from tideate_core.workspace import FileImage

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.processes import Brood
    from tests.snapshots.scratch.conftest import Opening
    from tideate_core.snapshots import Scratch


SCRIPT = """
set -e
echo new > src/one.py
rm logo.png
mv src/deep src/moved
echo created > created
chmod 600 run.sh
ln -s created link
mkdir -p made/inner
"""


def places(private: Path) -> int:
    """Return the number of scratch copies; their parent goes with the last one."""
    return len(list(private.iterdir())) if private.exists() else 0


@pytest.mark.usefixtures("untouched")
async def test_a_program_may_change_everything_and_the_project_stays(scratch: Scratch) -> None:
    done = await scratch.run(["sh", "-c", SCRIPT])
    assert done.ok, done.printed
    seen = looked_at(scratch.view, ())
    assert seen[b"src/one.py"][2] == b"new\n"
    assert seen[b"src/moved/two.txt"][2] == b"one\r\ntwo\r\n"
    assert b"logo.png" not in seen


async def test_programs_see_the_root_that_is_said(scratch: Scratch, root: Path, kind: str) -> None:
    done = await scratch.run(["pwd"])
    assert done.stdout.text == f"{scratch.root}\n"
    assert scratch.kind == kind
    assert (scratch.root == root) is (kind == "overlay")


async def test_a_program_runs_in_a_directory_below_the_root(scratch: Scratch) -> None:
    done = await scratch.run(["cat", "two.txt"], cwd="src/deep")
    assert done.stdout.text.splitlines() == ["one", "two"]
    with pytest.raises(ScratchUnavailable, match="no directory src/nowhere"):
        await scratch.run(["cat", "two.txt"], cwd="src/nowhere")


async def test_programs_of_the_project_are_found_in_the_scratch_copy(opening: Opening) -> None:
    added = FileImage.of_file(b"#!/bin/sh\necho added\n", 0o755)
    async with opening({"added.sh": added, "run.sh": None}) as scratch:
        assert (await scratch.run(["./added.sh"])).stdout.text == "added\n"
        environment = {"PATH": f"{scratch.root}:{os.environ['PATH']}"}
        assert (await scratch.run(["added.sh"], environment=environment)).stdout.text == "added\n"
        with pytest.raises(ProgramMissing):
            await scratch.run(["./run.sh"])
        with pytest.raises(ProgramNotExecutable):
            await scratch.run(["src/one.py"])


async def test_what_a_program_makes_belongs_to_the_person(scratch: Scratch) -> None:
    done = await scratch.run(["sh", "-c", "touch made; id -u; id -g"])
    assert done.stdout.text.split() == [str(os.geteuid()), str(os.getegid())]
    status = (scratch.view / "made").stat()
    assert (status.st_uid, status.st_gid) == (os.geteuid(), os.getegid())


@pytest.mark.slow
async def test_output_comes_live_and_time_is_limited(scratch: Scratch, brood: Brood) -> None:
    told = Told()
    limits = ProcessLimits(timeout_ms=1000, grace_ms=200)
    environment = {**os.environ, **brood.environment()}
    done = await scratch.run(
        [sys.executable, "-c", FOREVER], limits=limits, on_lines=told, environment=environment
    )
    assert done.timed_out
    assert told.texts("stdout") == ["ready"]
    assert brood.pids() == set()


async def test_two_programs_at_once_see_each_other(scratch: Scratch) -> None:
    waits = "until [ -e said ]; do sleep 0.01; done; cat said"
    async with asyncio.timeout(60):
        heard, _ = await asyncio.gather(
            scratch.run(["sh", "-c", waits]), scratch.run(["sh", "-c", "echo hello > x; mv x said"])
        )
    assert heard.stdout.text == "hello\n"


@pytest.mark.usefixtures("untouched")
async def test_files_laid_over_are_what_programs_see(opening: Opening) -> None:
    files = {
        "src/one.py": b"unsaved\n",
        "run.sh": b"#!/bin/sh\necho staged\n",
        "logo.png": None,
        "a/b/ü.txt": b"1",
    }
    async with opening(files) as scratch:
        assert (await scratch.run(["cat", "src/one.py", "a/b/ü.txt"])).stdout.text == "unsaved\n1"
        assert (await scratch.run(["./run.sh"])).stdout.text == "staged\n"  # still executable
        await scratch.lay_over({"src/one.py": b"later\n", "logo.png": b"png"})
        assert (await scratch.run(["cat", "src/one.py", "logo.png"])).stdout.text == "later\npng"


async def test_modes_and_links_can_be_laid_over(opening: Opening) -> None:
    files = {"tool": FileImage.of_file(b"#!/bin/sh\n", 0o750), "to": FileImage.of_link(b"src")}
    async with opening(files) as scratch:
        assert stat.S_IMODE((scratch.view / "tool").stat().st_mode) == 0o750
        assert (await scratch.run(["cat", "to/one.py"])).stdout.text == "a = 1\nb = 2\n"


@pytest.mark.parametrize(
    "name", ["../out", "/etc/passwd", "a/../b", ".git/config", "x/.TIDEATE/y", "", "a//b"]
)
@pytest.mark.usefixtures("untouched")
async def test_no_path_out_of_the_root_is_laid_over(opening: Opening, name: str) -> None:
    with pytest.raises(OutsideRoot):
        async with opening({"fine": b"", name: b""}):
            pass


@pytest.mark.usefixtures("untouched")
async def test_no_link_is_followed_when_files_are_laid_over(
    opening: Opening, root: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    async with opening() as scratch:
        await scratch.run(["ln", "-s", str(outside), "way"])
        await scratch.run(["ln", "-s", str(root / "src"), "back"])
        for name in ("way/file", "back/file"):
            with pytest.raises(WorkspaceError, match="cannot be laid over"):
                await scratch.lay_over({name: b"x"})
        await scratch.lay_over({"latest": b"no link any more"})
        assert not (scratch.view / "latest").is_symlink()
    assert list(outside.iterdir()) == []


@pytest.mark.slow
async def test_nothing_is_left_when_it_is_closed(
    opening: Opening, private: Path, environment: dict[str, str], brood: Brood
) -> None:
    odd = "mkdir -p locked/in; touch locked/in/file; chmod 0 locked/in locked; mkfifo pipe; chmod 500 ."
    deep = "i=0; while [ $i -lt 120 ]; do mkdir " + "n" * 60 + "; cd " + "n" * 60 + "; i=$((i+1)); done"
    async with opening() as scratch:
        assert (await scratch.run(["sh", "-c", f"{odd}; cd empty; {deep}"], environment=environment)).ok
        assert places(private) == 1
    assert places(private) == 0
    assert brood.pids() == set()
    with pytest.raises(ScratchUnavailable, match="is gone"):
        await scratch.run(["true"])


async def test_a_failure_in_the_block_closes_it_too(opening: Opening, private: Path) -> None:
    with pytest.raises(RuntimeError):
        async with opening():
            raise RuntimeError
    assert places(private) == 0


async def test_a_cancelled_program_is_ended(scratch: Scratch, brood: Brood) -> None:
    told = Told()
    environment = {**os.environ, **brood.environment()}
    going = asyncio.create_task(
        scratch.run([sys.executable, "-c", FOREVER], on_lines=told, environment=environment)
    )
    async with asyncio.timeout(60):
        await told.heard.wait()
        going.cancel()
        with pytest.raises(asyncio.CancelledError):
            await going
    assert brood.pids() == set()
    assert (await scratch.run(["true"])).ok


async def test_cancelled_while_it_opens_nothing_is_left(opening: Opening, private: Path) -> None:
    async def opened() -> None:
        async with opening():
            await asyncio.Event().wait()

    for turns in range(4):
        task = asyncio.create_task(opened())
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert places(private) == 0


@pytest.mark.slow
async def test_what_an_agent_left_in_an_overlay_ends_with_it(opening: Opening, brood: Brood) -> None:
    away = f'setsid {sys.executable} -c "import signal; print(1, flush=True); signal.pause()" &'
    async with opening() as scratch:
        process = await asyncio.create_subprocess_exec(
            *scratch.command(["sh", "-c", away]),
            cwd=scratch.root,
            env={**scratch.environment(), **brood.environment()},
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        async with asyncio.timeout(60):
            assert await process.stdout.readline() == b"1\n"
        assert brood.pids()
        is_overlay = scratch.kind == "overlay"
    assert brood.gone(0.1) is is_overlay  # for a copy, the caller has to end it
    brood.kill()
    async with asyncio.timeout(60):
        assert await process.stdout.read() == b""
        await process.wait()


async def test_several_of_one_project_do_not_see_each_other(opening: Opening, private: Path) -> None:
    async with opening() as one, opening() as two:
        await one.run(["sh", "-c", "echo one > src/one.py"])
        assert (await two.run(["cat", "src/one.py"])).stdout.text == "a = 1\nb = 2\n"
        assert places(private) == 2


async def test_what_cannot_be_removed_is_said(opening: Opening, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(place: Path) -> None:
        raise PermissionError(1, "Operation not permitted")

    told: list[str] = []
    async with opening(notice=told.append) as scratch:
        monkeypatch.setattr("tideate_core.snapshots.scratch.places.remove_tree", refuse)
        assert told == list(scratch.notices)
        left = scratch
    assert told[-1].endswith("cannot be removed: Operation not permitted")
    told.clear()
    async with opening(notice=told.append):
        # the next owner cannot remove it either
        assert told[0].endswith("cannot be removed: Operation not permitted")
    assert not left.view.exists() or left.kind == "copy"


async def test_a_private_directory_that_cannot_be_made_is_an_error(opening: Opening, private: Path) -> None:
    private.write_text("in the way")  # noqa: ASYNC240 it takes no time
    with pytest.raises(ScratchUnavailable, match="no scratch copy can be made"):
        async with opening():
            pass


async def test_a_full_disk_leaves_nothing(
    opening: Opening, private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tideate_core.snapshots.scratch.scratch.copy_project", full)
    monkeypatch.setattr("tideate_core.snapshots.scratch.overlay._make_layers", full)
    with pytest.raises(ScratchUnavailable, match="No space left on device"):
        async with opening():
            pass
    assert places(private) == 0


async def changed_with(root: Path, private: Path, notices: list[str]) -> tuple[str, list[str]]:
    async with open_scratch(root, private, notice=notices.append) as scratch:
        done = await scratch.run(["sh", "-c", "echo 1 > made"])
        assert done.ok, done.printed
        return scratch.kind, [path.name for path in scratch.view.iterdir() if path.name == "made"]


async def test_auto_is_the_kind_that_was_told(root: Path, private: Path) -> None:
    found = scratch_support(root)
    assert bool(found.reason) is (found.kind == "copy")
    assert found.reason in found.words
    assert await changed_with(root, private, []) == (found.kind, ["made"])


async def test_without_user_namespaces_auto_is_a_copy_and_says_why(
    root: Path, private: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    holder = tmp_path / "holder.py"
    holder.write_text("print('1 user namespaces are not available here')\n")
    monkeypatch.setattr("tideate_core.process.namespaces.HOLDER", str(holder))
    monkeypatch.setattr("tideate_core.process.namespaces.SETTINGS", tmp_path)
    notices: list[str] = []
    assert await changed_with(root, private, notices) == ("copy", ["made"])
    reason = "user namespaces are not available here (Operation not permitted)"
    assert notices == [f"a real copy is used: {reason}"]
    assert scratch_support(root).reason == reason
    with pytest.raises(ScratchUnavailable, match="user namespaces"):
        async with open_scratch(root, private, kind="overlay"):
            pass


async def test_a_holder_that_does_not_start_is_no_overlay(
    root: Path, private: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tideate_core.process.namespaces.HOLDER", str(tmp_path / "nothing"))
    with pytest.raises(ScratchUnavailable, match="does not start"):
        async with open_scratch(root, private, kind="overlay"):
            pass
    assert not os.path.lexists(private)  # noqa: ASYNC240 it takes no time


async def test_on_another_system_auto_is_a_copy(
    root: Path, private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(
        "tideate_core.snapshots.scratch.cloning._clone_on_macos",
        lambda *_: (_ for _ in ()).throw(OSError(22, "")),
    )
    notices: list[str] = []
    assert await changed_with(root, private, notices) == ("copy", ["made"])
    assert notices == ["a real copy is used: an overlay needs Linux"]


async def test_changes_below_the_project_are_no_overlay(root: Path) -> None:
    with pytest.raises(ScratchUnavailable, match="is below"):
        async with open_scratch(root, root / "private", kind="overlay"):
            pass
