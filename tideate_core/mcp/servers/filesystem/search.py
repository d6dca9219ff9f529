"""Search below a directory by glob or text, and list its tree; with limits and cursors."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from tideate_core.mcp.servers.filesystem.listing import kind_of
from tideate_core.mcp.servers.filesystem.reading import shown_data
from tideate_core.mcp.servers.filesystem.served_root import printable
from tideate_core.mcp.servers.filesystem.walk import Walk, path_filter
from tideate_core.mentions import HardLinks, secret_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from threading import Event

    from tideate_core.mcp.servers.filesystem.served_root import ServedRoot

PATHS: Final = 1_000
NODES: Final = 500
PATH_CHARACTERS: Final = 30_000
"""Characters of paths on one page; a name outside ASCII counts six times its length."""
_NODE: Final = 16
"""Approximate characters of a node besides its name."""
LINES: Final = 300
LINES_OF_FILE: Final = 50
LINE_CHARACTERS: Final = 25_000
"""Characters of lines and their paths on one page."""
LONGEST_LINE: Final = 300
LARGEST_FILE: Final = 2 << 20
"""Bytes of a searched file; larger ones are left out."""
SEARCHED_BYTES: Final = 64 << 20
"""Approximate bytes read in one call."""
FILES_LEFT_OUT: Final = 50
"""Unsearched files named in one answer."""
_OPEN: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


def search_paths(
    served: ServedRoot, path: str, pattern: str, exclude: Sequence[str], cursor: str, stopped: Event
) -> tuple[dict[str, Any], str]:
    """Return a page of the paths that match a glob, and its text."""
    fits = path_filter(pattern)
    walk = Walk(served, path, exclude, cursor, stopped, pattern)
    matches: list[str] = []
    left = PATH_CHARACTERS

    def visit(found: str, entry: os.DirEntry[str], _directory: int) -> bool:
        nonlocal left
        if not fits(found):
            return False
        end = "/" if entry.is_dir(follow_symlinks=False) else ""
        matches.append(printable(f"{walk.prefix}{found}{end}"))
        left -= _cost(found)
        return left <= 0 or len(matches) >= PATHS

    walk.run(visit)
    text = "\n".join(matches) or _nothing(pattern, cursor, walk.following)
    return walk.answer({"matches": matches}, text)


def tree(
    served: ServedRoot, path: str, exclude: Sequence[str], cursor: str, stopped: Event
) -> tuple[dict[str, Any], str]:
    """Return a page of a directory tree, and its indented text."""
    walk, outline = Walk(served, path, exclude, cursor, stopped), _Outline()
    walk.run(outline.visit)
    text = "\n".join(outline.lines) or ("nothing else is there" if cursor else "it is empty")
    return walk.answer({"tree": outline.top}, text)


class _Outline:
    """Builder of a page of a tree during a walk."""

    def __init__(self) -> None:
        self.top: list[dict[str, Any]] = []
        self.lines: list[str] = []
        self._children = {"": self.top}
        self._left = PATH_CHARACTERS

    def visit(self, path: str, entry: os.DirEntry[str], _directory: int) -> bool:
        above, _, name = path.rpartition("/")
        kind = kind_of(entry)
        self._add_node(above, printable(name), kind, path)
        self._left -= _cost(name) + _NODE
        return self._left <= 0 or len(self.lines) >= NODES

    def _add_node(self, above: str, name: str, kind: str, path: str) -> None:
        children = self._children.get(above)
        if children is None:  # the directory is on an earlier page
            higher, _, last = above.rpartition("/")
            self._add_node(higher, printable(last), "directory", above)
            children = self._children[above]
        indent = "  " * path.count("/")
        if kind == "directory":
            inner: list[dict[str, Any]] = []
            self._children[path] = inner
            children.append({"name": name, "type": kind, "children": inner})
            self.lines.append(f"{indent}{name}/")
        else:
            children.append({"name": name, "type": kind})
            self.lines.append(f"{indent}{name}" if kind == "file" else f"{indent}{name} ({kind})")


def _cost(name: str) -> int:
    return len(name) if name.isascii() else 6 * len(name)


def _nothing(pattern: str, cursor: str, following: str | None) -> str:
    if following:
        return "nothing so far"
    if cursor:
        return "nothing else fits"
    hint = "" if "**" in pattern else "; a pattern that begins with `**/` looks at all depths"
    return f"nothing fits{hint}"


def search_text(
    served: ServedRoot,
    wanted: str,
    path: str,
    pattern: str,
    exclude: Sequence[str],
    cursor: str,
    stopped: Event,
) -> tuple[dict[str, Any], str]:
    """Return a page of the lines that contain a text, and its text."""
    fits = path_filter(pattern)
    walk = Walk(served, path, exclude, cursor, stopped, pattern, wanted)
    search = _Search(wanted.encode(), fits, served.root, HardLinks(served.root), walk.prefix)
    walk.run(search.visit)
    lines = [f"{match['path']}:{match['line']}: {match['text']}" for match in search.matches]
    if not lines:
        none = f"no {'other ' if cursor else ''}line holds it"
        lines.append("nothing so far" if walk.following else none)
    lines += [f"[more in {path}]" for path in search.cut]
    if search.left_out:
        lines.append(f"[not searched: {', '.join(search.left_out)}]")
    content = {"matches": search.matches, "cut": search.cut, "leftOut": search.left_out}
    return walk.answer(content, "\n".join(lines))


@dataclass(slots=True)
class _Search:
    """Collector of a page of matching lines during a walk."""

    wanted: bytes
    fits: Callable[[str], bool]
    root: Path
    links: HardLinks
    prefix: str
    matches: list[dict[str, Any]] = field(default_factory=list)
    cut: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    _characters: int = LINE_CHARACTERS
    _bytes: int = SEARCHED_BYTES

    def visit(self, path: str, entry: os.DirEntry[str], directory: int) -> bool:
        if not entry.is_file(follow_symlinks=False) or not self.fits(path):
            return False
        name = printable(self.prefix + path)
        hidden = secret_name(name) or (
            entry.stat(follow_symlinks=False).st_nlink > 1
            and self.links.reason(self.root / self.prefix / path)
        )
        data = None if hidden else self._read(entry.name, directory)
        if data is None:
            self.left_out.append(name)
            self._characters -= _cost(name)
        elif self.wanted in data and b"\0" not in data:
            self._lines(name, data)
        return (
            self._characters <= 0
            or self._bytes <= 0
            or len(self.matches) >= LINES
            or len(self.left_out) >= FILES_LEFT_OUT
        )

    def _read(self, name: str, directory: int) -> bytes | None:
        """Read a file of an open directory; None if it is too large or not a regular file."""
        try:
            descriptor = os.open(name, _OPEN, dir_fd=directory)
        except OSError:
            return None
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_FILE:
                return None
            data = shown_data(file.read(LARGEST_FILE))
        self._bytes -= len(data)
        return data

    def _lines(self, name: str, data: bytes) -> None:
        number = 0
        for at, line in enumerate(data.split(b"\n"), 1):
            if self.wanted not in line:
                continue
            if number == LINES_OF_FILE or self._characters <= 0:
                self.cut.append(name)
                return
            number += 1
            text = _shown_line(line, self.wanted)
            self.matches.append({"path": name, "line": at, "text": text})
            self._characters -= _cost(text) + _cost(name)


def _shown_line(line: bytes, wanted: bytes) -> str:
    """Return a line for display; of a long line, the part around the text."""
    text = line.decode(errors="replace").rstrip("\r")
    if len(text) <= LONGEST_LINE:
        return text
    start = max(0, text.find(wanted.decode()) - LONGEST_LINE // 3)
    return f"{'…' if start else ''}{text[start : start + LONGEST_LINE]}…"
