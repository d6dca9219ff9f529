from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tideate_core.engine import Event, EventName
from tideate_core.engine.events import WorkflowHooks, failure_fields
from tideate_core.engine.tool_call_events import report_call
from tideate_core.errors import AdapterUnavailable, StepFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.harness.bench import Bench
    from tideate_core.workflows import StepContext

NAMES = (
    "on_workflow_start",
    "on_workflow_end",
    "on_step_start",
    "on_step_end",
    "on_step_fail",
    "on_checkpoint",
    "on_error",
)


def listening() -> tuple[WorkflowHooks, list[str]]:
    called: list[str] = []

    def hook(name: str) -> Callable[[Event], None]:
        return lambda event: called.append(f"{name} {event.execution_id}")

    return WorkflowHooks(**{name: hook(name) for name in NAMES}), called


@pytest.mark.parametrize(
    ("name", "hooks"),
    [
        (EventName.WORKFLOW_STARTED, ["on_workflow_start"]),
        (EventName.WORKFLOW_RESTORED, ["on_workflow_start"]),
        (EventName.WORKFLOW_COMPLETED, ["on_workflow_end"]),
        (EventName.WORKFLOW_CANCELLED, ["on_workflow_end"]),
        (EventName.WORKFLOW_FAILED, ["on_error", "on_workflow_end"]),
        (EventName.STEP_STARTED, ["on_step_start"]),
        (EventName.STEP_COMPLETED, ["on_step_end"]),
        (EventName.STEP_FAILED, ["on_step_fail"]),
        (EventName.CHECKPOINT_CREATED, ["on_checkpoint"]),
        (EventName.NOTICE, []),
    ],
)
def test_each_event_calls_the_hooks_that_are_meant(name: EventName, hooks: list[str]) -> None:
    told, called = listening()
    told.notify(Event(name, "r"))
    assert called == [f"{hook} r" for hook in hooks]


def test_a_hook_that_is_not_set_is_not_missed() -> None:
    for name in EventName:
        WorkflowHooks().notify(Event(name, "r"))


def test_a_hook_that_raises_is_logged_and_the_others_are_called(caplog: pytest.LogCaptureFixture) -> None:
    ended: list[Event] = []

    def broken(_event: Event) -> None:
        raise ZeroDivisionError("in the hook")

    hooks = WorkflowHooks(on_error=broken, on_workflow_end=ended.append)
    hooks.notify(Event(EventName.WORKFLOW_FAILED, "r"))
    assert len(ended) == 1
    assert "on_error raised" in caplog.text
    assert "in the hook" in caplog.text


def test_both_events_of_a_call_have_its_number_and_its_line() -> None:
    told: list[tuple[EventName, dict[str, Any]]] = []

    def emit(event: EventName, /, **data: Any) -> None:
        told.append((event, data))

    with report_call(emit, "read_file", {"path": "a.py"}) as outer, report_call(emit, "search", {}):
        outer.size, outer.result = 5000, "x" * 5000
    called, inner, inner_end, end = (data for _, data in told)
    assert called["call"] == end["call"] != inner["call"] == inner_end["call"]
    assert (called["summary"], end["summary"]) == ("read_file a.py", "read_file a.py")
    assert (end["ok"], end["size"], end["result"]) == (True, 5000, f"{'x' * 2000} … (5000 characters)")
    assert "result" not in inner_end


@pytest.mark.parametrize(("fails", "end"), [(False, "WORKFLOW_COMPLETED"), (True, "WORKFLOW_FAILED")])
async def test_events_of_a_workflow_have_its_id_and_its_plans(bench: Bench, fails: bool, end: str) -> None:
    """Document 4, `emit('SD_EVENT_WORKFLOW_STARTED', { workflowId, planId })`."""

    async def work(_step: StepContext) -> None:
        if fails:
            raise ValueError("no")

    bench.register("deploy", {"one": work})
    run = (await bench.run("deploy")).execution_id
    wanted = {"workflowId": run, "planId": "deploy"}
    ids = {"workflowId", "planId"}
    found = [(event.name, {key: event.data.get(key) for key in ids}) for event in bench.front.events]
    assert [one for one in found if one[0].name.startswith("WORKFLOW_")] == [
        (EventName.WORKFLOW_STARTED, wanted),
        (EventName[end], wanted),
    ]
    kept = (await bench.reader()).events(run)
    assert [one.name for one in kept if one.data.items() >= wanted.items()] == [
        "SD_EVENT_WORKFLOW_STARTED",
        f"SD_EVENT_{end}",
    ]


async def test_a_refused_run_has_its_ids_too(bench: Bench) -> None:
    run = (await bench.run("nowhere")).execution_id
    (event,) = bench.front.events
    assert event.data.items() >= {"workflowId": run, "planId": "nowhere"}.items()


async def test_the_plan_of_a_handoff_is_named_once_it_is_read(bench: Bench) -> None:
    step = {"id": "a", "name": "write it", "type": "coding", "expectedOutputs": ["greet.py"]}
    plan = {"planId": "plan-7", "objective": "Greet.", "steps": [step]}
    bench.write(".tideate/planner/output/plan_v1.json", json.dumps(plan))
    assert not (await bench.run("handoff")).ok, "there is no repository"
    plans = [event.data["planId"] for event in bench.front.events if "planId" in event.data]
    assert plans == ["handoff", "plan-7"]


def test_a_failures_record_has_its_cause_and_no_words_of_others_that_may_hold_a_key() -> None:
    try:
        try:
            try:
                raise OSError("sk-secret is refused")
            except OSError as error:
                raise AdapterUnavailable("nobody answers at 127.0.0.1") from error
        except AdapterUnavailable:
            raise StepFailed("the step did not work")  # noqa: B904 such a chain counts, too
    except StepFailed as error:
        fields = failure_fields(error)
    cause = "StepFailed ← AdapterUnavailable: nobody answers at 127.0.0.1 ← OSError"
    assert fields == {"error": "the step did not work", "error_code": "StepFailed", "cause": cause}
