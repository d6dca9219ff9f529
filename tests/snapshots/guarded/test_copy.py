"""Life of a guarded copy: prepared, opened, updated, attached by other processes, discarded."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.project import git
from tests.snapshots.trees import REPOSITORY, looked_at
from tideate_core.errors import OutsideRoot, ScratchUnavailable, WorkspaceError
from tideate_core.process import Namespaces
from tideate_core.snapshots import GuardedCopy
from tideate_core.snapshots.guarded.copy import SESSION
from tideate_core.workspace import FileImage

if TYPE_CHECKING:
    from pathlib import Path

    from tests.snapshots.guarded.conftest import Opening


def shown(root: Path, script: str) -> str:
    """Return the output of a script in the project itself."""
    return subprocess.run(["sh", "-c", script], cwd=root, capture_output=True, text=True, check=True).stdout


def mirrors(private: Path) -> list[str]:
    return sorted(path.name for path in (private / "mirror").iterdir())


@pytest.mark.usefixtures("untouched")
async def test_programs_see_the_project_and_unsaved_buffers(opening: Opening, root: Path) -> None:
    files = {
        "src/one.py": b"unsaved\n",
        "run.sh": b"#!/bin/sh\necho unsaved\n",
        "logo.png": None,
        "a/b/ü.txt": b"1",
        "tool": FileImage.of_file(b"#!/bin/sh\n", 0o750),
        "to": FileImage.of_link(b"src"),
    }
    async with opening(files) as opened:
        script = "cat src/one.py a/b/ü.txt to/one.py; ./run.sh; ! test -e logo.png; stat -c %a tool empty"
        done = await opened.run(["sh", "-ec", script])
        assert done.stdout.text == "unsaved\n1unsaved\nunsaved\n750\n750\n"
        assert not await opened.difference()


async def test_an_overlay_is_at_the_project_s_own_path(opening: Opening, kind: str, root: Path) -> None:
    async with opening() as opened:
        done = await opened.run(["sh", "-c", "pwd; cd src; pwd"])
        assert done.stdout.text == f"{opened.root}\n{opened.root}/src\n"
        assert (opened.root == root) is (kind == "overlay")
        assert opened.copy.kind == kind


async def test_times_modes_and_links_are_those_of_the_project(opening: Opening, root: Path) -> None:
    os.utime(root / "src/one.py", ns=(1_000_000_007, 2_000_000_009))
    os.utime(root / "src", ns=(1_000_000_007, 3_000_000_009))
    script = "stat -c '%n %a %Y %F' src src/one.py run.sh; readlink latest"
    real = shown(root, script)
    async with opening() as opened:
        assert (await opened.run(["sh", "-c", script])).stdout.text == real
    async with opening({"src/x": b""}) as opened:  # a layer over the mirror
        seen = (await opened.run(["sh", "-c", script])).stdout.text
        assert seen.splitlines()[1:] == real.splitlines()[1:]


async def test_a_later_copy_has_what_changed_since_the_mirror(
    opening: Opening, root: Path, private: Path
) -> None:
    (root / "gone").mkdir()
    (root / "gone/file").touch()
    async with opening():
        pass
    for path in ("src/deep/two.txt", "gone/file"):
        (root / path).unlink()
    (root / "gone").rmdir()
    (root / "empty").chmod(0o700)
    (root / "logo.png").unlink()
    (root / "logo.png").mkdir()
    (root / "logo.png/file").write_text("1")
    (root / "latest").unlink()
    (root / "latest").symlink_to("run.sh")
    (root / "src/deep/new").write_text("new")
    for _ in range(2):
        async with opening() as opened:
            script = "find . | sort; stat -c %a . empty; cat logo.png/file src/deep/new; readlink latest"
            done = await opened.run(["sh", "-c", script])
            assert done.stdout.text == shown(root, script)
            assert not await opened.difference()
    assert mirrors(private) == ["1"]


async def test_the_update_brings_the_person_s_files_and_takes_what_was_rejected(
    opening: Opening, root: Path
) -> None:
    async with opening() as opened:
        await opened.change(
            "echo agent >> src/one.py; echo 1 > new; rm logo.png; mkdir -p made/in; mv run.sh r"
        )
        landed = await opened.difference()
        (root / "src/one.py").write_text("accepted\n")
        (root / "src/deep/two.txt").write_text("saved\n")
        (root / "run.sh").unlink()
        (root / "empty").rmdir()
        (root / "more").mkdir(mode=0o750)
        (root / "more/file").write_text("2")
        before = looked_at(root, ())
        await opened.copy.update({"src/unsaved": b"3"}, landed=landed)
        assert not await opened.difference()
        script = "cat src/one.py src/deep/two.txt more/file src/unsaved logo.png; stat -c %a more; ls"
        done = await opened.run(["sh", "-ec", script])
        assert done.stdout.text.encode(errors="replace").startswith(b"accepted\nsaved\n23")
        assert done.stdout.text.endswith("750\nlatest\nlogo.png\nmore\nsrc\n")
        assert looked_at(root, ()) == before
        await opened.change("rm more/file; echo more >> src/unsaved")
        found = await opened.difference()
    assert {path: before.data for path, (before, _) in found.files.items()} == {
        "more/file": b"2",
        "src/unsaved": b"3",
    }


async def test_what_was_written_after_the_review_stays_for_the_next_one(opening: Opening, root: Path) -> None:
    async with opening() as opened:
        await opened.change("echo 1 >> src/one.py; echo 1 > new")
        landed = await opened.difference()
        await opened.change("echo 2 >> src/one.py; echo 2 > later")
        (root / "src/one.py").write_text("person\n")
        (root / "run.sh").write_text("person\n")
        await opened.copy.update(landed=landed)
        found = await opened.difference()
        assert list(found.files) == ["later", "src/one.py"]
        before, after = found.files["src/one.py"]
        assert (before.data, after.data) == (b"a = 1\nb = 2\n", b"a = 1\nb = 2\n1\n2\n")
        assert (await opened.run(["cat", "run.sh"])).stdout.text == "person\n"
        await opened.copy.update()
        assert not await opened.difference()
        assert (await opened.run(["cat", "src/one.py"])).stdout.text == "person\n"


async def test_an_update_reaches_a_closed_copy_and_one_that_another_process_has_open(
    opening: Opening, root: Path, private: Path
) -> None:
    async with opening() as opened:
        other = GuardedCopy.attach(root, opened.copy.id, private=private)
        await opened.change("echo agent > src/one.py")
        assert list((await other.difference()).files) == ["src/one.py"]
        (root / "run.sh").write_text("1")
        await other.update()
        assert (await opened.run(["cat", "run.sh", "src/one.py"])).stdout.text == "1a = 1\nb = 2\n"
        with pytest.raises(ScratchUnavailable, match="another process has"):
            await other.open()
        with pytest.raises(ScratchUnavailable, match="another process has"):
            await other.discard()
        await opened.copy.close()
        (root / "run.sh").write_text("2")
        await other.update()
        await other.open()
        opened.copy, first = other, opened.copy
        assert (await opened.run(["cat", "run.sh"])).stdout.text == "2"
        assert not await first.difference()
        await other.close()


@pytest.mark.parametrize("name", ["../out", "/etc/passwd", "a/../b", ".git/config", "", "a//b"])
async def test_no_path_out_of_the_root_is_laid_over(opening: Opening, name: str) -> None:
    with pytest.raises(OutsideRoot):
        async with opening({"fine": b"", name: b""}):
            pass


async def test_no_link_is_followed_when_files_are_laid_over(opening: Opening, root: Path) -> None:
    (root / "way").symlink_to("src")
    with pytest.raises(WorkspaceError, match="cannot be written to the guarded copy"):
        async with opening({"way/one.py": b"1"}):
            pass
    async with opening({"latest": b"no link any more"}) as opened:
        assert (await opened.run(["cat", "latest"])).stdout.text == "no link any more"


async def test_no_link_of_the_program_is_followed_by_an_update(
    opening: Opening, root: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "one.py").write_text("theirs")
    async with opening() as opened:
        await opened.change(f"rm -r src run.sh; ln -s '{outside}' src; ln -s '{outside}/one.py' run.sh")
        (root / "src/one.py").write_text("saved")
        (root / "run.sh").write_text("saved")
        await opened.copy.update()
        assert (await opened.run(["cat", "src/one.py", "run.sh"])).stdout.text == "savedsaved"
        assert not await opened.difference()
    assert (outside / "one.py").read_text() == "theirs"


async def test_what_is_cancelled_leaves_nothing(root: Path, private: Path, kind: Any) -> None:
    task = asyncio.create_task(GuardedCopy.prepare(root, private=private, kind=kind))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not any(
        (private / name).exists() and list((private / name).iterdir()) for name in ("sessions", "unfinished")
    )


async def test_where_nothing_can_be_mounted_it_becomes_a_copy(
    root: Path, private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise ScratchUnavailable("no namespaces here")

    copy = await GuardedCopy.prepare(root, {"new": b"1"}, private=private)
    monkeypatch.setattr(Namespaces, "mount", refuse)
    await copy.open()
    assert copy.kind == "copy"
    assert (copy.root / "new").read_text() == "1"
    assert any("no namespaces here" in words for words in copy.notices)
    await copy.close()
    assert GuardedCopy.attach(root, copy.id, private=private).kind == "copy"
    await copy.discard()


def test_a_copy_that_does_not_exist_is_an_error(root: Path, private: Path) -> None:
    for name in ("0123", "../mirror"):
        with pytest.raises(ScratchUnavailable, match="there is no guarded copy"):
            GuardedCopy.attach(root, name, private=private)


async def test_a_damaged_record_is_named(root: Path, private: Path) -> None:
    copy = await GuardedCopy.prepare(root, private=private)
    (copy.place / "base.json").write_text('{"version": 1}')
    with pytest.raises(ScratchUnavailable, match="cannot be read"):
        GuardedCopy.attach(root, copy.id, private=private)


OWNER = """
import asyncio, sys
from pathlib import Path
from tideate_core.snapshots import GuardedCopy

