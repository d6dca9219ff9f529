"""Scan of all paths below a root for differences from a listing, without reading files."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tideate_core.snapshots.caches import CacheDirectories
from tideate_core.snapshots.entries import NEVER, Entry
from tideate_core.snapshots.gitignore import AllIgnored, IgnoreQuery
from tideate_core.snapshots.limits import MIB
from tideate_core.snapshots.listing import Folder, make_stamps, unpack_stamp
from tideate_core.workspace import is_temporary

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from tideate_core.snapshots.gitignore import IgnoredPaths
    from tideate_core.snapshots.limits import SnapshotLimits

_ODD: Final = "is neither a file nor a link nor a directory"
_BITS: Final = 0o7777
_OPEN: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(slots=True)
class Scan:
    """Result of a scan."""

    folders: dict[str, Folder] = field(default_factory=dict)
    """Scanned directories; an unchanged one is the listing's own object."""
    changed: dict[str, Entry] = field(default_factory=dict)
    """New entries and entries that may differ from the listing's snapshot; files have no hash yet."""
    gone: set[str] = field(default_factory=set)
    """Paths that may be in the listing's snapshot and no longer exist."""
    skipped: dict[str, str] = field(default_factory=dict)
    """Paths left out with everything below them, and the reason."""
    ignored: set[str] = field(default_factory=set)
    """Ignored or excluded directories, not entered unless requested."""
    ignored_files: set[str] = field(default_factory=set)
    """Ignored files; they are included nevertheless."""

    def over(self, before: Mapping[str, Entry]) -> dict[str, Entry]:
        """Return all paths, sorted, given the entries of the listing's snapshot."""
        entries = dict(before)
        for path in self.gone:
            entries.pop(path, None)
        is_sorted = entries.keys() >= self.changed.keys()
        entries |= self.changed
        return entries if is_sorted else dict(sorted(entries.items()))


def scan(
    root: Path,
    query: IgnoreQuery | None,
    folders: Mapping[str, Folder],
    *,
    enter_all: bool = False,
    enter: Collection[str] = (),
    leave: Collection[str] = (),
    left_out: Collection[str] = (),
) -> Scan:
    """Scan everything below a root; links are never followed.

    :param query: git query of ignored paths for the root; None asks no git, and counts every directory as
        ignored.
    :param folders: earlier listing of the folders.
    :param enter_all: enter ignored directories.
    :param enter: directories to enter even if they are ignored.
    :param leave: directories that count as ignored.
    :param left_out: names of ignored directories that `enter_all` does not enter; with any, it does not enter
        caches either.
    """
    ignored = AllIgnored() if query is None else query.answer()
    walk = _Walk(root, folders, enter, leave, left_out, enter_all=enter_all, ask_git=query is not None)
    walk.found.ignored_files |= ignored.files
    walk.walk(ignored)
    return walk.found


