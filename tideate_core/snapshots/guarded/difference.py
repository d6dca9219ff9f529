"""Difference between a guarded copy and its base, as images of both sides."""

from __future__ import annotations

import stat
from collections import deque
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from tideate_core.snapshots.guarded.base import LARGEST, TooLarge, lstat, read_bounded_image
from tideate_core.snapshots.limits import MIB
from tideate_core.workspace import ABSENT, FileImage, OutsideChanges, file_or_link

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection, Iterable
    from pathlib import Path

    from tideate_core.snapshots.guarded.base import Base
    from tideate_core.snapshots.guarded.ignoring import IgnoredNames

MOST: Final = 20_000
"""Most paths of a difference; more could not be reviewed."""
MOST_READ: Final = 40_000
"""Paths after which no more are read; they stay in the copy for later."""
MOST_BYTES: Final = 512 * MIB
"""Most bytes of all images, which are in memory."""
ADVICE: Final = "; land or delete the first ones, or let git ignore a directory"

_GIVES_RIGHTS: Final = stat.S_ISUID | stat.S_ISGID


@dataclass(frozen=True, slots=True)
class ScratchDifference(OutsideChanges):
    """Changes in a guarded copy.

    A created file has an absent image before, a deleted one an absent image after. Both sides are complete,
    including binaries and links. `made` and `removed` are directories.
    """

    moved: dict[str, str] = field(default_factory=dict)
    """New path → old path of moved files; both are also in `files`."""
    ignored: list[str] = field(default_factory=list)
    """Changed paths that are no edits: `.git`, `.tideate`, caches, ignored files. Directories end with ``/``;
    their content is not listed."""
    left: dict[str, str] = field(default_factory=dict)
    """Changed paths without images, with the reason."""

    def __bool__(self) -> bool:
        return OutsideChanges.__bool__(self) or bool(self.left)

    def without(self, paths: Collection[str]) -> ScratchDifference:
        """Return the changes of other files, with the directories that hold none of these paths."""
        files = {path: images for path, images in self.files.items() if path not in paths}
        modes = {path: both for path, both in self.modes.items() if path not in paths}
        above = {str(parent) for path in paths for parent in PurePosixPath(path).parents}
        return ScratchDifference(
            files, modes, [path for path in self.made if path not in above], dict(self.removed)
        )


@dataclass(frozen=True, slots=True)
class Found:
    """Path of a guarded copy that may differ."""

    path: str
    where: Path | None
    """Path to read; None if it was deleted."""
    problem: str = ""
    """Why the path and everything below it are unknown."""


def read_difference(
    found: Iterable[Found],
    base: Base,
    names: IgnoredNames,
    as_in_project: Callable[[FileImage], FileImage],
) -> ScratchDifference:
    """Compare candidate paths with the base; blocking.

    :param found: outer paths first, without the content of ignored directories.
    :param names: paths to ignore, such as those of git.
    :param as_in_project: converts an image of the copy into the project's form.
    """
    comparison = _Comparison(base, names, as_in_project)
    for one in found:
        comparison.add(one)
        if comparison.is_full(one.path):
            break
    return comparison.difference()


