"""Paths that git ignores, by one asynchronous git query per repository."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from tideate_core.errors import WorkspaceError
from tideate_core.git import EXCLUDE_PRIVATE, find_repository, finish, start_git
from tideate_core.project import real_path
from tideate_core.snapshots.entries import above

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

NAMES: Final = frozenset({".tox", ".venv", "__pycache__", "node_modules", "venv"})
"""Directories that count as ignored without git."""

_COMMAND: Final = (
    *("ls-files", "--others", "--ignored", "--exclude-standard", *EXCLUDE_PRIVATE, "--directory", "-z"),
)
_TIMEOUT: Final = 10.0
"""Seconds; then `NAMES` decides."""


@dataclass(frozen=True, slots=True)
class IgnoredPaths:
    """Ignored paths of one repository; without git, `NAMES` decides."""

    directories: frozenset[str] | None = None
    """Relative to the root of the snapshot."""
    files: frozenset[str] = frozenset()

    def has_directory(self, path: str, name: str) -> bool:
        return name in NAMES if self.directories is None else path in self.directories


class AllIgnored(IgnoredPaths):
    """Query without git: every directory is ignored, so that only the filter of a scan decides."""

    def has_directory(self, path: str, name: str) -> bool:
        return True


class IgnoreQuery:
    """Running git query for ignored paths.

    :param directory: the repository, or a directory in one.
    :param prefix: prefix of its paths; empty or ending with ``/``.
    """

    def __init__(self, directory: Path, prefix: str = "") -> None:
        self._prefix = prefix
        self._top = directory
        self._process: subprocess.Popen[bytes] | None = None
        try:
            repository = find_repository(real_path(directory))
            self._top = repository.top
            self._process = start_git(repository, *_COMMAND, cwd=directory)
        except WorkspaceError:
            return  # no git, or another project's repository: `NAMES` decides

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.communicate()

    def answer(self) -> IgnoredPaths:
        """Wait for git and return the ignored paths."""
        if self._process is None:
            return IgnoredPaths()
        try:
            output, _ = finish(self._process, self._top, _TIMEOUT)
        except WorkspaceError:  # too slow, or blocked by a pipe
            return IgnoredPaths()
        if self._process.returncode:
            return IgnoredPaths()
        return _read([os.fsdecode(name) for name in output.split(b"\0") if name], self._prefix)


def _read(names: list[str], prefix: str) -> IgnoredPaths:
    """Separate ignored directories from directories that only contain ignored paths; git lists both."""
    files = [name for name in names if not name.endswith("/")]
    directories = [name.rstrip("/") for name in names if name.endswith("/")]
    entered = {directory for name in (*files, *directories) for directory in above(name)}
    if "." in directories:
        # an outer repository ignores the whole project, which says nothing about its parts
        return IgnoredPaths()
    return IgnoredPaths(
        frozenset(prefix + name for name in directories if name not in entered),
        frozenset(prefix + name for name in files),
    )
