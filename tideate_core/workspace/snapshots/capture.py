"""From paths to a snapshot: what did not change is taken over, the rest is read."""

from __future__ import annotations

import os
import secrets
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tideate_core.errors import WorkspaceError
from tideate_core.workspace.snapshots.comparing import Tree
from tideate_core.workspace.snapshots.contents import Reader
from tideate_core.workspace.snapshots.ignored import Question
from tideate_core.workspace.snapshots.manifest import Header, find, headers, load, save
from tideate_core.workspace.snapshots.packs import Packs, PackWriter
from tideate_core.workspace.snapshots.scan import scan

if TYPE_CHECKING:
    import threading
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from tideate_core.workspace.snapshots.contents import Progress
    from tideate_core.workspace.snapshots.entries import Entry
    from tideate_core.workspace.snapshots.limits import SnapshotLimits
    from tideate_core.workspace.snapshots.manifest import Manifest

__all__ = ["Capture", "Place"]

_OTHER_CLOCK: Final = 2_000_000_000
"""Nanoseconds that another file system's time may be behind."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where snapshots are of what."""

    root: Path
    directory: Path
    """Of the manifests; the packs are in `packs` below it."""
    limits: SnapshotLimits


class Capture:
    """The files as they stand now, and the snapshot that can be made of them. The caller has the lock.

    :param lock: descriptor of a file in the same file system as the snapshots.
    """

    def __init__(self, place: Place, lock: int, progress: Progress) -> None:
        self._place = place
        self._lock = lock
        self._progress = progress
        self._clock = 0
        self._number = 1
        self._latest: Manifest | None = None
        self._packs: Packs | None = None
        self._writer = PackWriter(place.directory / "packs")

    def look(self, stop: threading.Event, target: Manifest | None = None, *, store: bool = True) -> Tree:
        """Read what changed since the last snapshot.

        :param stop: is set when nobody waits for it any more.
        :param target: a snapshot that it is to be compared with.
        :param store: what was read is kept, so that `save` can be called.
        :raises OSError: something cannot be written.
        :raises Stopped: it was set.
        """
        place = self._place
        with Question(place.root) as question:
            self._clock = self._now()
            self._latest = self._load_latest(target)
            self._packs = Packs(place.directory / "packs")
            known = target.known(self._packs) if target else {}
            if self._latest and self._latest is not target:
                known |= self._latest.known(self._packs)
            enter = _directories(target) if target else ()
            found = scan(place.root, question, place.limits, known, enter)
        writer = self._writer if store else None
        reader = Reader(str(place.root), self._packs, writer, place.limits.max_file, stop)
        unread = [entry for entry in found.entries if entry.kind == "file" and not entry.hash]
        return Tree(
            self._merged(found.entries, reader.read(unread, self._progress)),
            found.skipped | reader.failed,
            frozenset(found.ignored),
            frozenset(found.ignored_files),
        )

    def _merged(self, found: list[Entry], read: Sequence[Entry]) -> dict[str, Entry]:
        """Return what was found, with the files that were read; what could not be is not in it."""
        latest = self._latest.entries if self._latest else {}
        whole = [entry for entry in found if entry.kind != "file" or entry.hash]
        # what is as it was is the very entry that it was: its line in the manifest is known
        same = (one if one.hash or latest.get(one.path) != one else latest[one.path] for one in whole)
        entries = {entry.path: entry for entry in same}
        if read:
            entries |= {entry.path: entry for entry in read}
            entries = dict(sorted(entries.items()))
        return entries

    def save(self, name: str, tree: Tree) -> Header:
        """Make a snapshot of what was found; when this returns it is on disk.

        :raises OSError: it cannot be written.
        """
        files = [entry for entry in tree.entries.values() if entry.kind != "directory"]
        contents = {entry.hash for entry in files if entry.hash}
        packs = set() if self._packs is None else self._packs.ids(contents)
        if self._writer.close():
            packs.add(self._writer.id)
        header = Header(
            id=secrets.token_hex(8),
            number=self._number,
            name=name,
            timestamp=time.time_ns() // 1_000_000,
            count=len(files),
            size=sum(entry.size for entry in files),
            skipped=len(tree.skipped),
            clock=self._clock,
            packs=tuple(sorted(packs)),
            digest="",
        )
        entries, ignored = list(tree.entries.values()), sorted(tree.ignored)
        return save(self._place.directory, header, entries, dict(tree.skipped), ignored, self._latest)

    def close(self) -> None:
        """Leave nothing of a pack behind that no snapshot was made with."""
        self._writer.abort()

    def _now(self) -> int:
        """Return the time by which the file system dates changes."""
        os.utime(self._lock)
        status = os.fstat(self._lock)
        same = status.st_dev == self._place.root.stat().st_dev
        return status.st_mtime_ns if same else status.st_mtime_ns - _OTHER_CLOCK

    def _load_latest(self, target: Manifest | None) -> Manifest | None:
        found, _ = headers(self._place.directory)
        self._number = found[-1].number + 1 if found else 1
        if found and target is not None and found[-1] == target.header:
            return target
        try:
            return load(find(self._place.directory, found[-1].id)) if found else None
        except WorkspaceError:
            return None  # damaged: all is read again


def _directories(target: Manifest) -> Collection[str]:
    return {path for path, entry in target.entries.items() if entry.kind == "directory"}