class _Comparison:
    def __init__(
        self, base: Base, names: IgnoredNames, as_in_project: Callable[[FileImage], FileImage]
    ) -> None:
        self._as_in_project = as_in_project
        self._base = base
        self._names = names
        self._done: set[str] = set()
        self._new: set[str] = set()
        """Directories with nothing in the base."""
        self._size = 0
        self._files: dict[str, tuple[FileImage, FileImage]] = {}
        self._modes: dict[str, tuple[int, int]] = {}
        self._made: list[str] = []
        self._removed: dict[str, int] = {}
        self._ignored: set[str] = set()
        self._left: dict[str, str] = {}

    def add(self, found: Found) -> None:
        """Compare a path and, if it was removed, the paths below it."""
        pending = deque([found])
        while pending:
            one = pending.popleft()
            if one.problem:
                self._left[one.path] = one.problem
                continue
            if one.path in self._done:
                continue
            self._done.add(one.path)
            try:
                was = None if self._is_new(one.path) else self._base.directory_mode(one.path)
                now = None if one.where is None else lstat(one.where)
            except OSError as error:
                self._left[one.path] = f"cannot be read: {error.strerror}"
                continue
            is_directory = now is not None and stat.S_ISDIR(now.st_mode)
            if self._names.has(one.path, directory=is_directory or (was is not None and now is None)):
                self._ignored.add(one.path + "/" if is_directory or was is not None else one.path)
            elif now is not None and is_directory:
                self._directory(one, was, stat.S_IMODE(now.st_mode))
            elif was is not None:
                self._removed[one.path] = was
                below = [*self._base.below(one.path)]
                self._names.look_up([(path, False) for path in below])
                pending.extend(Found(path, None) for path in below)
                self._file(one, now)
            else:
                self._file(one, now)

    def is_full(self, path: str) -> bool:
        """Return whether no more paths are read, and name the last one."""
        if len(self._done) < MOST_READ:
            return False
        self._left[path] = f"and later paths come after the {MOST_READ:,} that are read{ADVICE}"
        return True

    def difference(self) -> ScratchDifference:
        """Return the sorted difference."""
        return ScratchDifference(
            dict(sorted(self._files.items())),
            dict(sorted(self._modes.items())),
            sorted(self._made),
            dict(sorted(self._removed.items())),
            _moves(self._files),
            sorted(self._ignored),
            dict(sorted(self._left.items())),
        )

    def _is_new(self, path: str) -> bool:
        return path.rpartition("/")[0] in self._new

    def _directory(self, found: Found, was: int | None, now: int) -> None:
        path = found.path
        if was is None:
            self._made.append(path)
            if self._base.is_of_layers:
                self._new.add(path)
            self._file(found, None)
        elif was != now:
            self._modes[path] = (was, now)

    def _file(self, found: Found, now: os.stat_result | None) -> None:
        path = found.path
        if now is not None and not (stat.S_ISREG(now.st_mode) or stat.S_ISLNK(now.st_mode)):
            self._left[path] = "is neither a file nor a link nor a directory"
            return
        try:
            self._compare(found, now)
        except TooLarge:
            self._left[path] = f"has more than {LARGEST // MIB} MiB"
        except OSError as error:
            self._left[path] = f"cannot be read: {error.strerror}"

    def _compare(self, found: Found, now: os.stat_result | None) -> None:
        path, is_full = found.path, len(self._files) >= MOST or self._size > MOST_BYTES
        before = FileImage(ABSENT) if self._is_new(path) else self._base.image(path)
        after = FileImage(ABSENT)
        if is_full and now is not None and before.state == ABSENT:  # it is not read in vain
            self._left[path] = _rest()
            return
        if now is not None and found.where is not None:
            after = self._as_in_project(read_bounded_image(found.where))
        before = file_or_link(before)  # directories are compared separately
        if before.state.kind == "other":
            before = FileImage(ABSENT)
        if after.state.kind == "file" and (gained := after.state.mode & ~before.state.mode & _GIVES_RIGHTS):
            self._left[path] = "gets the rights of its owner or group (set-ID), which does not land"
            after = FileImage.of_file(after.data, after.state.mode & ~gained, after.metadata)
        if before.state == after.state:
            return
        self._size += len(before.data) + len(after.data)
        if is_full or self._size > MOST_BYTES:
            self._left[path] = _rest()
            return
        if not before.state.holds_same_as(after.state):
            self._files[path] = (before, after)
        if before.state.kind == after.state.kind == "file" and before.state.mode != after.state.mode:
            self._modes[path] = (before.state.mode, after.state.mode)


def _rest() -> str:
    return f"comes after the {MOST:,} paths or {MOST_BYTES // MIB} MiB of a difference{ADVICE}"


def _moves(files: dict[str, tuple[FileImage, FileImage]]) -> dict[str, str]:
    """Return new path → old path of files with unique equal content."""
    gone: dict[str, list[str]] = {}
    came: dict[str, list[str]] = {}
    for path, (before, after) in files.items():
        if after.state == ABSENT and before.state.kind == "file" and before.data:
            gone.setdefault(before.state.digest, []).append(path)
        elif before.state == ABSENT and after.state.kind == "file" and after.data:
            came.setdefault(after.state.digest, []).append(path)
    return {
        new[0]: old[0]
        for content, new in came.items()
        if len(new) == 1 and len(old := gone.get(content, [])) == 1
    }
