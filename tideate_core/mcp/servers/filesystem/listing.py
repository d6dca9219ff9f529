"""List directories and report file information."""

from __future__ import annotations

import os
import stat
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

from mcp.server.mcpserver.exceptions import ToolError

from tideate_core.mcp.servers.filesystem.reading import shown_size
from tideate_core.mcp.servers.filesystem.served_root import is_private, printable
from tideate_core.mcp.servers.schemas import page, short_repr, with_cursor
from tideate_core.mentions import secret_name
from tideate_core.project import open_directory_fd

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tideate_core.mcp.servers.filesystem.served_root import ServedRoot

T = TypeVar("T")
ENTRIES: Final = 1_000
CHARACTERS: Final = 30_000
"""Characters of names on one page."""
_MARKS: Final = {"directory": "DIR", "file": "FILE", "link": "LINK", "other": "OTHER"}


def list_directory(served: ServedRoot, path: str, cursor: str) -> tuple[dict[str, Any], str]:
    """Return a page of a directory, and its text."""
    entries = sorted(_entries(served, path, lambda entry, _: (entry.name, kind_of(entry))))
    some, following = page(entries, cursor, _most(entries))
    names = [(printable(name), kind) for name, kind in some]
    content = {
        "entries": [{"name": name, "type": kind} for name, kind in names],
        "total": len(entries),
        "nextCursor": following,
    }
    text = "\n".join(f"[{_MARKS[kind]}] {name}" for name, kind in names) or "it is empty"
    return content, with_cursor(text, following)


def list_sizes(served: ServedRoot, path: str, order: str, cursor: str) -> tuple[dict[str, Any], str]:
    """Return a page of a directory with file sizes, and its text."""
    entries = _entries(served, path, lambda entry, at: (entry.name, kind_of(entry), _size(entry, at)))
    entries.sort(key=lambda one: (-(one[2] or 0) if order == "size" else 0, one[0]))
    some, following = page(entries, cursor, _most(entries))
    sizes = [size for _, _, size in entries if size is not None]
    directories = sum(kind == "directory" for _, kind, _ in entries)
    content = {
        "entries": [{"name": printable(name), "type": kind, "size": size} for name, kind, size in some],
        "files": len(sizes),
        "directories": directories,
        "size": sum(sizes),
        "nextCursor": following,
    }
    lines = [
        f"[{_MARKS[kind]}] {printable(name)}{'' if size is None else f'  {readable(size)}'}"
        for name, kind, size in some
    ]
    lines.append(f"{len(sizes)} files, {directories} directories; {readable(sum(sizes))} in all files")
    return content, with_cursor("\n".join(lines), following)


def _entries(served: ServedRoot, path: str, look: Callable[[os.DirEntry[str], int], T]) -> list[T]:
    """Look at each entry of a directory that is not private.

    :param look: takes the entry and the open directory.
    """
    descriptor, _ = served.open_directory(path)
    try:
        with os.scandir(descriptor) as found:
            return [look(entry, descriptor) for entry in found if not is_private(entry.name)]
    except OSError as error:
        raise ToolError(f"{short_repr(path)} cannot be read: {error.strerror}") from error
    finally:
        os.close(descriptor)


def _size(entry: os.DirEntry[str], directory: int) -> int | None:
    """Return the size of a file without its hidden lines; None for a probable secret or no file."""
    if not entry.is_file(follow_symlinks=False) or secret_name(entry.name):
        return None
    return shown_size(entry.name, directory, entry.stat(follow_symlinks=False).st_size)


def file_info(served: ServedRoot, path: str) -> dict[str, Any]:
    """Return type, size, times and permissions of a path."""
    status, name, is_link = served.status(path)
    size: int | None = status.st_size
    if stat.S_ISREG(status.st_mode):
        if secret_name(path) or secret_name(name):
            size = None
        else:
            *way, last = name.split("/")
            directory = open_directory_fd(served.root, way)
            try:
                size = shown_size(last, directory, status.st_size)
            finally:
                os.close(directory)
    return {
        "path": name,
        "type": _kind_of_mode(status.st_mode),
        "size": size,
        "modified": _moment(status.st_mtime_ns),
        "accessed": _moment(status.st_atime_ns),
        "changed": _moment(status.st_ctime_ns),
        "permissions": f"{stat.S_IMODE(status.st_mode):03o}",
        "link": is_link,
    }


def kind_of(entry: os.DirEntry[str]) -> str:
    """Return the kind of a directory entry, without following links."""
    if entry.is_file(follow_symlinks=False):
        return "file"
    if entry.is_dir(follow_symlinks=False):
        return "directory"
    return "link" if entry.is_symlink() else "other"


def readable(size: int) -> str:
    """Format a size for people."""
    if size < 1024:
        return f"{size} B"
    value, units = size / 1024, iter(("KiB", "MiB", "GiB"))
    unit = next(units)
    while value >= 1024 and (larger := next(units, "")):
        value, unit = value / 1024, larger
    return f"{value:.1f} {unit}"


def _most(entries: Sequence[tuple[Any, ...]]) -> int:
    """Return the number of entries on a page, limited by their longest name."""
    if len(entries) * 60 <= CHARACTERS:
        return ENTRIES
    longest = max(len(repr(entry[0])) for entry in entries)
    return max(1, min(ENTRIES, CHARACTERS // longest))


def _kind_of_mode(mode: int) -> str:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    return "link" if stat.S_ISLNK(mode) else "other"


def _moment(nanoseconds: int) -> str:
    return datetime.fromtimestamp(nanoseconds / 1e9, UTC).isoformat(timespec="milliseconds")
