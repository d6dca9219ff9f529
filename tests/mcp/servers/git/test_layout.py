"""Only repositories completely inside the root are read; links to others are rejected."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.mcp.servers.git.conftest import Repo

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.mcp.servers.calling import Caller

pytestmark = pytest.mark.slow

WHO = {"agent": "a", "scope": "s", "description": "d", "auto_stage": True}


@pytest.fixture
def outside(repo: Repo) -> Repo:
    """A repository beside the root with a name that starts with the root's."""
    other = Repo(repo.root.with_name("project-evil"), repo.home)
    other.root.mkdir()
    other.git("init", "--quiet")
    other.write("secret.py", "secret = 1\n")
    other.git("add", ".")
    other.git("commit", "--quiet", "-m", "secret commit")
    return other


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "path", ["../project-evil", "/etc", "/", "..", "sub/../../project-evil", "link", "a\0b"]
)
async def test_a_repo_path_out_of_the_root_is_refused(
    repo: Repo, outside: Repo, path: str, call: Caller
) -> None:
    (repo.root / "link").symlink_to(outside.root)
    for named in (path, str(outside.root)):
        words = await call.refused("git_status", repo_path=named)
        assert "not inside the root" in words
        assert "not inside the root" in await call.refused("git_commit", **WHO, repo_path=named)


@pytest.mark.parametrize("path", ["", ".", "sub", "ABSOLUTE"])
async def test_a_repo_path_inside_the_root_is_taken(repo: Repo, path: str, call: Caller) -> None:
    named = path.replace("ABSOLUTE", str(repo.root))
    assert (await call("git_status", repo_path=named))["commit"] == repo.head()


async def test_a_repository_around_the_root_is_not_found(repo: Repo) -> None:
    inner = Repo(repo.root / "sub", repo.home)
    async with inner.client() as call:
        assert "no git repository" in await call.refused("git_status")


def worktree(repo: Repo, outside: Repo) -> None:
    outside.git("worktree", "add", "--quiet", str(repo.root / "inner"))


def alternates(repo: Repo, outside: Repo) -> None:
    repo.git("init", "--quiet", "inner")
    (repo.root / "inner/.git/objects/info/alternates").write_text(f"{outside.root}/.git/objects\n")


def included_files(repo: Repo, outside: Repo) -> None:
    repo.git("init", "--quiet", "inner")
    (repo.root / "more").write_text(f"[core]\n\tworktree = {outside.root}\n")
    repo.git("config", "include.path", str(repo.root / "more"), where="inner")


@pytest.mark.parametrize("arm", [worktree, alternates, included_files])
async def test_a_repository_with_a_part_elsewhere_is_neither_read_nor_written(
    repo: Repo, outside: Repo, arm: Callable[[Repo, Repo], None], call: Caller
) -> None:
    arm(repo, outside)
    before = everything(outside.root)
    secret = outside.head()
    for tool, arguments in (
        ("git_status", {}),
        ("git_show", {"revision": secret}),
        ("git_log", {}),
        ("git_diff", {}),
        ("git_commit", WHO),
        ("git_create_branch", {"branch_name": "b", "base_branch": secret}),
    ):
        words = await call.refused(tool, **arguments, repo_path="inner")
        assert "outside the server's root" in words or "core.worktree" in words
        assert "secret" not in words
        assert str(outside.root) not in words
    assert everything(outside.root) == before


async def test_a_linked_worktree_whose_repository_is_inside_is_read(repo: Repo, call: Caller) -> None:
    repo.git("worktree", "add", "--quiet", "inner")
    assert (await call("git_status", repo_path="inner"))["branch"] == "inner"
    repo.write("inner/one.py", "changed\n")
    made = await call(
        "git_commit", agent="a", scope="s", description="d", files=["one.py"], repo_path="inner"
    )
    assert repo.git("rev-parse", "inner").strip() == made["commitHash"]


@pytest.mark.parametrize("place", ["refs/heads/side", "logs/refs/heads/side", "objects/aa", "logs/HEAD"])
async def test_nothing_is_written_through_a_link_in_the_repository(
    repo: Repo, outside: Repo, place: str, call: Caller
) -> None:
    path = repo.root / ".git" / place
    if path.exists():
        path.unlink() if path.is_file() else path.rename(path.with_name("moved"))
    target = outside.root / "target"
    target.write_text("mine\n") if place.endswith("HEAD") else target.mkdir()
    path.symlink_to(target)
    before = everything(outside.root)
    repo.write("one.py", "changed\n")
    name = "side/x" if "side" in place else "other"
    words = await call.refused("git_create_branch", branch_name=name)
    assert "outside the server's root" in words
    assert everything(outside.root) == before


async def test_a_bare_repository_in_the_worktree_is_none(tmp_path: Path, home: Path) -> None:
    root = home.resolve().parent / "bare"  # noqa: ASYNC240
    root.mkdir()
    bare = Repo(root, home)
    bare.git("init", "--quiet", "--bare", ".")
    (root / ".git").mkdir()
    marker = root.parent / "sprung"
    bare.git("config", "core.fsmonitor", f"touch {marker}; false")
    async with bare.client() as call:
        assert "git" in await call.refused("git_status")
    assert not marker.exists()
