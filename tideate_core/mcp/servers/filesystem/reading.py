"""Read text files in pages, several at once, and media files; lines with probable secrets are hidden."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from typing import TYPE_CHECKING, Any, Final

from mcp.server.mcpserver.exceptions import ToolError

from tideate_core.mcp.servers.schemas import short_repr
from tideate_core.mentions import hide_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.mcp.servers.filesystem.served_root import ServedRoot

PAGE: Final = 40_000
"""Bytes of text on one page."""
MEDIA: Final = 4 << 20
"""Bytes of a media file."""
_TAIL: Final = 64 << 20
"""Bytes at a file's end to search for its last lines."""
_LOOKED_INTO: Final = 8 << 20
"""Bytes of a file whose secret lines are hidden; pages of a larger one are rejected if they have a secret."""
_AROUND: Final = 1 << 16
"""Bytes before and after such a page that are searched as well."""
_SIZED: Final = 1 << 20
"""Bytes of a file whose size is reported without its hidden lines."""
_LEAST: Final = 100
"""Minimum bytes of each of several files."""
_NAME: Final = 200
"""Characters of a path in an answer."""
_OPEN: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_CHUNK: Final = 1 << 18
_CURSOR: Final = re.compile(r"(\d{1,18})-(\d{1,10}|all)-([0-9a-f]{16})\Z")

_TYPES: Final = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".bmp": "image/bmp",
    ".svg": "image/svg+xml",
    ".mp3": "audio/mpeg",
    ".wav": "audio/wav",
    ".ogg": "audio/ogg",
    ".flac": "audio/flac",
}


def read_text(
    served: ServedRoot,
    path: str,
    *,
    head: int | None = None,
    tail: int | None = None,
    cursor: str = "",
    limit: int = PAGE,
) -> dict[str, Any]:
    """Read a page of a text file.

    :param head: read only this number of first lines.
    :param tail: read only this number of last lines.
    :param limit: bytes.
    :raises ToolError: the file is not text, or has changed since the cursor was issued.
    """
    descriptor, name, status = served.open_file(path)
    descriptor = _without_secrets(descriptor, status.st_size)
    try:
        size = os.fstat(descriptor).st_size
        start, left = 0, head
        if cursor:
            start, left = _position(cursor, status, size)
        elif tail is not None:
            start = _start_of_tail(descriptor, size, tail, path)
        data = os.pread(descriptor, min(limit + 4, max(size - start, 0)), start)
        if size > _LOOKED_INTO:
            _refuse_secrets(descriptor, start, len(data), path)
    finally:
        os.close(descriptor)
    end = _cut(data, limit)
    following = None
    if left is not None:
        end, left = _lines(data, end, left)
    if start + end < size and left != 0 and end:
        following = f"{start + end}-{'all' if left is None else left}-{_digest(status)}"
    content = _decoded(data[:end], path, size)
    return {"path": name, "content": content, "size": size, "nextCursor": following}


def shown_data(data: bytes) -> bytes:
    """Replace the lines of a file's content that have probable secrets."""
    # bytes outside ASCII stay unchanged
    return hide_lines(data.decode("ascii", "surrogateescape")).encode("ascii", "surrogateescape")


def shown_size(name: str, directory: int, size: int) -> int:
    """Return the size of a file without its hidden lines, to reveal nothing about them.

    :param directory: descriptor of the file's directory.
    :param size: the size from the file system.
    """
    if size > _SIZED:
        return size
    try:
        # do not change the access time
        descriptor = os.open(name, _OPEN | getattr(os, "O_NOATIME", 0), dir_fd=directory)
    except OSError:
        return size
    with os.fdopen(descriptor, "rb") as file:
        return len(shown_data(file.read(_SIZED)))


def _without_secrets(descriptor: int, size: int) -> int:
    """Return a descriptor of the content without secrets; closes the first one if it is replaced."""
    if size > _LOOKED_INTO:
        return descriptor
    data = os.pread(descriptor, size, 0)
    if (shown := shown_data(data)) == data:
        return descriptor
    os.close(descriptor)
    with tempfile.TemporaryFile() as file:
        file.write(shown)
        file.flush()
        return os.dup(file.fileno())


def _refuse_secrets(descriptor: int, start: int, length: int, path: str) -> None:
    """Reject a page of a large file that has part of a secret.

    :raises ToolError: the page has one.
    """
    begin = max(0, start - _AROUND)
    around = os.pread(descriptor, start - begin + length + _AROUND, begin)
    if shown_data(around) != around:
        raise ToolError(f"this part of {short_repr(path)} seems to hold a secret; ask for another part")


