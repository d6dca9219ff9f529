"""The runner: order, results, gates, failures, cancellation, status (REQ-WORK-002 to 007)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from tideate_core.config import Config
from tideate_core.engine import EventName, RunRequest, review_and_apply
from tideate_core.errors import RunNotFound
from tideate_core.workflows import Confirm, StepContext
from tideate_core.workspace import FileChange

if TYPE_CHECKING:
    from tests.harness.bench import Bench


async def test_steps_run_in_order_and_see_the_results_before_them(bench: Bench) -> None:
    async def a(step: StepContext) -> str:
        return step.prompt.upper()

    async def b(step: StepContext) -> dict[str, Any]:
        return {"response": step.results["a"] + "!", "options": dict(step.options)}

    bench.register("mine", {"a": a, "b": b})
    result = await bench.succeed("mine", "hello", inputs={"n": 1})
    assert result.response == "HELLO!"
    assert result.results == {"a": "HELLO", "b": {"response": "HELLO!", "options": {"n": 1}}}
    assert bench.front.names() == [
        "WORKFLOW_STARTED",
        "STEP_STARTED",
        "STEP_COMPLETED",
        "STEP_EXECUTED",
        "STEP_STARTED",
        "STEP_COMPLETED",
        "STEP_EXECUTED",
        "WORKFLOW_COMPLETED",
    ]
    assert [(d["index"], d["total"]) for d in bench.front.data(EventName.STEP_STARTED)] == [(1, 2), (2, 2)]


async def test_a_missing_handler_fails_the_run_when_it_gets_there(bench: Bench) -> None:
    async def a(_step: StepContext) -> str:
        return "done"

    bench.register("mine", {"a": a}, steps=["a", "missing_step"])
    result = await bench.run("mine")
    assert not result.ok
    assert result.error is not None
    assert result.error.startswith("Missing step handler: missing_step")
    assert result.error_code == "MissingStepHandler"
    assert result.results == {"a": "done"}
    assert bench.front.names()[-1] == "WORKFLOW_FAILED"
    assert not bench.runner.running


async def test_a_bug_in_a_handler_is_a_failed_run_not_a_crash(bench: Bench) -> None:
    async def a(_step: StepContext) -> int:
        return 1 // 0

    bench.register("mine", {"a": a})
    result = await bench.run("mine")
    assert result.error == "ZeroDivisionError: integer division or modulo by zero"
    assert (await bench.run("ask", "", adapter="fake")).error_code == "InvalidInput"


async def test_confirmations_can_be_left_out_by_the_run_or_the_configuration(bench: Bench) -> None:
    async def a(_step: StepContext) -> Confirm:
        return Confirm("value", "Go on?")

    bench.register("mine", {"a": a})
    assert (await bench.run("mine", require_confirmation=False)).response == "value"
    quiet = bench.config.model_dump() | {"workflows": {"mine": {"require_confirmation": False}}}
    bench.runner = bench.make_runner(Config.model_validate(quiet))
    assert (await bench.run("mine")).response == "value"
    assert bench.front.requests == []
    await bench.run("mine", require_confirmation=True)
    assert len(bench.front.requests) == 1


async def test_an_unknown_workflow_is_reported_with_the_nearest_name(bench: Bench) -> None:
    result = await bench.run("refactr")
    assert result.error_code == "UnknownWorkflow"
    assert "did you mean 'refactor'" in str(result.error)
    assert bench.front.names() == ["WORKFLOW_FAILED"]


@pytest.mark.concurrency
async def test_cancel_while_streaming_closes_the_request(bench: Bench) -> None:
    gate = bench.server.holds("Why", text="one two three")
    task = bench.begin("ask", "Why?")
    await bench.front.until_told("TOKEN")
    assert [run.step for run in bench.runner.running] == ["query"]
    (cancelled,) = bench.runner.cancel()
    result = await task
    assert (result.cancelled, result.reason, result.execution_id) == (True, "cancelled", cancelled)
    assert result.as_json()["cancelled"] is True
    gate.wait_disconnected()
    assert bench.front.names()[-1] == "WORKFLOW_CANCELLED"
    assert not bench.runner.running


@pytest.mark.concurrency
async def test_cancel_in_a_confirmation_withdraws_it(bench: Bench) -> None:
    async def a(_step: StepContext) -> Confirm:
        return Confirm("value", "Go on?")

    bench.register("mine", {"a": a})
    bench.front.hold = True
    task = bench.begin("mine")
    await bench.front.until_asked()
    bench.runner.cancel()
    assert (await task).cancelled
    assert bench.front.withdrawn == 1


@pytest.mark.concurrency
async def test_cancelling_the_caller_cancels_the_run(bench: Bench) -> None:
    gate = bench.server.holds("Why")
    task = asyncio.create_task(bench.runner.run(RunRequest(name="ask", prompt="Why?")))
    await bench.front.until_told("TOKEN")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    gate.wait_disconnected()
    assert bench.front.names()[-1] == "WORKFLOW_CANCELLED"
    assert not bench.runner.running


@pytest.mark.concurrency
async def test_nothing_that_has_ended_can_be_cancelled(bench: Bench) -> None:
    bench.server.answers("Why", "Because.")
    result = await bench.run("ask", "Why?")
    with pytest.raises(RunNotFound, match=result.execution_id):
        bench.runner.cancel(result.execution_id)
    assert bench.runner.cancel() == []


@pytest.mark.concurrency
async def test_a_paused_run_can_be_cancelled(bench: Bench) -> None:
    async def a(step: StepContext) -> None:
        bench.runner.pause(step.execution_id)

    bench.register("mine", {"a": a, "b": a})
    task = bench.begin("mine")
    await bench.front.until_told("WORKFLOW_PAUSED")
    bench.runner.cancel()
    assert (await task).cancelled


@pytest.mark.concurrency
async def test_several_runs_at_once_keep_apart_and_the_newest_is_first(bench: Bench) -> None:
    first = bench.server.holds("first question", text="first answer")
    second = bench.server.holds("second question", text="second answer")
    tasks = [bench.begin("ask", f"{n} question") for n in ("first", "second")]
    await bench.front.until_told("TOKEN", 2)
    assert [run.request.prompt for run in bench.runner.running] == ["second question", "first question"]
    second.release()
    assert (await tasks[1]).response == "second answer"
    assert [run.request.prompt for run in bench.runner.running] == ["first question"]
    first.release()
    assert (await tasks[0]).response == "first answer"


async def test_tokens_and_usage_are_reported(bench: Bench) -> None:
    bench.server.answers("Why", "one two three", pieces=["one ", "two ", "three"])
    result = await bench.run("ask", "Why?")
    assert [d["text"] for d in bench.front.data(EventName.TOKEN)] == ["one ", "two ", "three"]
    assert bench.front.data(EventName.MODEL_ANSWERED)[0]["model"] == "scripted"
    assert result.usage.output_tokens > 0
    assert result.as_json()["usage"]["output_tokens"] == result.usage.output_tokens


async def test_a_front_ends_own_handler_can_ask_the_runs_adapter(bench: Bench) -> None:
    bench.server.answers("from Lua", "hello")

    async def a(step: StepContext) -> str:
        return (await bench.runner.ask(step.execution_id, step.step, "from Lua")).text

    bench.register("mine", {"a": a})
    assert (await bench.run("mine")).response == "hello"
    with pytest.raises(RunNotFound):
        await bench.runner.ask("0" * 32, "a", "from Lua")


@pytest.mark.concurrency
async def test_a_request_that_a_handler_left_behind_ends_with_the_run(bench: Bench) -> None:
    gate = bench.server.holds("left behind")
    left = []

    async def a(step: StepContext) -> str:
        left.append(asyncio.create_task(bench.runner.ask(step.execution_id, "a", "left behind")))
        await asyncio.to_thread(gate.wait_started)
        return "done"

    bench.register("mine", {"a": a})
    assert (await bench.run("mine")).response == "done"
    gate.wait_disconnected()
    assert (await asyncio.gather(*left, return_exceptions=True))[0].__class__ is asyncio.CancelledError


@pytest.mark.concurrency
async def test_an_id_runs_once_at_a_time(bench: Bench) -> None:
    gate = bench.server.holds("Why", text="because of that")
    identity = "0" * 32
    task = bench.begin("ask", "Why?", execution_id=identity)
    await bench.front.until_told("TOKEN")
    assert (await bench.run("ask", "Why?", execution_id=identity)).error_code == "InvalidInput"
    gate.release()
    assert (await task).ok


async def test_an_emoji_cut_in_two_streams_whole(bench: Bench) -> None:
    bench.server.answers("Why", "hi \U0001f600", pieces=["hi ", "\ud83d", "\ude00"])
    result = await bench.run("ask", "Why?")
    assert result.response == "hi \U0001f600"
    assert "".join(d["text"] for d in bench.front.data(EventName.TOKEN)) == "hi \U0001f600"


@pytest.mark.concurrency
@pytest.mark.parametrize("twice", [False, True])
async def test_however_often_the_caller_is_cancelled_the_run_is_ended(bench: Bench, twice: bool) -> None:
    async def a(_step: StepContext) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)

    bench.register("mine", {"a": a})
    task = asyncio.create_task(bench.runner.run(RunRequest(name="mine")))
    await bench.front.until_told("STEP_STARTED")
    task.cancel()
    if twice:
        await asyncio.sleep(0)
        task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert bench.front.names()[-1] == "WORKFLOW_CANCELLED"
    assert not bench.runner.running


async def test_tokens_that_a_provider_had_cached_are_part_of_the_usage(bench: Bench) -> None:
    bench.server.cached_tokens = 3
    bench.server.answers("hello", "hi")
    result = await bench.run("ask", "hello")
    assert result.as_json()["usage"]["cached_tokens"] == 3


async def test_written_files_that_other_tools_run_are_told_in_the_result_and_at_the_end(bench: Bench) -> None:
    async def writes(step: StepContext) -> Any:
        files = await review_and_apply(step, [FileChange("conftest.py", "create", None, "x = 1")])
        return [change.path for change in files]

    bench.register("writes", {"one": writes})
    result = await bench.succeed("writes")
    (executed,) = result.as_json()["executed"]
    assert executed["path"] == "conftest.py"
    (ended,) = bench.front.data(EventName.WORKFLOW_COMPLETED)
    assert ended["executed"] == [executed]
    (notice,) = [data for data in bench.front.data(EventName.NOTICE) if "executed" in data]
    assert notice["message"] == f"other tools run conftest.py: {executed['reason']}"
