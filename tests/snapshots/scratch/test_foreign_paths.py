"""A scratch copy does not lead out through an outer git directory or an editable installation."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from tests.harness.project import git
from tideate_core.process import make_environment
from tideate_core.snapshots.scratch.foreign_paths import editable_sources, outside_git

if TYPE_CHECKING:
    from pathlib import Path

    from tests.snapshots.scratch.conftest import Opening

COMMIT = ("-c", "user.name=a", "-c", "user.email=b", "commit", "--quiet", "--allow-empty", "-m", "one")


@pytest.fixture
def worktree(root: Path, tmp_path: Path) -> Path:
    """Turn the project into a worktree of another repository, which is returned."""
    main = tmp_path / "main"
    main.mkdir()
    git(main, "init", "--quiet")
    git(main, *COMMIT)
    git(main, "worktree", "add", "--quiet", "--detach", str(tmp_path / "made"))
    (tmp_path / "made/.git").rename(root / ".git")
    git(root, "worktree", "repair")
    return main


def commits(repository: Path) -> list[str]:
    return sorted(path.name for path in (repository / ".git/objects").rglob("*") if path.is_file())


async def test_a_commit_in_the_scratch_copy_stays_there(opening: Opening, root: Path) -> None:
    git(root, "init", "--quiet")
    head = (root / ".git/HEAD").read_bytes()
    async with opening() as scratch:
        done = await scratch.run(["git", *COMMIT])
        assert done.ok, done.printed
    assert (root / ".git/HEAD").read_bytes() == head
    assert commits(root) == []
    git(root, "fsck")


async def test_what_is_committed_in_a_worktree_stays_in_the_scratch_copy(
    opening: Opening, worktree: Path, kind: str
) -> None:
    before = commits(worktree)
    async with opening() as scratch:
        done = await scratch.run(["git", *COMMIT])
        assert done.ok is (kind == "overlay"), done.printed
        assert any(".git is not in the copy" in words for words in scratch.notices) is (kind == "copy")
    assert commits(worktree) == before


async def test_what_is_committed_in_a_part_of_a_repository_stays_in_the_scratch_copy(
    opening: Opening, root: Path, kind: str
) -> None:
    git(root.parent, "init", "--quiet")
    async with opening() as scratch:
        done = await scratch.run(["git", *COMMIT])
        assert done.ok is (kind == "overlay"), done.printed
    assert commits(root.parent) == []


def test_the_git_directory_of_a_worktree_is_the_one_that_all_share(root: Path, worktree: Path) -> None:
    assert outside_git(root) == worktree / ".git"


@pytest.mark.parametrize(
    "content", ["gitdir: ../nowhere", "gitdir: .", "gitdir: /", "", "something", "gitdir:"]
)
def test_a_git_file_that_leads_to_no_git_directory_leads_nowhere(root: Path, content: str) -> None:
    (root / ".git").write_text(content)
    assert outside_git(root) is None


def installed(root: Path, finder: bool) -> None:
    packages = root / ".venv/lib/python3.11/site-packages"
    packages.mkdir(parents=True)
    if finder:
        mapping = f"MAPPING: dict[str, str] = {{'package': {str(root / 'lib' / 'package')!r}}}\n"
        (packages / "__editable___package_1_finder.py").write_text(f"import sys\n{mapping}")
    else:
        (packages / "__editable__.package.pth").write_text(f"{root / 'lib'}\nimport nothing\n/elsewhere\n")
    (root / "lib/package").mkdir(parents=True)
    (root / "lib/package/__init__.py").write_text("print('original')\n")


@pytest.mark.parametrize("finder", [False, True])
async def test_a_package_that_is_installed_as_editable_is_the_scratch_copys(
    opening: Opening, root: Path, finder: bool
) -> None:
    installed(root, finder)
    assert editable_sources(root) == [root / "lib"]
    environment = make_environment({"PYTHONPATH": str(root / "lib")})  # as set by the installation
    async with opening({"lib/package/__init__.py": b"print('staged')\n"}) as scratch:
        done = await scratch.run([sys.executable, "-c", "import package"], environment=environment)
    assert done.stdout.text == "staged\n"


async def test_git_looks_for_no_repository_above_a_copy(opening: Opening, private: Path) -> None:
    git(private.parent, "init", "--quiet")
    async with opening() as scratch:
        done = await scratch.run(["git", "rev-parse", "--show-toplevel"])
        if scratch.kind == "copy":
            assert not done.ok
        else:  # the project's own directory is below it, as without a scratch copy
            assert done.stdout.text.strip() == os.fspath(private.parent)
