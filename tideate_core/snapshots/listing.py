"""Cached listing of the newest snapshot: directories and file stamps, to skip unchanged files.

Files with unchanged stamps are not read again. The listing is only a cache: if it is lost, damaged or made
with other limits, all files are read once more.
"""

from __future__ import annotations

import json
import logging
import os
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
    from collections.abc import Collection, Iterable, Mapping
    from pathlib import Path

    from tideate_core.snapshots.limits import SnapshotLimits

NAME: Final = "listing"
_VERSION: Final = f"tideate listing 1 {sys.byteorder}"
_LENGTHS: Final = struct.Struct("=QQQ")  # folders, bytes of their paths, bytes of all names
_STAMP: Final = struct.Struct("=5q")
WIDTH: Final = _STAMP.size
"""Bytes of a stamp."""
UNSURE: Final = bytes(WIDTH)
"""Stamp of a name that must be checked again; no file on disk has it."""
_TEXT: Final = ("utf-8", "surrogateescape")
_OTHER_CLOCK: Final = 2_000_000_000
"""Maximum lag of another file system's clock, in nanoseconds."""
_parts = attrgetter("st_mode", "st_size", "st_mtime_ns", "st_ctime_ns", "st_ino")

log = logging.getLogger(__name__)


class Folder(NamedTuple):
    """Directory in the system's order of listing."""

    names: list[str]
    stamps: bytes
    """One stamp per name."""

    def by_name(self) -> dict[str, bytes]:
        """Return the stamp of each name."""
        ends = range(WIDTH, len(self.stamps) + WIDTH, WIDTH)
        return {name: self.stamps[end - WIDTH : end] for name, end in zip(self.names, ends, strict=True)}


@dataclass(frozen=True, slots=True)
class Listing:
    """All directories of a snapshot, by path."""

    tree: str
    """Digest of the manifest with the hashes; every name with a sure stamp is in it."""
    limits: tuple[int | str, ...]
    ignored: tuple[str, ...]
    folders: Mapping[str, Folder] = field(default_factory=dict)


def bounds(limits: SnapshotLimits) -> tuple[int | str, ...]:
    """Return the limits that determine a snapshot's content."""
    numbers = (limits.max_file, limits.max_total, limits.max_files, limits.ignored_directories)
    return (*numbers, *limits.left_out)


def file_name(limits: SnapshotLimits) -> str:
    """Return the name of the listing; snapshots of `tideate watch` have their own."""
    return f"{NAME}.watch" if limits.left_out else NAME


def file_system_time(handle: int, root: Path) -> int:
    """Return the current time of a file system's clock, in nanoseconds.

    :param handle: descriptor of a file of tideate, whose times change.
    :param root: directory to scan; in another file system, the result is a safe time in the past.
    """
    os.utime(handle)
    status = os.fstat(handle)
    same = status.st_dev == root.stat().st_dev
    return status.st_mtime_ns if same else status.st_mtime_ns - _OTHER_CLOCK


def make_stamps(found: Iterable[os.stat_result]) -> bytes:
    """Return the stamps of files: mode, size, times and inode."""
    found = list(found)
    try:
        return array("q", chain.from_iterable(map(_parts, found))).tobytes()
    except OverflowError:  # some file systems use inode numbers up to 2^64
        return array(
            "q", [(part + 2**63) % 2**64 - 2**63 for part in chain.from_iterable(map(_parts, found))]
        ).tobytes()


def unpack_stamp(stamp: bytes) -> tuple[int, int, int, int, int]:
    """Return mode, size, modification and change time in nanoseconds, and inode."""
    mode, size, written, changed, inode = _STAMP.unpack(stamp)
    return mode, size, written, changed, inode


def with_unsure_stamps(
    folder: Folder, prefix: str, entries: Collection[str], read: Mapping[str, bytes], clock: int
) -> Folder:
    """Return the folder with `UNSURE` stamps for names that may have changed unnoticed.

    A file written at the moment of the scan may be written again within the same clock tick. It is read
    again, as with git's index.

    :param prefix: prefix of the folder's paths.
    :param entries: paths of the snapshot; other names are checked again.
    :param read: stamps of the files at the time of reading.
    :param clock: start of the scan, in nanoseconds.
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


def write(directory: Path, listing: Listing, name: str = NAME) -> None:
    """Write a listing without forcing it to disk; a torn write is detected."""
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
        with atomic_writer(directory / name, to_disk=False) as file:
            file.write(json.dumps(head).encode() + b"\n")
            file.write(rest)
    except OSError as error:
        log.warning("the next snapshot reads all files again: %s: %s", error.filename, error.strerror)


def load(directory: Path, limits: SnapshotLimits) -> Listing | None:
    """Return the stored listing, or None if it is unusable."""
    path = directory / file_name(limits)
    try:
        first, _, rest = read_regular(path).partition(b"\n")
        head = json.loads(first)
        if head["version"] != _VERSION or tuple(head["limits"]) != bounds(limits):
            return None
        if digest(rest) != head["digest"]:
            raise ValueError("it does not match its digest")
        return Listing(str(head["tree"]), bounds(limits), tuple(head["ignored"]), _folders(rest))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, struct.error) as error:
        log.warning("all files are read again, %s cannot be used: %s", path, error)
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
