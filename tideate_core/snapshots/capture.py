"""Capture the current files as a snapshot: unchanged ones from the last snapshot, others read."""

from __future__ import annotations

import secrets
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tideate_core.errors import WorkspaceError
from tideate_core.snapshots import listing
from tideate_core.snapshots.compare import Tree
from tideate_core.snapshots.file_reader import Reader
from tideate_core.snapshots.gitignore import IgnoreQuery
from tideate_core.snapshots.listing import Listing, with_unsure_stamps
from tideate_core.snapshots.manifest import (
    CaptureFilter,
    Header,
    find_manifest,
    load_manifest,
    read_headers,
    save_manifest,
    write_manifest,
)
from tideate_core.snapshots.packs import Packs, PackWriter
from tideate_core.snapshots.scan import Scan, remove_over_limits, scan

if TYPE_CHECKING:
    import threading
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from tideate_core.snapshots.file_reader import Progress
    from tideate_core.snapshots.limits import SnapshotLimits
    from tideate_core.snapshots.manifest import Manifest


class Capture:
    """Capture of the current files as a snapshot. The caller holds the lock.

    :param directory: of the manifests; the packs are in `packs`.
    :param lock: descriptor of a file in the same file system as the snapshots.
    """

    def __init__(
        self, root: Path, directory: Path, limits: SnapshotLimits, lock: int, progress: Progress
    ) -> None:
        self._root = root
        self._directory = directory
        self._limits = limits
        names = CaptureFilter.model_fields
        self._filter = CaptureFilter.model_validate({name: getattr(limits, name) for name in names})
        self._lock = lock
        self._progress = progress
        self._clock = 0
        self._headers: list[Header] = []
        self._listing: Listing | None = None
        self._base: Manifest | None = None
        """Snapshot that the listing describes."""
        self._scan = Scan()
        self._read_at: Mapping[str, bytes] = {}
        self._writer = PackWriter(directory / "packs")
        self._packs: Packs | None = None

    @property
    def packs(self) -> Packs:
        """Packs of the snapshot contents."""
        if self._packs is None:
            self._packs = Packs(self._directory / "packs")
        return self._packs

    def create(
        self, name: str, stop: threading.Event, pinned: tuple[str, ...] = (), series: str = ""
    ) -> Header:
        """Create a snapshot durably.

        :raises OSError: it cannot be written.
        :raises ReadCancelled: `stop` was set.
        """
        with IgnoreQuery(self._root) as query:
            self._load_base()
            self._scan_paths(query)
        if self._base is not None and self._is_unchanged(self._base.header):
            header = self._base.header.model_copy(update=self._own_fields(name, pinned, series))
            write_manifest(self._directory, header, self._base.rest)
            return header
        return self.save(name, self._read_tree(stop, store=True), pinned, series)

    def read_changes(
        self, stop: threading.Event, target: str, *, store: bool = True
    ) -> tuple[Manifest, Tree]:
        """Read the changes since the last snapshot.

        :param stop: set to cancel the reading.
        :param target: id of the snapshot to compare with; its manifest is returned.
        :param store: keep the contents, so that `save` can be called.
        :raises SnapshotNotFound: no snapshot has this id.
        :raises WorkspaceError: the snapshot is damaged.
        :raises OSError: the contents cannot be written.
        :raises ReadCancelled: `stop` was set.
        """
        with IgnoreQuery(self._root) as query:
            # the slow reads run while git works
            then = load_manifest(find_manifest(self._directory, target))
            self._load_base(then)
            entered = {e.path for e in then.entries.values() if e.kind == "directory"}
            self._scan_paths(query, entered, set(then.ignored) - entered)
        return then, self._read_tree(stop, store=store, spare=then.entries.keys())

    def save(self, name: str, tree: Tree, pinned: tuple[str, ...] = (), series: str = "") -> Header:
        """Save a snapshot of the tree durably.

        :raises OSError: it cannot be written.
        """
        if self._writer.close():
            self.packs.add(self._writer.path)
        files = [entry for entry in tree.entries.values() if entry.kind != "directory"]
        header = Header(
            **self._own_fields(name, pinned, series),
            count=len(files),
            size=sum(entry.size for entry in files),
            skipped=len(tree.skipped),
            packs=tuple(sorted(self.packs.ids({entry.hash for entry in files if entry.hash}))),
            digest="",
        )
        ignored = sorted(tree.ignored)
        header = save_manifest(self._directory, header, tree.entries, dict(tree.skipped), ignored)
        self._write_listing(tree, header)
        return header

    def close(self) -> None:
        """Delete an unfinished pack."""
        self._writer.abort()

    def _scan_paths(
        self, query: IgnoreQuery, enter: Collection[str] = (), leave: Collection[str] = ()
    ) -> None:
        self._clock = listing.file_system_time(self._lock, self._root)
        self._scan = scan(
            self._root,
            query,
            {} if self._listing is None else self._listing.folders,
            enter_all=self._limits.ignored_directories,
            enter=enter,
            leave=leave,
            left_out=self._limits.left_out,
        )

    def _load_base(self, target: Manifest | None = None) -> None:
        """Load the listing and its snapshot, if both are intact.

        :param target: a loaded manifest.
        """
        self._headers, _ = read_headers(self._directory)
        known = listing.load(self._directory, self._limits)
        header = next((one for one in self._headers if known and one.digest == known.tree), None)
        if header is None:
            return
        same = target is not None and target.header.digest == header.digest
        with suppress(WorkspaceError):  # damaged: read everything again
            self._base = target if same else load_manifest(find_manifest(self._directory, header.id))
            self._listing = known

    def _is_unchanged(self, like: Header) -> bool:
        """Return whether a new snapshot would equal the listing's, as far as stamps show."""
        known, found = self._listing, self._scan
        if known is None or found.changed or found.skipped:
            return False
        return (
            found.gone <= found.ignored
            and found.folders.keys() == known.folders.keys()
            and tuple(sorted(found.ignored)) == known.ignored
            and not like.skipped
            and self.packs.has_all(like.packs)
        )

    def _own_fields(self, name: str, pinned: tuple[str, ...], series: str) -> dict[str, Any]:
        """Return the header fields that differ between equal snapshots."""
        return {
            "id": secrets.token_hex(8),
            "number": self._headers[-1].number + 1 if self._headers else 1,
            "name": name,
            "timestamp": time.time_ns() // 1_000_000,
            "clock": self._clock,
            "pinned": pinned,
            "series": series,
            "filter": self._filter,
        }

    def _read_tree(self, stop: threading.Event, *, store: bool, spare: Collection[str] = ()) -> Tree:
        found = self._scan
        before = {} if self._base is None else self._base.entries
        entries = found.over(before)
        unread = set(found.changed)
        if self._base is not None and not self.packs.has_all(self._base.header.packs):
            files = (entry for entry in entries.values() if entry.kind == "file")
            unread |= {entry.path for entry in files if entry.hash not in self.packs}
        skipped = found.skipped | remove_over_limits(entries, self._limits, spare)
        wanted = [entries[path] for path in sorted(unread & entries.keys())]
        reader = Reader(
            str(self._root), self.packs, self._writer if store else None, self._limits.max_file, stop
        )
        wanted = [entry for entry in wanted if entry.kind == "file"]
        read = {entry.path: entry for entry in reader.read(wanted, self._progress)}
        for path in (entry.path for entry in wanted):
            if path not in read:
                del entries[path]
            else:
                entries[path] = read[path]
        self._read_at = reader.read_at
        return Tree(
            entries, skipped | reader.failed, frozenset(found.ignored), frozenset(found.ignored_files)
        )

    def _write_listing(self, tree: Tree, header: Header) -> None:
        """Write the listing of the new snapshot if it differs from the stored one."""
        known = {} if self._listing is None else self._listing.folders
        folders = dict(self._scan.folders)
        unsure = {path.rpartition("/")[0] for path in (*tree.skipped, *self._read_at)}
        for directory, folder in folders.items():
            was = known.get(directory)
            if folder is not was or directory in unsure:
                prefix = f"{directory}/" if directory else ""
                new = with_unsure_stamps(folder, prefix, tree.entries, self._read_at, self._clock)
                folders[directory] = was if was is not None and was == new else new
        same = known.keys() == folders.keys() and all(known[path] is folders[path] for path in known)
        if not same or self._listing is None or self._listing.tree != header.digest:
            limits = listing.bounds(self._limits)
            ignored = tuple(sorted(tree.ignored))
            known_now = Listing(header.digest, limits, ignored, folders)
            listing.write(self._directory, known_now, listing.file_name(self._limits))
