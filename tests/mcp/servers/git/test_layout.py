"""Only repositories completely inside the root are read; links to others are rejected."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.mcp.servers.git.conftest import Repo

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

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
async def test_a_repo_path_out_of_the_root_is_refused(repo: Repo, outside: Repo, path: str) -> None:
    (repo.root / "link").symlink_to(outside.root)
    async with repo.client() as call:
        for named in (path, str(outside.root)):
            words = await call.refused("git_status", repo_path=named)
            assert "not inside the root" in words
            assert "not inside the root" in await call.refused("git_commit", **WHO, repo_path=named)


@pytest.mark.parametrize("path", ["", ".", "sub", "ABSOLUTE"])
async def test_a_repo_path_inside_the_root_is_taken(repo: Repo, path: str) -> None:
    async with repo.client() as call:
        named = path.replace("ABSOLUTE", str(repo.root))
        assert (await call("git_status", repo_path=named))["commit"] == repo.head()


async def test_a_repository_around_the_root_is_not_found(repo: Repo) -> None:
    inner = Repo(repo.root / "sub", repo.home)
    async with inner.client() as call:
        assert "no git repository" in await call.refused("git_status")


def worktree(repo: Repo, outside: Repo) -> None:
    outside.git("worktree", "add", "--quiet", str(repo.root / "inner"))


def link(repo: Repo, outside: Repo) -> None:
    (repo.root / "inner").mkdir()
    (repo.root / "inner" / ".git").symlink_to(outside.root / ".git")


def common(repo: Repo, outside: Repo) -> None:
    repo.git("init", "--quiet", "inner")
    (repo.root / "inner/.git/commondir").write_text(f"{outside.root}/.git\n")


def alternates(repo: Repo, outside: Repo) -> None:
    repo.git("init", "--quiet", "inner")
    (repo.root / "inner/.git/objects/info/alternates").write_text(f"{outside.root}/.git/objects\n")


def quoted_alternates(repo: Repo, outside: Repo) -> None:
    repo.git("init", "--quiet", "inner")
    (repo.root / "inner/.git/objects/info/alternates").write_text(f'"{outside.root}/.git/objects"\n')


def far_alternates(repo: Repo, outside: Repo) -> None:
    for name in ("inner", "between"):
        repo.git("init", "--quiet", name)
    (repo.root / "inner/.git/objects/info/alternates").write_text("../../../between/.git/objects\n")
    (repo.root / "between/.git/objects/info/alternates").write_text(f"{outside.root}/.git/objects\n")


def objects(repo: Repo, outside: Repo) -> None:
    repo.git("init", "--quiet", "inner")
    (repo.root / "inner/.git/objects").rename(repo.root / "inner/old")
    (repo.root / "inner/.git/objects").symlink_to(outside.root / ".git/objects")


def pack(repo: Repo, outside: Repo) -> None:
    repo.git("init", "--quiet", "inner")
    outside.git("gc", "--quiet")
    for found in (outside.root / ".git/objects/pack").iterdir():
        (repo.root / "inner/.git/objects/pack" / found.name).symlink_to(found)


def branch(repo: Repo, outside: Repo) -> None:
    repo.git("init", "--quiet", "inner")
    (repo.root / "inner/.git/refs/heads/x").symlink_to(outside.root / ".git/refs/heads/main")


def files(repo: Repo, outside: Repo) -> None:
    repo.git("init", "--quiet", "inner")
    repo.git("config", "core.worktree", str(outside.root), where="inner")


def included_files(repo: Repo, outside: Repo) -> None:
    repo.git("init", "--quiet", "inner")
    (repo.root / "more").write_text(f"[core]\n\tworktree = {outside.root}\n")
    repo.git("config", "include.path", str(repo.root / "more"), where="inner")


LINKS = [
    worktree,
    link,
    common,
    alternates,
    quoted_alternates,
    far_alternates,
    objects,
    pack,
    branch,
    files,
    included_files,
]


@pytest.mark.parametrize("arm", LINKS)
async def test_a_repository_with_a_part_elsewhere_is_neither_read_nor_written(
    repo: Repo, outside: Repo, arm: Callable[[Repo, Repo], None]
) -> None:
    arm(repo, outside)
    before = everything(outside.root)
    secret = outside.head()
    async with repo.client() as call:
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


async def test_a_linked_worktree_whose_repository_is_inside_is_read(repo: Repo) -> None:
    repo.git("worktree", "add", "--quiet", "inner")
    async with repo.client() as call:
        assert (await call("git_status", repo_path="inner"))["branch"] == "inner"
        repo.write("inner/one.py", "changed\n")
        made = await call(
            "git_commit", agent="a", scope="s", description="d", files=["one.py"], repo_path="inner"
        )
    assert repo.git("rev-parse", "inner").strip() == made["commitHash"]


@pytest.mark.parametrize("place", ["refs/heads/side", "logs/refs/heads/side", "objects/aa", "logs/HEAD"])
async def test_nothing_is_written_through_a_link_in_the_repository(
    repo: Repo, outside: Repo, place: str
) -> None:
    path = repo.root / ".git" / place
    if path.exists():
        path.unlink() if path.is_file() else path.rename(path.with_name("moved"))
    target = outside.root / "target"
    target.write_text("mine\n") if place.endswith("HEAD") else target.mkdir()
    path.symlink_to(target)
    before = everything(outside.root)
    repo.write("one.py", "changed\n")
    async with repo.client() as call:
        name = "side/x" if "side" in place else "other"
        words = await call.refused("git_create_branch", branch_name=name)
        assert "outside the server's root" in words
    assert everything(outside.root) == before


@pytest.mark.parametrize(
    ("name", "words"),
    [("commondir", "finds no repository"), ("objects/info/alternates", "is a pipe or a device")],
)
async def test_a_pipe_in_the_place_of_a_file_does_not_block(repo: Repo, name: str, words: str) -> None:
    os.mkfifo(repo.root / ".git" / name)
    async with repo.client() as call:
        assert words in await call.refused("git_status")


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


async def test_a_broken_repository_does_not_stand_for_the_one_around_it(outside: Repo) -> None:
    inner = Repo(outside.root / "inner", outside.home)
    (inner.root / ".git").mkdir(parents=True)
    async with inner.client() as call:
        for tool in ("git_status", "git_log", "git_show", "git_diff"):
            assert "secret" not in await call.refused(tool)
