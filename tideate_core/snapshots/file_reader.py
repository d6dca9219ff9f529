"""Reading, hashing and packing of files in batches by threads, each file at one moment."""

from __future__ import annotations

import os
import stat
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from tideate_core.snapshots.listing import make_stamps
from tideate_core.snapshots.packs import compress_contents, digest
from tideate_core.util.file_metadata import Metadata, read_attributes
from tideate_core.workspace import KeptMetadata

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

    from tideate_core.snapshots.entries import Entry
    from tideate_core.snapshots.packs import Frame, PackWriter

Progress: TypeAlias = Callable[[int, int], None]
"""Called with the bytes read and the total."""

BATCH: Final = 1024 * 1024
"""Bytes that are compressed together; a larger file has its own batch."""
MOST: Final = 256
"""Files of a batch."""
TRIES: Final = 3
_LABEL: Final = "security.selinux"
THREADS: Final = min(4, os.cpu_count() or 1)


class ReadCancelled(Exception):
    """The reading was cancelled."""


@dataclass(frozen=True, slots=True)
class _ReadBatch:
    frame: Frame | None
    entries: list[Entry]
    failed: dict[str, str]
    size: int


class Reader:
    """Reads files below a root.

    :param stored: contents that need not be stored again.
    :param writer: stores the other contents; None only hashes.
    :param largest: bytes that a file may have grown to.
    """

    def __init__(
        self,
        root: str,
        stored: Container[str],
        writer: PackWriter | None,
        largest: int,
        stop: threading.Event | None = None,
    ) -> None:
        self._root = root
        self._stored = stored
        self._writer = writer
        self._largest = largest
        self._stop = stop or threading.Event()
        self._claimed: set[str] = set()
        self._claiming = threading.Lock()
        self.failed: dict[str, str] = {}
        """Files that could not be read, with the reason."""
        self.read_at: dict[str, bytes] = {}
        """Stamps of the read files at that time."""

    def read(self, entries: Sequence[Entry], progress: Progress) -> list[Entry]:
        """Return entries with hashes, as read; failed files are left out.

        :raises ReadCancelled: the reading was cancelled.
        :raises OSError: the pack cannot be written.
        """
        total, done = sum(entry.size for entry in entries), 0
        found: list[Entry] = []
        for batch in self._batches_read(entries):
            if batch.frame is not None and self._writer is not None:
                self._writer.add(batch.frame)
            found += batch.entries
            self.failed |= batch.failed
            done += batch.size
            progress(min(done, total), total)
        return found

    def _batches_read(self, entries: Sequence[Entry]) -> Iterator[_ReadBatch]:
        batches = _batches(entries)
        if len(entries) <= 8:  # too few for threads
            yield from map(self._read_batch, batches)
            return
        with ThreadPoolExecutor(THREADS, thread_name_prefix="snapshot") as pool:
            waiting: deque[Future[_ReadBatch]] = deque()
            try:
                for batch in batches:
                    waiting.append(pool.submit(self._read_batch, batch))
                    if len(waiting) > 2 * THREADS:  # finished batches wait in memory
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                pool.shutdown(cancel_futures=True)

    def _read_batch(self, batch: list[Entry]) -> _ReadBatch:
        if self._stop.is_set():
            raise ReadCancelled
        fresh: list[tuple[str, bytes]] = []
        entries: list[Entry] = []
        failed: dict[str, str] = {}
        for entry in batch:
            try:
                data, now, stamp = _read_steadily(os.path.join(self._root, entry.path), entry, self._largest)  # noqa: PTH118
            except OSError as error:
                if not isinstance(error, (FileNotFoundError, NotADirectoryError)):  # otherwise it was removed
                    failed[entry.path] = f"cannot be read: {error.strerror}"
                continue
            if isinstance(now, str):
                failed[entry.path] = now
                continue
            entries.append(now)
            self.read_at[now.path] = stamp
            if self._claim(now.hash):
                fresh.append((now.hash, data))
        return _ReadBatch(
            compress_contents(fresh) if fresh else None, entries, failed, sum(entry.size for entry in batch)
        )

    def _claim(self, content: str) -> bool:
        """Return whether a content has to be stored and no other thread stores it."""
        if self._writer is None or content in self._stored:
            return False
        with self._claiming:
            if content in self._claimed:
                return False
            self._claimed.add(content)
            return True


def _batches(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    batch: list[Entry] = []
    size = 0
    for entry in entries:
        if batch and (size + entry.size > BATCH or len(batch) >= MOST):
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += entry.size
    if batch:
        yield batch


def _read_steadily(path: str, entry: Entry, largest: int) -> tuple[bytes, Entry | str, bytes]:
    """Read a file until it does not change meanwhile; else return the reason as the second value.

    :returns: content, entry, stamp.
    :raises OSError: it cannot be read.
    """
    for _ in range(TRIES):
        # never follow a link or block on a pipe put in its place
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb", buffering=0) as file:
            before = os.fstat(handle)
            if not stat.S_ISREG(before.st_mode):
                return b"", "became something else than a file while it was read", b""
            if before.st_size > largest:
                return b"", "grew over the limit of a file while it was read", b""
            data = file.readall()
            metadata = _metadata(before, read_attributes(handle))
            after = os.fstat(handle)
        stamp = make_stamps([before])
        if stamp == make_stamps([after]) and len(data) == after.st_size:
            mode = after.st_mode & 0o7777
            now = entry._replace(mode=mode, size=len(data), hash=digest(data), metadata=metadata)
            return data, now, stamp
    return b"", f"changed while it was read, {TRIES} times", b""


def _metadata(found: os.stat_result, attributes: Mapping[str, bytes]) -> str:
    """Return owner and attributes as JSON; empty if a new file has the same.

    The security label is left out: the system assigns it by path.
    """
    owner = (found.st_uid, found.st_gid)
    kept = tuple(one for one in attributes.items() if one[0] != _LABEL)
    if not kept and owner == (os.geteuid(), os.getegid()):
        return ""
    metadata = KeptMetadata.of(Metadata(owner, kept))
    return metadata.model_dump_json() if metadata else ""
