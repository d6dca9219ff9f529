"""The driver follows the transition table for every step result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from tests.harness.bare_run import bare_run
from tests.harness.tasks import PLAN, approved
from tideate_core.builtin.task.definition import TaskHooks, task_definition
from tideate_core.builtin.task.driver import TaskDriver
from tideate_core.builtin.task.environment import TaskEnvironment
from tideate_core.engine import EventName, RunRequest
from tideate_core.errors import InvalidTransition, MoveLimitReached, StepFailed
from tideate_core.gates import CheckResult, CheckStatus, VerificationReport
from tideate_core.machines import WorkflowEvent as E
from tideate_core.toolchain import Check

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tideate_core.engine.driver import Work
    from tideate_core.workflows import StepContext

STEP = cast("StepContext", None)
REPORT = VerificationReport(
    checks=[CheckResult(check=check, status=CheckStatus.PASSED, exit_code=0) for check in Check]
).model_dump(mode="json")
RESULT: dict[str, list[str]] = {"files_created": ["a.py"]}
VALUES: dict[E, dict[str, Any]] = {
    E.START_TASK: {"snapshot": "s1", "left_out": []},
    E.PLANNING_COMPLETE: {"plan": PLAN},
    E.PLAN_GATE_PASSED: {"gate": 1},
    E.PLAN_GATE_FAILED: {"gate": 1, "issues": ["steps: there is no step"]},
    E.AUDITING_COMPLETE: {"audit": approved()},
    E.AUDIT_GATE_PASSED: {"gate": 2, "plan": PLAN},
    E.AUDIT_GATE_FAILED: {"gate": 2, "issues": ["step 1: not like this"]},
    E.EXECUTION_COMPLETE: {"changes": [], "result": RESULT},
    E.EXECUTION_GATE_PASSED: {"gate": 3, "written": ["a.py"], "diff": "+a"},
    E.EXECUTION_GATE_FAILED: {"gate": 3, "issues": ["a.py:1: what"]},
    E.DOCUMENTATION_COMPLETE: {"changes": [], "result": {"success": True}},
    E.DOCUMENTATION_GATE_PASSED: {"gate": 4, "written": ["CHANGELOG.md"]},
    E.DOCUMENTATION_GATE_FAILED: {"gate": 4, "issues": ["CHANGELOG.md: no entry"]},
    E.VERIFICATION_PASSED: {"gate": 5, "report": REPORT},
    E.VERIFICATION_FAILED: {"gate": 5, "report": REPORT, "issues": ["tests: failed"]},
    E.CORRECTION_SUCCEEDED: {"edit": "e1", "end": "", "plan": PLAN, "written": ["a.py"]},
    E.CORRECTION_EXHAUSTED: {"end": "the corrector changed nothing", "issues": ["tests: failed"]},
}
TO_AUDIT = (E.START_TASK, E.PLANNING_COMPLETE, E.PLAN_GATE_PASSED, E.AUDITING_COMPLETE)
TO_EXECUTION = (*TO_AUDIT, E.AUDIT_GATE_PASSED, E.EXECUTION_COMPLETE)
TO_DOCUMENTS = (*TO_EXECUTION, E.EXECUTION_GATE_PASSED, E.DOCUMENTATION_COMPLETE)
TO_VERIFICATION = (*TO_DOCUMENTS, E.DOCUMENTATION_GATE_PASSED)


class Course:
    """Driver with its reported moves."""

    def __init__(self, limits: Mapping[str, int] | None = None, *, confirm: tuple[str, ...] = ()) -> None:
        self.moves: list[dict[str, Any]] = []
        run = bare_run(RunRequest(name="task", prompt="x"), config={"limits": limits or {}})
        run.recorder.event = self._tell  # type: ignore[method-assign]
        self.driver = TaskDriver(task_definition(), TaskEnvironment(run), confirm=confirm, prompt="x")
        self.driver.prepare()
        self.works: list[Work] = []

    def _tell(self, name: EventName, data: dict[str, Any]) -> None:
        assert name is EventName.TRANSITION
        self.moves.append(data)

    async def go(self, *events: E) -> None:
        for event in events:
            (work,) = self.driver.ready_steps()
            assert self.driver.ready_steps() == []
            self.driver.begin_step(work)
            self.works.append(work)
            await self.driver.complete_step(work, {"event": event.value, **VALUES[event]}, STEP)

    @property
    def steps(self) -> list[str]:
        return [work.step for work in self.works]


async def test_the_straight_way() -> None:
    course = Course()
    await course.go(*TO_VERIFICATION, E.VERIFICATION_PASSED)
    driver = course.driver
    assert not driver.has_more
    assert driver.ready_steps() == []
    assert driver.at_last
    assert [move["to"] for move in course.moves] == [*course.steps, "complete"]
    assert [move["move"] for move in course.moves] == list(range(1, 12))
    assert [{**move} for move in driver.path] == [
        {key: value for key, value in move.items() if key != "move"} for move in course.moves
    ]
    assert (driver.attempts, driver.snapshot) == (0, "s1")
    words = driver.response()
    for said in (PLAN["objective"], "a.py", "CHANGELOG.md", "tests: passed", "s1"):
        assert said in words


@pytest.mark.parametrize(
    ("before", "event", "said"),
    [
        (TO_AUDIT[:2], E.PLAN_GATE_FAILED, "there is no step"),
        (TO_EXECUTION, E.EXECUTION_GATE_FAILED, "a.py:1: what"),
        (TO_DOCUMENTS, E.DOCUMENTATION_GATE_FAILED, "no entry"),
        ((*TO_VERIFICATION, E.VERIFICATION_FAILED), E.CORRECTION_EXHAUSTED, "the corrector changed nothing"),
    ],
)
async def test_a_gate_that_fails_ends_it_and_says_why(before: tuple[E, ...], event: E, said: str) -> None:
    course = Course()
    await course.go(*before)
    with pytest.raises(StepFailed, match=said):
        await course.go(event)
    assert not course.driver.has_more
    assert course.moves[-1]["to"] == "failed"
    course.driver.reset()
    assert course.driver.has_more
    assert len(course.driver.path) == len(course.moves)


def test_each_step_belongs_to_the_stage_that_its_gate_decides_on() -> None:
    driver = Course().driver
    stages = [
        driver.stage_of(work) for work in (None, "idle", "planning#2", "awaiting_plan_gate", "auditing")
    ]
    assert stages == [None, None, 1, 1, 2]
    assert [driver.stage_of(work) for work in ("awaiting_documentation_gate#3", "self_correcting")] == [4, 5]


async def test_a_rejected_audit_leads_back_to_planning_with_its_issues() -> None:
    course = Course()
    await course.go(*TO_AUDIT, E.AUDIT_GATE_FAILED)
    assert course.moves[-1] == {
        "from": "awaiting_audit_gate",
        "to": "planning",
        "when": "audit_gate_failed",
        "by": "gate",
        "move": 6,
    }
    assert (course.driver._record.rejected, course.driver._record.issues) == (1, ["step 1: not like this"])
    await course.go(*TO_AUDIT[1:])
    assert course.steps[5:] == ["planning#2", "awaiting_plan_gate#2", "auditing#2"]
    assert course.works[5].index == 6


async def test_a_correction_leads_to_another_verification() -> None:
    course = Course()
    await course.go(*TO_VERIFICATION, E.VERIFICATION_FAILED, E.CORRECTION_SUCCEEDED, E.VERIFICATION_PASSED)
    assert course.steps[-3:] == ["verifying", "self_correcting", "verifying#2"]
    assert (course.driver.attempts, course.driver._record.written) == (1, ["a.py", "CHANGELOG.md"])
    assert "Corrected once" in course.driver.response()


async def test_no_event_leads_another_way_than_the_table() -> None:
    course = Course()
    await course.go(E.START_TASK)
    with pytest.raises(InvalidTransition):
        await course.go(E.VERIFICATION_PASSED)
    assert course.driver.has_more


@pytest.mark.parametrize("limits", [{"max_moves": 5}, {"max_visits": 1}])
async def test_it_does_not_go_round_for_ever(limits: dict[str, int]) -> None:
    course = Course(limits)
    with pytest.raises(MoveLimitReached, match=next(iter(limits))):
        await course.go(*TO_AUDIT, E.AUDIT_GATE_FAILED)


async def test_a_task_that_is_left_in_the_middle_is_reset_by_force(caplog: pytest.LogCaptureFixture) -> None:
    course = Course()
    await course.go(E.START_TASK)
    course.driver.reset()
    assert "forced from planning" in caplog.text


async def test_a_state_to_confirm_is_asked_about() -> None:
    course = Course(confirm=("planning",))
    await course.go(E.START_TASK)
    (work,) = course.driver.ready_steps()
    assert work.question is not None
    assert "planning" in work.question.message


async def test_no_step_is_skipped() -> None:
    course = Course()
    (work,) = course.driver.ready_steps()
    with pytest.raises(InvalidTransition):
        course.driver.skip_step(work)


def test_corrections_are_counted_by_what_was_written() -> None:
    done, ended = {"event": "correction_succeeded"}, {"event": "correction_exhausted"}
    results = {
        "self_correcting": done,
        "self_correcting#2": done,
        "self_correcting#3": ended,
        "verifying": done,
    }
    assert TaskHooks().summary(results).attempts == 2
    assert TaskHooks().restart(["planning", "auditing"]) == (), "nothing was written"
