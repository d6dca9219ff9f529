"""Mirrors and work trees of a worker: commits without a branch, and git's reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.harness.project import git, use_home
from tideate_core.errors import CommitGone, WorkspaceError
from tideate_core.fleet import Repositories
from tideate_core.fleet.repositories import check_out

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's clone of the remote `remote.git`, with one commit."""
    use_home(tmp_path / "home", monkeypatch)
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "remote.git")
    git(tmp_path, "clone", "-q", "remote.git", "work")
    work = tmp_path / "work"
    (work / "a.txt").write_text("one\n")
    git(work, "add", "-A")
    git(work, "commit", "-q", "-m", "first")
    git(work, "push", "-q", "origin", "HEAD:main")
    return work


def rewrite(work: Path) -> None:
    """Replace the branch of the remote."""
    git(work, "commit", "-q", "--amend", "-m", "second")
    git(work, "push", "-q", "--force", "origin", "HEAD:main")


async def test_a_commit_that_no_branch_has_any_more_is_fetched_by_its_id(work: Path, tmp_path: Path) -> None:
    address = f"file://{tmp_path}/remote.git"
    repositories = Repositories(tmp_path / "state")
    pinned = await repositories.resolve(address, "main")
    rewrite(work)
    mirror = await repositories.ensure(address, "main", pinned)
    await check_out(mirror, pinned, tmp_path / "tree")
    assert (tmp_path / "tree" / "a.txt").read_text() == "one\n"


async def test_a_commit_that_the_remote_does_not_have_is_gone_for_good(work: Path, tmp_path: Path) -> None:
    address = f"file://{tmp_path}/remote.git"
    repositories = Repositories(tmp_path / "state")
    for commit in (await repositories.resolve(address, "main"), "1" * 40):
        rewrite(work)
        git(tmp_path / "remote.git", "reflog", "expire", "--expire=now", "--all")
        git(tmp_path / "remote.git", "gc", "-q", "--prune=now")
        with pytest.raises(CommitGone, match="submit the run again"):
            await repositories.ensure(address, "main", commit)


async def test_a_failed_checkout_tells_gits_reason(work: Path, tmp_path: Path) -> None:
    (tmp_path / "home" / ".gitconfig").write_text('[filter "bad"]\nsmudge = false\nrequired = true\n')
    (work / ".gitattributes").write_text("a.txt filter=bad\n")
    (work / ".gitattributes").chmod(0o644)
    git(work, "add", ".gitattributes")
    git(work, "commit", "-q", "-m", "filtered")
    git(work, "push", "-q", "origin", "HEAD:main")
    address = f"file://{tmp_path}/remote.git"
    repositories = Repositories(tmp_path / "state")
    commit = await repositories.resolve(address, "main")
    mirror = await repositories.ensure(address, "main", commit)
    with pytest.raises(WorkspaceError, match="smudge filter bad failed") as raised:
        await check_out(mirror, commit, tmp_path / "tree")
    assert "hint" not in str(raised.value)
