"""A task that is cut off in any of its stages ends in another person's clone as it would have here."""

from __future__ import annotations

import asyncio
import io
from typing import TYPE_CHECKING

import pytest

from tests.builtin.task.runs.desk import Desk
from tests.portable.moving import tree
from tideate_core.app.wiring import open_project
from tideate_core.engine import RunRequest
from tideate_core.portable import create_bundle, read_bundle, take_up
from tideate_core.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.model_server import ModelServer
    from tideate_core.engine import Event, WorkflowRunner

TASK = "count the lines of a text"


def cut(desk: Desk, runner: WorkflowRunner, number: int) -> None:
    """Stop the run at an event of this number."""
    emit, left = desk.front.emit, list[str]()

    def at(event: Event) -> None:
        emit(event)
        if event.sequence == number and not left:
            left.extend(runner.leave())

    desk.front.emit = at  # type: ignore[method-assign]


@pytest.mark.slow
@pytest.mark.parametrize("number", [3, 12, 20, 28, 36, 44])
async def test_a_task_ends_elsewhere(tmp_path: Path, server: ModelServer, number: int) -> None:
    target = io.BytesIO()
    here = Desk(tmp_path / "ana", server)
    with here.site.person():
        runner = here.runner()
        cut(here, runner, number)
        left = await runner.run(RunRequest(name="task", prompt=TASK))
        project = open_project(str(here.root))
        await here.aclose()
        run = left.execution_id
        await asyncio.to_thread(create_bundle, here.root, project.private, run, target)
        if left.reason != "interrupted":
            return  # it has fewer events
        one = await here.resume(run)
        expected, stages = tree(here.root), one.as_json()["results"].keys()
        await here.aclose()
    there = Desk(tmp_path / "ben" / "deep", server)
    with there.site.person():
        before = tree(there.root)
        project = open_project(str(there.root))
        store = Store.open(there.site.private)
        await take_up(store, project.workspace, read_bundle(io.BytesIO(target.getvalue())))
        store.close()
        other = await there.resume(run)
        assert other.as_json()["results"].keys() == stages
        assert tree(there.root) == expected
        await there.rolls_back(run)
        assert tree(there.root) == before
        await there.aclose()
