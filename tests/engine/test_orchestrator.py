"""A workflow that is given as text runs from parse to result, and is resumed with that text."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tideate_core.engine import EventName, RunRequest, WorkflowEngine
from tideate_core.errors import CheckpointNotFound, InvalidInput
from tideate_core.store import Reader

if TYPE_CHECKING:
    from tests.harness.bench import Bench
    from tideate_core.workflows import StepContext

TWO = """\
inputs: {who: {type: string}}
steps:
  - {id: a, handler: say}
  - {id: b, handler: say, dependencies: [a]}
"""
JSON = '{"steps": [{"id": "a", "handler": "say"}]}'
BROKEN = "steps:\n  - {id: a, handler: nobody}\n"
WALK = "* to a:\n  Say hello.\n\na to *\n"


@pytest.fixture
def engine(bench: Bench) -> WorkflowEngine:
    async def say(step: StepContext) -> str:
        return f"{step.step} {step.inputs.get('who')}"

    bench.registry.register_handler("say", say)
    return WorkflowEngine(bench.runner)


async def test_a_text_is_run_to_its_result(bench: Bench, engine: WorkflowEngine) -> None:
    assert engine.state.value == "idle"
    result = await engine.execute(TWO, "yaml", {"who": "Ada"})
    assert (result.workflow, result.results) == ("workflow", {"a": "a Ada", "b": "b Ada"})
    assert engine.state.value == "completed"
    [row] = Reader(bench.private).runs()
    assert (row.source, row.path, row.status) == ("text", None, "completed")


async def test_one_engine_executes_texts_in_all_languages_one_after_the_other(
    bench: Bench, engine: WorkflowEngine
) -> None:
    bench.server.answers("", "hello")
    assert (await engine.execute(JSON, "json")).ok
    assert not (await engine.execute(BROKEN)).ok
    assert engine.state.value == "failed"
    assert (await engine.execute(WALK, "workflow")).ok
    assert engine.state.value == "completed"
    assert [row.status for row in Reader(bench.private).runs()] == ["completed", "failed", "completed"]


async def test_a_broken_text_is_refused_with_the_place_of_its_mistake(engine: WorkflowEngine) -> None:
    result = await engine.execute(BROKEN)
    assert (result.error_code, (result.error or "")[:13]) == ("InvalidDefinitionFile", "workflow:2:22")


async def test_two_at_once_need_two_engines(bench: Bench, engine: WorkflowEngine) -> None:
    hold = asyncio.Event()

    async def wait(_step: StepContext) -> str:
        await hold.wait()
        return "done"

    bench.registry.register_handler("wait", wait)
    first = asyncio.create_task(engine.execute("steps: [{id: a, handler: wait}]\n"))
    await bench.front.until_told("STEP_STARTED")
    with pytest.raises(InvalidInput, match="this engine is awaiting_completion; use another one"):
        await engine.execute(JSON, "json")
    assert (await WorkflowEngine(bench.runner).execute(JSON, "json")).ok
    hold.set()
    assert (await first).ok


async def test_a_text_is_resumed_without_a_question_with_what_it_began_with(
    bench: Bench, engine: WorkflowEngine
) -> None:
    hold = asyncio.Event()

    async def wait(_step: StepContext) -> str:
        await hold.wait()
        return "done"

    bench.registry.register_handler("wait", wait)
    text = "steps:\n  - {id: a, handler: say}\n  - {id: b, handler: wait, dependencies: [a]}\n"
    request = RunRequest(name="mine")
    run = asyncio.create_task(engine.execute(text, request=request))
    await bench.front.until_told("STEP_STARTED", 2)
    bench.runner.leave()
    await run
    hold.set()
    bench.front.requests.clear()
    result = await bench.resume(request.execution_id)
    assert (result.ok, result.workflow, bench.front.requests) == (True, "mine", [])
    with pytest.raises(InvalidInput, match="this engine is"):
        await engine.execute(JSON, "json")  # its run was left, not ended


async def test_a_new_run_goes_on_from_a_checkpoint(bench: Bench, engine: WorkflowEngine) -> None:
    first = await engine.execute(TWO, "yaml", {"who": "Ada"})
    checkpoint = bench.front.data(EventName.CHECKPOINT_CREATED)[0]["checkpoint_id"]
    result = await engine.resume(checkpoint)
    assert result.results == first.results
    assert result.execution_id != first.execution_id
    assert engine._run is not None
    assert [move.event.value for move in engine._run.machine.get_history()][:2] == [
        "restore_checkpoint",
        "checkpoint_restored",
    ]
    with pytest.raises(CheckpointNotFound):
        await engine.resume("f" * 32 + ".1")
