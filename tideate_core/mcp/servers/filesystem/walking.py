"""Walks a directory in order, from any place in it on; nothing on the way is followed.

A directory's entries come by name, each directory's own right after it. So the last path that was looked at
says where to go on, whatever was made or removed meanwhile.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import os
from operator import attrgetter
from threading import Event
from typing import TYPE_CHECKING, Final, TypeVar

from mcp.server.mcpserver.exceptions import ToolError

from tideate_core.mcp.servers.filesystem.ground import DIRECTORY, is_private

if TYPE_CHECKING:
    from collections.abc import Callable

    from tideate_core.mcp.servers.filesystem.ground import Ground

    Take = Callable[[str, os.DirEntry[str], int], bool]
    """Given each path and entry, and its open directory; True ends the walk after it."""

__all__ = ["LOOKED_AT", "Walk", "continued", "cursor_of", "in_thread"]

LOOKED_AT: Final = 200_000
"""How many entries one call looks at, about."""
DEEPEST: Final = 100

T = TypeVar("T")
_by_name = attrgetter("name")


class _Stopped(Exception):
    """The call was cancelled."""


async def in_thread(work: Callable[[Event], T]) -> T:
    """Do what may take long beside the other calls; cancelling the call stops it.

    :param work: is given what is set when it is to stop.
    """
    stopped = Event()
    try:
        return await asyncio.to_thread(work, stopped)
    except asyncio.CancelledError:
        stopped.set()
        raise


class Walk:
    """One walk below a directory.

    :param take: called with each path relative to that directory.
    :param excluded: tells what is left out with all below it.
    """

    def __init__(
        self, take: Take, excluded: Callable[[str], object] | None = None, stopped: Event | None = None
    ) -> None:
        self.last = ""
        """The path that was looked at last."""
        self.unread = 0
        """Directories that could not be read, or are too deep."""
        self.ended = False
        """Nothing is left."""
        self._take = take
        self._excluded = excluded
        self._stopped = stopped or Event()
        self._left = LOOKED_AT

    def below(self, ground: Ground, path: str, after: str = "") -> str:
        """Walk; returns the directory's name.

        :param after: where to go on, the `last` of the walk before.
        :raises ToolError: it is no directory.
        """
        descriptor, name = ground.open_directory(path)
        self.last = after
        try:
            self.ended = not self._directory(descriptor, "", after.split("/") if after else [], DEEPEST)
        finally:
            os.close(descriptor)
        return name

    def _directory(self, descriptor: int, prefix: str, after: list[str], deeper: int) -> bool:
        """Walk through an open directory; True: it ended before its time."""
        if self._stopped.is_set():
            raise _Stopped
        first = after[0] if after else ""
        try:
            with os.scandir(descriptor) as found:
                entries = sorted((entry for entry in found if entry.name >= first), key=_by_name)
        except OSError:
            self.unread += 1
            return False
        take, excluded = self._take, self._excluded
        for entry in entries:
            name = entry.name
            if is_private(name):
                continue
            path = prefix + name
            if excluded is not None and excluded(path):
                continue
            rest = after[1:] if name == first else None
            if rest is None:
                self.last = path
                self._left -= 1
                if take(path, entry, descriptor):
                    return True
            if entry.is_dir(follow_symlinks=False) and self._inner(descriptor, name, path, rest, deeper):
                return True
        return self._left <= 0

    def _inner(self, above: int, name: str, path: str, after: list[str] | None, deeper: int) -> bool:
        try:
            if not deeper:
                raise OSError
            descriptor = os.open(name, DIRECTORY, dir_fd=above)
        except OSError:
            self.unread += 1
            return False
        try:
            return self._directory(descriptor, f"{path}/", after or [], deeper - 1)
        finally:
            os.close(descriptor)


def cursor_of(walk: Walk, *asked: object) -> str | None:
    """Return the cursor with which the same question goes on after a walk; None if it is at its end.

    :param asked: what it is only good for.
    """
    if walk.ended:
        return None
    place = base64.urlsafe_b64encode(os.fsencode(walk.last)).decode().rstrip("=")
    return f"{_digest(walk.last, asked)}-{place}"


def continued(cursor: str, *asked: object) -> str:
    """Return the path after which a cursor goes on; empty for none.

    :raises ToolError: it is none, or one of another question.
    """
    if not cursor:
        return ""
    digest, _, place = cursor.partition("-")
    try:
        last = os.fsdecode(base64.b64decode(place + "=" * (-len(place) % 4), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError):
        last = ""
    if not last or digest != _digest(last, asked):
        raise ToolError(
            "this is not a cursor that an answer to this question gave: pass the last one as it is with the "
            "same other arguments, or none to begin"
        )
    return last


def _digest(last: str, asked: tuple[object, ...]) -> str:
    content = repr((last, asked)).encode("utf-8", "surrogateescape")
    return hashlib.blake2b(content, digest_size=6).hexdigest()
