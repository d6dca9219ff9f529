"""Results of runs in tests of the built-in workflows."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from tests.engine.conftest import LIMIT
from tideate_core.engine import EventName

if TYPE_CHECKING:
    from tests.builtin.task.runs.desk import Desk
    from tests.engine.conftest import Bench
    from tideate_core.engine import WorkflowResult


async def succeed(bench: Bench, name: str, prompt: str = "", **rest: Any) -> WorkflowResult:
    """Run a workflow that must succeed."""
    result = await bench.run(name, prompt, **rest)
    assert result.ok, (result.error, bench.server.unmatched)
    return result


async def resume(bench: Bench, run: str) -> WorkflowResult:
    """Resume a run that must succeed."""
    result = await asyncio.wait_for(bench.runner.resume_run(run), LIMIT)
    assert result.ok, (result.error, bench.server.unmatched)
    return result


def notices(of: Bench | Desk) -> list[str]:
    """Return the messages of all notices."""
    return [data["message"] for data in of.front.data(EventName.NOTICE)]
