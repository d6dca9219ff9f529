"""Execution of one step: conditions, questions, attempts, timeouts, results."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from tests.engine.logbook import RUN, Logbook
from tests.harness.bare_run import bare_run
from tests.harness.front import Front, in_order
from tideate_core.engine import RunRequest, task_group
from tideate_core.engine.driver import Question, Work
from tideate_core.engine.events import EventName, error_fields
from tideate_core.engine.loop import TaskExecutor
from tideate_core.engine.step import FATAL, wait_before
from tideate_core.errors import (
    AdapterUnavailable,
    AuthenticationFailed,
    InvalidInput,
    MissingStepHandler,
    OutputMismatch,
    RateLimited,
    StepFailed,
    StepTimedOut,
    StoreError,
)
from tideate_core.workflows import Confirm, Decision, Declined, WorkflowStep

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tideate_core.engine.context.context import Context
    from tideate_core.engine.driver import Settled


class Bench:
    """Executor of a run with the test's log and front end."""

    def __init__(self, *, gated: bool = True) -> None:
        self.log = Logbook()
        self.front = Front(in_order())
        self.values: dict[str, Any] = {"inputs": {}, "context": {}, "steps": {}, "prompt": ""}
        request = RunRequest(name="w", execution_id=RUN, require_confirmation=gated)
        driver = cast("Any", SimpleNamespace(begin_step=lambda work: None))
        self.of = bare_run(request, front=self.front, driver=driver, log=self.log)
        self.of.state = cast("Any", SimpleNamespace(values=lambda: self.values))
        self.of.move = lambda event: None  # type: ignore[method-assign]

    @property
    def asked(self) -> list[tuple[Any, ...]]:
        return [(one.kind, one.message, one.details, one.payload) for one in self.front.requests]

    @property
    def begun(self) -> int:
        return self.front.names().count("STEP_STARTED")

    @property
    def retries(self) -> list[dict[str, Any]]:
        return [one.data for one in self.front.events if one.name is EventName.STEP_RETRYING]

    async def run(
        self,
        handler: Callable[[Any], Awaitable[Any]],
        *,
        question: Question | None = None,
        failed_attempts: int = 0,
        **step: Any,
    ) -> Settled:
        """Execute a step; raise the error of one that failed."""
        work = Work("s", handler, 1, 1, question, step_definition=WorkflowStep(id="s", **step))
        past = SimpleNamespace(attempts={"s": failed_attempts}, running=frozenset(), adapter=None)
        self.of.recorded = cast("Any", past)
        settled, error, _ = await TaskExecutor(self.of).execute(work)
        if error is not None:
            assert (settled.status, settled.error) == ("failed", error_fields(error)["error"])
            raise error
        return settled

    def as_a_run(self, handler: Callable[[Any], Awaitable[Any]], **step: Any) -> asyncio.Task[None]:
        """Have a step done as a run does it, which the task waits for."""

        async def work() -> None:
            await self.run(handler, **step)

        self.of.task_group.start(work())
        return asyncio.create_task(self.of.task_group.wait())

    def attempts(self) -> list[int]:
        return [line[1].attempt for line in self.log.lines if line[0] == "started"]


def failing(*errors: Exception, then: Any = "done") -> Callable[[Any], Awaitable[Any]]:
    """Return a handler that raises these in turn and gives a value then."""
    left = list(errors)

    async def handler(_step: Any) -> Any:
        if left:
            raise left.pop(0)
        return then

    return handler


async def test_a_step_is_done_and_its_start_is_written_down_before() -> None:
    bench = Bench()

    async def handler(step: Any) -> str:
        assert bench.log.kinds()[-1] == "started"
        return f"attempt {step.attempt}"

    settled = await bench.run(handler)
    assert (settled.step, settled.status, settled.value) == ("s", "completed", "attempt 1")
    assert bench.begun == 1


@pytest.mark.parametrize("text", ["false", " False\n", "0", "no", "off", "null", "none", "", "  "])
async def test_a_text_that_says_no_fulfils_no_condition(text: str) -> None:
    bench = Bench()
    bench.values["steps"] = {"check": {"result": text}}
    assert (await bench.run(failing(), when="steps.check.result")).status == "skipped"


@pytest.mark.parametrize("text", ["true", "yes", "not found", "falsehood", "00"])
async def test_any_other_text_fulfils_it(text: str) -> None:
    bench = Bench()
    bench.values["steps"] = {"check": {"result": text}}
    assert (await bench.run(failing(), when="steps.check.result")).status == "completed"


@pytest.mark.parametrize(("flag", "status"), [(True, "completed"), (False, "skipped")])
async def test_a_condition_decides_whether_a_step_runs(flag: bool, status: str) -> None:
    bench = Bench()
    bench.values["inputs"] = {"flag": flag}
    settled = await bench.run(failing(), when="inputs.flag")
    assert settled.status == status
    assert bench.begun == (1 if flag else 0)
    assert ("started" in bench.log.kinds()) is flag


