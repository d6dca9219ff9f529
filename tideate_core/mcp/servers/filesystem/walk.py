"""Walk below a directory without following links, filtered by globs and resumable by cursor.

Entries come sorted by name, each directory followed by its content. So the last path tells where to continue,
even if entries were added or removed since. The time to match a path is bounded for every glob.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import os
import re
from operator import attrgetter
from threading import Event
from typing import TYPE_CHECKING, Final, TypeVar

from mcp.server.mcpserver.exceptions import ToolError

from tideate_core.mcp.servers.filesystem.served_root import DIRECTORY, is_private

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tideate_core.mcp.servers.filesystem.served_root import ServedRoot

    Visit = Callable[[str, os.DirEntry[str], int], bool]
    """Called with each path, entry and open directory; True ends the walk after it."""

LOOKED_AT: Final = 200_000
"""Approximate number of entries visited in one call."""
DEEPEST: Final = 100

T = TypeVar("T")
_by_name = attrgetter("name")
ALTERNATIVES: Final = 64
_WILD: Final = re.compile(r"[*?\[{\\]")
_BRACES: Final = re.compile(r"\{([^{}]*,[^{}]*)\}")
_SPECIAL: Final = re.compile(r"[][\\^&~|]")
_TOKEN: Final = re.compile(r"\*+|\?|\[[!^]?\]?[^\]]*\]|\\.|.", re.DOTALL)


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
    """One walk below a directory.

    :param visit: called with each path, relative to the directory.
    :param excluded: tells whether to skip a path and its content.
    """

    def __init__(
        self, visit: Visit, excluded: Callable[[str], object] | None = None, stopped: Event | None = None
    ) -> None:
        self.last = ""
        """The last visited path."""
        self.unread = 0
        """Directories that cannot be read or are too deep."""
        self.ended = False
        """Whether the walk is complete."""
        self._visit = visit
        self._excluded = excluded
        self._stopped = stopped or Event()
        self._left = LOOKED_AT

    def below(self, served: ServedRoot, path: str, after: str = "") -> str:
        """Walk a directory; return its relative path.

        :param after: where to continue: `last` of the previous walk.
        :raises ToolError: the path is not a directory.
        """
        descriptor, name = served.open_directory(path)
        self.last = after
        try:
            self.ended = not self._directory(descriptor, "", after.split("/") if after else [], DEEPEST)
        finally:
            os.close(descriptor)
        return name

    def _directory(self, descriptor: int, prefix: str, after: list[str], deeper: int) -> bool:
        """Walk an open directory; return True if the walk ended early."""
        if self._stopped.is_set():
            raise _Stopped
        first = after[0] if after else ""
        try:
            with os.scandir(descriptor) as found:
                entries = sorted((entry for entry in found if entry.name >= first), key=_by_name)
        except OSError:
            self.unread += 1
            return False
        visit, excluded = self._visit, self._excluded
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
            self.unread += 1
            return False
        try:
            return self._directory(descriptor, f"{path}/", after or [], deeper - 1)
        finally:
            os.close(descriptor)


def cursor_of(walk: Walk, *asked: object) -> str | None:
    """Return the cursor that continues a walk, or None at its end.

    :param asked: the arguments that the cursor is bound to.
    """
    if walk.ended:
        return None
    place = base64.urlsafe_b64encode(os.fsencode(walk.last)).decode().rstrip("=")
    return f"{_digest(walk.last, asked)}-{place}"


def resumed_path(cursor: str, *asked: object) -> str:
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


def _digest(last: str, asked: tuple[object, ...]) -> str:
    content = repr((last, asked)).encode("utf-8", "surrogateescape")
    return hashlib.blake2b(content, digest_size=6).hexdigest()


def glob_filter(pattern: str) -> Callable[[str], object]:
    """Return a function that matches whole paths against a glob.

    :raises ToolError: the pattern is not a valid glob.
    """
    if pattern.startswith("/"):
        raise ToolError(
            "the pattern is compared with paths relative to `path`: leave out the `/` it begins with"
        )
    return _compiled([pattern])


def exclusion_filter(patterns: Sequence[str]) -> Callable[[str], object] | None:
    """Return a function that matches excluded paths; None if there are no patterns.

    :raises ToolError: a pattern is not a valid glob.
    """
    every: list[str] = []
    for pattern in patterns:
        bare = pattern.strip("/")
        every.append(bare)
        if not _WILD.search(bare):
            every.append(f"**/{bare}")
    return _compiled(every) if every else None


def _compiled(patterns: Iterable[str]) -> Callable[[str], object]:
    alternatives = [one for pattern in patterns for one in _alternatives(pattern)]
    try:
        return re.compile("|".join(map(_expression, alternatives)), re.DOTALL).fullmatch
    except re.error as error:
        raise ToolError(f"the pattern is not a glob: {error.msg}") from None


def _alternatives(pattern: str) -> list[str]:
    """Expand `a{b,c}` into `ab` and `ac`."""
    done, todo = list[str](), [pattern]
    while todo:
        one = todo.pop()
        braces = _BRACES.search(one)
        if braces is None:
            done.append(one)
        else:
            todo += [
                f"{one[: braces.start()]}{choice}{one[braces.end() :]}" for choice in braces[1].split(",")
            ]
        if len(done) + len(todo) > ALTERNATIVES:
            raise ToolError(
                f"the pattern has more than {ALTERNATIVES} alternatives in braces: search in parts"
            )
    return done


def _expression(pattern: str) -> str:
    """Convert a glob to a regular expression without backtracking.

    Each part between `**`, except the last, matches at its first possible place: a later place would only
    leave less
    for the parts that follow.
    """
    runs: list[list[str]] = [[]]
    for segment in pattern.removeprefix("./").strip("/").split("/"):
        if segment != "**":
            runs[-1].append(_segment(segment))
        elif len(runs) == 1 or runs[-1]:
            runs.append([])
    if len(runs) == 1:
        return "/".join(runs[0])
    first, *middle, last = ["/".join(run) for run in runs]
    expression = f"{first}/" if first else ""
    expression += "".join(f"(?>(?:[^/]+/)*?{run}/)" for run in middle)
    return expression + (f"(?:[^/]+/)*?{last}" if last else ".+")


def _segment(segment: str) -> str:
    """Convert a part between two slashes; a star is lazy, except the last one."""
    pieces: list[str] = [""]
    for token in _TOKEN.findall(segment):
        if token[0] == "*":
            pieces.append("")
        elif token[0] == "?":
            pieces[-1] += "[^/]"
        elif token[0] == "[" and len(token) > 2:
            pieces[-1] += _class(token)
        else:
            pieces[-1] += re.escape(token[1:] if token[0] == "\\" and len(token) > 1 else token)
    if len(pieces) == 1:
        return pieces[0]
    first, *middle, last = pieces
    if not any(pieces):
        return "[^/]+"
    between = "".join(f"(?>[^/]*?{piece})" for piece in middle if piece)
    return f"(?>{first}{between}[^/]*{last}(?=/|\\Z))"


def _class(token: str) -> str:
    inner = token[1:-1]
    sign = "^" if inner[0] in "!^" and len(inner) > 1 else ""
    inner = inner[1:] if sign else inner
    return f"(?!/)[{sign}{_SPECIAL.sub(_escaped, inner)}]"


def _escaped(found: re.Match[str]) -> str:
    return f"\\{found[0]}"
