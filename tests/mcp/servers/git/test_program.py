"""How a program's answer is taken: its end, too much of it, none of it, and nobody who waits for it."""

from __future__ import annotations

import asyncio
import os
import shlex
from typing import TYPE_CHECKING

import pytest

from tideate_core.mcp.servers.git.program import GitFailed, GitOutput, query

if TYPE_CHECKING:
    from pathlib import Path

ENDLESS = "echo $$ >pid.new; mv pid.new pid; while echo more; do :; done"
SILENT = "echo $$ >pid.new; mv pid.new pid; exec sleep 600"


async def run(script: str, cwd: Path, **options: float) -> GitOutput:
    largest, patience = int(options.get("largest", 1_000)), options.get("patience", 20.0)
    return await query(
        ["/bin/sh", "-c", script], cwd=cwd, environment=os.environ, largest=largest, patience=patience
    )


def is_gone(directory: Path) -> bool:
    """Tell whether the program has ended, and was waited for."""
    try:
        os.kill(int((directory / "pid").read_text()), 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize("after", ["exit 3", "exec >&- 2>&-; sleep 0.3; exit 3"], ids=["at once", "later"])
async def test_its_output_its_errors_and_its_status(tmp_path: Path, after: str) -> None:
    answer = await run(f"echo out; echo said >&2; {after}", tmp_path)
    assert answer == GitOutput(3, b"out\n", "said\n", whole=True)


async def test_what_says_too_much_is_ended(tmp_path: Path) -> None:
    async with asyncio.timeout(60):
        answer = await run(ENDLESS, tmp_path)
    assert (answer.whole, answer.status) == (False, 0)
    assert answer.out.startswith(b"more\nmore\n")
    assert is_gone(tmp_path)


@pytest.mark.slow
async def test_what_says_nothing_in_time_is_ended(tmp_path: Path) -> None:
    with pytest.raises(GitFailed, match="did not answer within"):
        await run(SILENT, tmp_path, patience=0.5)
    # it may have been ended before it said who it is
    assert not (tmp_path / "pid").exists() or is_gone(tmp_path)


@pytest.mark.slow
async def test_cancelling_ends_it_with_all_that_it_started(tmp_path: Path) -> None:
    inner = shlex.quote(SILENT)
    task = asyncio.create_task(run(f"sh -c {inner}; :", tmp_path))
    async with asyncio.timeout(60):
        while not (tmp_path / "pid").exists():  # noqa: ASYNC110 another process makes it
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        while not is_gone(tmp_path):  # noqa: ASYNC110 a stranger waits for the inner one
            await asyncio.sleep(0.01)
