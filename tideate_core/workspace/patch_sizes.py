"""Size limits for the files that a patch creates, read from the patch's own headers."""

from __future__ import annotations

import base64
import re
import zlib
from typing import TYPE_CHECKING, Final

from tideate_core.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

LARGEST_RESULT: Final = 32 << 20
"""Bytes of one resulting file."""
LARGEST_RESULTS: Final = 128 << 20
"""Bytes of all resulting files."""
_BINARY: Final = b"GIT binary patch"
_HUNK: Final = re.compile(rb"(literal|delta) [ \t\v\f\r]*([+-]?)(\d*).*")
"""Head of a binary hunk as git parses it: C's `strtoul` skips blanks and trailing text."""
_DIGITS: Final = 20
"""Digits from which a number may exceed the range of `strtoul`."""
_LARGEST_NUMBER: Final = (1 << 64) - 1
_SIZES: Final = 20
"""Most bytes of the two sizes at the start of a delta."""


def refuse_large_results(patch: bytes, copied: Iterable[int] = ()) -> None:
    """Reject a patch with results too large to review.

    The size of a text is bounded by its source and the patch, so only binary hunks and copies count.

    :param copied: bytes of each file that the patch copies, once for each copy.
    :raises InvalidInput: one file or all files together are too large.
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
    """Yield the size of each binary result."""
    at = patch.find(_BINARY)
    while at >= 0:
        # up to the next file; no content line starts with these words
        end = patch.find(b"\ndiff --git ", at)
        lines = patch[at : None if end < 0 else end].split(b"\n")
        for number, line in enumerate(lines):
            if found := _HUNK.fullmatch(line):
                size = _number_in(*found.group(2, 3))
                yield size
                if found[1] == b"delta" and size <= LARGEST_RESULT:
                    yield _result_of_delta(lines, number + 1)
        at = patch.find(_BINARY, end) if end >= 0 else -1


def _number_in(sign: bytes, digits: bytes) -> int:
    digits = digits.lstrip(b"0")
    if len(digits) >= _DIGITS:
        return _LARGEST_NUMBER
    size = int(digits or b"0")
    return _LARGEST_NUMBER - size + 1 if sign == b"-" and size else size


def _result_of_delta(lines: Sequence[bytes], start: int) -> int:
    """Return the size that a delta declares for its result; 0 if git cannot read it either."""
    packed = None
    head = b""
    try:
        for number in range(start, len(lines)):
            line = lines[number].rstrip(b"\r")
            if not line or len(head) >= _SIZES:
                break
            # the first letter encodes the bytes of the line; empty blocks may come first
            count = line[0] - (64 if line[0] < 97 else 70)
            data = base64.b85decode(line[1:])[: max(count, 0)]
            packed = packed or zlib.decompressobj()  # created late: it is slow, and there may be no data
            head += packed.decompress(data, _SIZES - len(head))
    except (ValueError, zlib.error):
        return 0
    _, middle = _number_at(head, 0)
    result, end = _number_at(head, middle)
    # git writes shorter numbers; a longer one would hide the second size
    return _LARGEST_NUMBER if max(middle, end - middle) > _SIZES // 2 else result


def _number_at(data: bytes, at: int) -> tuple[int, int]:
    """Decode a little-endian base-128 number; return it and its end."""
    value = shift = 0
    while at < len(data):
        byte = data[at]
        value, shift, at = value | (byte & 0x7F) << shift, shift + 7, at + 1
        if not byte & 0x80:
            break
    return value, at
