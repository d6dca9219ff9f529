"""Read files in pages, of any size: texts, several at once, media."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mcp.server.mcpserver.exceptions import ToolError

from tideate_core.mcp.servers.schemas import short_repr

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.mcp.servers.filesystem.served_root import ServedRoot

__all__ = [
    "MEDIA",
    "PAGE",
    "Media",
    "read_media",
    "read_several",
    "read_text",
    "shown_data",
    "shown_size",
]

PAGE: Final = 40_000
"""Bytes of text in one answer."""
MEDIA: Final = 4 << 20
"""Bytes of a file that is sent as it is."""
_TAIL: Final = 64 << 20
"""Bytes from a file's end in which lines are counted."""
_LOOKED_INTO: Final = 8 << 20
"""Bytes of a file whose lines with secrets are hidden; of a larger one no page with a secret is read."""
_AROUND: Final = 1 << 16
"""Bytes before and after a page of such a file that are looked at, too."""
_SIZED: Final = 1 << 20
"""Bytes of a file whose size is told without its hidden lines."""
_LEAST: Final = 100
"""Bytes of each of several files."""
_NAME: Final = 200
"""Characters of a path that are repeated."""
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
    """Read a page of a text.

    :param head: only so many lines from the beginning.
    :param tail: only so many lines at the end.
    :param limit: bytes.
    :raises ToolError: it is no text, or changed since the cursor was given.
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
    """Return a file's content with other words in the lines that seem to hold secrets."""
    from tideate_core.mentions import hide_lines

    # bytes that are no ASCII stay what they are
    return hide_lines(data.decode("ascii", "surrogateescape")).encode("ascii", "surrogateescape")


def shown_size(name: str, directory: int, size: int) -> int:
    """Return the size of a file without its hidden lines, whose length it would tell.

    :param directory: descriptor of the open directory that it is in.
    :param size: as the system tells it.
    """
    if size > _SIZED:
        return size
    try:
        # looking changes nothing that is told of the file
        descriptor = os.open(name, _OPEN | getattr(os, "O_NOATIME", 0), dir_fd=directory)
    except OSError:
        return size
    with os.fdopen(descriptor, "rb") as file:
        return len(shown_data(file.read(_SIZED)))


def _without_secrets(descriptor: int, size: int) -> int:
    """Return a descriptor of the same content without secrets; the first one is closed, if it is another."""
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
    """Refuse a page of a large file in which a part of a secret is.

    :raises ToolError: one is.
    """
    begin = max(0, start - _AROUND)
    around = os.pread(descriptor, start - begin + length + _AROUND, begin)
    if shown_data(around) != around:
        raise ToolError(f"this part of {short_repr(path)} seems to hold a secret; ask for another part")


def read_several(served: ServedRoot, paths: Sequence[str]) -> list[dict[str, Any]]:
    """Read several files, of long ones the beginnings.

    :raises ToolError: none of them can be read.
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


@dataclass(frozen=True, slots=True)
class Media:
    """A file as it is."""

    path: str
    mime_type: str
    size: int
    data: str
    """In base64."""


def read_media(served: ServedRoot, path: str) -> Media:
    """Read a whole file as it is.

    :raises ToolError: it is too large.
    """
    descriptor, name, status = served.open_file(path)
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(MEDIA + 1) if status.st_size <= MEDIA else None
    # without NULs: as UTF-16 has them
    if data is not None and shown_data(plain := data.replace(b"\0", b"")) != plain:
        raise ToolError(f"{short_repr(path)} seems to hold a secret, so it is not sent as it is")
    if data is None or len(data) > MEDIA:
        raise ToolError(
            f"{short_repr(path)} has {status.st_size >> 20} MiB; files over {MEDIA >> 20} MiB are not sent"
        )
    extension = os.path.splitext(name)[1].lower()  # noqa: PTH122
    kind = _TYPES.get(extension, "application/octet-stream")
    return Media(name, kind, len(data), base64.b64encode(data).decode())


def _position(cursor: str, status: os.stat_result, size: int) -> tuple[int, int | None]:
    found = _CURSOR.match(cursor)
    if found is None or (found[3] == _digest(status) and int(found[1]) > size):
        raise ToolError(
            "this is not a cursor that an answer gave: pass the last one as it is, or none to begin"
        )
    if found[3] != _digest(status):
        raise ToolError("the file that this cursor continues has changed since: begin again without a cursor")
    return int(found[1]), None if found[2] == "all" else int(found[2])


def _digest(status: os.stat_result) -> str:
    """Recognise a file in a state."""
    state = f"{status.st_dev} {status.st_ino} {status.st_size} {status.st_mtime_ns}"
    return hashlib.blake2b(state.encode(), digest_size=8).hexdigest()


def _cut(data: bytes, limit: int) -> int:
    """Return where a page ends: after a line, or else after a whole character."""
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
    """Return where a page ends that has no more than so many lines, and how many are left after it."""
    at = 0
    while left and at < end:
        found = data.find(b"\n", at, end) + 1
        if not found:
            return end, left  # a line that is longer than a page
        at, left = found, left - 1
    return at, left


def _start_of_tail(descriptor: int, size: int, lines: int, path: str) -> int:
    """Return where the last lines begin."""
    at = size
    missing = lines + 1  # the line end before them
    while at > 0:
        if size - at > _TAIL:
            raise ToolError(
                f"the last {lines} lines of {short_repr(path)} are more than 64 MiB: ask for fewer"
            )
        begin = max(0, at - _CHUNK)
        data = os.pread(descriptor, at - begin, begin)
        if at == size and not data.endswith(b"\n"):
            missing -= 1  # the last line has no end
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
