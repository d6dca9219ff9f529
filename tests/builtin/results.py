"""Results of runs in tests of the built-in workflows."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.harness.bench import Bench
    from tideate_core.engine import WorkflowResult


async def run_killed(program: str, *arguments: str) -> None:
    """Run a program in a process that kills itself."""
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", program, *arguments],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr


def limit(bench: Bench, **limits: int) -> None:
    """Set limits of the runs."""
    changed = bench.config.limits.model_copy(update=limits)
    bench.runner = bench.make_runner(bench.config.model_copy(update={"limits": changed}))


async def resume(bench: Bench, run: str) -> WorkflowResult:
    """Resume a run that must succeed."""
    result = await bench.resume(run)
    assert result.ok, (result.error, bench.server.unmatched)
    return result
