"""Every path below a root as it stands now; no file is read."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tideate_core.workspace.snapshots.entries import NEVER, Entry, is_ours
from tideate_core.workspace.snapshots.ignored import Ignored, Question
from tideate_core.workspace.snapshots.limits import MIB

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from tideate_core.workspace.snapshots.limits import SnapshotLimits

__all__ = ["Scan", "scan"]

_ODD: Final = "neither a file nor a link nor a directory"


@dataclass(slots=True)
class Scan:
    """What was found."""

    entries: list[Entry] = field(default_factory=list)
    """Sorted by path; files that have to be read have no hash yet."""
    skipped: dict[str, str] = field(default_factory=dict)
    """Why a path, and everything below it, is not among the entries."""
    ignored: set[str] = field(default_factory=set)
    """Directories that git ignores and what is never looked at: not entered, unless that was wanted."""
    ignored_files: set[str] = field(default_factory=set)
    """Files that git ignores; they are entries all the same."""


def scan(
    root: Path,
    question: Question,
    limits: SnapshotLimits,
    known: Mapping[str, Entry] | None = None,
    enter: Collection[str] = (),
) -> Scan:
    """Look at everything below a root; links are never followed.

    :param question: to git, about the root.
    :param known: files with their hashes, which are taken over where they look untouched.
    :param enter: directories that are looked into even if git ignores them.
    """
    walk = _Walk(root, limits.ignored_directories, known or {}, enter)
    walk.run(question.answer())
    walk.found.entries.sort()
    _cap(walk.found, limits)
    return walk.found


class _Walk:
    def __init__(
        self, root: Path, enter_all: bool, known: Mapping[str, Entry], enter: Collection[str]
    ) -> None:
        self.found = Scan()
        self._root = root
        self._base = os.path.join(root, "")  # noqa: PTH118 joined below as text, once for each path
        self._enter_all = enter_all
        self._known = known
        self._enter = enter
        self._pending: list[tuple[str, Ignored]] = []

    def run(self, ignored: Ignored) -> None:
        self.found.ignored_files |= ignored.files
        self._pending.append(("", ignored))
        while self._pending:
            directory, ignored = self._pending.pop()
            try:
                with os.scandir(self._base + directory) as found:
                    entries = list(found)
            except FileNotFoundError:
                continue  # removed meanwhile
            except OSError as error:
                self.found.skipped[directory or "."] = f"cannot be read: {error.strerror}"
                continue
            self._look(directory, entries, ignored)

    def _look(self, directory: str, entries: list[os.DirEntry[str]], ignored: Ignored) -> None:
        prefix = f"{directory}/" if directory else ""
        if directory and any(entry.name == ".git" for entry in entries):
            with Question(self._root / directory, prefix) as question:
                ignored = question.answer()
            self.found.ignored_files |= ignored.files
        add, known = self.found.entries.append, self._known.get
        for entry in entries:
            name = entry.name
            path = prefix + name
            if name[0] == "." and (name.casefold() in NEVER or is_ours(name)):
                self.found.ignored.add(path)
                continue
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue  # removed meanwhile
            except OSError as error:
                self.found.skipped[path] = f"cannot be read: {error.strerror}"
                continue
            if stat.S_ISREG(status.st_mode):
                old = known(path)
                # not in a function: every file of a project comes here
                if old is not None and old[3:7] == (
                    status.st_size,
                    status.st_mtime_ns,
                    status.st_ctime_ns,
                    status.st_ino,
                ):
                    add(old)
                else:
                    add(_file(path, status))
            else:
                self._other(path, name, status.st_mode, ignored)

    def _other(self, path: str, name: str, mode: int, ignored: Ignored) -> None:
        if stat.S_ISDIR(mode):
            if ignored.has_directory(path, name):
                self.found.ignored.add(path)
                if not (self._enter_all or path in self._enter):
                    return
            self.found.entries.append(Entry(path, "directory", stat.S_IMODE(mode), 0, 0, 0, 0, "", ""))
            self._pending.append((path, ignored))
        elif stat.S_ISLNK(mode):
            try:
                target = os.readlink(self._base + path)  # noqa: PTH115 as it is written
            except OSError as error:
                self.found.skipped[path] = f"cannot be read: {error.strerror}"
            else:
                self.found.entries.append(Entry(path, "link", 0, 0, 0, 0, 0, "", target))
        else:
            self.found.skipped[path] = _ODD


def _file(path: str, status: os.stat_result) -> Entry:
    return Entry(
        path,
        "file",
        status.st_mode & 0o7777,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
        status.st_ino,
        "",
        "",
    )


def _cap(found: Scan, limits: SnapshotLimits) -> None:
    """Leave out what is over the limits; what the path comes first decides where a limit cuts."""
    total = sum(entry.size for entry in found.entries)
    largest = max((entry.size for entry in found.entries), default=0)
    if total <= limits.max_total and largest <= limits.max_file and len(found.entries) <= limits.max_files:
        return
    kept: list[Entry] = []
    total = 0
    for entry in found.entries:
        why = _over(entry, len(kept), total, limits)
        if why is None:
            kept.append(entry)
            total += entry.size
        else:
            found.skipped[entry.path] = why
    found.entries = kept


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
