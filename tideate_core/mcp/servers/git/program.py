"""Run git and read its output; translate its failures into messages without foreign paths."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import re
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from mcp.server.mcpserver.exceptions import ToolError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["GitFailed", "GitOutput", "failure", "find_git", "query"]

PATIENCE: Final = 60.0
"""Seconds that git may take to answer a question."""
LARGEST: Final = 16 << 20
"""Bytes of an answer that are read; git is ended after them."""
_CHUNK: Final = 1 << 16
_POLLS: Final = 50
"""Polls for the end of a program that closed its output; then a thread waits for it."""
_SAID: Final = 1 << 16
"""Bytes of the errors that are kept."""
LONGEST: Final = 600
"""Characters of what git said."""

_ABSOLUTE: Final = re.compile(r"(?<![\w./~-])/[^\s'\":,;]*")
_UNSEEN: Final = dict.fromkeys(
    [*(c for c in range(32) if c not in (9, 10)), *range(127, 160), *range(0x202A, 0x202F)]
)
_PREFIXES: Final = ("fatal: ", "error: ", "warning: ", "hint: ")

_KNOWN: Final = (
    ("dubious ownership", "git does not read a repository that belongs to another user; if you trust it, "
     "`git config --global --add safe.directory PATH` says so to git"),
    ("index.lock': File exists", "another git program is writing the index (`.git/index.lock`); try again "
     "when it has ended. If none is running, it crashed: a person may remove that file"),
    (".lock': File exists", "another git program is writing to this repository; try again when it has ended"),
    ("Please tell me who you are", "git does not know who commits: set it with `git config --global "
     "user.name NAME` and `git config --global user.email ADDRESS`"),
    ("auto-detection is disabled", "git does not know who commits: set it with `git config --global "
     "user.name NAME` and `git config --global user.email ADDRESS`"),
    ("empty ident name", "git does not know who commits: set it with `git config --global user.name NAME`"),
    ("does not have any commits yet", "the repository has no commits yet"),
    ("not a git repository", "git finds no repository there that it can read; `git status` tells why"),
)  # fmt: skip


class GitFailed(ToolError):
    """git ended with an error.

    :param said: its own words, for whoever knows what to do about them.
    """

    def __init__(self, message: str, said: str = "", status: int | None = None) -> None:
        super().__init__(message)
        self.said = said
        self.status = status


@dataclass(frozen=True, slots=True)
class GitOutput:
    """Exit status and output of git."""

    status: int
    out: bytes
    said: str
    """Its standard error."""
    whole: bool
    """False where it had more to say than is read."""


def find_git() -> str:
    """Return where git is: only absolute directories of PATH count, for the working directory is anybody's.

    :raises GitFailed: it is not installed.
    """
    for directory in os.get_exec_path():
        path = Path(directory, "git")
        if path.is_absolute() and path.is_file() and os.access(path, os.X_OK):
            return str(path)
    raise GitFailed("git is not installed: no directory of PATH has it")


async def query(
    argv: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    given: bytes = b"",
    largest: int = LARGEST,
    patience: float = PATIENCE,
) -> GitOutput:
    """Run git until it has said all, or enough.

    Cancelling ends it, with all that it started.

    :param argv: begins with the absolute path of git.
    :param given: its standard input.
    :raises GitFailed: it cannot be started, or does not answer in time.
    """
    with _input(given) as stdin:
        reader = _Reader(_start(argv, cwd, environment, stdin), largest)
    try:
        async with asyncio.timeout(patience):
            await reader.ended.wait()
            status = await reader.status() if reader.whole else 0
    except TimeoutError:
        raise GitFailed(f"git did not answer within {patience:.0f} s and was ended") from None
    finally:
        reader.close()
    return GitOutput(status, bytes(reader.out), reader.said.decode("utf-8", "replace"), reader.whole)


@contextlib.contextmanager
def _input(given: bytes) -> Iterator[IO[bytes] | int]:
    if not given:
        yield subprocess.DEVNULL
        return
    with tempfile.TemporaryFile() as file:
        file.write(given)
        file.seek(0)
        yield file


def _start(
    argv: Sequence[str], cwd: Path, environment: Mapping[str, str], stdin: IO[bytes] | int
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(  # noqa: S603 a list and no shell
            argv,
            cwd=cwd,
            env=environment,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            process_group=0,
        )
    except OSError as error:
        hint = ": name fewer files at once" if error.errno == errno.E2BIG else ""
        raise GitFailed(f"git cannot be run ({error.strerror}){hint}") from error


class _Reader:
    """Reader of both output streams, in the event loop: a thread would cost as much as git's start."""

    def __init__(self, process: subprocess.Popen[bytes], largest: int) -> None:
        self.out = bytearray()
        self.said = bytearray()
        self.whole = True
        self.ended = asyncio.Event()
        self._process = process
        self._largest = largest
        self._loop = asyncio.get_running_loop()
        self._open: dict[int, bytearray] = {}
        for pipe, into in ((process.stdout, self.out), (process.stderr, self.said)):
            assert pipe is not None  # noqa: S101 both were asked for
            os.set_blocking(pipe.fileno(), False)
            self._open[pipe.fileno()] = into
            self._loop.add_reader(pipe.fileno(), self._read, pipe.fileno())

    async def status(self) -> int:
        """Wait for the end of a program that has closed its output."""
        for _ in range(_POLLS):
            if (status := self._process.poll()) is not None:
                return status
            await asyncio.sleep(0)
        return await asyncio.to_thread(self._process.wait)

    def close(self) -> None:
        """End whatever has not ended."""
        for descriptor in self._open:
            self._loop.remove_reader(descriptor)
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()

    def _read(self, descriptor: int) -> None:
        data = os.read(descriptor, _CHUNK)
        into = self._open[descriptor]
        if not data:
            self._loop.remove_reader(descriptor)
            del self._open[descriptor]
            if not self._open:
                self.ended.set()
        elif into is self.out:
            into += data
            if len(into) > self._largest:
                self.whole = False
                self.ended.set()
        elif len(into) < _SAID:
            into += data


def failure(command: str, said: str, status: int | None, root: Path) -> GitFailed:
    """Return the error for what git said; no path outside the root is in it."""
    for mark, words in _KNOWN:
        if mark in said:
            return GitFailed(words, said, status)
    shown = "; ".join(_plain(line) for line in said.splitlines() if line.strip())[:LONGEST]
    shown = _ABSOLUTE.sub(lambda found: found[0] if _inside(found[0], root) else "(a path outside)", shown)
    return GitFailed(f"`git {command}` failed: {shown or f'status {status}'}", said, status)


def _plain(line: str) -> str:
    for prefix in _PREFIXES:
        line = line.removeprefix(prefix)
    return line.translate(_UNSEEN).strip()


def _inside(path: str, root: Path) -> bool:
    return path == str(root) or path.startswith(f"{root}/")
