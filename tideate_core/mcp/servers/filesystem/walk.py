"""Resumable walk below a directory, without following links, filtered by globs.

A directory's entries come by name, each directory's own right after it. So the last path that was looked at
says where to go on, whatever was made or removed meanwhile. The time that a glob takes for a path is bounded,
whatever the glob is.
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
    """Given each path and entry, and its open directory; True ends the walk after it."""

__all__ = [
    "LOOKED_AT",
    "Walk",
    "cursor_of",
    "exclusion_filter",
    "glob_filter",
    "in_cancellable_thread",
    "resumed_path",
]

LOOKED_AT: Final = 200_000
"""Entries that one call looks at, about."""
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

    :param visit: called with each path relative to that directory.
    :param excluded: tells what is left out with all below it.
    """

    def __init__(
        self, visit: Visit, excluded: Callable[[str], object] | None = None, stopped: Event | None = None
    ) -> None:
        self.last = ""
        """The path that was looked at last."""
        self.unread = 0
        """Directories that could not be read, or are too deep."""
        self.ended = False
        """Nothing is left."""
        self._visit = visit
        self._excluded = excluded
        self._stopped = stopped or Event()
        self._left = LOOKED_AT

    def below(self, served: ServedRoot, path: str, after: str = "") -> str:
        """Walk; returns the directory's name.

        :param after: where to go on, the `last` of the walk before.
        :raises ToolError: it is no directory.
        """
        descriptor, name = served.open_directory(path)
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
    """Return the cursor with which the same question goes on after a walk; None if it is at its end.

    :param asked: what it is only good for.
    """
    if walk.ended:
        return None
    place = base64.urlsafe_b64encode(os.fsencode(walk.last)).decode().rstrip("=")
    return f"{_digest(walk.last, asked)}-{place}"


def resumed_path(cursor: str, *asked: object) -> str:
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


def glob_filter(pattern: str) -> Callable[[str], object]:
    """Return what tells whether a path fits a glob as a whole.

    :raises ToolError: it cannot be one.
    """
    if pattern.startswith("/"):
        raise ToolError(
            "the pattern is compared with paths relative to `path`: leave out the `/` it begins with"
        )
    return _compiled([pattern])


def exclusion_filter(patterns: Sequence[str]) -> Callable[[str], object] | None:
    """Return what tells whether a path is left out; None if nothing is.

    :raises ToolError: one of them cannot be a glob.
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
    """Write `a{b,c}` out as `ab` and `ac`."""
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
    """Return a glob as a regular expression in which what may repeat never has to be tried in two ways.

    Of the parts between `**`, each but the last is taken where it fits first: a later place would only leave
    less for those that follow.
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
    """Return a part between two slashes. A star takes as little as fits, but for the last one."""
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
