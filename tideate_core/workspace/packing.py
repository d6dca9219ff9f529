"""What a text becomes, kept small on the ground of what it was: an edit changes little of it."""

from __future__ import annotations

import zlib
from typing import Final

__all__ = ["MAX_KEPT", "pack", "unpack"]

MAX_KEPT: Final = 4 * 1024 * 1024
"""Bytes of a text that is kept; of a larger one only the digest is known."""
_WINDOW: Final = 1 << 15
"""How much of the ground the packing can look back at."""


def pack(data: bytes, ground: bytes) -> bytes | None:
    """Return the packed text, None for what no merge could use: binaries and very large texts.

    :param ground: what is known when it is unpacked, and mostly the same.
    """
    if len(data) > MAX_KEPT or b"\0" in data:
        return None
    packing = zlib.compressobj(1, zlib.DEFLATED, -15, zdict=ground[-_WINDOW:])
    return packing.compress(data) + packing.flush()


def unpack(packed: bytes, ground: bytes) -> bytes | None:
    """Return the text, None if it is damaged."""
    unpacking = zlib.decompressobj(-15, zdict=ground[-_WINDOW:])
    try:
        data = unpacking.decompress(packed, MAX_KEPT + 1)
    except zlib.error:
        return None
    return data if unpacking.eof else None
