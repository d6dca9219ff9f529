"""Difference of a scratch copy: all its changes and nothing else."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.harness.project import git
from tideate_core.snapshots.scratch import difference
from tideate_core.snapshots.scratch.baseline import read_bounded_image
from tideate_core.workspace import ABSENT, FileImage, merge_text

if TYPE_CHECKING:
    from pathlib import Path

    from tests.snapshots.scratch.conftest import Opening
    from tideate_core.snapshots import Scratch, ScratchDifference


GONE = FileImage(ABSENT)


async def changed_by(scratch: Scratch, script: str) -> ScratchDifference:
    done = await scratch.run(["sh", "-ec", script])
    assert done.ok, done.printed
    return await scratch.difference()


async def test_nothing_changed_is_no_difference(scratch: Scratch) -> None:
    found = await changed_by(scratch, "cat src/one.py > /dev/null; ls -lR > /dev/null")
    assert not found
    assert (found.ignored, found.left) == ([], {})


async def test_what_is_written_and_written_again_as_it_was_is_no_difference(scratch: Scratch) -> None:
    found = await changed_by(scratch, "cp -p src/one.py x; echo > src/one.py; cat x > src/one.py; rm x")
    assert not found


@pytest.mark.usefixtures("untouched")
async def test_changed_created_and_deleted_files_come_with_both_images(scratch: Scratch, root: Path) -> None:
    found = await changed_by(scratch, "echo x >> src/one.py; echo new > 'ü ñ.txt'; rm logo.png")
    one = FileImage.of_file(b"a = 1\nb = 2\n", (root / "src/one.py").stat().st_mode & 0o7777)
    assert list(found.files) == ["logo.png", "src/one.py", "ü ñ.txt"]
    assert found.files["src/one.py"][0] == one
    assert found.files["src/one.py"][1].data == b"a = 1\nb = 2\nx\n"
    assert found.files["ü ñ.txt"][0] == GONE
    assert found.files["ü ñ.txt"][1].data == b"new\n"
    assert found.files["logo.png"][0].data == b"\x89PNG\x00\x01\xff"
    assert found.files["logo.png"][1] == GONE
    assert not (found.modes or found.made or found.removed or found.moved or found.changed_meanwhile)


async def test_a_directory_that_is_renamed_moves_its_files(scratch: Scratch) -> None:
    found = await changed_by(scratch, "mv src other")
    assert found.moved == {"other/one.py": "src/one.py", "other/deep/two.txt": "src/deep/two.txt"}
    assert found.made == ["other", "other/deep"]
    assert list(found.removed) == ["src", "src/deep"]
    assert {path: after == GONE for path, (_, after) in found.files.items()} == {
        "other/deep/two.txt": False,
        "other/one.py": False,
        "src/deep/two.txt": True,
        "src/one.py": True,
    }


async def test_a_move_into_a_directory_that_the_person_left_alone_is_no_conflict(
    opening: Opening, root: Path
) -> None:
    async with opening() as scratch:
        await changed_by(scratch, "mv src/one.py src/deep/one.py; mv logo.png new.png; chmod 600 new.png")
        (root / "src/theirs").write_text("1")
        found = await scratch.difference()
    assert found.moved["src/deep/one.py"] == "src/one.py"
    assert "src/deep/one.py" not in found.conflicts


async def test_a_directory_that_is_made_anew_lost_what_was_in_it(scratch: Scratch) -> None:
    found = await changed_by(scratch, "rm -r src; mkdir -p src/deep; echo 1 > src/deep/new")
    assert list(found.files) == ["src/deep/new", "src/deep/two.txt", "src/one.py"]
    assert found.files["src/one.py"][1] == GONE
    assert not (found.made or found.removed)


async def test_modes_are_told_of_files_and_directories(scratch: Scratch, root: Path) -> None:
    found = await changed_by(
        scratch, "chmod 700 run.sh; chmod 700 empty; chmod +x src/one.py; echo > src/one.py"
    )
    one = (root / "src/one.py").stat().st_mode & 0o7777
    assert found.modes == {
        "empty": (0o750, 0o700),
        "run.sh": (0o751, 0o700),
        "src/one.py": (one, one | 0o111),
    }
    assert list(found.files) == ["src/one.py"]


async def test_links_are_told_with_where_they_lead_in_the_project(scratch: Scratch, root: Path) -> None:
    script = 'ln -sfn run.sh latest; ln -s nowhere dangling; ln -s "$PWD/src" absolute'
    found = await changed_by(scratch, script)
    assert {path: (before.data, after.data) for path, (before, after) in found.files.items()} == {
        "absolute": (b"", os.fsencode(root / "src")),
        "dangling": (b"", b"nowhere"),
        "latest": (b"src/one.py", b"run.sh"),
    }
    assert {after.state.kind for _, after in found.files.values()} == {"link"}


async def test_files_become_directories_and_directories_files(scratch: Scratch) -> None:
    found = await changed_by(scratch, "rm logo.png; mkdir logo.png; rm -r src; echo 1 > src")
    assert found.made == ["logo.png"]
    assert list(found.removed) == ["src", "src/deep"]
    assert found.files["logo.png"][1] == GONE
    assert found.files["src"][0] == GONE
    assert found.files["src"][1].data == b"1\n"
    assert found.files["src/deep/two.txt"][1] == GONE


async def test_empty_directories_and_what_is_no_file_are_told(scratch: Scratch) -> None:
    found = await changed_by(scratch, "mkdir -p new/inner; rmdir empty; mkfifo pipe")
    assert (found.made, found.removed) == (["new", "new/inner"], {"empty": 0o750})
    assert found.left == {"pipe": "is neither a file nor a link nor a directory"}


async def test_names_that_are_no_text_come_as_lone_surrogates(scratch: Scratch) -> None:
    found = await changed_by(scratch, "echo 1 > $(printf '\\377\\376'); echo 2 > 'a\nb'")
    assert list(found.files) == ["a\nb", os.fsdecode(b"\xff\xfe")]


async def test_what_was_laid_over_is_what_is_compared_with(opening: Opening) -> None:
    files = {"src/one.py": b"staged\n", "logo.png": None, "new/file": b"1\n", "run.sh": b"2\n"}
    async with opening(files) as scratch:
        assert not await scratch.difference()
        found = await changed_by(scratch, "echo more >> src/one.py; echo back > logo.png; rm -r new")
    assert list(found.files) == ["logo.png", "new/file", "src/one.py"]
    assert found.files["src/one.py"][0].data == b"staged\n"
    assert found.files["src/one.py"][1].data == b"staged\nmore\n"
    assert found.files["logo.png"][0] == GONE
    assert found.files["new/file"] == (found.files["new/file"][0], GONE)
    assert found.files["new/file"][0].data == b"1\n"


async def test_a_directory_with_files_laid_over_is_removed_whole(opening: Opening) -> None:
    async with opening({"src/staged.py": b"1", "src/one.py": None}) as scratch:
        found = await changed_by(scratch, "rm -r src")
    assert list(found.files) == ["src/deep/two.txt", "src/staged.py"]
    assert list(found.removed) == ["src", "src/deep"]


async def test_what_git_ignores_and_its_own_files_are_named_and_no_edits(
    opening: Opening, root: Path
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
        "git config x.y z; echo 1 > .tideate/config.toml; echo 1 > a.log; echo 1 > out/made;"
        "echo 1 > out/kept; mkdir src/__pycache__ src/build; echo 1 > src/__pycache__/x;"
        "echo 1 > src/build/x; echo 2 > build/old; rm -r node_modules; echo 1 > src/real.py"
    )
    async with opening() as scratch:
        found = await changed_by(scratch, script)
    # git tracks `build/old` nevertheless
    assert list(found.files) == ["build/old", "out/kept", "src/real.py"]
    assert found.ignored == [
        *(".git/", ".tideate/", "a.log", "node_modules/", "out/made", "src/__pycache__/", "src/build/")
    ]
    assert not (found.made or found.removed)


async def test_a_commit_in_the_scratch_copy_stays_there(opening: Opening, root: Path) -> None:
    git(root, "init", "--quiet")
    git(root, "add", "--all")
    git(root, "-c", "user.name=a", "-c", "user.email=b", "commit", "--quiet", "-m", "one")
    head = (root / ".git/HEAD").read_bytes()
    script = (
        "git -c user.name=a -c user.email=b commit --quiet --allow-empty -m two; git log --oneline | wc -l"
    )
    async with opening() as scratch:
        done = await scratch.run(["sh", "-c", script])
        assert done.stdout.text.strip() == "2", done.printed
        found = await scratch.difference()
        assert (bool(found), found.ignored) == (False, [".git/"])
    assert (root / ".git/HEAD").read_bytes() == head
    git(root, "fsck")


@pytest.fixture
def both(root: Path) -> None:
    (root / "theirs").write_text("1")
    (root / "both").write_text("1\n2\n3\n")
    (root / "gone").write_text("1\n")


@pytest.mark.usefixtures("both")
async def test_what_the_person_changes_meanwhile_is_told(opening: Opening, root: Path) -> None:
    async with opening() as scratch:
        found = await changed_by_both(scratch, root)
    assert found
    assert list(found.files) == ["src/one.py"]  # no file that a write could overwrite
    assert found.changed_meanwhile == frozenset()
    assert {path: (theirs.data, ours.data) for path, (theirs, ours) in found.conflicts.items()} == {
        "both": (b"person\n2\n3\n", b"1\n2\n3\nmore\n"),
        "gone": (b"", b"1\nmore\n"),
        "same-name": (b"theirs\n", b"mine\n"),
    }


@pytest.mark.usefixtures("both")
async def test_with_kept_files_what_both_changed_can_be_merged(opening: Opening, root: Path) -> None:
    async with opening(keep=True) as scratch:
        await changed_by(scratch, "echo 2 > src/one.py")
        (root / "src/one.py").write_text("theirs")
        assert (await scratch.difference()).changed_meanwhile  # the files are kept by now
        found = await changed_by_both(scratch, root)
    assert list(found.files) == ["both", "gone", "src/one.py"]
    assert found.changed_meanwhile == {"both", "gone", "src/one.py"}
    assert list(found.conflicts) == ["same-name"]
    before, after = found.files["both"]
    assert before.data == b"1\n2\n3\n"
    assert before.state.mode == (root / "both").stat().st_mode & 0o7777
    merged = merge_text(before.data.decode(), (root / "both").read_text(), after.data.decode())
    assert merged == "person\n2\n3\nmore\n"


async def changed_by_both(scratch: Scratch, root: Path) -> ScratchDifference:
    script = "echo more >> both; echo more >> gone; echo 2 > src/one.py; echo mine > same-name; echo 9 > same"
    await changed_by(scratch, script)
    (root / "theirs").write_text("2")
    (root / "both").write_text("person\n2\n3\n")
    (root / "gone").unlink()
    (root / "same-name").write_text("theirs\n")
    (root / "same").write_text("9\n")
    return await scratch.difference()


async def test_a_large_file_is_not_kept_and_a_conflict(opening: Opening, root: Path) -> None:
    (root / "big").write_bytes(b"1" * ((1 << 20) + 1))
    (root / "small").write_bytes(b"1")
    async with opening(keep=True) as scratch:
        await changed_by(scratch, "echo > big; echo > small")
        (root / "small").write_text("theirs")
        await scratch.difference()  # the files are kept by now
        (root / "big").write_text("theirs")
        found = await scratch.difference()
    assert (list(found.conflicts), found.changed_meanwhile) == (["big"], frozenset({"small"}))


async def test_what_the_person_changes_where_it_was_laid_over_is_told(opening: Opening, root: Path) -> None:
    async with opening({"src/one.py": b"staged\n", "logo.png": b"staged"}, keep=True) as scratch:
        assert (await scratch.run(["sh", "-c", "echo 2 > src/one.py; echo 2 > logo.png"])).ok
        (root / "src/one.py").write_text("person\n")
        found = await scratch.difference()
    assert found.changed_meanwhile == {"src/one.py"}
    assert found.files["src/one.py"][0].data == b"staged\n"


async def test_a_file_that_is_too_large_is_named(scratch: Scratch) -> None:
    found = await changed_by(scratch, "truncate -s 65M large; mkdir d; truncate -s 65M src/one.py")
    assert found.left == {"large": "has more than 64 MiB", "src/one.py": "has more than 64 MiB"}
    assert found.files == {}


async def test_more_than_a_person_could_look_at_is_named(
    scratch: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(difference, "MOST", 2)
    found = await changed_by(scratch, "for i in 1 2 3 4; do echo $i > new$i; done")
    assert list(found.files) == ["new1", "new2"]
    assert list(found.left) == ["new3", "new4"]
    assert "comes after the 2 paths" in found.left["new3"]


async def test_a_file_that_cannot_be_read_is_named(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> FileImage:  # the superuser may read all files
        if path.name == "locked":
            raise PermissionError(13, "Permission denied")
        return read_bounded_image(path)

    monkeypatch.setattr(difference, "read_bounded_image", refuse)
    found = await changed_by(scratch, "echo 1 > locked; echo 1 > new")
    assert (list(found.files), found.left) == (["new"], {"locked": "cannot be read: Permission denied"})


async def test_a_directory_that_cannot_be_read_is_named(
    scratch: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    await changed_by(scratch, "mkdir locked; echo 1 > locked/file; rm -r src; mkdir src; chmod 0 src")
    real = os.scandir

    def scandir(path: Path) -> object:
        if path.name in ("locked", "src"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    found = await scratch.difference()
    assert found.left == dict.fromkeys(("locked", "src"), "cannot be read: Permission denied")
    assert not any(path.startswith("src/") for path in found.files)  # unknown whether they were deleted
