"""Paths of a scratch copy that are no edits: ignored files, caches, and version control data."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING, Final, Self

from tideate_core.errors import WorkspaceError
from tideate_core.git import SAFE_OPTIONS, find_repository, run_git
from tideate_core.project import real_path
from tideate_core.snapshots.caches import CacheDirectories
from tideate_core.snapshots.entries import NEVER, above
from tideate_core.snapshots.gitignore import NAMES
from tideate_core.snapshots.guarded.ignore_patterns import OPTIONS, TIMEOUT, IgnorePatterns
from tideate_core.workspace import is_temporary

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

_TRACKED: Final = ("ls-files", "-z", "--stage")
_REPOSITORY: Final = b"160000 "
"""Mode of a repository within the repository."""


class IgnoredNames:
    """Answers of one `git check-ignore` process, for paths that need not exist; without git, names decide.

    The project's own `.gitignore` counts, not the one in the scratch copy.

    :param root: of the project.
    :param view: where this process sees the scratch copy.
    """

    def __init__(self, root: Path, view: Path) -> None:
        self._root = root
        self._caches = CacheDirectories(view)
        self._patterns: IgnorePatterns | None = None
        self._told: dict[str, bytes] = {}
        """Deciding pattern by path; a path that ends with `/` is a directory."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._patterns is not None:
            self._patterns.close()

    def look_up(self, paths: Collection[tuple[str, bool]]) -> None:
        """Ask about many paths at once, which is much faster than to ask about each one; blocking.

        :param paths: paths, and whether they are directories.
        """
        self._ask([path for path, _ in paths if path not in self._told and not _is_never(path)])
        self._ask([f"{path}/" for path, directory in paths if directory and self._told.get(path) == b""])

    def has(self, path: str, *, directory: bool) -> bool:
        """Return whether a path is ignored; blocking.

        Must not be called for paths inside ignored directories.
        """
        if _is_never(path):
            return True
        if directory and self._caches.contain(path):
            return True
        pattern = self._pattern(path)
        if pattern == b"" and directory:
            # git takes a missing path for a file unless it ends with `/`; but then `x/*` matches
            told = self._pattern(path + "/") or b""
            pattern = told if told.endswith(b"/") else b""
        by_name = directory and path.rpartition("/")[2] in NAMES
        if pattern is None or ((pattern or by_name) and self._is_in_other_repository(path)):
            return by_name
        if not pattern or pattern.startswith(b"!"):
            return False
        # git may track files in an ignored directory
        return path not in self._tracked

    def _pattern(self, path: str) -> bytes | None:
        """Return git's deciding pattern for a path; None if git does not answer."""
        if path not in self._told:
            self._ask([path])
        return self._told.get(path)

    def _ask(self, paths: Sequence[str]) -> None:
        if not paths:
            return
        if self._patterns is None:
            # an outer repository that ignores the project says nothing about its parts
            self._patterns = IgnorePatterns(None if self._is_ignored_itself() else self._root)
        self._told.update(zip(paths, self._patterns.ask(paths), strict=False))

    def _is_in_other_repository(self, path: str) -> bool:
        """Return whether git does not apply its patterns to a path."""
        return any(way in self._repositories for way in above(path))

    @cached_property
    def _index(self) -> list[tuple[str, bool]]:
        """Tracked paths below the root, and whether they are repositories."""
        entries = _printed(self._root, *_TRACKED, options=SAFE_OPTIONS).split(b"\0")[:-1]
        return [(os.fsdecode(entry.partition(b"\t")[2]), entry.startswith(_REPOSITORY)) for entry in entries]

    @cached_property
    def _repositories(self) -> frozenset[str]:
        return frozenset(path for path, is_repository in self._index if is_repository)

    @cached_property
    def _tracked(self) -> frozenset[str]:
        """Tracked paths, and the directories above them."""
        return frozenset(way for path, _ in self._index for way in (path, *above(path)))

    def _is_ignored_itself(self) -> bool:
        if (self._root / ".git").exists():
            return False
        return bool(_printed(self._root.parent, "check-ignore", f"./{self._root.name}", options=OPTIONS))


def _is_never(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.casefold() in NEVER or is_temporary(name)


def _printed(cwd: Path, *command: str, options: Sequence[str]) -> bytes:
    """Return git's output; empty if it fails or takes too long."""
    try:
        repository = find_repository(real_path(cwd))
        return run_git(repository, *command, cwd=cwd, options=options, patience=TIMEOUT).out
    except WorkspaceError:
        return b""