async def main():
    root, private, kind = sys.argv[1:]
    copy = await GuardedCopy.prepare(Path(root), private=Path(private), kind=kind)
    await copy.open()
    program = await asyncio.create_subprocess_exec(
        *copy.command(["sh", "-c", "echo agent > src/one.py"]), cwd=copy.root
    )
    await program.wait()
    print(copy.id, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_a_killed_owner_s_copy_can_be_resumed(root: Path, private: Path, kind: str) -> None:
    command = [sys.executable, "-c", OWNER, str(root), str(private), kind]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=REPOSITORY) as owner:  # noqa: ASYNC220
        assert owner.stdout is not None
        name = owner.stdout.readline().decode().strip()
        owner.send_signal(signal.SIGKILL)
    copy = GuardedCopy.attach(root, name, private=private)
    assert (await copy.difference()).files["src/one.py"][1].data == b"agent\n"
    await copy.open()
    (root / "run.sh").write_text("saved")
    await copy.update()
    assert not await copy.difference()
    await copy.discard()
    assert (root / "src/one.py").read_bytes() == b"a = 1\nb = 2\n"


@pytest.mark.parametrize("name", ["a:b", "a,b", "a\\b", "a\nb", "a\\,b:c", "ü ñ", "x" * 200, b"\xff\xfe"])
async def test_a_project_may_have_every_name(opening: Opening, root: Path, name: str | bytes) -> None:
    inner = root / os.fsdecode(name)
    inner.mkdir()
    (inner / os.fsdecode(name)).write_text("1")
    git(inner, "init", "--quiet")
    async with opening(root=inner) as opened:
        script = 'for f in *; do echo 2 >> "$f"; done; git add -A; $0 commit -qm message'
        await opened.change(script, "git -c user.name=a -c user.email=b")
        found = await opened.difference()
        assert list(found.files) == [os.fsdecode(name)]
        assert await opened.copy.commit_messages() == ["message"]
        await opened.copy.update()
        assert not await opened.difference()


async def test_copies_that_killed_processes_left_are_removed_if_no_session_has_them(
    opening: Opening, root: Path, private: Path
) -> None:
    left, new, kept = [await GuardedCopy.prepare(root, private=private) for _ in range(3)]
    (kept.place / SESSION).touch()
    for copy in (left, kept):
        os.utime(copy.place, (0, 0))
    async with opening() as opened:
        os.utime(opened.copy.place, (0, 0))  # it has an owner
        async with opening():
            pass
        await opened.difference()
    assert {place.name for place in (private / "sessions").iterdir()} == {new.id, kept.id}
