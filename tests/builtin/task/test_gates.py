"""Gates cannot be bypassed, by an audit's fix or without a user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from tests.harness.tasks import approved, conditional
from tideate_core.builtin.task.changes import review_changes
from tideate_core.builtin.task.gates import MOST_ISSUES, issue_words
from tideate_core.engine import EventName
from tideate_core.gates import GateIssue
from tideate_core.workflows import Decision, Declined
from tideate_core.workspace import FileChange, Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from tests.builtin.task.runs.desk import Desk
    from tideate_core.builtin.task.environment import TaskEnvironment
    from tideate_core.workflows import StepContext

CHANGES = [FileChange("a.txt", "create", None, "a")]


@pytest.mark.slow
async def test_a_fix_of_the_audit_that_gate_1_would_refuse_is_a_rejection(desk: Desk) -> None:
    fix = {"step": None, "type": "edit", "description": "write elsewhere", "files": ["../elsewhere.py"]}
    desk.model.says("auditor", conditional(fix), approved())
    await desk.succeed()
    assert desk.gates()[:4] == [("plan", True), ("audit", False), ("plan", True), ("audit", True)]
    (gate,) = desk.front.data(EventName.GATE_FAILED)
    assert gate["auto_fixed"] is False
    assert "../elsewhere.py" in " ".join(gate["issues"])
    assert "../elsewhere.py" in desk.model.prompts("planner")[1]


class Asked:
    """Step with a user who declines everything."""

    refuses_executed = False

    def __init__(self, root: Path, *, demonstration: bool) -> None:
        self.demonstration = demonstration
        self.workspace = Workspace(root)
        self.kinds: list[str] = []

    async def confirm(self, kind: str, _message: str, **_rest: Any) -> Decision:
        self.kinds.append(kind)
        return Decision(False, reason="no")


class Nobody:
    """Environment of a run without a user."""

    gated = False


async def test_edits_of_a_demonstration_are_reviewed_even_where_nobody_is_to_be_asked(
    tmp_path: Path,
) -> None:
    step = Asked(tmp_path, demonstration=True)
    with pytest.raises(Declined, match="no"):
        await review_changes(cast("StepContext", step), cast("TaskEnvironment", Nobody()), CHANGES)
    assert step.kinds == ["review"]


async def test_other_edits_are_not(tmp_path: Path) -> None:
    step = Asked(tmp_path, demonstration=False)
    assert (
        await review_changes(cast("StepContext", step), cast("TaskEnvironment", Nobody()), CHANGES) == CHANGES
    )
    assert step.kinds == []


def test_of_very_many_issues_it_is_said_how_many_there_are() -> None:
    words = issue_words([GateIssue(what=f"issue {number}") for number in range(MOST_ISSUES + 3)])
    assert (len(words), words[-1]) == (MOST_ISSUES + 1, "and 3 more")
