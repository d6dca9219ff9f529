"""Paths of a scratch copy that are no edits: ignored files, caches, and version control data."""

from __future__ import annotations

import os
import select
import subprocess
from typing import TYPE_CHECKING, Final, Self

from tideate_core.errors import WorkspaceError
from tideate_core.git import SAFE_OPTIONS, find_repository, refuse_pipes, run_git, start_git
from tideate_core.project import real_path
from tideate_core.snapshots.caches import CacheDirectories
from tideate_core.snapshots.entries import NEVER
from tideate_core.snapshots.gitignore import NAMES
from tideate_core.workspace import is_temporary

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_OPTIONS: Final = tuple(word for word in SAFE_OPTIONS if word != "--literal-pathspecs")
"""`check-ignore` rejects this option; a path that starts with `./` is taken literally."""
_COMMAND: Final = ("check-ignore", "--stdin", "-z", "--verbose", "--non-matching")
_TRACKED: Final = ("ls-files", "-z", "--")
_FIELDS: Final = 4
"""Fields of an answer: source, line, pattern, path."""
_TIMEOUT: Final = 10.0
"""Seconds for an answer; then names decide."""
_SILENT: Final = 1.0
"""Seconds until the reason for the delay is checked."""
_CHUNK: Final = 65_536


class IgnoredNames:
    """Answers of one `git check-ignore` process, for paths that need not exist; without git, names decide.

    The project's own `.gitignore` counts, not the one in the scratch copy.

    :param root: of the project.
    :param view: where this process sees the scratch copy.
    """

    def __init__(self, root: Path, view: Path) -> None:
        self._root = root
        self._top = root
        self._caches = CacheDirectories(view)
        self._git: subprocess.Popen[bytes] | None = None
        self._asked = False
        self._read = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def has(self, path: str, *, directory: bool) -> bool:
        """Return whether a path is ignored; blocking.

        Must not be called for paths inside ignored directories.
        """
        name = path.rpartition("/")[2]
        if name.casefold() in NEVER or is_temporary(name):
            return True
        if directory and self._caches.contain(path):
            return True
        pattern = self._ask(path)
        if pattern is None:
            return directory and name in NAMES
        if not pattern and directory:
            # git takes a missing path for a file unless it ends with `/`; but then `x/*` matches
            told = self._ask(path + "/") or b""
            pattern = told if told.endswith(b"/") else b""
        if not pattern or pattern.startswith(b"!"):
            return False
        # git may track files in an ignored directory
        return not (directory and _printed(self._root, *_TRACKED, path, options=SAFE_OPTIONS))

    def _ask(self, path: str) -> bytes | None:
        """Return git's deciding pattern for a path; None if git does not answer."""
        if not self._asked:
            self._asked = True
            self._start()
        if self._git is None or self._git.stdin is None:
            return None
        try:
            self._git.stdin.write(b"./" + os.fsencode(path) + b"\0")
            self._git.stdin.flush()
            _, _, pattern, _ = self._answer()
        except (OSError, ValueError, WorkspaceError):
            self._end()  # no repository, a path in another one, or a pipe
            return None
        return pattern

    def _start(self) -> None:
        if self._is_ignored_itself():
            return  # an outer repository ignores the project, which says nothing about its parts
        try:
            repository = find_repository(real_path(self._root))
            self._top = repository.top
            self._git = start_git(
                repository, *_COMMAND, cwd=self._root, options=_OPTIONS, stdin=subprocess.PIPE
            )
        except WorkspaceError:
            self._git = None

    def _answer(self) -> list[bytes]:
        """Read the fields of one answer.

        :raises ValueError: there is no answer in time.
        :raises WorkspaceError: git waits for a pipe.
        """
        assert self._git is not None and self._git.stdout is not None  # noqa: S101 it was asked
        descriptor = self._git.stdout.fileno()
        while self._read.count(b"\0") < _FIELDS:
            ready, _, _ = select.select([descriptor], [], [], _SILENT)
            if not ready:
                refuse_pipes(self._top)
                ready, _, _ = select.select([descriptor], [], [], _TIMEOUT)
            data = os.read(descriptor, _CHUNK) if ready else b""
            if not data:
                raise ValueError("git does not answer")
            self._read += data
        *fields, self._read = self._read.split(b"\0", _FIELDS)
        return fields

    def _end(self) -> None:
        if self._git is not None:
            self._git.kill()
            self._git.communicate()
            self._git = None

    def _is_ignored_itself(self) -> bool:
        if (self._root / ".git").exists():
            return False
        return bool(_printed(self._root.parent, "check-ignore", f"./{self._root.name}", options=_OPTIONS))


def _printed(cwd: Path, *command: str, options: Sequence[str]) -> bytes:
    """Return git's output; empty if it fails or takes too long."""
    try:
        repository = find_repository(real_path(cwd))
        return run_git(repository, *command, cwd=cwd, options=options, patience=_TIMEOUT).out
    except WorkspaceError:
        return b""
