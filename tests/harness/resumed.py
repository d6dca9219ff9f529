"""A run that is resumed after any kill."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tideate_core.engine.past import recorded_result
from tideate_core.errors import RunEnded, RunNotFound

if TYPE_CHECKING:
    from tideate_core.engine import RunRequest, WorkflowResult, WorkflowRunner

__all__ = ["go_on"]


async def go_on(runner: WorkflowRunner, request: RunRequest) -> WorkflowResult:
    """Resume the run; begin it where no commit has it yet, and read how it ended where it has.

    :param request: names the run by its `execution_id`.
    """
    run = request.execution_id
    assert run is not None
    try:
        return await runner.resume_run(run)
    except RunNotFound:
        return await runner.run(request)
    except RunEnded:
        reader = (await runner.store()).reader()
        return await asyncio.to_thread(lambda: recorded_result(reader, reader.run(run)))
