"""Check events are sent during the check, at a limited rate."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

from tideate_core.builtin.task.verification import (
    KEPT_FAILURES,
    KEPT_OUTPUT,
    MOST_LINES,
    CheckEvents,
    bounded,
)
from tideate_core.engine import EventName
from tideate_core.gates import CheckResult, CheckStatus, VerificationReport
from tideate_core.process import OutputLine
from tideate_core.toolchain import Check, Failure, Tool

if TYPE_CHECKING:
    from tideate_core.builtin.task.environment import TaskEnvironment
    from tideate_core.workflows import StepContext

TOOL = Tool(Check.TESTS, "pytest", ("pytest", "-q", "a b"), "configured")


class Listening:
    """Environment that records its events."""

    def __init__(self) -> None:
        self.told: list[tuple[EventName, dict[str, Any]]] = []
        self.heard = asyncio.Event()

    def report(self, _step: StepContext, name: EventName, data: dict[str, Any]) -> None:
        self.told.append((name, data))
        self.heard.set()


def check_events() -> tuple[CheckEvents, Listening]:
    environment = Listening()
    return CheckEvents(cast("StepContext", None), cast("TaskEnvironment", environment)), environment


def result(**more: Any) -> CheckResult:
    given = {"status": CheckStatus.FAILED, "exit_code": 1, "reason": "why", "duration_ms": 7, **more}
    return CheckResult(check=Check.TESTS, **given)


async def test_a_check_is_told_with_its_command_and_its_end() -> None:
    tell, environment = check_events()
    tell.on_check(Check.TESTS, TOOL)
    tell.on_result(result(failures=[Failure("a.py", 3, None, "wrong")]))
    (_, started), (name, ended) = environment.told
    assert started == {"check": "tests", "command": "pytest -q 'a b'"}
    assert name is EventName.CHECK_ENDED
    assert (ended["status"], ended["exit_code"], ended["duration_ms"]) == ("failed", 1, 7)
    assert (ended["failures"][0]["filename"], ended["failures"][0]["lnum"]) == ("a.py", 3)


async def test_lines_come_together_after_a_moment() -> None:
    tell, environment = check_events()
    tell.on_lines(Check.TESTS, [OutputLine("stdout", "one")])
    tell.on_lines(Check.TESTS, [OutputLine("stderr", "two")])
    assert environment.told == []
    await asyncio.wait_for(environment.heard.wait(), 60)
    assert environment.told == [(EventName.CHECK_OUTPUT, {"check": "tests", "lines": ["one", "two"]})]


async def test_of_too_many_lines_the_last_are_told_and_how_many_were_left_out() -> None:
    tell, environment = check_events()
    for number in range(5_000):
        tell.on_lines(Check.TESTS, [OutputLine("stdout", f"{number}")])
    tell.on_result(result())
    (_, output), (last, _) = environment.told
    assert last is EventName.CHECK_ENDED
    assert output["lines"][0] == f"… {5_000 - MOST_LINES} lines left out"
    assert (len(output["lines"]), output["lines"][-1]) == (MOST_LINES + 1, "4999")


async def test_after_the_end_nothing_is_told() -> None:
    tell, environment = check_events()
    tell.on_lines(Check.TESTS, [OutputLine("stdout", "late")])
    tell.close()
    assert tell._due is None
    assert environment.told == []


def test_a_kept_report_is_small_and_the_same_errors_stay_the_same() -> None:
    failures = [Failure(f"f{number}.py", number + 1, None, f"m{number}") for number in range(500)]
    first = VerificationReport(checks=[result(output="x\n" * 50_000, failures=failures)])
    moved = [Failure(one.file, (one.line or 0) + 9, None, one.message) for one in failures]
    again = VerificationReport(checks=[result(output="y\n" * 50_000, failures=moved)])
    kept = bounded(first)
    assert (len(kept.checks[0].output), len(kept.checks[0].failures)) == (KEPT_OUTPUT, KEPT_FAILURES)
    assert kept.checks[0].more_failures
    assert kept.signature() == bounded(again).signature()
    assert VerificationReport.model_validate(kept.model_dump(mode="json")) == kept
