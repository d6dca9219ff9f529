"""Listing of all directories at the newest snapshot: names, each with a stamp that changes on a write.

What looks as it did is not read again. The file is a help and no part of a snapshot: lost or damaged, or made
with other limits, it costs only that all is read once more.
"""

from __future__ import annotations

import json
import logging
import stat
import struct
import sys
from array import array
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from tideate_core.snapshots.packs import digest
from tideate_core.util.atomic_files import atomic_writer
from tideate_core.util.regular_files import read_regular

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from tideate_core.snapshots.entries import Entry
    from tideate_core.snapshots.limits import SnapshotLimits

__all__ = [
    "Folder",
    "Listing",
    "bounds",
    "load",
    "with_unsure_stamps",
    "make_stamps",
    "unpack_stamp",
    "write",
]

NAME: Final = "listing"
_VERSION: Final = f"tideate listing 1 {sys.byteorder}"
_LENGTHS: Final = struct.Struct("=QQQ")  # folders, bytes of their paths, bytes of all names
_STAMP: Final = struct.Struct("=5q")
WIDTH: Final = _STAMP.size
"""Bytes of a stamp."""
UNSURE: Final = bytes(WIDTH)
"""The stamp of what is to be looked at again in any case; nothing on disk has it."""
_TEXT: Final = ("utf-8", "surrogateescape")
_parts = attrgetter("st_mode", "st_size", "st_mtime_ns", "st_ctime_ns", "st_ino")

log = logging.getLogger(__name__)


class Folder(NamedTuple):
    """One directory, in the order in which the system lists it."""

    names: list[str]
    stamps: bytes
    """Of each name one."""

    def by_name(self) -> dict[str, bytes]:
        """Return the stamp of each name."""
        ends = range(WIDTH, len(self.stamps) + WIDTH, WIDTH)
        return {name: self.stamps[end - WIDTH : end] for name, end in zip(self.names, ends, strict=True)}


@dataclass(frozen=True, slots=True)
class Listing:
    """All directories of a snapshot, by path."""

    tree: str
    """Digest of the manifest that has the hashes: each sure name is in it."""
    limits: tuple[int, ...]
    ignored: tuple[str, ...]
    folders: Mapping[str, Folder] = field(default_factory=dict)


def bounds(limits: SnapshotLimits) -> tuple[int, ...]:
    """Return what decides what is in a snapshot."""
    return (limits.max_file, limits.max_total, limits.max_files, limits.ignored_directories)


def make_stamps(found: Iterable[os.stat_result]) -> bytes:
    """Return what changes when something is written: mode, size, times and inode of each."""
    found = list(found)
    try:
        return array("q", chain.from_iterable(map(_parts, found))).tobytes()
    except OverflowError:  # some file systems number their files up to 2^64
        return array("q", map(_signed, chain.from_iterable(map(_parts, found)))).tobytes()


def _signed(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


def unpack_stamp(stamp: bytes) -> tuple[int, int, int, int, int]:
    """Return mode, size, times of writing and of changing in nanoseconds, and inode."""
    mode, size, written, changed, inode = _STAMP.unpack(stamp)
    return mode, size, written, changed, inode


def with_unsure_stamps(
    folder: Folder, prefix: str, entries: Mapping[str, Entry], read: Mapping[str, bytes], clock: int
) -> Folder:
    """Return a folder in which only that is sure which nobody can have written since without being seen.

    What was written in the very moment in which it was looked at may have been written again since: time has
    steps. It is to be read, as git does with its index.

    :param prefix: of its paths.
    :param entries: those of the snapshot; what is not among them is to be looked at again.
    :param read: stamps of the files that were read, as they stood then.
    :param clock: the time, in nanoseconds, before which the looking began.
    """
    sure: list[bytes] = []
    for name, stamp in folder.by_name().items():
        path = prefix + name
        mode, _, written, changed, _ = unpack_stamp(stamp)
        kept = stat.S_ISDIR(mode) or (
            path in entries and written < clock > changed and read.get(path, stamp) == stamp
        )
        sure.append(stamp if kept else UNSURE)
    return Folder(folder.names, b"".join(sure))


def write(directory: Path, listing: Listing) -> None:
    """Keep a listing. It is not forced to disk: half of one is recognised."""
    folders = listing.folders.values()
    paths = "\0".join(listing.folders).encode(*_TEXT)
    names = "\0".join(chain.from_iterable(folder.names for folder in folders)).encode(*_TEXT)
    counts = array("Q", (len(folder.names) for folder in folders)).tobytes()
    stamped = b"".join(folder.stamps for folder in folders)
    rest = b"".join([_LENGTHS.pack(len(folders), len(paths), len(names)), counts, paths, names, stamped])
    head = {
        "version": _VERSION,
        "tree": listing.tree,
        "limits": listing.limits,
        "ignored": listing.ignored,
        "digest": digest(rest),
    }
    try:
        with atomic_writer(directory / NAME, to_disk=False) as file:
            file.write(json.dumps(head).encode() + b"\n")
            file.write(rest)
    except OSError as error:
        log.warning("the next snapshot reads all files again: %s: %s", error.filename, error.strerror)


def load(directory: Path, limits: SnapshotLimits) -> Listing | None:
    """Return the listing, None if there is none that can be used."""
    try:
        first, _, rest = read_regular(directory / NAME).partition(b"\n")
        head = json.loads(first)
        if head["version"] != _VERSION or tuple(head["limits"]) != bounds(limits):
            return None
        if digest(rest) != head["digest"]:
            raise ValueError("a part of it is another one")
        return Listing(str(head["tree"]), bounds(limits), tuple(head["ignored"]), _folders(rest))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, struct.error) as error:
        log.warning("all files are read again, %s cannot be used: %s", directory / NAME, error)
        return None


def _folders(rest: bytes) -> dict[str, Folder]:
    count, paths_length, names_length = _LENGTHS.unpack_from(rest)
    paths_at = _LENGTHS.size + 8 * count
    names_at = paths_at + paths_length
    stamps_at = names_at + names_length
    counts = array("Q", rest[_LENGTHS.size : paths_at])
    paths = rest[paths_at:names_at].decode(*_TEXT).split("\0")
    names = rest[names_at:stamps_at].decode(*_TEXT).split("\0") if names_length else []
    if len(paths) != count or len(names) != sum(counts) or len(rest) != stamps_at + WIDTH * len(names):
        raise ValueError("it is cut off")
    found: dict[str, Folder] = {}
    start = 0
    for path, many in zip(paths, counts, strict=True):
        end = start + many
        stamped = rest[stamps_at + WIDTH * start : stamps_at + WIDTH * end]
        found[path] = Folder(names[start:end], stamped)
        start = end
    return found
