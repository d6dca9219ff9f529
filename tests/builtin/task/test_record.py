"""Final messages of a task."""

from __future__ import annotations

from tideate_core.builtin.task.record import MOST_LISTED, TaskRecord, failure_of, summary_of
from tideate_core.gates import CheckResult, CheckStatus, ExecutionPlan, VerificationReport
from tideate_core.machines import WorkflowState
from tideate_core.toolchain import Check


def test_a_failure_names_so_many_issues_and_counts_the_rest() -> None:
    record = TaskRecord(issues=[f"issue {number}" for number in range(MOST_LISTED + 3)])
    lines = failure_of(WorkflowState.AWAITING_EXECUTION_GATE, record).split("\n")
    assert (lines[0], lines[1], lines[-2:]) == (
        "the edits did not pass gate 3:",
        "- issue 0",
        [f"- issue {MOST_LISTED - 1}", "- and 3 more"],
    )


def test_a_failure_says_why_corrections_ended_and_where_nothing_else_is_known_the_state() -> None:
    record = TaskRecord(end="the same errors came again")
    assert failure_of(WorkflowState.SELF_CORRECTING, record) == (
        "the verification did not pass gate 5, and the same errors came again"
    )
    assert failure_of(WorkflowState.DOCUMENTING, record) == "the task failed in 'documenting'"


def test_a_summary_of_little_says_only_that() -> None:
    assert summary_of(TaskRecord(plan=ExecutionPlan(objective="Nothing much"))) == (
        "Nothing much\n\nFiles:\n\n- none"
    )


def test_a_summary_tells_of_files_checks_corrections_and_the_snapshot() -> None:
    checks = [
        CheckResult(check=Check.TESTS, status=CheckStatus.PASSED),
        CheckResult(check=Check.BUILD, status=CheckStatus.PASSED, required=False),
    ]
    record = TaskRecord(
        snapshot="s1",
        plan=ExecutionPlan(objective="Count lines"),
        written=["a.py", "b.py"],
        reports=[VerificationReport(), VerificationReport(checks=checks)],
        edits=["one", "two"],
    )
    assert summary_of(record).split("\n\n") == [
        "Count lines",
        "Files:",
        "- a.py\n- b.py",
        "Checks:",
        "- tests: passed\n- build: off",
        "Corrected 2 times.",
        "Snapshot from before: s1",
    ]
