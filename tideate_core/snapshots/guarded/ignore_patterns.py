"""Questions to one `git check-ignore` process, many at once."""

from __future__ import annotations

import os
import select
import subprocess
from typing import TYPE_CHECKING, Final

from tideate_core.errors import WorkspaceError
from tideate_core.git import SAFE_OPTIONS, find_repository, refuse_pipes, start_git
from tideate_core.project import real_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

OPTIONS: Final = tuple(word for word in SAFE_OPTIONS if word != "--literal-pathspecs")
"""`check-ignore` rejects this option; a path that starts with `./` is taken literally."""
TIMEOUT: Final = 10.0
"""Seconds for an answer; then names decide."""
# with the index, git would compare each path with all tracked files
_COMMAND: Final = ("check-ignore", "--no-index", "--stdin", "-z", "--verbose", "--non-matching")
_FIELDS: Final = 4
"""Fields of an answer: source, line, pattern, path."""
_SILENT: Final = 1.0
"""Seconds until the reason for the delay is checked."""
_CHUNK: Final = 65_536


class IgnorePatterns:
    """Running git process that tells the pattern that decides about a path.

    :param root: of the project; None: no pattern is known.
    """

    def __init__(self, root: Path | None) -> None:
        self._git: subprocess.Popen[bytes] | None = None
        if root is None:
            return
        try:
            repository = find_repository(real_path(root))
            self._top = repository.top
            self._git = start_git(repository, *_COMMAND, cwd=root, options=OPTIONS, stdin=subprocess.PIPE)
        except WorkspaceError:  # no git, or another project's repository
            return
        assert self._git.stdin is not None  # noqa: S101 it was asked for
        os.set_blocking(self._git.stdin.fileno(), False)

    def ask(self, paths: Sequence[str]) -> Iterator[bytes]:
        """Yield the deciding pattern of each path, empty if there is none; fewer if git fails; blocking."""
        if self._git is None or self._git.stdin is None or self._git.stdout is None:
            return
        try:
            yield from self._answers(self._git.stdin.fileno(), self._git.stdout.fileno(), paths)
        except (OSError, ValueError, WorkspaceError):  # it ended, is too slow, or waits for a pipe
            self.close()

    def close(self) -> None:
        """End the process."""
        if self._git is not None:
            self._git.kill()
            self._git.communicate()
            self._git = None

    def _answers(self, asking: int, told: int, paths: Sequence[str]) -> Iterator[bytes]:
        """Write and read by turns, because a full pipe would stop both processes.

        :raises ValueError: there is no answer in time.
        :raises WorkspaceError: git waits for a pipe.
        """
        left = memoryview(b"".join(b"./" + os.fsencode(path) + b"\0" for path in paths))
        answered, rest = 0, b""
        while answered < len(paths):
            readable, writable = self._wait(told, asking if left else None)
            if writable:
                left = left[os.write(asking, left[:_CHUNK]) :]
            if not readable:
                continue
            if not (data := os.read(told, _CHUNK)):
                raise ValueError("git ended")
            *fields, rest = (rest + data).split(b"\0")
            whole = len(fields) // _FIELDS * _FIELDS
            yield from fields[2:whole:_FIELDS]
            answered += whole // _FIELDS
            rest = b"\0".join([*fields[whole:], rest])

    def _wait(self, told: int, asking: int | None) -> tuple[bool, bool]:
        """Wait until git can be read or written."""
        writing = [] if asking is None else [asking]
        for patience in (_SILENT, TIMEOUT):
            readable, writable, _ = select.select([told], writing, [], patience)
            if readable or writable:
                return bool(readable), bool(writable)
            refuse_pipes(self._top)
        raise ValueError("git does not answer")