class _Walk:
    def __init__(
        self,
        root: Path,
        folders: Mapping[str, Folder],
        enter: Collection[str],
        leave: Collection[str],
        left_out: Collection[str],
        *,
        enter_all: bool,
        ask_git: bool,
    ) -> None:
        self.found = Scan()
        self._root = root
        self._base = os.path.join(root, "")  # noqa: PTH118 joined below as text, once for each directory
        self._known = folders
        self._enter_all = enter_all
        self._enter = enter
        self._leave = leave
        self._left_out = left_out
        self._caches = CacheDirectories(root)
        self._ask_git = ask_git
        self._pending: list[tuple[str, IgnoredPaths]] = []

    def walk(self, ignored: IgnoredPaths) -> None:
        found = self.found
        self._pending.append(("", ignored))
        while self._pending:
            directory, ignored = self._pending.pop()
            try:
                handle = os.open(self._base + directory, _OPEN)
            except (FileNotFoundError, NotADirectoryError):
                continue  # removed or replaced meanwhile
            except OSError as error:
                found.skipped[directory or "."] = f"cannot be read: {error.strerror}"
                continue
            try:
                self._look(directory, handle, ignored)
            except OSError as error:
                found.skipped[directory or "."] = f"cannot be read: {error.strerror}"
            finally:
                os.close(handle)
        for directory in self._known.keys() - found.folders.keys():
            found.gone.update(_path(directory, name) for name in self._known[directory].names)

    def _look(self, directory: str, handle: int, ignored: IgnoredPaths) -> None:
        with os.scandir(handle) as listed:
            entries = list(listed)
        if directory and self._ask_git and any(entry.name == ".git" for entry in entries):
            with IgnoreQuery(self._root / directory, f"{directory}/") as query:
                ignored = nested = query.answer()
            self.found.ignored_files |= nested.files
        kept: list[os.DirEntry[str]] = []
        seen: list[os.stat_result] = []
        for entry in entries:
            name = entry.name
            if name[0] == "." and (name.casefold() in NEVER or is_temporary(name)):
                self.found.ignored.add(_path(directory, name))  # no snapshot contains it
                continue
            try:
                seen.append(entry.stat(follow_symlinks=False))
            except FileNotFoundError:
                continue  # removed meanwhile
            except OSError as error:
                self.found.skipped[_path(directory, name)] = f"cannot be read: {error.strerror}"
            else:
                kept.append(entry)
        folder, known = Folder([entry.name for entry in kept], make_stamps(seen)), self._known.get(directory)
        if folder == known:
            self.found.folders[directory] = known
            inner = [entry.name for entry in kept if entry.is_dir(follow_symlinks=False)]
        else:
            self.found.folders[directory] = folder
            inner = self._compare(directory, handle, folder, known)
        for name in inner:
            self._enter_one(directory, name, folder, ignored)

    def _compare(self, directory: str, handle: int, folder: Folder, known: Folder | None) -> list[str]:
        """Record the differences in a directory; return its subdirectories."""
        found, before = self.found, {} if known is None else known.by_name()
        inner: list[str] = []
        now = folder.by_name()
        found.gone.update(_path(directory, name) for name in before.keys() - now.keys())
        for name, stamp in now.items():
            path, was = _path(directory, name), before.get(name)
            mode, size, *_ = unpack_stamp(stamp)
            if stat.S_ISDIR(mode):
                inner.append(name)
                if was is None or unpack_stamp(was)[0] != mode:
                    found.changed[path] = _directory(path, mode)
            elif stamp == was:
                continue
            elif stat.S_ISREG(mode):
                found.changed[path] = _file(path, mode, size)
            elif stat.S_ISLNK(mode):
                self._link(path, name, handle)
            else:
                found.gone.add(path)
                found.skipped[path] = _ODD
        return inner

    def _link(self, path: str, name: str, handle: int) -> None:
        try:
            target = os.readlink(name, dir_fd=handle)
        except OSError as error:
            self.found.gone.add(path)
            if not isinstance(error, FileNotFoundError):
                self.found.skipped[path] = f"cannot be read: {error.strerror}"
        else:
            self.found.changed[path] = Entry(path, "link", 0, 0, "", target)

    def _enter_one(self, directory: str, name: str, folder: Folder, ignored: IgnoredPaths) -> None:
        """Schedule a subdirectory for the scan unless it is ignored."""
        path = _path(directory, name)
        if path in self._leave or ignored.has_directory(path, name):
            self.found.ignored.add(path)
            if path not in self._enter and not self._enters_ignored(path, name):
                self.found.changed.pop(path, None)
                self.found.gone.add(path)
                return
            if self._left_out:
                ignored = AllIgnored()  # git names no directories within an ignored one
        if path not in self._known and path not in self.found.changed:  # it was ignored until now
            self.found.changed[path] = _directory(path, unpack_stamp(folder.by_name()[name])[0])
        self._pending.append((path, ignored))

    def _enters_ignored(self, path: str, name: str) -> bool:
        if not self._enter_all or path in self._leave:
            return False
        return not self._left_out or (name not in self._left_out and not self._caches.contain(path))


def _path(directory: str, name: str) -> str:
    return f"{directory}/{name}" if directory else name


def _directory(path: str, mode: int) -> Entry:
    return Entry(path, "directory", mode & _BITS, 0, "", "")


def _file(path: str, mode: int, size: int) -> Entry:
    return Entry(path, "file", mode & _BITS, size, "", "")


def remove_over_limits(
    entries: dict[str, Entry], limits: SnapshotLimits, spare: Collection[str] = ()
) -> dict[str, str]:
    """Remove entries over the limits and return the reasons; the first paths stay.

    :param spare: paths for which only the limit of a file holds.
    """
    total = sum(entry.size for entry in entries.values())
    largest = max((entry.size for entry in entries.values()), default=0)
    if total <= limits.max_total and largest <= limits.max_file and len(entries) <= limits.max_files:
        return {}
    left_out: dict[str, str] = {}
    count = total = 0
    for path, entry in entries.items():
        why = _over(entry, count, total, limits)
        if why is None or (path in spare and entry.size <= limits.max_file):
            count += 1
            total += entry.size
        else:
            left_out[path] = why
    for path in left_out:
        del entries[path]
    return left_out


def _over(entry: Entry, count: int, total: int, limits: SnapshotLimits) -> str | None:
    if entry.size > limits.max_file:
        return f"has {_mib(entry.size)}, over the limit of {_mib(limits.max_file)} for a file"
    if total + entry.size > limits.max_total:
        return f"does not fit into the {_mib(limits.max_total)} of a snapshot"
    if count >= limits.max_files:
        return f"comes after the {limits.max_files:,} paths that a snapshot has"
    return None


def _mib(size: int) -> str:
    return f"{size / MIB:,.1f} MiB"
