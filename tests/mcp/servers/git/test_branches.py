"""Branches are created and checked out without overwriting a person's work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.mcp.servers.calling import Caller
    from tests.mcp.servers.git.conftest import Repo

pytestmark = pytest.mark.slow


async def test_a_branch_is_made_and_head_stays(repo: Repo, call: Caller) -> None:
    first = repo.head()
    repo.git("commit", "--quiet", "--allow-empty", "-m", "second")
    made = await call("git_create_branch", branch_name="side/x", base_branch="HEAD~1")
    assert made["commit"] == first
    assert "exists" in await call.refused("git_create_branch", branch_name="side/x")
    assert "no commit 'gone'" in await call.refused("git_create_branch", branch_name="y", base_branch="gone")
    assert "failed" in await call.refused("git_create_branch", branch_name="side/x/y")
    assert repo.git("branch", "--show-current") == "main\n"
    assert repo.git("rev-parse", "side/x").strip() == first


@pytest.mark.parametrize(
    "name",
    [
        "",
        "-x",
        "a b",
        "a..b",
        "a~1",
        "a^",
        "a:b",
        "a?",
        "a*",
        "a[",
        "a\\b",
        "a.lock",
        "a/",
        "/a",
        "a//b",
        ".a",
        "a/.b",
        "a.",
        "@",
        "HEAD",
        "a@{b",
        "a\nb",
        "a\x7fb",
        "a\u200bb",
        "a\u202eb",
        "x" * 250,
        "a.lock/b",
    ],
)
async def test_what_cannot_be_a_branch_is_refused(repo: Repo, name: str, call: Caller) -> None:
    words = await call.refused("git_create_branch", branch_name=name)
    assert "name" in words
    assert len(words) < 500
    assert repo.git("branch", "--format=%(refname:short)") == "main\n"


async def test_an_existing_branch_is_gone_to_from_a_clean_tree(repo: Repo, call: Caller) -> None:
    repo.git("branch", "side")
    repo.write("unknown.py", "mine\n")
    moved = await call("git_checkout", branch_name="side")
    assert (moved["branch"], moved["previous"], moved["commit"]) == ("side", "main", repo.head())
    assert repo.git("branch", "--show-current") == "side\n"
    assert (repo.root / "unknown.py").read_text() == "mine\n"


@pytest.mark.parametrize("name", ["gone", "v1", "origin/far", "far", "HEAD~1", "one.py"])
async def test_only_a_local_branch_is_gone_to(repo: Repo, name: str, call: Caller) -> None:
    repo.git("tag", "v1")
    repo.git("update-ref", "refs/remotes/origin/far", "HEAD")
    await call.refused("git_checkout", branch_name=name)
    assert repo.git("branch", "--format=%(refname:short)") == "main\n"


@pytest.mark.parametrize("stage", [False, True])
async def test_a_changed_tree_is_left_alone(repo: Repo, stage: bool, call: Caller) -> None:
    repo.git("branch", "side")
    repo.write("one.py", "mine\n")
    if stage:
        repo.git("add", "one.py")
    assert "1 files are changed ('one.py' …)" in await call.refused("git_checkout", branch_name="side")
    assert repo.git("branch", "--show-current") == "main\n"
    assert (repo.root / "one.py").read_text() == "mine\n"


@pytest.mark.parametrize("name", ["new.py", "x.log"])
async def test_a_file_that_git_does_not_know_is_not_overwritten(repo: Repo, name: str, call: Caller) -> None:
    repo.git("switch", "--quiet", "-c", "side")
    repo.write(name, "of the branch\n")
    repo.git("add", "--force", name)
    repo.git("commit", "--quiet", "-m", "side")
    repo.git("switch", "--quiet", "main")
    repo.write(name, "mine\n")
    assert "overwritten" in await call.refused("git_checkout", branch_name="side")
    assert (repo.root / name).read_text() == "mine\n"
    assert repo.git("branch", "--show-current") == "main\n"
