"""Run git without running anything that a repository configures."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import stat
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from tideate_core.errors import WorkspaceError
from tideate_core.util.escaping import label

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tideate_core.git.repository import Repository

__all__ = [
    "EXCLUDE_PRIVATE",
    "READ_BY_NAME",
    "SAFE_OPTIONS",
    "WAITS",
    "GitOutput",
    "find_git",
    "finish",
    "git_environment",
    "is_pipe_or_device",
    "query",
    "refuse_pipes",
    "run_git",
    "start_git",
]

SAFE_OPTIONS: Final = (
    *("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "protocol.allow=never"),
    *("-c", "core.untrackedCache=false", "-c", "safe.bareRepository=explicit", "--no-pager"),
    "--literal-pathspecs",
)
"""Beginning of every command. A diff has programs of its own, which its options keep from being run."""

EXCLUDE_PRIVATE: Final = ("-x", ".tideate")
"""For `ls-files`, which then does not look in there: a pipe called `.gitignore` would hold it up for ever."""

READ_BY_NAME: Final = frozenset({".gitignore", ".gitattributes", ".gitmodules", ".mailmap"})
"""Files of a work tree that git opens by their names."""
WAITS: Final = "{name} is a pipe or a device, for which git would wait: remove it"

_OVERRIDES: Final = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    # a repository of which a part is missing must not fetch it, nor start what fetches: not every git knows
    # the first, and the second counts before what the repository allows itself
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    # an object is what its id says, not what refs/replace or a file of grafts puts in its place
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": os.devnull,
    "LC_ALL": "C",
}
PATIENCE: Final = 60.0
"""Seconds that git may take to answer a question."""
LARGEST: Final = 16 << 20
"""Bytes of an answer that are read; git is ended after them."""
_SILENT: Final = 1.0
"""Seconds without an end after which a work tree is searched for pipes that hold git up."""
_CHUNK: Final = 1 << 16
_POLLS: Final = 50
"""Polls for the end of a program that closed its output; then a thread waits for it."""
_SAID: Final = 1 << 16
"""Bytes of the errors that are kept."""


@dataclass(frozen=True, slots=True)
class GitOutput:
    """Exit status and output of git."""

    status: int
    out: bytes
    said: str
    """Its standard error."""
    whole: bool
    """False where it had more to say than is read."""


def git_environment() -> dict[str, str]:
    """Return the environment for git: no variable of ours leads it elsewhere."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    return kept | _OVERRIDES


def find_git() -> str:
    """Return where git is: only absolute directories of PATH count, for the working directory is anybody's.

    :raises WorkspaceError: it is not installed.
    """
    for directory in os.get_exec_path():
        path = Path(directory, "git")
        if path.is_absolute() and path.is_file() and os.access(path, os.X_OK):
            return str(path)
    raise WorkspaceError("git cannot be run: git is not installed, or no directory of PATH has it")


def start_git(
    repository: Repository,
    *arguments: str,
    cwd: Path,
    options: Sequence[str] = SAFE_OPTIONS,
    variables: Mapping[str, str] | None = None,
    stdin: IO[bytes] | int = subprocess.DEVNULL,
    stderr: int = subprocess.DEVNULL,
) -> subprocess.Popen[bytes]:
    """Start git, in a process group of its own, with a pipe for its output.

    :param variables: of the environment, beside those that bind git to the repository.
    :raises WorkspaceError: it cannot be started.
    """
    environment = {**git_environment(), **repository.variables(), **(variables or {})}
    return _start([find_git(), *options, *arguments], cwd, environment, stdin, stderr)


def run_git(
    repository: Repository,
    *arguments: str,
    cwd: Path,
    given: bytes = b"",
    options: Sequence[str] = SAFE_OPTIONS,
    variables: Mapping[str, str] | None = None,
    patience: float = PATIENCE,
) -> GitOutput:
    """Run git to its end; blocking.

    :raises WorkspaceError: it cannot be started, or does not answer in time.
    """
    with _input(given) as stdin:
        process = start_git(
            repository,
            *arguments,
            cwd=cwd,
            options=options,
            variables=variables,
            stdin=stdin,
            stderr=subprocess.PIPE,
        )
    try:
        out, said = finish(process, repository.top, patience)
    finally:
        _kill(process)
    return GitOutput(process.returncode, out, said.decode("utf-8", "replace"), whole=True)


def finish(process: subprocess.Popen[bytes], top: Path, patience: float) -> tuple[bytes, bytes]:
    """Wait for the end of git; return its output and its errors; blocking.

    :param top: its work tree.
    :raises WorkspaceError: it does not answer in time, or waits for a pipe.
    """
    try:
        return process.communicate(timeout=min(_SILENT, patience))
    except subprocess.TimeoutExpired:
        refuse_pipes(top)
    try:
        return process.communicate(timeout=max(0.0, patience - _SILENT))
    except subprocess.TimeoutExpired:
        raise WorkspaceError(f"git did not answer within {patience:g} s") from None


def refuse_pipes(top: Path) -> None:
    """Refuse a work tree with a pipe or a device in place of a file that git opens by its name; blocking."""
    for folder, folders, names in os.walk(top):
        folders[:] = [name for name in folders if name not in (".git", ".tideate")]
        for name in READ_BY_NAME.intersection(names):
            path = Path(folder, name)
            if is_pipe_or_device(path):
                raise WorkspaceError(WAITS.format(name=label(str(path.relative_to(top)))))


def is_pipe_or_device(path: str | Path) -> bool:
    """Tell whether git would wait for a path; it does not open a socket."""
    try:
        mode = os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISBLK(mode)


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
    :param environment: with the variables that bind git to a repository.
    :param given: its standard input.
    :raises WorkspaceError: it cannot be started, or does not answer in time.
    """
    with _input(given) as stdin:
        reader = _Reader(_start(argv, cwd, environment, stdin, subprocess.PIPE), largest)
    try:
        async with asyncio.timeout(patience):
            try:
                async with asyncio.timeout(_SILENT):
                    await reader.ended.wait()
            except TimeoutError:
                await asyncio.to_thread(refuse_pipes, Path(environment.get("GIT_WORK_TREE", cwd)))
                await reader.ended.wait()
            status = await reader.status() if reader.whole else 0
    except TimeoutError:
        raise WorkspaceError(f"git did not answer within {patience:g} s and was ended") from None
    finally:
        reader.close()
    return GitOutput(status, bytes(reader.out), reader.said.decode("utf-8", "replace"), reader.whole)


@contextlib.contextmanager
def _input(given: bytes) -> Iterator[IO[bytes] | int]:
    """Give a file with it: a pipe could fill up while the output is not read yet."""
    if not given:
        yield subprocess.DEVNULL
        return
    with tempfile.TemporaryFile() as file:
        file.write(given)
        file.seek(0)
        yield file


def _start(
    argv: Sequence[str], cwd: Path, environment: Mapping[str, str], stdin: IO[bytes] | int, stderr: int
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(  # noqa: S603 a list and no shell
            argv,
            cwd=cwd,
            env=environment,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=stderr,
            bufsize=0,
            process_group=0,
        )
    except OSError as error:
        hint = ": name fewer files at once" if error.errno == errno.E2BIG else ""
        raise WorkspaceError(f"git cannot be run ({error.strerror}){hint}") from error


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that still runs."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


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
        """Kill a process that still runs."""
        for descriptor in self._open:
            self._loop.remove_reader(descriptor)
        _kill(self._process)

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
