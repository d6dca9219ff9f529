"""Difference of a guarded copy: all its changes and nothing else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.harness.project import git
from tideate_core.snapshots.guarded import difference
from tideate_core.snapshots.guarded.base import read_bounded_image
from tideate_core.workspace import ABSENT, FileImage, merge_text

if TYPE_CHECKING:
    from tests.snapshots.guarded.conftest import Opened, Opening
    from tideate_core.snapshots import ScratchDifference


GONE = FileImage(ABSENT)


async def changed_by(opened: Opened, script: str) -> ScratchDifference:
    done = await opened.run(["sh", "-ec", script])
    assert done.ok, done.printed
    return await opened.difference()


async def test_nothing_changed_is_no_difference(opened: Opened) -> None:
    found = await changed_by(opened, "cat src/one.py > /dev/null; ls -lR > /dev/null")
    assert not found
    assert (found.ignored, found.left) == ([], {})


async def test_what_is_written_and_written_again_as_it_was_is_no_difference(opened: Opened) -> None:
    found = await changed_by(opened, "cp -p src/one.py x; echo > src/one.py; cat x > src/one.py; rm x")
    assert not found


@pytest.mark.usefixtures("untouched")
async def test_changed_created_and_deleted_files_come_with_both_images(opened: Opened, root: Path) -> None:
    found = await changed_by(opened, "echo x >> src/one.py; echo new > 'ü ñ.txt'; rm logo.png")
    one = FileImage.of_file(b"a = 1\nb = 2\n", (root / "src/one.py").stat().st_mode & 0o7777)
    assert list(found.files) == ["logo.png", "src/one.py", "ü ñ.txt"]
    assert found.files["src/one.py"][0] == one
    assert found.files["src/one.py"][1].data == b"a = 1\nb = 2\nx\n"
    assert found.files["ü ñ.txt"][0] == GONE
    assert found.files["ü ñ.txt"][1].data == b"new\n"
    assert found.files["logo.png"][0].data == b"\x89PNG\x00\x01\xff"
    assert found.files["logo.png"][1] == GONE
    assert not (found.modes or found.made or found.removed or found.moved)


async def test_a_directory_that_is_renamed_moves_its_files(opened: Opened) -> None:
    found = await changed_by(opened, "mv src other")
    assert found.moved == {"other/one.py": "src/one.py", "other/deep/two.txt": "src/deep/two.txt"}
    assert found.made == ["other", "other/deep"]
    assert list(found.removed) == ["src", "src/deep"]
    assert {path: after == GONE for path, (_, after) in found.files.items()} == {
        "other/deep/two.txt": False,
        "other/one.py": False,
        "src/deep/two.txt": True,
        "src/one.py": True,
    }


async def test_a_move_beside_a_new_file_of_the_person_is_a_move(opening: Opening, root: Path) -> None:
    async with opening() as opened:
        await changed_by(opened, "mv src/one.py src/deep/one.py; mv logo.png new.png; chmod 600 new.png")
        (root / "src/theirs").write_text("1")
        found = await opened.difference()
    assert found.moved["src/deep/one.py"] == "src/one.py"


async def test_a_directory_that_is_made_anew_lost_what_was_in_it(opened: Opened) -> None:
    found = await changed_by(opened, "rm -r src; mkdir -p src/deep; echo 1 > src/deep/new")
    assert list(found.files) == ["src/deep/new", "src/deep/two.txt", "src/one.py"]
    assert found.files["src/one.py"][1] == GONE
    assert not (found.made or found.removed)


async def test_modes_are_told_of_files_and_directories(opened: Opened, root: Path) -> None:
    found = await changed_by(
        opened, "chmod 700 run.sh; chmod 700 empty; chmod +x src/one.py; echo > src/one.py"
    )
    one = (root / "src/one.py").stat().st_mode & 0o7777
    assert found.modes == {
        "empty": (0o750, 0o700),
        "run.sh": (0o751, 0o700),
        "src/one.py": (one, one | 0o111),
    }
    assert list(found.files) == ["src/one.py"]


async def test_links_are_told_with_where_they_lead_in_the_project(opened: Opened, root: Path) -> None:
    script = 'ln -sfn run.sh latest; ln -s nowhere dangling; ln -s "$PWD/src" absolute'
    found = await changed_by(opened, script)
    assert {path: (before.data, after.data) for path, (before, after) in found.files.items()} == {
        "absolute": (b"", os.fsencode(root / "src")),
        "dangling": (b"", b"nowhere"),
        "latest": (b"src/one.py", b"run.sh"),
    }
    assert {after.state.kind for _, after in found.files.values()} == {"link"}


async def test_files_become_directories_and_directories_files(opened: Opened) -> None:
    found = await changed_by(opened, "rm logo.png; mkdir logo.png; rm -r src; echo 1 > src")
    assert found.made == ["logo.png"]
    assert list(found.removed) == ["src", "src/deep"]
    assert found.files["logo.png"][1] == GONE
    assert found.files["src"][0] == GONE
    assert found.files["src"][1].data == b"1\n"
    assert found.files["src/deep/two.txt"][1] == GONE


async def test_empty_directories_and_what_is_no_file_are_told(opened: Opened) -> None:
    found = await changed_by(opened, "mkdir -p new/inner; rmdir empty; mkfifo pipe")
    assert (found.made, found.removed) == (["new", "new/inner"], {"empty": 0o750})
    assert found.left == {"pipe": "is neither a file nor a link nor a directory"}


async def test_names_that_are_no_text_come_as_lone_surrogates(opened: Opened) -> None:
    found = await changed_by(opened, "echo 1 > $(printf '\\377\\376'); echo 2 > 'a\nb'")
    assert list(found.files) == ["a\nb", os.fsdecode(b"\xff\xfe")]


async def test_what_was_laid_over_is_what_is_compared_with(opening: Opening) -> None:
    files = {"src/one.py": b"staged\n", "logo.png": None, "new/file": b"1\n", "run.sh": b"2\n"}
    async with opening(files) as opened:
        assert not await opened.difference()
        found = await changed_by(opened, "echo more >> src/one.py; echo back > logo.png; rm -r new")
    assert list(found.files) == ["logo.png", "new/file", "src/one.py"]
    assert found.files["src/one.py"][0].data == b"staged\n"
    assert found.files["src/one.py"][1].data == b"staged\nmore\n"
    assert found.files["logo.png"][0] == GONE
    assert found.files["new/file"] == (found.files["new/file"][0], GONE)
    assert found.files["new/file"][0].data == b"1\n"


async def test_a_directory_with_files_laid_over_is_removed_whole(opening: Opening) -> None:
    async with opening({"src/staged.py": b"1", "src/one.py": None}) as opened:
        found = await changed_by(opened, "rm -r src")
    assert list(found.files) == ["src/deep/two.txt", "src/staged.py"]
    assert list(found.removed) == ["src", "src/deep"]


async def test_what_git_ignores_and_its_own_files_are_named_and_no_edits(
    opening: Opening, root: Path, kind: str
) -> None:
    git(root, "init", "--quiet")
    (root / ".gitignore").write_text("*.log\nbuild/\n/out/*\n!/out/kept\n")
    (root / "build").mkdir()
    (root / "build/old").write_text("1")
    git(root, "add", "--all", "--force")
    (root / "out").mkdir()
    (root / ".tideate").mkdir()
    (root / "node_modules").mkdir()
    (root / "node_modules/x.js").write_text("1")
    (root / ".git/info/exclude").write_text("node_modules/\n")
    script = (
        "git config x.y z; mkdir .tideate; echo 1 > .tideate/config.toml; echo 1 > a.log; echo 1 > out/made;"
        "echo 1 > out/kept; mkdir src/__pycache__ src/build; echo 1 > src/__pycache__/x;"
        "echo 1 > src/build/x; echo 2 > build/old; rm -r node_modules/*; echo 1 > src/real.py"
    )
    async with opening() as opened:
        found = await changed_by(opened, script)
    # git tracks `build/old` nevertheless
    assert list(found.files) == ["build/old", "out/kept", "src/real.py"]
    named = ["a.log", "out/made", "src/__pycache__/", "src/build/"]
    if kind == "overlay":
        named += [".git/", ".tideate/", "node_modules/"]
    assert found.ignored == sorted(named)
    assert not (found.made or found.removed)


async def test_a_commit_in_the_guarded_copy_stays_there(opening: Opening, root: Path) -> None:
    git(root, "init", "--quiet")
    git(root, "add", "--all")
    git(root, "-c", "user.name=a", "-c", "user.email=b", "commit", "--quiet", "-m", "one")
    head = (root / ".git/HEAD").read_bytes()
    script = (
        "git -c user.name=a -c user.email=b commit --quiet --allow-empty -m two; git log --oneline | wc -l"
    )
    async with opening() as opened:
        done = await opened.run(["sh", "-c", script])
        assert done.stdout.text.strip() == "2", done.printed
        assert not await opened.difference()
    assert (root / ".git/HEAD").read_bytes() == head
    git(root, "fsck")


async def test_the_base_stays_as_it_was_whatever_the_person_saves(opening: Opening, root: Path) -> None:
    (root / "both").write_text("1\n2\n3\n")
    async with opening() as opened:
        (root / "both").write_text("person\n2\n3\n")
        (root / "run.sh").unlink()
        (root / "theirs").write_text("1")
        done = await opened.run(["cat", "both", "run.sh"])
        assert done.stdout.text == "1\n2\n3\n#!/bin/sh\necho from run.sh\n"
        found = await changed_by(opened, "echo more >> both; test ! -e theirs")
    assert list(found.files) == ["both"]
    before, after = found.files["both"]
    merged = merge_text(before.data.decode(), (root / "both").read_text(), after.data.decode())
    assert merged == "person\n2\n3\nmore\n"


async def test_a_file_that_is_too_large_is_named(opened: Opened) -> None:
    found = await changed_by(opened, "truncate -s 65M large; mkdir d; truncate -s 65M src/one.py")
    assert found.left == {"large": "has more than 64 MiB", "src/one.py": "has more than 64 MiB"}
    assert found.files == {}


async def test_more_than_a_person_could_look_at_is_named(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(difference, "MOST", 2)
    found = await changed_by(opened, "for i in 1 2 3 4; do echo $i > new$i; done")
    assert list(found.files) == ["new1", "new2"]
    assert list(found.left) == ["new3", "new4"]
    assert "comes after the 2 paths" in found.left["new3"]


async def test_a_file_that_cannot_be_read_is_named(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> FileImage:  # the superuser may read all files
        if path.name == "locked":
            raise PermissionError(13, "Permission denied")
        return read_bounded_image(path)

    monkeypatch.setattr(difference, "read_bounded_image", refuse)
    found = await changed_by(opened, "echo 1 > locked; echo 1 > new")
    assert (list(found.files), found.left) == (["new"], {"locked": "cannot be read: Permission denied"})


async def test_a_directory_that_cannot_be_read_is_named(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    await changed_by(opened, "mkdir locked; echo 1 > locked/file; rm -r src; mkdir src; chmod 0 src")
    real = os.scandir

    def scandir(path: Path | int) -> object:
        named = Path(f"/proc/self/fd/{path}").readlink() if isinstance(path, int) else path
        if Path(named).name in ("locked", "src"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    found = await opened.difference()
    assert found.left == dict.fromkeys(("locked", "src"), "cannot be read: Permission denied")
    assert not any(path.startswith("src/") for path in found.files)  # unknown whether they were deleted
