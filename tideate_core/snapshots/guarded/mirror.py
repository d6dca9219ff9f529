"""Mirrors of a project: immutable trees of files, which guarded copies share, and differences from them."""

from __future__ import annotations

import fcntl
import os
import stat
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tideate_core.errors import ScratchUnavailable
from tideate_core.snapshots import listing
from tideate_core.snapshots.entries import Below
from tideate_core.snapshots.guarded.layers import copy_path, finish_directory, whiteout
from tideate_core.snapshots.limits import SnapshotLimits
from tideate_core.snapshots.listing import WIDTH, Listing, make_stamps, unpack_stamp, with_unsure_stamps
from tideate_core.snapshots.scan import Scan, scan
from tideate_core.snapshots.scratch.cloning import Cloner
from tideate_core.snapshots.scratch.copying import MOST
from tideate_core.snapshots.scratch.places import claim_place, move_to_place, release_place
from tideate_core.util.atomic_files import write_atomic
from tideate_core.util.power_loss import boot_id, sync_file_system
from tideate_core.util.private_files import make_private_directory, open_private
from tideate_core.util.regular_files import read_bounded

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tideate_core.snapshots.gitignore import IgnoreQuery
    from tideate_core.snapshots.listing import Folder

MIRRORS: Final = "mirror"
UNFINISHED: Final = "unfinished"
"""Directory for unfinished creations and removals; removed if its owner is dead."""
SESSIONS: Final = "sessions"
MADE_FROM: Final = "mirror"
"""File of a guarded copy with the number of its mirror."""
_LIMITS: Final = SnapshotLimits()
_THREADS: Final = 2
"""Number of parallel copies: most of the time is spent in the system."""
_RESERVE: Final = 64 << 20
"""Bytes that a mirror leaves free on the disk."""


_BOOT: Final = "boot"
"""File of a mirror with the boot in which it was made; empty when it survives a power loss."""
_LONGEST_BOOT: Final = 100


@dataclass(frozen=True, slots=True)
class Mirror:
    """Immutable tree, and the listing of the project at that time."""

    number: int
    tree: Path
    folders: Mapping[str, Folder]

    @property
    def place(self) -> Path:
        return self.tree.parent

    @property
    def _boot(self) -> str:
        return (read_bounded(self.place / _BOOT, _LONGEST_BOOT) or b"").decode()

    @property
    def may_be_torn(self) -> bool:
        """True if the system was started again before the mirror was durable."""
        return self._boot not in ("", boot_id())

    def make_durable(self) -> None:
        """Make the mirror survive a power loss; blocking.

        :raises OSError: its file system cannot be written.
        """
        if self._boot:
            sync_file_system(self.place)
            write_atomic(self.place / _BOOT, b"")


