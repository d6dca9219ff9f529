"""Runs the commands of git that write, and waits for others that do."""

from __future__ import annotations

import asyncio
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tideate_core.errors import CommandError
from tideate_core.mcp.servers.git.errors import GitFailed, failure
from tideate_core.mcp.servers.git.handoff import scratch
from tideate_core.mcp.servers.git.settings import HARD, UNSIGNED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tideate_core.mcp.servers.git.repository import Repository
    from tideate_core.mcp.servers.git.trusting import Brought

__all__ = ["listed", "write"]

TIMEOUT: Final = 600_000
"""Milliseconds that git may take; most of it is for hooks."""
WAITS: Final = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
"""Seconds between the tries while another git has a lock."""
_FULL: Final = ("-c", "core.abbrev=no")
"""Whoever reads what was made reads its whole id."""
_LOCKED: Final = ".lock': File exists"


async def write(repository: Repository, command: str, *arguments: str, brought: Brought | None = None) -> str:
    """Run a command of git that writes; returns what it printed.

    While another git has the index, it is tried again for some seconds. Cancelling ends it with all
    that it started.

    :param brought: what the repository brings and the person may have trusted; None: none of it is run.
    :raises GitFailed: it fails.
    """
    for wait in (*WAITS, None):
        try:
            return await _once(repository, command, arguments, brought)
        except GitFailed as error:
            if wait is None or _LOCKED not in error.said:
                raise
        await asyncio.sleep(wait)
    raise AssertionError("the last try returns or raises")


async def _once(
    repository: Repository, command: str, arguments: Sequence[str], brought: Brought | None
) -> str:
    from tideate_core.process import Limits, run  # only who writes needs it

    options = UNSIGNED if brought is None else brought.options()
    try:
        done = await run(
            [repository.git, *HARD, *_FULL, *options, command, *arguments],
            cwd=repository.place.top,
            environment=repository.environment(trusted=brought is not None and brought.trusted),
            limits=Limits(timeout_ms=TIMEOUT),
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
def listed(repository: Repository, paths: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Give options that name these paths to git, however many there are."""
    with tempfile.TemporaryDirectory(prefix="paths-", dir=scratch(repository.root)) as directory:
        file = Path(directory, "paths")
        file.write_bytes(b"".join(os.fsencode(path) + b"\0" for path in paths))
        yield (f"--pathspec-from-file={file}", "--pathspec-file-nul")