@pytest.mark.parametrize("accepted", [True, False])
async def test_a_step_with_a_question_starts_only_after_a_yes(accepted: bool) -> None:
    bench = Bench()
    bench.values["inputs"] = {"to": "production"}
    bench.front.answer = in_order(Decision(accepted, reason="not now"))
    running = bench.run(failing(), confirm="Deploy to {{ inputs.to }}?")
    if accepted:
        assert (await running).status == "completed"
    else:
        with pytest.raises(Declined, match="not now"):
            await running
    assert bench.asked == [("gate", "Deploy to production?", "", None)]
    assert bench.begun == (1 if accepted else 0)


async def test_a_work_of_a_machine_asks_its_own_question() -> None:
    bench = Bench()
    bench.front.answer = in_order(True)
    await bench.run(failing(), question=Question("Enter?", "because", {"to": "a"}))
    assert bench.asked == [("gate", "Enter?", "because", {"to": "a"})]


async def test_where_nobody_is_to_be_asked_nobody_is() -> None:
    bench = Bench(gated=False)
    settled = await bench.run(failing(then=Confirm("kept", "Go on?")), confirm="Sure?")
    assert (settled.value, bench.asked) == ("kept", [])


@pytest.mark.parametrize(("changed", "value"), [(None, "made"), ({"x": 1}, {"x": 1})])
async def test_a_result_that_a_person_changes_is_the_changed_one(changed: Any, value: Any) -> None:
    bench = Bench()
    bench.front.answer = in_order(Decision(True, value=changed))
    assert (await bench.run(failing(then=Confirm("made", "Good?")))).value == value


async def test_a_failed_step_is_tried_again_as_often_as_it_may_and_tells_of_it() -> None:
    bench = Bench()
    handler = failing(StepFailed("one"), StepFailed("two"))
    settled = await bench.run(handler, retries=2, retry_delay=1)
    assert settled.value == "done"
    assert bench.attempts() == [1, 2, 3]
    told = [(data["attempt"], data["wait_ms"], data["error"]) for data in bench.retries]
    assert told == [(1, 1, "one"), (2, 2, "two")]
    assert bench.retries[0]["error_code"] == "StepFailed"


async def test_the_last_attempts_error_is_the_steps() -> None:
    bench = Bench()
    with pytest.raises(StepFailed, match="two"):
        await bench.run(failing(StepFailed("one"), StepFailed("two")), retries=1, retry_delay=0)
    with pytest.raises(StepFailed, match="alone"):
        await bench.run(failing(StepFailed("alone")))


async def test_attempts_of_an_earlier_process_count() -> None:
    bench = Bench()
    with pytest.raises(StepFailed):
        await bench.run(failing(*[StepFailed("no")] * 5), retries=3, retry_delay=0, failed_attempts=2)
    assert bench.attempts() == [3, 4]


async def test_a_question_is_asked_once_however_many_attempts_there_are() -> None:
    bench = Bench()
    bench.front.answer = in_order(True)
    await bench.run(
        failing(StepFailed("one")), retries=1, retry_delay=0, confirm="Sure?", failed_attempts=1 - 1
    )
    assert len(bench.asked) == 1
    # asked as the first attempt's also where an earlier process had that: its memo is found
    bench.front.answer = in_order(True)
    await bench.run(failing(), retries=2, confirm="Sure?", failed_attempts=1)
    assert len(bench.asked) == 2
    assert {key.partition(":")[0] for key in bench.log.memos["s"] if "confirm" in key} == {"1.confirm"}


@pytest.mark.parametrize(
    "error",
    [
        AuthenticationFailed("no key"),
        MissingStepHandler("s", "w"),
        InvalidInput("no"),
        StoreError("full"),
        Declined("no"),
    ],
)
async def test_what_would_be_met_again_is_not_tried_again(error: Exception) -> None:
    assert isinstance(error, FATAL)
    bench = Bench()
    with pytest.raises(type(error)):
        await bench.run(failing(error), retries=5, retry_delay=0)
    assert (bench.attempts(), bench.retries) == ([1], [])


@pytest.mark.parametrize(
    ("delay", "attempt", "error", "wait"),
    [
        (1000, 1, StepFailed("x"), 1000),
        (1000, 4, StepFailed("x"), 8000),
        (60_000, 10, StepFailed("x"), 60_000),
        (0, 10, StepFailed("x"), 0),
        (1000, 1, RateLimited("slow", 90.0), 90_000),
        (5000, 1, RateLimited("slow", 2.0), 5000),
        (1000, 1, RateLimited("slow"), 1000),
        (1000, 2, AdapterUnavailable("x"), 2000),
    ],
)
def test_the_wait_doubles_up_to_a_minute_and_a_provider_may_ask_for_more(
    delay: int, attempt: int, error: Exception, wait: int
) -> None:
    assert wait_before(WorkflowStep(id="s", retry_delay=delay), attempt, error) == wait


