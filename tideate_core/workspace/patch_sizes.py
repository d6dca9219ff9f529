"""Sizes of the files that a patch makes, as its headers declare them: git holds a binary patch to them."""

from __future__ import annotations

import base64
import re
import zlib
from typing import TYPE_CHECKING, Final

from tideate_core.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["LARGEST_RESULT", "refuse_large_results"]

LARGEST_RESULT: Final = 32 << 20
"""Bytes of one file that a patch makes."""
LARGEST_RESULTS: Final = 128 << 20
"""Bytes of all of them together."""
_BINARY: Final = b"GIT binary patch"
_HUNK: Final = re.compile(rb"(literal|delta) (\d{1,20})\r?")
_MOST_LINES: Final = 40
"""Lines of a delta that are decoded: its sizes come first, behind the tables of the compression."""
_SIZES: Final = 20
"""Bytes that the two sizes at the beginning of a delta take at most."""


def refuse_large_results(patch: bytes, copied: Iterable[int] = ()) -> None:
    """Refuse a patch that makes larger files than can be reviewed.

    A text is bounded by its source and the patch, so only binary hunks and copies are looked at.

    :param copied: bytes of each file that the patch copies, once for each copy.
    :raises InvalidInput: a file, or all of them together, would be too large.
    """
    total = 0
    for size in (*_binary_sizes(patch), *copied):
        if size > LARGEST_RESULT:
            raise InvalidInput(
                f"the patch makes a file of {size >> 20} MiB, and files of more than "
                f"{LARGEST_RESULT >> 20} MiB are not reviewed; apply it with `git apply`"
            )
        total += size
    if total > LARGEST_RESULTS:
        raise InvalidInput(
            f"the patch makes files of {total >> 20} MiB together, and more than "
            f"{LARGEST_RESULTS >> 20} MiB are not reviewed; split it, or apply it with `git apply`"
        )


def _binary_sizes(patch: bytes) -> Iterator[int]:
    """Yield the size of each result of a binary hunk."""
    at = patch.find(_BINARY)
    while at >= 0:
        # up to the next file; a file's own lines never begin with these words
        end = patch.find(b"\ndiff --git ", at)
        lines = patch[at : None if end < 0 else end].split(b"\n")
        for number, line in enumerate(lines):
            if found := _HUNK.fullmatch(line):
                size = int(found[2])
                yield size
                if found[1] == b"delta" and size <= LARGEST_RESULT:
                    yield _result_of_delta(lines[number + 1 : number + 1 + _MOST_LINES])
        at = patch.find(_BINARY, at + len(_BINARY) if end < 0 else end)


def _result_of_delta(lines: Sequence[bytes]) -> int:
    """Return the size that a delta declares for its result; 0 if git cannot read it, either."""
    packed = zlib.decompressobj()
    head = b""
    try:
        for line in lines:
            if not line or len(head) >= _SIZES:
                break
            head += packed.decompress(base64.b85decode(line.rstrip(b"\r")[1:]), _SIZES - len(head))
    except (ValueError, zlib.error):
        return 0
    return _number_at(head, _number_at(head, 0)[1])[0]


def _number_at(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of seven bits a byte, the lowest first, and where it ends."""
    value = shift = 0
    while at < len(data):
        byte = data[at]
        value, shift, at = value | (byte & 0x7F) << shift, shift + 7, at + 1
        if not byte & 0x80:
            break
    return value, at
