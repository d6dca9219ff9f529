"""A change request becomes verified, documented files of a real project."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.harness.tally import DONE, LINES, TASK
from tests.harness.tasks import CODE, edits
from tideate_core.engine import EventName

if TYPE_CHECKING:
    from tests.builtin.task.runs.desk import Desk

STAGES = [
    "idle",
    "planning",
    "awaiting_plan_gate",
    "auditing",
    "awaiting_audit_gate",
    "executing",
    "awaiting_execution_gate",
    "documenting",
    "awaiting_documentation_gate",
    "verifying",
]
GATES = ["plan", "audit", "execution", "documentation", "verification"]
CHECKS = ["type_check", "lint", "tests", "build", "documentation"]
UNTESTED = LINES.replace("splitlines()", 'split(" ")')
WRONG_LINES = UNTESTED.replace("int:", "str:")
WRONG = edits({**CODE, "src/tally/lines.py": WRONG_LINES})
"""Edit that fails tests and type check, but not the syntax check."""


@pytest.mark.slow
async def test_a_function_is_added_with_its_test_its_entry_and_its_item(real_desk: Desk) -> None:
    result = await real_desk.run()
    assert (result.ok, result.error, result.rollback_performed) == (True, None, False)
    assert real_desk.changed() == DONE
    assert sorted(result.files) == sorted(DONE)
    assert real_desk.steps() == STAGES
    assert real_desk.gates() == [(gate, True) for gate in GATES]
    assert real_desk.kinds() == ["document", "review", "review"]
    checks = real_desk.front.data(EventName.CHECK_ENDED)
    assert [(check["check"], check["status"]) for check in checks] == [(name, "passed") for name in CHECKS]
    roles = ("planner", "auditor", "executor", "documenter")
    assert [real_desk.model.asked(role) for role in roles] == [1, 1, 1, 2]
    assert all(TASK in words for role in ("planner", "auditor") for words in real_desk.model.prompts(role))


@pytest.mark.slow
async def test_what_the_real_tools_find_is_corrected(real_desk: Desk) -> None:
    real_desk.model.says("executor", WRONG)
    real_desk.model.says("corrector", edits({"src/tally/lines.py": LINES}))
    result = await real_desk.run()
    assert (result.ok, result.attempts) == (True, 1), result.error
    assert real_desk.changed() == DONE
    assert real_desk.steps() == [*STAGES, "self_correcting", "verifying#2"]
    assert real_desk.gates()[-2:] == [("verification", False), ("verification", True)]
    (told,) = real_desk.model.prompts("corrector")
    assert "src/tally/lines.py" in told
    assert "[return-value]" in told
    failed = [check for check in real_desk.front.data(EventName.CHECK_ENDED) if check["status"] == "failed"]
    assert [check["check"] for check in failed] == ["type_check", "tests"]
    assert failed[0]["failures"][0]["filename"].endswith("src/tally/lines.py")


@pytest.mark.slow
async def test_what_cannot_be_corrected_leaves_the_project_as_it_was_to_the_byte(real_desk: Desk) -> None:
    real_desk.model.says("executor", WRONG)
    real_desk.model.says("corrector", edits({"src/tally/lines.py": UNTESTED}))
    result = await real_desk.run()
    assert (result.ok, result.rollback_performed) == (False, True)
    assert real_desk.changed() == {}
    assert await real_desk.since_snapshot() == []
    (back,) = real_desk.front.data(EventName.ROLLED_BACK)
    assert sorted(back["restored"]) == sorted(DONE)
    assert (back["merged"], back["left"], back["error"]) == ([], [], None)
