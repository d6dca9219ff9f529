from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from tests.engine.logbook import RUN, Logbook
from tests.harness.front import Front
from tideate_core.adapters import Usage
from tideate_core.engine import Event, EventName
from tideate_core.engine.driver import Settled, Work
from tideate_core.engine.events import WorkflowHooks
from tideate_core.engine.recorder import Recorder
from tideate_core.machines import ExecutionState
from tideate_core.store.records import Ending, StepOutcome, StepStart, Tokens


async def nothing(_step: Any) -> None:
    return None


def work(step: str = "a", **rest: Any) -> Work:
    return Work(step, nothing, 1, 2, agent="assistant", task="say it", dependencies=("z",), **rest)


def recorder(log: Logbook, front: Front, hooks: WorkflowHooks | None = None, **before: Any) -> Recorder:
    """Return a recorder of a run of which an earlier process recorded something."""
    past = SimpleNamespace(**{"agents": (), "checkpoints": (), "moves": 0, **before})
    return Recorder(log.run_id, front, cast("Any", log), hooks=hooks, recorded=cast("Any", past))


def test_an_event_is_logged_and_told_with_its_sequence_number() -> None:
    log, front = Logbook(), Front()
    written = recorder(log, front)
    written.event(EventName.NOTICE, {"message": "one"})
    written.event(EventName.NOTICE, {"message": "two"})
    assert [(event.sequence, event.data["message"]) for event in front.events] == [(1, "one"), (2, "two")]
    assert log.lines[1] == ("event", "NOTICE", {"message": "two"})
    assert front.events[1].execution_id == RUN
    assert front.events[1].as_json()["sequence"] == 2


async def test_a_durable_event_is_told_once_it_and_all_before_it_are_written() -> None:
    log = Logbook()
    told: list[int] = []

    class Listening(Front):
        def emit(self, event: Event) -> None:
            told.append(log.durable)
            super().emit(event)

    front = Listening()
    written = recorder(log, front)
    written.status(ExecutionState.PAUSED, "a")
    await written.durable_event(EventName.WORKFLOW_PAUSED, {"step": "a"})
    assert told == [2]
    assert (front.events[0].sequence, front.events[0].data) == (1, {"step": "a"})
    written.replaying = True
    await written.durable_event(EventName.WORKFLOW_PAUSED, {"step": "b"})
    assert (len(log.lines), len(front.events)) == (2, 1)


def test_a_token_is_only_told() -> None:
    log, front = Logbook(), Front()
    recorder(log, front).event(EventName.TOKEN, {"text": "a"})
    assert log.lines == []
    assert front.names() == ["TOKEN"]
    assert "sequence" not in front.events[0].as_json()


def test_results_are_told_whole_and_not_stored_twice() -> None:
    log, front = Logbook(), Front()
    written = recorder(log, front)
    written.event(EventName.STEP_COMPLETED, {"step": "a", "result": "x" * 9000})
    written.event(EventName.WORKFLOW_COMPLETED, {"response": "x" * 9000, "files": []})
    assert [line[2] for line in log.lines] == [{"step": "a"}, {"files": []}]
    assert front.events[0].data["result"] == front.events[1].data["response"] == "x" * 9000


async def test_while_replaying_nothing_is_logged_or_told() -> None:
    log, front = Logbook(), Front()
    written = recorder(log, front)
    written.replaying = True
    written.event(EventName.NOTICE, {})
    written.event(EventName.TOKEN, {})
    assert log.lines == [] == front.events


async def test_a_start_rides_along_unless_the_step_must_not_run_twice() -> None:
    log = Logbook()
    written = recorder(log, Front())
    await written.started(work(), 3)
    start = log.lines[0][1]
    assert isinstance(start, StepStart)
    assert (start.step, start.name, start.agent, start.task) == ("a", "a", "assistant", "say it")
    assert (start.attempt, start.dependencies) == (3, ("z",))
    assert log.durable == 0
    await written.started(work("b", idempotent=False), 1)
    assert log.durable == 2


async def test_a_step_that_completed_is_durable_before_its_checkpoint_is_told() -> None:
    log, front = Logbook(), Front()
    written = recorder(log, front)
    settled = Settled("a", "completed", {"x": 1}, duration_ms=5, usage=Usage(3, 4, 0.5, 2), files=("f",))
    await written.settled(settled)
    outcome = log.lines[0][1]
    assert isinstance(outcome, StepOutcome)
    assert (outcome.result, outcome.tokens, outcome.files) == ({"x": 1}, Tokens(3, 4, 0.5, 2), ("f",))
    assert log.durable == 1
    assert log.kinds() == ["finished", "event"]
    assert front.events[0].name is EventName.CHECKPOINT_CREATED
    assert front.events[0].data["checkpoint_id"] == "after a"
    assert written.checkpoints == ["after a"]


async def test_a_step_that_failed_makes_no_checkpoint() -> None:
    log, front = Logbook(), Front()
    written = recorder(log, front, checkpoints=("before",))
    await written.settled(Settled("a", "failed", error="no", error_code="StepFailed"))
    outcome = log.lines[0][1]
    assert (outcome.status, outcome.error, outcome.error_code) == ("failed", "no", "StepFailed")
    assert written.checkpoints == ["before"]
    assert front.events == []


async def test_what_did_the_steps_is_known_once_each_in_order() -> None:
    written = recorder(Logbook(), Front(), agents=("tool",))
    for agent in ("assistant", "tool", "handler", "assistant"):
        await written.started(Work("x", nothing, 1, 1, agent=agent), 1)
    assert list(written.agents) == ["tool", "assistant", "handler"]


async def test_where_a_run_stands_is_durable_once_it_is_flushed() -> None:
    log = Logbook()
    written = recorder(log, Front())
    written.status(ExecutionState.PAUSED, "a")
    assert (log.lines[-1], log.durable) == (("status", "paused", "a"), 0)
    await written.flush()
    assert log.durable == 1


async def test_the_end_is_written_with_its_event_and_told_when_it_is_durable() -> None:
    log, front = Logbook(), Front()
    durable: list[int] = []
    hooks = WorkflowHooks(on_workflow_end=lambda _: durable.append(log.durable))
    ending = Ending("completed", 1, 2)
    data = {"name": "x", "response": "long"}
    await recorder(log, front, hooks=hooks).ended(ending, EventName.WORKFLOW_COMPLETED, data)
    assert log.lines == [("event", "WORKFLOW_COMPLETED", {"name": "x"}), ("ended", ending)]
    assert durable == [2]
    assert [(event.data, event.sequence) for event in front.events] == [(data, 1)]


def test_hooks_are_told_after_the_front_end() -> None:
    front = Front()
    seen: list[tuple[Event, int]] = []
    hooks = WorkflowHooks(on_step_start=lambda event: seen.append((event, len(front.events))))
    written = recorder(Logbook(), front, hooks=hooks)
    written.event(EventName.STEP_STARTED, {"step": "a"})
    assert seen == [(front.events[0], 1)]
