"""Mirrors of a machine: caches of repositories, which are repaired, kept small, and removed when unused."""

from __future__ import annotations

import asyncio
import hashlib
import math
import os
import shutil
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import WorkspaceError
from tideate_core.git import HARDENED, PersonsGit, persons_git, run_git, without_repository
from tideate_core.util.file_locks import take_lock
from tideate_core.util.private_files import make_private_directory

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tideate_core.git import GitOutput

UNUSED: Final = 14 * 86_400.0
"""Seconds after which an unused mirror is removed."""
MOST_FILES: Final = 200
"""Number of object files from which a mirror is packed: each work tree links each of them."""
RECENT: Final = 3600.0
"""Minimum seconds between two packings of a mirror."""
_PAUSE: Final = 0.05
"""Seconds between two attempts to take a lock."""
_PATIENCE: Final = 60.0
"""Seconds until git has packed a mirror."""
_WRITES: Final = frozenset({"fetch", "gc", "update-ref"})
_PACKED: Final = "tideate-packed"
"""Empty file, as old as the last attempt to pack."""
_PARTS: Final = ("complete", "HEAD", "config", "objects", "refs")


class MirrorGit(PersonsGit):
    """git in a mirror; commands that lock refs or write packs run one after the other."""

    async def run(self, *arguments: str, **options: Any) -> GitOutput:
        """Run git; see `PersonsGit.run`."""
        if arguments[0] not in _WRITES:
            return await PersonsGit.run(self, *arguments, **options)
        async with locked(lock_of(self.place)):
            # the lock is ours: what another git left here, it left when it was killed
            await asyncio.to_thread(_clear, self.place)
            return await PersonsGit.run(self, *arguments, **options)


@dataclass(frozen=True, slots=True)
class Mirrors:
    """Mirrors below one directory.

    :param place: `STATE/fleet`.
    """

    place: Path

    async def git(self, address: str) -> PersonsGit:
        """Return git for the mirror of a repository, which is created if it is missing or broken.

        :raises WorkspaceError: git cannot create it.
        """
        mirror, home = self._mirror(address), self.place / "home"
        if _is_broken(mirror):
            # the first for the home, the second because others may fetch into the mirror
            async with locked(self.place / "lock"), locked(lock_of(mirror)):
                if _is_broken(mirror):  # nobody else has created it meanwhile
                    (mirror / _PARTS[0]).unlink(missing_ok=True)
                await asyncio.to_thread(_make_home, home)
                return await _open(home, mirror)
        os.utime(mirror / _PARTS[0])  # the time of its last use
        return await _open(home, mirror)

    async def again(self, address: str) -> PersonsGit:
        """Create the mirror of a repository anew.

        :raises WorkspaceError: git cannot create it.
        """
        async with locked(lock_of(self._mirror(address))):
            await asyncio.to_thread(shutil.rmtree, self._mirror(address), ignore_errors=True)
        return await self.git(address)

    def _mirror(self, address: str) -> Path:
        name = hashlib.sha256(address.encode(errors="surrogateescape")).hexdigest()[:32]
        return self.place / "mirrors" / name

    def tidy(self) -> None:
        """Remove unused mirrors, and pack one that has many files; blocking."""
        folder = self.place / "mirrors"
        for mirror in sorted(folder.iterdir()) if folder.is_dir() else []:
            used = mirror / _PARTS[0]
            if not used.exists() or (handle := take_lock(lock_of(mirror))) is None:
                continue
            try:
                if _age(used) > UNUSED:
                    shutil.rmtree(mirror)
                elif _age(mirror / _PACKED) > RECENT and _files(mirror) > MOST_FILES:
                    _pack(mirror)
                    return
            finally:
                os.close(handle)


def _is_broken(mirror: Path) -> bool:
    return not all((mirror / part).exists() for part in _PARTS)


def _make_home(home: Path) -> None:
    """Create an empty repository with no settings of its own; blocking."""
    if home.exists():
        return
    new = home.with_name("home-new")  # renamed when it is complete: git may be killed
    shutil.rmtree(new, ignore_errors=True)
    make_private_directory(new)
    if _git(new / ".git", "init", "--quiet", "--template=") != 0:
        raise WorkspaceError(f"git cannot create a repository in {new}")
    new.rename(home)


async def _open(home: Path, mirror: Path) -> PersonsGit:
    git = await persons_git(home, mirror)
    return MirrorGit(**{one.name: getattr(git, one.name) for one in fields(git)})


def lock_of(mirror: Path) -> Path:
    """Return the lock file of a mirror for its writers."""
    return mirror.with_suffix(".lock")


@asynccontextmanager
async def locked(path: Path) -> AsyncIterator[None]:
    """Hold a lock that other tasks, event loops and workers of this machine share."""
    make_private_directory(path.parent)
    # not in a thread, which would keep the lock if this task is cancelled meanwhile
    while (handle := take_lock(path)) is None:  # noqa: ASYNC110 of other processes
        await asyncio.sleep(_PAUSE)
    try:
        yield
    finally:
        os.close(handle)


def _clear(mirror: Path) -> None:
    """Remove locks and unfinished packs; blocking."""
    packs = mirror / "objects" / "pack"
    left = [
        mirror.glob("*.lock"),
        (mirror / "refs").rglob("*.lock"),
        packs.glob("tmp_*"),
        packs.glob(".tmp-*"),
    ]
    for path in chain.from_iterable(left):
        path.unlink(missing_ok=True)


def _age(path: Path) -> float:
    """Return the seconds since the last change of a file; infinite without the file."""
    return time.time() - path.stat().st_mtime if path.exists() else math.inf


def _files(mirror: Path) -> int:
    return sum(len(names) for _, _, names in os.walk(mirror / "objects"))


def _pack(mirror: Path) -> None:
    _clear(mirror)
    (mirror / _PACKED).touch()  # even if git does not end in time
    # objects without refs may be of a question that is being published
    if _git(mirror, "gc", "--quiet", "--prune=1.hour.ago") != 0:  # broken: it is a cache
        shutil.rmtree(mirror)


def _git(git_dir: Path, *arguments: str) -> int:
    place = git_dir.parent
    done = run_git(
        without_repository(place),
        *arguments,
        cwd=place,
        options=HARDENED,
        variables={"GIT_DIR": str(git_dir)},
        patience=_PATIENCE,
    )
    return done.status
