"""Errors of parallel tasks are reported like others."""

from __future__ import annotations

import asyncio
import json

import pytest

from tideate_core.cli.process import FAILED, run_async
from tideate_core.cli.render.output import report_errors
from tideate_core.errors import RemoteFailed, TideateError


async def fails(error: Exception) -> None:
    """Fail in nested groups."""
    async with asyncio.TaskGroup() as group:
        group.create_task(_raise(error))
        group.create_task(_nested(error))


async def _nested(error: Exception) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(_raise(error))


async def _raise(error: Exception) -> None:
    raise error


@pytest.mark.parametrize("runner", [run_async, asyncio.run])
def test_the_first_error_of_a_group_is_printed(runner: object, capsys: pytest.CaptureFixture[str]) -> None:
    @report_errors
    def command(*, json: bool = False) -> int:
        runner(fails(RemoteFailed("it cannot be read")))  # type: ignore[operator]
        return 0

    assert command() == FAILED
    assert capsys.readouterr().err == "error: it cannot be read\n"
    assert command(json=True) == FAILED
    assert json.loads(capsys.readouterr().out)["error"] == "it cannot be read"


def test_a_group_with_a_defect_is_not_changed() -> None:
    async def both() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(_raise(TideateError("one")))
            group.create_task(_raise(ValueError("a defect")))

    with pytest.raises(ExceptionGroup):
        run_async(both())
