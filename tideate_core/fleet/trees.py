"""Work trees of a worker's legs, each with a mark of its bundle and a lock.

::

    STATE/fleet/trees/WORKER/RUN-LEG/      a work tree
    STATE/fleet/trees/WORKER/RUN-LEG.lock  its lock
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tideate_core.app import forget_project
from tideate_core.errors import ConfigError
from tideate_core.fleet.repositories import check_out, remove_tree
from tideate_core.project import project_state
from tideate_core.util.file_locks import take_lock
from tideate_core.util.private_files import make_private_directory

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

START: Final = "start"
"""Mark of a work tree that began without a bundle."""
_LEG: Final = re.compile(r"[0-9a-f]{32}-[0-9]{1,5}")
_PAUSE: Final = 0.05
"""Seconds between two attempts to take a lock."""


@dataclass(frozen=True, slots=True)
class WorkTree:
    """The work tree of one leg."""

    path: Path

    async def prepare(self, mirror: Path, commit: str, mark: str) -> None:
        """Check out a commit, unless the tree is there with this mark.

        :param mark: hash of the bundle to begin with, or `START`.
        :raises WorkspaceError: git cannot create it.
        """
        if self.mark != mark:
            await asyncio.to_thread(self.forget)
            await check_out(mirror, commit, self.path)
            self.set_mark(mark)

    @property
    def mark(self) -> str:
        """Mark of the tree: `START`, or the hash of its newest bundle; empty if it is not complete."""
        try:
            return self._mark.read_text("utf-8")
        except FileNotFoundError:
            return ""

    def set_mark(self, mark: str) -> None:
        """Note that the tree is of another bundle."""
        new = self._mark.with_suffix(".new")
        new.write_text(mark, "utf-8")
        new.replace(self._mark)

    @property
    def _mark(self) -> Path:
        return self.path / ".git" / "tideate-mark"

    @property
    def base(self) -> str:
        """The commit that is checked out."""
        return (self.path / ".git" / "HEAD").read_text("utf-8").strip()

    def forget(self) -> None:
        """Remove the tree and the private state of its project; blocking."""
        with suppress(FileNotFoundError):
            self._mark.unlink()  # first: a removal may be interrupted
        with suppress(ConfigError):
            forget_project(str(self.path))
        with suppress(FileNotFoundError):
            shutil.rmtree(project_state(self.path))
        remove_tree(self.path)


@dataclass(frozen=True, slots=True)
class Trees:
    """Work trees of one worker.

    :param place: their directory.
    """

    place: Path

    @asynccontextmanager
    async def hold(self, leg: str) -> AsyncIterator[WorkTree]:
        """Hold the lock of a leg, and return its tree."""
        make_private_directory(self.place)
        while (handle := self._take(leg)) is None:  # noqa: ASYNC110 other processes hold it, too
            await asyncio.sleep(_PAUSE)
        try:
            yield WorkTree(self.place / leg)
        finally:
            os.close(handle)

    def _take(self, leg: str) -> int | None:
        path = self._lock(leg)
        handle = take_lock(path)
        if handle is None:
            return None
        try:
            if os.fstat(handle).st_ino == path.stat().st_ino:
                return handle
        except FileNotFoundError:
            pass  # whoever had the lock removed it with the tree
        os.close(handle)
        return None

    def _lock(self, leg: str) -> Path:
        return self.place / f"{leg}.lock"

    def legs(self) -> list[str]:
        """Return the ids of the legs that have a work tree; blocking."""
        names = [entry.name for entry in self.place.iterdir()] if self.place.is_dir() else []
        return sorted({name for name in (one.removesuffix(".lock") for one in names) if _LEG.fullmatch(name)})

    def forget(self, leg: str) -> bool:
        """Remove the tree of a leg unless it is in use; return whether it is gone; blocking."""
        if not self.place.is_dir() or (handle := self._take(leg)) is None:
            return False
        try:
            WorkTree(self.place / leg).forget()
            self._lock(leg).unlink()
        finally:
            os.close(handle)
        return True