def read_several(served: ServedRoot, paths: Sequence[str]) -> list[dict[str, Any]]:
    """Read several files, or their beginnings if they are long.

    :raises ToolError: no file can be read.
    """
    files: list[dict[str, Any]] = []
    budget = PAGE
    for number, path in enumerate(paths):
        file = _one_of_several(served, path, budget // (len(paths) - number))
        budget -= len(file["path"]) + len(file.get("content", "").encode())
        files.append(file)
    if all("error" in file for file in files):
        raise ToolError("; ".join(file["error"] for file in files[:5]))
    return files


def _one_of_several(served: ServedRoot, path: str, limit: int) -> dict[str, Any]:
    name = path if len(path) <= _NAME else f"{path[:_NAME]}…"
    if limit < _LEAST:
        return {"path": name, "error": "the answer is full: read it with another call"}
    try:
        found = read_text(served, path, limit=limit)
    except ToolError as error:
        return {"path": name, "error": str(error)}
    return {"path": name, "content": found["content"], "nextCursor": found["nextCursor"]}


def read_media(served: ServedRoot, path: str) -> tuple[str, str, bytes]:
    """Return the path, MIME type and bytes of a whole file.

    :raises ToolError: the file is too large, or has a probable secret.
    """
    descriptor, name, status = served.open_file(path)
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(MEDIA + 1) if status.st_size <= MEDIA else None
    # UTF-16 text has NULs between the letters
    if data is not None and shown_data(plain := data.replace(b"\0", b"")) != plain:
        raise ToolError(f"{short_repr(path)} seems to hold a secret, so it is not sent as it is")
    if data is None or len(data) > MEDIA:
        raise ToolError(
            f"{short_repr(path)} has {status.st_size >> 20} MiB; files over {MEDIA >> 20} MiB are not sent"
        )
    extension = os.path.splitext(name)[1].lower()  # noqa: PTH122
    return name, _TYPES.get(extension, "application/octet-stream"), data


def _position(cursor: str, status: os.stat_result, size: int) -> tuple[int, int | None]:
    found = _CURSOR.match(cursor)
    if found is None or (found[3] == _digest(status) and int(found[1]) > size):
        raise ToolError("this is not a cursor of this tool: pass `nextCursor` unchanged, or none to start")
    if found[3] != _digest(status):
        raise ToolError("the file has changed since this cursor was issued: start again without a cursor")
    return int(found[1]), None if found[2] == "all" else int(found[2])


def _digest(status: os.stat_result) -> str:
    """Return a digest of a file's identity, size and time."""
    state = f"{status.st_dev} {status.st_ino} {status.st_size} {status.st_mtime_ns}"
    return hashlib.blake2b(state.encode(), digest_size=8).hexdigest()


def _cut(data: bytes, limit: int) -> int:
    """Return the end of a page: after a line, or else after a whole character."""
    if len(data) <= limit:
        return len(data)
    end = data.rfind(b"\n", 0, limit) + 1
    if end:
        return end
    end = limit
    while end > limit - 4 and data[end] & 0xC0 == 0x80:
        end -= 1
    return end


def _lines(data: bytes, end: int, left: int) -> tuple[int, int]:
    """Return the end of a page limited to a number of lines, and the number that remains."""
    at = 0
    while left and at < end:
        found = data.find(b"\n", at, end) + 1
        if not found:
            return end, left  # the line is longer than a page
        at, left = found, left - 1
    return at, left


def _start_of_tail(descriptor: int, size: int, lines: int, path: str) -> int:
    """Return the start of the last lines."""
    at = size
    missing = lines + 1  # including the line end before them
    while at > 0:
        if size - at > _TAIL:
            raise ToolError(
                f"the last {lines} lines of {short_repr(path)} are more than 64 MiB: ask for fewer"
            )
        begin = max(0, at - _CHUNK)
        data = os.pread(descriptor, at - begin, begin)
        if at == size and not data.endswith(b"\n"):
            missing -= 1  # the last line has no line end
        count = data.count(b"\n")
        if count >= missing:
            end = len(data)
            for _ in range(missing):
                end = data.rfind(b"\n", 0, end)
            return begin + end + 1
        missing -= count
        at = begin
    return 0


def _decoded(data: bytes, path: str, size: int) -> str:
    if b"\0" in data:
        raise ToolError(
            f"{short_repr(path)} is binary ({size} bytes, NUL among them): `read_media_file` gives it "
            "as it is"
        )
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ToolError(
            f"{short_repr(path)} is not UTF-8 text (byte {error.start} of the page): `read_media_file` gives "
            "it as it is"
        ) from None
