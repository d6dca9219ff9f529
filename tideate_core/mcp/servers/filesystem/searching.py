"""Searches below a directory. What an answer holds is bounded, and it says where it goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tideate_core.mcp.servers.filesystem.globs import excluding, matching
from tideate_core.mcp.servers.filesystem.ground import shown
from tideate_core.mcp.servers.filesystem.listing import kind_of
from tideate_core.mcp.servers.filesystem.shapes import with_cursor
from tideate_core.mcp.servers.filesystem.walking import Walk, continued, cursor_of

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from threading import Event

    from tideate_core.mcp.servers.filesystem.ground import Ground

__all__ = ["cost", "search", "tree", "with_unread"]

MATCHES: Final = 1_000
NODES: Final = 500
CHARACTERS: Final = 30_000
"""Of paths in an answer, where none of them needs more than one byte each."""
_NODE: Final = 16
"""Characters of a node beside its name, about."""


def search(
    ground: Ground, path: str, pattern: str, exclude: Sequence[str], cursor: str, stopped: Event
) -> tuple[dict[str, Any], str]:
    """Return a page of the paths that fit a glob, and as text."""
    fits = matching(pattern)
    asked = (path, pattern, tuple(exclude))
    after = continued(cursor, *asked)
    matches: list[str] = []
    left = CHARACTERS

    def take(found: str, entry: os.DirEntry[str], _directory: int) -> bool:
        nonlocal left
        if fits(found) is None:
            return False
        matches.append(f"{found}/" if entry.is_dir(follow_symlinks=False) else found)
        left -= cost(found)
        return left <= 0 or len(matches) >= MATCHES

    walk = Walk(take, excluding(exclude), stopped)
    name = walk.below(ground, path, after)
    prefix = "" if name == "." else f"{name}/"
    names = [shown(prefix + match) for match in matches]
    following = cursor_of(walk, *asked)
    content = {"matches": names, "unread": walk.unread, "nextCursor": following}
    text = "\n".join(names) or _nothing(pattern, cursor, following)
    return content, with_cursor(with_unread(text, walk.unread), following)


def tree(
    ground: Ground, path: str, exclude: Sequence[str], cursor: str, stopped: Event
) -> tuple[dict[str, Any], str]:
    """Return a page of a tree, and as text with an indentation for each level."""
    asked = (path, tuple(exclude))
    after = continued(cursor, *asked)
    outline = _Outline()
    walk = Walk(outline.take, excluding(exclude), stopped)
    walk.below(ground, path, after)
    following = cursor_of(walk, *asked)
    content = {"tree": outline.top, "unread": walk.unread, "nextCursor": following}
    text = "\n".join(outline.lines) or ("nothing else is there" if cursor else "it is empty")
    return content, with_cursor(with_unread(text, walk.unread), following)


class _Outline:
    """A page of a tree while it is walked."""

    def __init__(self) -> None:
        self.top: list[dict[str, Any]] = []
        self.lines: list[str] = []
        self._children = {"": self.top}
        self._left = CHARACTERS

    def take(self, path: str, entry: os.DirEntry[str], _directory: int) -> bool:
        above, _, name = path.rpartition("/")
        kind = kind_of(entry)
        self._add(above, shown(name), kind, path)
        self._left -= cost(name) + _NODE
        return self._left <= 0 or len(self.lines) >= NODES

    def _add(self, above: str, name: str, kind: str, path: str) -> None:
        children = self._children.get(above)
        if children is None:  # a page before has it
            higher, _, last = above.rpartition("/")
            self._add(higher, shown(last), "directory", above)
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


def cost(name: str) -> int:
    return len(name) if name.isascii() else 6 * len(name)


def _nothing(pattern: str, cursor: str, following: str | None) -> str:
    if following:
        return "nothing so far"
    if cursor:
        return "nothing else fits"
    hint = "" if "**" in pattern else "; a pattern that begins with `**/` looks at all depths"
    return f"nothing fits{hint}"


def with_unread(text: str, unread: int) -> str:
    return f"{text}\n[{unread} directories could not be read, or are too deep]" if unread else text
