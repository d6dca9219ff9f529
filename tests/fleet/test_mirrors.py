"""Mirrors are repaired, kept small, and removed when unused."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.fleet.site import Site
from tideate_core.errors import RemoteFailed
from tideate_core.fleet import Repositories
from tideate_core.fleet.mirrors import MOST_FILES, UNUSED, lock_of, locked

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A site without a database."""
    site = Site(tmp_path, "")
    monkeypatch.setenv("HOME", str(site.home("ana")))
    return site


def change(site: Site, name: str) -> str:
    """Push a commit to a remote; return it."""
    work = site.place / f"{name}.work"
    site.git("commit", "-q", "--allow-empty", "-m", "more", cwd=work)
    site.git("push", "-q", str(site.place / f"{name}.git"), "HEAD:main", cwd=work)
    return site.git("rev-parse", "HEAD", cwd=work).strip()


async def mirrored(site: Site, address: str) -> tuple[Repositories, Path]:
    """Mirror a remote."""
    repositories = Repositories(site.place / "fleet")
    commit = await repositories.resolve(address, "main")
    return repositories, await repositories.ensure(address, "main", commit)


async def test_what_a_killed_git_left_behind_is_removed(site: Site) -> None:
    address = site.remote("one")
    repositories, mirror = await mirrored(site, address)
    left = [
        mirror / "refs/fleet/heads/main.lock",
        mirror / "packed-refs.lock",
        mirror / "objects/pack/tmp_pack_x",
    ]
    for path in left:
        path.write_text("")
    commit = change(site, "one")
    assert await repositories.ensure(address, "main", commit) == mirror
    assert not any(path.exists() for path in left)


async def test_tasks_that_need_a_new_mirror_at_once_create_it_once(site: Site) -> None:
    address = site.remote("one")
    repositories = Repositories(site.place / "fleet")
    commit = await repositories.resolve(address, "main")
    shutil.rmtree(site.place / "fleet")
    others = [Repositories(site.place / "fleet") for _ in range(3)]
    made = await asyncio.gather(*(one.ensure(address, "main", commit) for one in [repositories, *others]))
    assert len(set(made)) == 1
    git = await repositories.git(address)
    assert (await git.run("cat-file", "-e", commit)).status == 0


async def test_a_task_that_waited_for_a_new_mirror_does_not_create_it_again(site: Site) -> None:
    address = site.remote("one")
    repositories, mirror = await mirrored(site, address)
    (mirror / "mark").touch()
    (mirror / "complete").unlink()  # as while it is created
    async with locked(repositories.place / "lock"):
        waiting = asyncio.create_task(Repositories(repositories.place).git(address))
        await asyncio.sleep(0)  # it looks, and waits
        (mirror / "complete").touch()
    await waiting
    assert (mirror / "mark").exists()


@pytest.mark.parametrize("damage", ["config", "objects", "ref"])
async def test_a_broken_mirror_is_made_anew(site: Site, damage: str) -> None:
    address = site.remote("one")
    repositories, mirror = await mirrored(site, address)
    if damage == "config":
        (mirror / "config").unlink()
    elif damage == "ref":
        ref = mirror / "refs/fleet/heads/main"
        ref.unlink()
        ref.mkdir()
        (ref / "in-the-way").write_text("x")
    else:
        for path in [*(mirror / "objects").rglob("*")]:
            if path.is_file():
                path.unlink()
    commit = change(site, "one")
    await repositories.ensure(address, "main", commit)
    assert commit in site.git("--git-dir", str(mirror), "for-each-ref")


async def test_a_repository_that_cannot_be_read_leaves_its_mirror(site: Site) -> None:
    address = site.remote("one")
    repositories, mirror = await mirrored(site, address)
    objects = sorted((mirror / "objects").rglob("*"))
    (site.place / "one.git").rename(site.place / "away.git")
    with pytest.raises(RemoteFailed):
        await repositories.ensure(address, "main", "0" * 40)
    assert sorted((mirror / "objects").rglob("*")) == objects


def add_objects(mirror: Path) -> None:
    for number in range(MOST_FILES):
        subprocess.run(
            ["git", "--git-dir", mirror, "hash-object", "-w", "--stdin"],
            input=str(number),
            text=True,
            check=True,
            capture_output=True,
        )


async def test_mirrors_are_packed_and_removed(site: Site) -> None:
    addresses = [site.remote("one"), site.remote("two")]
    (repositories, one), (_, two) = [await mirrored(site, address) for address in addresses]
    add_objects(one)
    commit = site.git("--git-dir", str(one), "rev-parse", "refs/fleet/heads/main").strip()
    old = one.stat().st_mtime - UNUSED - 60
    os.utime(two / "complete", (old, old))
    async with locked(lock_of(two)):
        repositories.mirrors.tidy()
        assert two.exists()
    assert list((one / "objects/pack").glob("*.pack"))
    assert site.git("--git-dir", str(one), "cat-file", "-t", commit) == "commit\n"
    repositories.mirrors.tidy()
    assert not two.exists()
    assert one.exists()


async def test_a_task_that_is_cancelled_keeps_no_lock(tmp_path: Path) -> None:
    async def take() -> None:
        async with locked(tmp_path / "lock"):
            pass

    async with locked(tmp_path / "lock"):
        waiting = [asyncio.create_task(take()) for _ in range(5)]
        await asyncio.sleep(0)
        for task in waiting:
            task.cancel()
    async with asyncio.timeout(10):
        await take()


async def test_a_sha_256_repository_is_refused_at_once(site: Site) -> None:
    bare, work = site.place / "new.git", site.place / "new.work"
    for place, options in ((bare, ["--bare"]), (work, [])):
        site.git("init", "-q", "--object-format=sha256", "--initial-branch=main", *options, str(place))
    site.git("commit", "-q", "--allow-empty", "-m", "begin", cwd=work)
    site.git("push", "-q", str(bare), "HEAD:main", cwd=work)
    for ref in ("HEAD", "main"):
        with pytest.raises(RemoteFailed, match="SHA-256"):
            await Repositories(site.place / "fleet").resolve(f"file://{bare}", ref)


async def test_a_mirror_that_git_cannot_pack_is_removed(site: Site) -> None:
    repositories, mirror = await mirrored(site, site.remote("one"))
    add_objects(mirror)
    head = mirror / "refs/fleet/heads/main"
    head.write_text("0123456789" * 4 + "\n")
    repositories.mirrors.tidy()
    assert not mirror.exists()
