"""Walk below a directory without following links, filtered by globs and resumable by cursor.

Entries come sorted by name, each directory followed by its content. So the last path tells where to continue,
even if entries were added or removed since.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import os
from operator import attrgetter
from threading import Event
from typing import TYPE_CHECKING, Any, Final, TypeVar

from mcp.server.mcpserver.exceptions import ToolError

from tideate_core.mcp.servers.filesystem.served_root import DIRECTORY, is_private
from tideate_core.mcp.servers.schemas import with_cursor
from tideate_core.util.globs import glob_filter, is_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tideate_core.mcp.servers.filesystem.served_root import ServedRoot

    Visit = Callable[[str, os.DirEntry[str], int], bool]
    """Called with each path, entry and open directory; True ends the walk after it."""

LOOKED_AT: Final = 200_000
"""Approximate number of entries visited in one call."""
DEEPEST: Final = 100

T = TypeVar("T")
_by_name = attrgetter("name")


class _Stopped(Exception):
    """The call was cancelled."""


async def in_cancellable_thread(work: Callable[[Event], T]) -> T:
    """Run work in a thread; cancelling the call stops it.

    :param work: called with an event that is set when it has to stop.
    """
    stopped = Event()
    try:
        return await asyncio.to_thread(work, stopped)
    except asyncio.CancelledError:
        stopped.set()
        raise


class Walk:
    """A walk below a directory, for one page of an answer.

    :param exclude: globs of paths that are skipped with all below them.
    :param cursor: of the page before; empty: start.
    :param asked: further arguments that the cursor is bound to.
    :param stopped: is set when the walk has to stop.
    """

    def __init__(
        self, served: ServedRoot, path: str, exclude: Sequence[str], cursor: str, stopped: Event, *asked: str
    ) -> None:
        self._asked = (path, *exclude, "", *asked)
        self._last = _resumed_path(cursor, self._asked)
        self._excluded = exclusion_filter(exclude)
        self._stopped = stopped
        self._left = LOOKED_AT
        self._unread = 0
        self._served = served
        name = served.resolve(path)
        self.prefix = "" if name == "." else f"{name}/"
        """Of the visited paths, to be relative to the root."""
        self.following: str | None = None
        """The cursor that continues the walk; None at its end."""

    def run(self, visit: Visit) -> None:
        """Visit the paths of this page, relative to the directory."""
        self._visit = visit
        descriptor, _ = self._served.open_directory(self._asked[0])
        try:
            after = self._last.split("/") if self._last else []
            if self._directory(descriptor, "", after, DEEPEST):
                place = base64.urlsafe_b64encode(os.fsencode(self._last)).decode().rstrip("=")
                self.following = f"{_digest(self._last, self._asked)}-{place}"
        finally:
            os.close(descriptor)

    def answer(self, content: dict[str, Any], text: str) -> tuple[dict[str, Any], str]:
        """Return a page with its cursor and the number of unread directories."""
        if self._unread:
            text += f"\n[{self._unread} directories could not be read, or are too deep]"
        content |= {"unread": self._unread, "nextCursor": self.following}
        return content, with_cursor(text, self.following)

    def _directory(self, descriptor: int, prefix: str, after: list[str], deeper: int) -> bool:
        """Walk an open directory; return True if the walk ended early."""
        if self._stopped.is_set():
            raise _Stopped
        first = after[0] if after else ""
        try:
            with os.scandir(descriptor) as found:
                entries = sorted((entry for entry in found if entry.name >= first), key=_by_name)
        except OSError:
            self._unread += 1
            return False
        visit, excluded = self._visit, self._excluded
        for entry in entries:
            name = entry.name
            if is_private(name):
                continue
            path = prefix + name
            if excluded(path):
                continue
            rest = after[1:] if name == first else None
            if rest is None:
                self._last = path
                self._left -= 1
                if visit(path, entry, descriptor):
                    return True
            if entry.is_dir(follow_symlinks=False) and self._subdirectory(
                descriptor, name, path, rest, deeper
            ):
                return True
        return self._left <= 0

    def _subdirectory(self, above: int, name: str, path: str, after: list[str] | None, deeper: int) -> bool:
        try:
            if not deeper:
                raise OSError
            descriptor = os.open(name, DIRECTORY, dir_fd=above)
        except OSError:
            self._unread += 1
            return False
        try:
            return self._directory(descriptor, f"{path}/", after or [], deeper - 1)
        finally:
            os.close(descriptor)


def _resumed_path(cursor: str, asked: tuple[str, ...]) -> str:
    """Return the path after which a cursor continues; empty without a cursor.

    :raises ToolError: the cursor is invalid, or bound to other arguments.
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
            "this is not a cursor of a call with these arguments: pass `nextCursor` and the other arguments "
            "unchanged, or no cursor to start"
        )
    return last


def _digest(last: str, asked: tuple[str, ...]) -> str:
    content = repr((last, asked)).encode("utf-8", "surrogateescape")
    return hashlib.blake2b(content, digest_size=6).hexdigest()


def path_filter(pattern: str) -> Callable[[str], bool]:
    """Return a predicate for the whole paths that match a glob.

    :raises ToolError: the pattern is not a valid glob.
    """
    if pattern.startswith("/"):
        raise ToolError(
            "the pattern is compared with paths relative to `path`: leave out the `/` it begins with"
        )
    try:
        return glob_filter(pattern.strip("/"), anchored=True)
    except ValueError as error:
        raise ToolError(f"the pattern cannot be used: {error}") from None


def exclusion_filter(patterns: Sequence[str]) -> Callable[[str], bool]:
    """Return a predicate for excluded paths; a pattern without a wildcard matches at any depth.

    :raises ToolError: a pattern is not a valid glob.
    """
    globs = [pattern.strip("/") for pattern in patterns]
    filters = [path_filter(one if is_pattern(one) else f"**/{one}") for one in globs if one not in ("", ".")]
    return lambda path: any(excludes(path) for excludes in filters)
