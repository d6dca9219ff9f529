"""Real copy of a project, with a policy for large directories."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from tideate_core.errors import ScratchUnavailable
from tideate_core.git import alternates_line
from tideate_core.snapshots.gitignore import IgnoreQuery
from tideate_core.snapshots.scratch.cloning import Cloner, shares_blocks
from tideate_core.util.private_files import make_private_directory
from tideate_core.workspace import is_temporary

if TYPE_CHECKING:
    import threading
    from collections.abc import Collection

    from tideate_core.snapshots.gitignore import IgnoredPaths


Treatment: TypeAlias = Literal["copied", "linked", "left out"]
"""A linked directory is a symbolic link to the project's own: writes to it change the project."""

DEPENDENCIES: Final = frozenset(
    {".bundle", ".direnv", ".nox", ".tox", ".venv", "bower_components", "env", "node_modules", "venv"}
)
"""Directories of installed dependencies, if git ignores them."""

OUTPUTS: Final = frozenset(
    {
        ".cache",
        ".eggs",
        ".gradle",
        ".mypy_cache",
        ".next",
        ".nuxt",
        ".parcel-cache",
        ".pytest_cache",
        ".ruff_cache",
        ".turbo",
        "__pycache__",
        "build",
        "coverage",
        "dist",
        "htmlcov",
        "out",
        "target",
    }
)
"""Directories of generated files, if git ignores them."""


def treatment(name: str, *, shares: bool) -> Treatment:
    """Return the treatment of an ignored directory.

    :param shares: copies share their blocks, so that nothing needs a link.
    """
    if not shares and name in DEPENDENCIES:
        return "linked"
    return "left out" if not shares and name in OUTPUTS else "copied"


MOST: Final = 500_000
"""Most entries of a copy; a larger directory is hardly a project."""
_BITS: Final = 0o7777


@dataclass(slots=True)
class Copied:
    """A copy, and the exceptions from it."""

    count: int = 0
    linked: set[str] = field(default_factory=set)
    left_out: set[str] = field(default_factory=set)
    skipped: dict[str, str] = field(default_factory=dict)
    """Paths that could not be copied, with the reason."""

    def notices(self) -> list[str]:
        """Return notices about the copy for the user."""
        said = [
            f"{path} links to the project's own: writes to it change the project"
            for path in sorted(self.linked)
        ]
        if self.left_out:
            said.append(f"left out of the copy: {', '.join(sorted(self.left_out))}")
        return said + [f"{path} is not in the copy: it {why}" for path, why in sorted(self.skipped.items())]


def copy_project(root: Path, tree: Path, *, without: Collection[Path], stop: threading.Event) -> Copied:
    """Copy a project, with times and modes; blocking.

    :param tree: directory to create.
    :param without: tideate's own directories below the root.
    :param stop: set to cancel the copy.
    :raises ScratchUnavailable: the project has too many files, or the copy was cancelled.
    :raises OSError: the copy cannot be written.
    """
    with IgnoreQuery(root) as query:
        copying = _Copying(root, tree, frozenset(without), query.answer(), stop)
    make_private_directory(tree, exist_ok=False)
    copying.copy()
    return copying.copied


class _Copying:
    def __init__(
        self,
        root: Path,
        tree: Path,
        without: frozenset[Path],
        ignored: IgnoredPaths,
        stop: threading.Event,
    ) -> None:
        self.copied = Copied()
        self._root = root
        self._tree = tree
        self._shares = shares_blocks(root, tree.parent)
        self._without = without
        self._ignored = ignored
        self._stop = stop
        self._cloner = Cloner()
        self._pending = [""]
        self._directories: list[tuple[str, os.stat_result]] = [("", root.stat())]

    def copy(self) -> None:
        while self._pending:
            self._copy_directory(self._pending.pop())
        # last: a read-only directory must have its files by then
        for path, status in reversed(self._directories):
            target = self._tree / path
            os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
            target.chmod(status.st_mode & _BITS)

    def _copy_directory(self, directory: str) -> None:
        try:
            entries = sorted(os.scandir(self._root / directory), key=lambda entry: entry.name)
        except OSError as error:
            self.copied.skipped[directory] = f"cannot be read: {error.strerror}"
            return
        for entry in entries:
            if self._stop.is_set():
                raise ScratchUnavailable("the copying was cancelled")
            self.copied.count += 1
            if self.copied.count > MOST:
                raise ScratchUnavailable(f"{self._root} has more than {MOST:,} files, too many for a copy")
            self._copy_entry(f"{directory}/{entry.name}" if directory else entry.name, entry)

    def _copy_entry(self, path: str, entry: os.DirEntry[str]) -> None:
        try:
            status = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                self._directory(path, entry.name, status)
            elif stat.S_ISLNK(status.st_mode):
                self._link(path, Path(entry.path).readlink())
            elif stat.S_ISREG(status.st_mode):
                self._file(path, entry.name, status)
            else:
                self.copied.skipped[path] = "is neither a file nor a link nor a directory"
        except (FileNotFoundError, NotADirectoryError):
            pass  # removed meanwhile
        except PermissionError as error:
            self.copied.skipped[path] = f"cannot be read: {error.strerror}"

    def _directory(self, path: str, name: str, status: os.stat_result) -> None:
        if self._root / path in self._without:
            return
        treated: Treatment = "copied"
        if self._ignored.has_directory(path, name):
            treated = treatment(name, shares=self._shares)
        if treated == "left out":
            self.copied.left_out.add(path)
        elif treated == "linked":
            self.copied.linked.add(path)
            (self._tree / path).symlink_to(self._root / path)
        elif path == ".git/objects":
            self._share_objects(path)
        else:
            (self._tree / path).mkdir(mode=0o700)
            self._directories.append((path, status))
            self._pending.append(path)

    def _share_objects(self, path: str) -> None:
        """Let git read the project's objects and write new ones into the copy."""
        info = self._tree / path / "info"
        info.mkdir(parents=True)
        (info / "alternates").write_bytes(alternates_line(self._root / path))

    def _link(self, path: str, target: Path) -> None:
        if target.is_absolute() and target.is_relative_to(self._root):
            target = self._tree / target.relative_to(self._root)  # otherwise it would lead into the project
        (self._tree / path).symlink_to(target)

    def _file(self, path: str, name: str, status: os.stat_result) -> None:
        if is_temporary(name):
            return
        if path == ".git":
            self.copied.skipped[path] = "leads to a repository outside of the project, which is not copied"
            return
        target = self._tree / path
        self._cloner.copy(self._root / path, target)
        os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
        target.chmod(status.st_mode & _BITS)
