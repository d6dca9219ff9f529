from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import pytest

from tests.harness.project import git
from tideate_core.workspace import repositories_of

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.workspace import Workspace

FILES = ["logo.png", "run.sh", "src/dos.txt", "src/one.py"]


async def test_without_git_files_are_listed_in_order(root: Path, workspace: Workspace) -> None:
    for name in (".tideate/db", "node_modules/x.js", "src/__pycache__/one.pyc"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")
    assert await workspace.list(notice=pytest.fail) == FILES


async def test_with_git_ignored_and_deleted_files_are_left_out(root: Path, workspace: Workspace) -> None:
    git(root, "init")
    (root / "gone.txt").write_text("")
    git(root, "add", ".")
    (root / "gone.txt").unlink()
    (root / ".gitignore").write_text("*.log\n.tideate/*\n!.tideate/config.toml\n")
    (root / "a.log").write_text("")
    (root / "neu é.txt").write_text("")
    (root / ".tideate").mkdir()
    (root / ".tideate/config.toml").write_text("")
    assert await workspace.list() == sorted([".gitignore", "neu é.txt", *FILES])


async def test_a_pipe_that_git_would_read_for_ever_does_not_hold_up_the_list(
    root: Path, workspace: Workspace
) -> None:
    git(root, "init")
    (root / ".gitignore").write_text("*.png\n")
    (root / ".tideate").mkdir()
    os.mkfifo(root / ".tideate/.gitignore")
    async with asyncio.timeout(60):
        assert await workspace.list() == [".gitignore", *(name for name in FILES if name != "logo.png")]


async def test_a_project_that_an_outer_repository_ignores_is_walked(root: Path, workspace: Workspace) -> None:
    git(root.parent, "init")
    (root.parent / ".gitignore").write_text("project/\n")
    assert await workspace.list() == FILES


async def test_links_out_and_odd_files_are_left_out(root: Path, workspace: Workspace) -> None:
    (root / "out").symlink_to("/etc/passwd")
    (root / "directory").symlink_to("src")
    (root / "inside").symlink_to("run.sh")
    os.mkfifo(root / "pipe")
    assert await workspace.list() == sorted(["inside", *FILES])


@pytest.mark.slow
async def test_no_number_of_files_is_too_many(root: Path, workspace: Workspace) -> None:
    (root / "many").mkdir()
    names = [f"many/{number}" for number in range(10_050)]
    for name in names:
        (root / name).touch()
    assert await workspace.list() == sorted([*FILES, *names])


def repository(place: Path, **files: str) -> None:
    place.mkdir(parents=True)
    git(place, "init", "-q")
    for name, text in files.items():
        (place / name.replace("__", ".")).write_text(text)
    git(place, "add", ".")
    git(place, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x")


@pytest.mark.parametrize("outer", [True, False])
async def test_files_of_repositories_within_the_project_are_listed_by_their_own_rules(
    root: Path, workspace: Workspace, outer: bool
) -> None:
    if outer:
        git(root, "init")
        (root / ".gitignore").write_text("ignored/\n")
    repository(root / "modules/inner", in__py="", __gitignore="*.log\n")
    repository(root / "modules/inner/deep", in__py="")
    (root / "modules/inner/a.log").write_text("")
    (root / "modules/inner/new").write_text("")
    repository(root.parent / "other", sub__py="")
    if outer:
        repository(root / "ignored", in__py="")
        git(
            root, "-c", "protocol.file.allow=always", "submodule", "add", str(root.parent / "other"), "vendor"
        )
    inner = [
        "modules/inner/.gitignore",
        "modules/inner/deep/in.py",
        "modules/inner/in.py",
        "modules/inner/new",
    ]
    more = [".gitignore", ".gitmodules", "vendor/sub.py"] if outer else []
    listed = await workspace.list()
    assert listed == sorted([*FILES, *inner, *more])
    own = "a git repository of its own"
    submodule = {"vendor": "a submodule or worktree"} if outer else {}
    assert repositories_of(root, listed) == {"modules/inner": own, "modules/inner/deep": own, **submodule}


async def test_a_repository_within_that_is_another_ones_is_listed_as_files(
    root: Path, workspace: Workspace
) -> None:
    git(root, "init")
    repository(root.parent / "other", private__py="")
    (root / "inner").mkdir()
    (root / "inner/.git").write_text(f"gitdir: {root.parent}/other/.git\n")
    (root / "inner/mine.py").write_text("")
    git(root, "add", "run.sh")
    assert await workspace.list() == sorted([*FILES, "inner/mine.py"])


async def test_without_git_what_its_ignore_files_say_is_left_out(root: Path, workspace: Workspace) -> None:
    (root / ".gitignore").write_text("*.log\n/out/\n!\n!keep.log\n")
    for name in ("a.log", "keep.log", "out/x.py", "src/out/y.py", "src/gen/z.py", "src/gen/real.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")
    (root / "src/.gitignore").write_text("gen/*\n!gen/real.py\n")
    shown = ["src/.gitignore", "src/gen/real.py", "src/out/y.py", ".gitignore", "keep.log"]
    assert await workspace.list() == sorted([*FILES, *shown])


async def test_git_that_cannot_answer_is_said_and_ignored_files_stay_out(
    root: Path, workspace: Workspace
) -> None:
    git(root, "init")
    (root / ".gitignore").write_text("*.log\n")
    (root / "a.log").write_text("")
    (root / ".git/index").write_bytes(b"no index")
    notices: list[str] = []
    assert await workspace.list(notice=notices.append) == sorted([".gitignore", *FILES])
    assert len(notices) == 1
    assert "git could not list the files" in notices[0]


async def test_a_pipe_or_a_link_in_an_ignore_files_place_is_not_read(
    root: Path, workspace: Workspace
) -> None:
    os.mkfifo(root / ".gitignore")
    (root / "src/.gitignore").symlink_to("one.py")
    (root / "made/.gitignore").mkdir(parents=True)
    async with asyncio.timeout(60):
        assert set(FILES) <= set(await workspace.list())
