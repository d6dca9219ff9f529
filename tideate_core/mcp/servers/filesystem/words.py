"""Searches in files. What usually holds secrets is not looked into, and that is said."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from tideate_core.mcp.servers.filesystem.globs import excluding, matching
from tideate_core.mcp.servers.filesystem.ground import shown
from tideate_core.mcp.servers.filesystem.searching import cost, with_unread
from tideate_core.mcp.servers.filesystem.shapes import with_cursor
from tideate_core.mcp.servers.filesystem.walking import Walk, continued, cursor_of
from tideate_core.mentions import secret_in, secret_name

if TYPE_CHECKING:
    from threading import Event

    from tideate_core.mcp.servers.filesystem.ground import Ground

__all__ = ["Question", "search_words"]

MATCHES: Final = 300
OF_ONE: Final = 50
"""Lines of one file."""
CHARACTERS: Final = 25_000
LINE: Final = 300
LARGEST: Final = 2 << 20
"""Bytes of a file that is searched."""
LOOKED_THROUGH: Final = 64 << 20
"""Bytes that one call reads, about."""
_LEFT_OUT: Final = 50
_OPEN: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


@dataclass(frozen=True, slots=True)
class Question:
    """What is searched for, and where."""

    text: str
    path: str
    pattern: str
    exclude: tuple[str, ...]


def search_words(
    ground: Ground, question: Question, cursor: str, stopped: Event
) -> tuple[dict[str, Any], str]:
    """Return a page of the lines that hold a text, and as text."""
    search = _Search(question.text.encode(), matching(question.pattern))
    walk = Walk(search.take, excluding(question.exclude), stopped)
    search.prefix = "" if (name := ground.resolve(question.path)) == "." else f"{name}/"
    walk.below(ground, question.path, continued(cursor, question))
    following = cursor_of(walk, question)
    content = {
        "matches": search.matches,
        "cut": search.cut,
        "leftOut": search.left_out,
        "unread": walk.unread,
        "nextCursor": following,
    }
    lines = [f"{match['path']}:{match['line']}: {match['text']}" for match in search.matches]
    lines = lines or ["nothing so far" if following else f"no {'other ' if cursor else ''}line holds it"]
    lines += [f"[more in {path}]" for path in search.cut]
    if search.left_out:
        lines.append(f"[not searched: {', '.join(search.left_out)}]")
    return content, with_cursor(with_unread("\n".join(lines), walk.unread), following)


@dataclass(slots=True)
class _Search:
    """A page of lines while it is found."""

    wanted: bytes
    fits: Any
    prefix: str = ""
    matches: list[dict[str, Any]] = field(default_factory=list)
    cut: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    _characters: int = CHARACTERS
    _bytes: int = LOOKED_THROUGH

    def take(self, path: str, entry: os.DirEntry[str], directory: int) -> bool:
        if not entry.is_file(follow_symlinks=False) or self.fits(path) is None:
            return False
        name = shown(self.prefix + path)
        data = None if secret_name(name) else self._read(entry.name, directory)
        if data is None:
            self.left_out.append(name)
            self._characters -= cost(name)
        elif self.wanted in data and b"\0" not in data:
            self._lines(name, data)
        return (
            self._characters <= 0
            or self._bytes <= 0
            or len(self.matches) >= MATCHES
            or len(self.left_out) >= _LEFT_OUT
        )

    def _read(self, name: str, directory: int) -> bytes | None:
        """Read a file of an open directory; None where it is too large, or no file any more."""
        try:
            descriptor = os.open(name, _OPEN, dir_fd=directory)
        except OSError:
            return None
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST:
                return None
            data = file.read(LARGEST)
        self._bytes -= len(data)
        return data

    def _lines(self, name: str, data: bytes) -> None:
        number = 0
        for at, line in enumerate(data.split(b"\n"), 1):
            if self.wanted not in line:
                continue
            if number == OF_ONE or self._characters <= 0:
                self.cut.append(name)
                return
            number += 1
            text = _shown_line(line, self.wanted)
            self.matches.append({"path": name, "line": at, "text": text})
            self._characters -= cost(text) + cost(name)


def _shown_line(line: bytes, wanted: bytes) -> str:
    """Return a line, or of a long one what is around the text."""
    text = line.decode(errors="replace").rstrip("\r")
    if secret_in(text):
        return "[a line that seems to hold a secret]"
    if len(text) <= LINE:
        return text
    start = max(0, text.find(wanted.decode()) - LINE // 3)
    return f"{'…' if start else ''}{text[start : start + LINE]}…"