@contextmanager
def locked(guard: Path) -> Iterator[int]:
    """Hold the lock for choosing, making and removing mirrors; blocking. Yields its descriptor."""
    make_private_directory(guard)
    handle = open_private(guard / "lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield handle
    finally:
        os.close(handle)


def newest_mirror(guard: Path) -> Mirror | None:
    """Return the newest mirror; None if there is none, or a power loss may have torn it."""
    numbers = _numbers(guard)
    found = None if not numbers else load_mirror(guard, numbers[-1])
    return None if found is None or found.may_be_torn else found


def load_mirror(guard: Path, number: int) -> Mirror:
    """Return a mirror; with a damaged listing, all files count as changed."""
    place = guard / MIRRORS / str(number)
    known = listing.load(place, _LIMITS)
    return Mirror(number, place / "tree", {} if known is None else known.folders)


def _numbers(guard: Path) -> list[int]:
    try:
        return sorted(int(name) for name in os.listdir(guard / MIRRORS) if name.isdigit())  # noqa: PTH208
    except FileNotFoundError:
        return []


def write_listing(place: Path, folders: Mapping[str, Folder]) -> None:
    """Write the listing of a project's files to a directory."""
    listing.write(place, Listing("", listing.bounds(_LIMITS), (), folders))


def load_folders(place: Path) -> Mapping[str, Folder]:
    """Return the listing in a directory; an unusable listing is empty, and all files count as changed."""
    known = listing.load(place, _LIMITS)
    return {} if known is None else known.folders


class Look:
    """Scan of a project, compared with an earlier listing; blocking.

    :param handle: descriptor of a file in the private state, for its file system's clock.
    """

    def __init__(self, root: Path, query: IgnoreQuery, known: Mapping[str, Folder], handle: int) -> None:
        self.root = root
        self.known = known
        self._clock = listing.file_system_time(handle, root)
        self.found: Scan = scan(root, query, known)
        self.read: dict[str, bytes] = {}
        """Stamps of copied files."""
        self.failed: dict[str, str] = dict(self.found.skipped)
        """Paths that were not copied, with the reason."""

    def gone(self) -> set[str]:
        """Return the paths of the earlier listing that no longer exist, or are ignored now."""
        unknown = Below(self.found.skipped)
        return {path for path in self.found.gone - self.found.changed.keys() if path not in unknown}

    def copy(self, path: str, target: str, cloner: Cloner) -> None:
        """Copy a file or link that the scan found.

        :raises OSError: the copy cannot be written.
        """
        try:
            status = copy_path(f"{self.root}/{path}", target, cloner)
        except (FileNotFoundError, NotADirectoryError):
            self.failed[path] = "was removed meanwhile"
        except PermissionError as error:
            self.failed[path] = f"cannot be read: {error.strerror}"
        else:
            if status is None:
                self.failed[path] = "was replaced meanwhile"
            else:
                self.read[path] = make_stamps([status])

    def folders(self) -> dict[str, Folder]:
        """Return the listing of the copied files; the next scan checks all others again."""
        found = dict(self.found.folders)
        doubtful = {path.rpartition("/")[0] for path in (*self.failed, *self.read)}
        for directory, folder in found.items():
            if folder is not self.known.get(directory) or directory in doubtful:
                prefix = f"{directory}/" if directory else ""
                present = {prefix + name for name in folder.names} - self.failed.keys()
                found[directory] = with_unsure_stamps(folder, prefix, present, self.read, self._clock)
        return found


def build_mirror(guard: Path, look: Look, old: Mirror | None, stop: threading.Event) -> Mirror:
    """Make the next mirror; the caller holds the lock; blocking.

    :param old: earlier mirror, which shares its unchanged files.
    :raises ScratchUnavailable: the project is too large, or `stop` was set.
    :raises OSError: it cannot be written.
    """
    _check_size(guard, look)
    place, handle = claim_place(guard / UNFINISHED)
    try:
        tree = place / "tree"
        make_private_directory(tree, exist_ok=False)
        _Building(look, str(tree), None if old is None else str(old.tree), stop).build()
        folders = look.folders()
        write_listing(place, folders)
        (place / _BOOT).write_text(boot_id())
        number = max(_numbers(guard), default=0) + 1
        make_private_directory(guard / MIRRORS)
        place.rename(guard / MIRRORS / str(number))
    except BaseException:
        release_place(place, handle)
        raise
    os.close(handle)
    return Mirror(number, guard / MIRRORS / str(number) / "tree", folders)


class _Building:
    def __init__(self, look: Look, tree: str, old: str | None, stop: threading.Event) -> None:
        self._look = look
        self._tree = tree
        self._old = old
        self._stop = stop
        self._cloner = Cloner()

    def build(self) -> None:
        from concurrent.futures import ThreadPoolExecutor  # here, because few guarded copies need it

        directories = sorted(self._look.found.folders)
        for directory in directories:
            if directory:
                os.mkdir(f"{self._tree}/{directory}", 0o700)  # noqa: PTH102 there are many
        with ThreadPoolExecutor(_THREADS) as threads:
            for _ in threads.map(self._fill, directories):
                pass
        for directory in reversed(directories):
            _finish(self._look, directory, f"{self._tree}/{directory}")

    def _fill(self, directory: str) -> None:
        if self._stop.is_set():
            raise ScratchUnavailable("the guarded copy was cancelled")
        folder = self._look.found.folders[directory]
        changed = self._look.found.changed
        prefix = f"{directory}/" if directory else ""
        for name, stamp in zip(folder.names, _stamps(folder), strict=True):
            path = prefix + name
            if stat.S_ISDIR(unpack_stamp(stamp)[0]) or path in self._look.failed:
                continue
            target = f"{self._tree}/{path}"
            if self._old is not None and path not in changed:
                with suppress(OSError):  # too many links, or a damaged mirror
                    os.link(f"{self._old}/{path}", target, follow_symlinks=False)
                    continue
            self._look.copy(path, target, self._cloner)


def _stamps(folder: Folder) -> Iterator[bytes]:
    return (folder.stamps[at : at + WIDTH] for at in range(0, len(folder.stamps), WIDTH))


def _finish(look: Look, directory: str, target: str) -> None:
    try:
        finish_directory(f"{look.root}/{directory}", target)
    except OSError as error:  # removed meanwhile, or the superuser's attribute
        look.failed[directory] = f"lacks some of its attributes in the copy: {error.strerror}"


def _check_size(guard: Path, look: Look) -> None:
    files = [entry for entry in look.found.changed.values() if entry.kind == "file"]
    if len(files) > MOST:
        raise ScratchUnavailable(f"{look.root} has more than {MOST:,} files, too many for a guarded copy")
    disk = os.statvfs(guard)
    size, free = sum(entry.size for entry in files), disk.f_bavail * disk.f_frsize
    if size > free - _RESERVE:
        raise ScratchUnavailable(
            f"a guarded copy of {look.root} needs {size >> 20:,} MiB, and {guard} has {free >> 20:,} MiB; "
            "let git ignore directories of large files"
        )


class Delta:
    """Layer over a mirror.

    :param look: the project, compared with the mirror's listing.
    :param whiteouts: create them; otherwise only `hidden` has these paths.
    """

    def __init__(self, look: Look, mirror: Mirror, layer: Path, *, whiteouts: bool) -> None:
        self.hidden: list[str] = []
        self._whiteouts = whiteouts
        self._look = look
        self._mirror = str(mirror.tree)
        self._layer = str(layer)
        self._cloner = Cloner()
        self._made: set[str] = {""}

    def write(self) -> None:
        found = self._look.found
        for path, entry in sorted(found.changed.items()):
            if path in found.skipped:
                continue
            if entry.kind == "directory":
                self.make(path)
            elif self.make(path.rpartition("/")[0]):
                self._look.copy(path, f"{self._layer}/{path}", self._cloner)
        for path in sorted(self._look.gone()):
            self.hide(path)

    def make(self, path: str) -> bool:
        """Create a directory and its parents, if the project has them; return whether it exists."""
        if path in self._made:
            return True
        if not self.make(path.rpartition("/")[0]) or not is_directory(f"{self._look.root}/{path}"):
            return False
        os.mkdir(f"{self._layer}/{path}", 0o700)  # noqa: PTH102 there are many
        self._made.add(path)
        return True

    def finish(self) -> None:
        """Give all directories their modes and times; nothing can be written after this."""
        for path in sorted(self._made, reverse=True):
            _finish(self._look, path, f"{self._layer}/{path}" if path else self._layer)

    def hide(self, path: str) -> None:
        """Hide a path of the mirror, unless a directory above it is hidden."""
        if path not in self._made and os.path.lexists(f"{self._mirror}/{path}"):
            above = path.rpartition("/")[0]
            if self.make(above):
                self.hidden.append(path)
                if self._whiteouts:
                    whiteout(f"{self._layer}/{path}")


def is_directory(path: str) -> bool:
    """Return whether a path is a directory and no link."""
    with suppress(OSError):
        return stat.S_ISDIR(os.lstat(path).st_mode)
    return False


def remove_unused(guard: Path) -> None:
    """Move mirrors away that no guarded copy uses, except the newest; the caller holds the lock; blocking."""
    numbers = _numbers(guard)
    used = set(numbers[-1:])
    for name in (SESSIONS, UNFINISHED):
        if (guard / name).is_dir():
            for place in (guard / name).iterdir():
                with suppress(OSError, ValueError):  # a mirror, or being removed
                    used.add(int((place / MADE_FROM).read_text()))
    for number in set(numbers) - used:
        _, handle = move_to_place(guard / MIRRORS / str(number), guard / UNFINISHED)
        os.close(handle)  # the next sweep removes it
