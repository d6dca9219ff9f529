"""Paths of a scratch copy that are nobody's edit: what git ignores, caches, and the histories of projects."""

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

__all__ = ["IgnoredNames"]

_OPTIONS: Final = tuple(word for word in SAFE_OPTIONS if word != "--literal-pathspecs")
"""What asks about ignored paths refuses that; a path that begins with `./` is taken as it is."""
_COMMAND: Final = ("check-ignore", "--stdin", "-z", "--verbose", "--non-matching")
_TRACKED: Final = ("ls-files", "-z", "--")
_FIELDS: Final = 4
"""Of an answer: source, line, pattern, path."""
_TIMEOUT: Final = 10.0
"""Seconds for an answer; after that the names decide."""
_SILENT: Final = 1.0
"""Seconds after which the reason is looked for."""
_CHUNK: Final = 65_536


class IgnoredNames:
    """Answers of one `git check-ignore`, about paths that need not exist; without git, names decide.

    What the project's own `.gitignore` says counts, not what a scratch copy made of it.

    :param root: of the project.
    :param view: where the scratch copy is seen.
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
        """Tell whether a change of a path is nobody's edit; blocking.

        Of what is in an ignored directory nothing is to be asked.
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
            # one that is not in the project is no directory for git, unless it is told; but then `x/*` fits
            told = self._ask(path + "/") or b""
            pattern = told if told.endswith(b"/") else b""
        if not pattern or pattern.startswith(b"!"):
            return False
        return not (directory and self._has_tracked(path))

    def _ask(self, path: str) -> bytes | None:
        """Ask git for the pattern that decides about a path; None: there is no git that answers."""
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
            return  # by a repository around it, which says nothing about its parts
        try:
            repository = find_repository(real_path(self._root))
            self._top = repository.top
            self._git = start_git(
                repository, *_COMMAND, cwd=self._root, options=_OPTIONS, stdin=subprocess.PIPE
            )
        except WorkspaceError:
            self._git = None

    def _answer(self) -> list[bytes]:
        """Return the fields of one answer.

        :raises ValueError: there is none, or not in time.
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

    def _has_tracked(self, path: str) -> bool:
        """Tell whether git has files in a directory that it ignores."""
        return bool(_printed(self._root, *_TRACKED, path, options=SAFE_OPTIONS))

    def _is_ignored_itself(self) -> bool:
        if (self._root / ".git").exists():
            return False
        return bool(_printed(self._root.parent, "check-ignore", f"./{self._root.name}", options=_OPTIONS))


def _printed(cwd: Path, *command: str, options: Sequence[str]) -> bytes:
    """Return what git prints; nothing where it fails or takes too long."""
    try:
        repository = find_repository(real_path(cwd))
        return run_git(repository, *command, cwd=cwd, options=options, patience=_TIMEOUT).out
    except WorkspaceError:
        return b""
