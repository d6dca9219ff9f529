"""Run git commands that write, one at a time, with retries while another git holds a lock."""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from mcp.server.mcpserver.exceptions import ToolError

from tideate_core.errors import CommandError, ConfigError, WorkspaceError
from tideate_core.git import HARDENED, UNSIGNED, config_options, find_git, join_names
from tideate_core.mcp.servers.git.repository import GitFailed, failure
from tideate_core.mcp.servers.locking import UNUSABLE, ended_before_cancelled, locked_root
from tideate_core.project import make_project_state
from tideate_core.util.private_files import make_private_directory

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence

    from tideate_core.mcp.servers.git.repository import Repository
    from tideate_core.mcp.servers.git.trust import RepositoryPrograms

COMMIT_INFO: Final = "mcp/git/commit_info.json"
"""File for the last commit, below `.tideate/`."""
PATIENCE: Final = 60.0
"""Seconds that a call waits for another server."""
BUSY: Final = "another git server is writing to this repository; try again later"
TIMEOUT: Final = 600_000
"""Milliseconds until git is killed; hooks may take most of them."""
WAITS: Final = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
"""Seconds between retries while another git holds a lock."""
_FULL: Final = config_options("core.abbrev=no")
"""Options that print full commit ids."""
_LOCKED: Final = ".lock': File exists"

T = TypeVar("T")


class WriteQueue:
    """Queue of writes to a root: one at a time, across all processes."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = asyncio.Lock()

    async def submit(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run a write when its turn comes.

        On cancellation the write is cancelled once and may clean up before this raises: a killed git would
        leave its lock files behind.

        :raises ToolError: another server holds the lock for too long.
        """

        async def alone() -> T:
            async with self._lock, locked_root(self._root, "git", within=PATIENCE, busy=BUSY):
                return await work()

        return await ended_before_cancelled(alone())


async def git_write(
    repository: Repository, command: str, *arguments: str, programs: RepositoryPrograms | None = None
) -> str:
    """Run a git command that writes; return its standard output.

    The command is retried for some seconds while another git holds a lock. Cancelling kills its processes.

    :param programs: hooks, filters and signing that run if the person trusts them; None runs none.
    :raises GitFailed: git fails.
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
    from tideate_core.process import ProcessLimits, run_program  # reading tools do without it

    options = UNSIGNED if programs is None else programs.options()
    try:
        done = await run_program(
            [find_git(), *HARDENED, *_FULL, *options, command, *arguments],
            cwd=repository.layout.top,
            environment=repository.environment(trusted=programs is not None and programs.trusted),
            limits=ProcessLimits(timeout_ms=TIMEOUT),
            # git outlives this process to finish its work and remove its locks
            guarded=False,
        )
    except (CommandError, WorkspaceError) as error:
        raise GitFailed(str(error)) from error
    if not done.ok:
        if done.exit_code is None or done.timed_out:
            raise GitFailed(f"`git {command}` {done.ending}")
        said = "\n".join(text for text in (done.stderr.text, done.stdout.text) if text)
        raise failure(command, said, done.exit_code, repository.root)
    return done.stdout.text


@contextmanager
def pathspec_file(repository: Repository, paths: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield options that pass any number of paths to git in a file."""
    with tempfile.TemporaryDirectory(prefix="paths-", dir=scratch_directory(repository.root)) as directory:
        file = Path(directory, "paths")
        file.write_bytes(join_names(paths))
        yield (f"--pathspec-from-file={file}", "--pathspec-file-nul")


@asynccontextmanager
async def temporary_index(repository: Repository, tree: str) -> AsyncIterator[dict[str, str]]:
    """Yield the variables of a temporary index that holds the tree of a commit, or a tree."""
    with tempfile.TemporaryDirectory(prefix="index-", dir=scratch_directory(repository.root)) as directory:
        index = {"GIT_INDEX_FILE": str(Path(directory, "index"))}
        await repository.query("read-tree", tree, variables=index)
        yield index


def scratch_directory(root: Path) -> Path:
    """Return the private directory for temporary indexes, created if it is missing.

    :raises ToolError: it cannot be created.
    """
    try:
        directory = make_project_state(root) / "mcp" / "git"
        make_private_directory(directory)
    except (ConfigError, OSError) as error:
        raise ToolError(UNUSABLE) from error
    return directory
