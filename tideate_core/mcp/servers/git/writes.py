"""Run git commands that write: one at a time, with retries while another git has the lock."""

from __future__ import annotations

import asyncio
import os
import tempfile
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from mcp.server.mcpserver.exceptions import ToolError

from tideate_core.errors import CommandError, ConfigError
from tideate_core.mcp.servers.git.program import GitFailed, failure
from tideate_core.mcp.servers.git.settings import HARDENED, UNSIGNED
from tideate_core.mcp.servers.locking import ended_before_cancelled, locked_root
from tideate_core.project import make_project_state
from tideate_core.util.private_files import make_private_directory

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence

    from tideate_core.mcp.servers.git.repository import Repository
    from tideate_core.mcp.servers.git.trust import RepositoryPrograms

__all__ = ["COMMIT_INFO", "WriteQueue", "git_write", "pathspec_file", "scratch_directory", "temporary_index"]

COMMIT_INFO: Final = "mcp/git/commit_info.json"
"""Below `.tideate/`."""
PATIENCE: Final = 60.0
"""Seconds that a call waits for another server's."""
BUSY: Final = "another git server is writing to this repository; try again later"
TIMEOUT: Final = 600_000
"""Milliseconds that git may take; most of it is for hooks."""
WAITS: Final = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
"""Seconds between the tries while another git has a lock."""
_FULL: Final = ("-c", "core.abbrev=no")
"""Whoever reads what was made reads its whole id."""
_LOCKED: Final = ".lock': File exists"

T = TypeVar("T")


class WriteQueue:
    """One call at a time writes to a root, of this process and of all."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = asyncio.Lock()

    async def submit(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do something that writes when it is its turn.

        A cancellation is told to it once, and it may restore what it has to before this raises: a git that
        is killed at once leaves its locks behind.

        :raises ToolError: another server has the turn all the time.
        """
        return await ended_before_cancelled(self._alone(work))

    async def _alone(self, work: Callable[[], Awaitable[T]]) -> T:
        async with self._lock, locked_root(self._root, "git", within=PATIENCE, busy=BUSY, refusal=_refusal):
            return await work()


def _refusal(error: ConfigError) -> ToolError:
    return ToolError(f"nothing was written: {error}")


async def git_write(
    repository: Repository, command: str, *arguments: str, programs: RepositoryPrograms | None = None
) -> str:
    """Run a command of git that writes; returns what it printed.

    While another git has the index, it is tried again for some seconds. Cancelling ends it with all
    that it started.

    :param programs: what the repository brings and the person may have trusted; None: none of it is run.
    :raises GitFailed: it fails.
    """
    for wait in (*WAITS, None):
        try:
            return await _write_once(repository, command, arguments, programs)
        except GitFailed as error:
            if wait is None or _LOCKED not in error.said:
                raise
        await asyncio.sleep(wait)
    raise AssertionError("the last try returns or raises")


async def _write_once(
    repository: Repository, command: str, arguments: Sequence[str], programs: RepositoryPrograms | None
) -> str:
    from tideate_core.process import ProcessLimits, run_program  # only who writes needs it

    options = UNSIGNED if programs is None else programs.options()
    try:
        done = await run_program(
            [repository.git, *HARDENED, *_FULL, *options, command, *arguments],
            cwd=repository.layout.top,
            environment=repository.environment(trusted=programs is not None and programs.trusted),
            limits=ProcessLimits(timeout_ms=TIMEOUT),
            # git that is not killed with us ends what it began, and takes its locks away
            guarded=False,
        )
    except CommandError as error:
        raise GitFailed(str(error)) from error
    if not done.ok:
        if done.exit_code is None or done.timed_out:
            raise GitFailed(f"`git {command}` {done.ending}")
        said = "\n".join(text for text in (done.stderr.text, done.stdout.text) if text)
        raise failure(command, said, done.exit_code, repository.root)
    return done.stdout.text


@contextmanager
def pathspec_file(repository: Repository, paths: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Give options that name these paths to git, however many there are."""
    with tempfile.TemporaryDirectory(prefix="paths-", dir=scratch_directory(repository.root)) as directory:
        file = Path(directory, "paths")
        file.write_bytes(b"".join(os.fsencode(path) + b"\0" for path in paths))
        yield (f"--pathspec-from-file={file}", "--pathspec-file-nul")


@asynccontextmanager
async def temporary_index(repository: Repository, tree: str) -> AsyncIterator[dict[str, str]]:
    """Give the environment of an index of its own that holds a tree, or that of a commit."""
    with tempfile.TemporaryDirectory(prefix="index-", dir=scratch_directory(repository.root)) as directory:
        index = {"GIT_INDEX_FILE": str(Path(directory, "index"))}
        await repository.query("read-tree", tree, environment=index)
        yield index


def scratch_directory(root: Path) -> Path:
    """Return the private directory in which indexes are made, made if it is missing.

    :raises ToolError: it cannot be made.
    """
    try:
        layout = make_project_state(root) / "mcp" / "git"
        make_private_directory(layout)
    except (ConfigError, OSError) as error:
        raise ToolError("the private state of the project cannot be used, so nothing was written") from error
    return layout