@pytest.mark.concurrency
async def test_a_step_that_takes_too_long_is_cut_off_and_tried_again() -> None:
    bench = Bench()
    ended = []

    async def handler(step: Any) -> str:
        if step.attempt == 1:
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(step.attempt)
        return "in time"

    settled = await bench.run(handler, timeout=200, retries=1, retry_delay=0)
    assert (settled.value, ended) == ("in time", [1])
    assert bench.retries[0]["error_code"] == "StepTimedOut"
    with pytest.raises(StepTimedOut, match="its timeout of 20 ms"):
        await bench.run(lambda _step: asyncio.Event().wait(), timeout=20)


@pytest.mark.concurrency
async def test_what_comes_of_a_step_after_its_time_does_not_count() -> None:
    async def late(_step: Any) -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "late"
        raise AssertionError("nobody sets the event")

    with pytest.raises(StepTimedOut):
        await Bench().run(late, timeout=20)


@pytest.mark.concurrency
@pytest.mark.parametrize(("cancelled", "time_limit"), [(False, 20), (True, 60_000), (True, None)])
async def test_a_handler_that_does_not_end_when_it_is_stopped_holds_nothing_up(
    monkeypatch: pytest.MonkeyPatch, cancelled: bool, time_limit: int | None
) -> None:
    monkeypatch.setattr(task_group, "GRACE", 0.02)
    started, go, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    steps: list[Context] = []

    async def stubborn(step: Context) -> None:
        steps.append(step)
        started.set()
        while not go.is_set():
            try:
                await go.wait()
            except asyncio.CancelledError:
                continue
        ended.set()

    bench = Bench()
    task = bench.as_a_run(stubborn, timeout=time_limit)
    await asyncio.wait_for(started.wait(), 60)
    if cancelled:
        task.cancel()
    done, _ = await asyncio.wait({task}, timeout=60)
    assert steps[-1].is_abandoned()
    go.set()
    await asyncio.wait_for(ended.wait(), 60)
    assert done
    assert task.cancelled() if cancelled else isinstance(task.exception(), StepTimedOut)


@pytest.mark.concurrency
async def test_a_cancellation_that_nobody_asked_for_is_a_failed_attempt() -> None:
    bench = Bench()

    async def handler(_step: Any) -> None:
        inner = asyncio.create_task(asyncio.Event().wait())
        asyncio.get_running_loop().call_soon(inner.cancel)
        await inner

    with pytest.raises(StepFailed, match="though the run was not"):
        await bench.run(handler, retries=1, retry_delay=0)
    assert bench.attempts() == [1, 2]


async def test_a_handlers_own_timeout_is_not_the_steps() -> None:
    bench = Bench()
    with pytest.raises(TimeoutError, match="mine"):
        await bench.run(failing(TimeoutError("mine")), timeout=60_000)


async def test_a_result_that_does_not_fit_is_a_failed_attempt_and_the_next_is_told_why() -> None:
    bench = Bench()
    told = []

    async def handler(step: Any) -> Any:
        told.append(step.feedback)
        return {"n": "one"} if step.attempt == 1 else {"n": 1}

    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    settled = await bench.run(handler, output_schema=schema, retries=1, retry_delay=0)
    assert settled.value == {"n": 1}
    assert told[0] == ""
    assert "$.n" in told[1]
    with pytest.raises(OutputMismatch):
        await bench.run(failing(then={"n": "one"}), output_schema=schema)


async def test_only_a_result_that_did_not_fit_is_told_to_the_next_attempt() -> None:
    bench = Bench()
    told = []

    async def handler(step: Any) -> str:
        told.append(step.feedback)
        if step.attempt == 1:
            raise StepFailed("the network")
        return "done"

    await bench.run(handler, retries=1, retry_delay=0)
    assert told == ["", ""]


@pytest.mark.parametrize("result", [{1, 2}, [float("nan")], {"most": float("inf")}])
async def test_a_result_that_is_no_json_is_refused(result: Any) -> None:
    with pytest.raises(StepFailed, match="a value that is not JSON"):
        await Bench().run(failing(then=result))


async def test_a_result_is_what_a_resumed_run_would_have() -> None:
    settled = await Bench().run(failing(then={1: ("a", {None: True})}))
    assert settled.value == {"1": ["a", {"null": True}]}


@pytest.mark.concurrency
@pytest.mark.parametrize("time_limit", [60_000, None])
async def test_a_cancelled_step_is_not_tried_again(time_limit: int | None) -> None:
    bench = Bench()
    started = asyncio.Event()

    async def handler(_step: Any) -> None:
        started.set()
        await asyncio.Event().wait()

    task = bench.as_a_run(handler, retries=5, timeout=time_limit)
    await asyncio.wait_for(started.wait(), 60)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert bench.attempts() == [1]
