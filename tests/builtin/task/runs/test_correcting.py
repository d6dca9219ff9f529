"""What verification finds is corrected, as long as that leads anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from tests.support.tally import DONE, LINES
from tests.support.tasks import CODE, PLAN, approved, edits, plan, rejected
from tideate_core.builtin.task.extension import MOST_EXTENSIONS
from tideate_core.engine import ConfirmationRequest, EventName
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from tests.builtin.task.runs.desk import Desk

pytestmark = pytest.mark.slow

BODY = "return len(text.splitlines())"


def written(expression: str) -> str:
    """Return an answer in which the function returns this."""
    return edits({"src/tally/lines.py": LINES.replace(BODY, f"return {expression}")})


def wrong(desk: Desk) -> None:
    """Let the executor write what the tests find."""
    desk.model.says("executor", edits({**CODE, "src/tally/lines.py": LINES.replace(BODY, "return 0")}))


async def taken_back(desk: Desk) -> str:
    result = await desk.run()
    assert (result.ok, result.rollback_performed) == (False, True)
    assert desk.changed() == {}
    assert await desk.since_snapshot() == []
    assert len(desk.front.data(EventName.ROLLED_BACK)) == 1
    return str(result.error)


async def test_a_failing_test_is_corrected(desk: Desk) -> None:
    wrong(desk)
    desk.model.says("corrector", edits({"src/tally/lines.py": LINES}))
    result = await desk.run()
    assert (result.ok, result.attempts, result.rollback_performed) == (True, 1, False), result.error
    assert desk.changed() == DONE
    assert desk.kinds() == ["document", "review", "review", "review"]
    (told,) = desk.model.prompts("corrector")
    assert "tests/test_lines.py" in told
    assert "return 0" in told


async def test_the_third_correction_is_the_last_one(desk: Desk) -> None:
    wrong(desk)
    answers = [written("1 / 0"), written("text.none"), written("[][0]"), written("len(text.splitlines())")]
    desk.model.says("corrector", *answers)
    await taken_back(desk)
    assert desk.model.asked("corrector") == 3
    assert desk.steps().count("verifying") + sum("verifying#" in step for step in desk.steps()) == 4


async def test_the_third_correction_may_still_do(desk: Desk) -> None:
    wrong(desk)
    answers = [written("1 / 0"), written("text.none"), written("len(text.splitlines())")]
    desk.model.says("corrector", *answers)
    result = await desk.run()
    assert (result.ok, result.attempts) == (True, 3), result.error
    assert desk.changed() == DONE


async def test_errors_that_stay_the_same_end_it(desk: Desk) -> None:
    wrong(desk)
    desk.model.says("corrector", written("0 * 1"), written("0 * 2"), written("0 * 3"))
    await taken_back(desk)
    assert desk.model.asked("corrector") == 1


async def test_an_edit_that_was_made_before_ends_it(desk: Desk) -> None:
    wrong(desk)
    desk.model.says("corrector", written("1 / 0"), written("0"), written("1 / 0"))
    await taken_back(desk)
    assert desk.model.asked("corrector") == 3
    assert sum(step.startswith("verifying") for step in desk.steps()) == 3


async def test_a_corrector_that_changes_nothing_ends_it(desk: Desk) -> None:
    wrong(desk)
    desk.model.says("corrector", written("0"))
    await taken_back(desk)
    assert sum(step.startswith("verifying") for step in desk.steps()) == 1


NEEDS = "NEEDS FILE: `src/tally/splitting.py`, because lines are split there."
SPLITTING = '''\
def split(text: str) -> list[str]:
    """Split a text into its lines."""
    return text.splitlines()
'''
USES = LINES.replace(BODY, "return len(split(text))")
BOTH = {
    "src/tally/splitting.py": SPLITTING,
    "src/tally/lines.py": f"from tally.splitting import split\n\n{USES}",
}


async def test_a_correction_that_needs_another_file_extends_the_plan_through_gates_and_person(
    desk: Desk,
) -> None:
    wrong(desk)
    desk.model.says("corrector", NEEDS, edits(BOTH))
    result = await desk.run()
    assert (result.ok, result.attempts) == (True, 1), result.error
    assert desk.gates() == [
        ("plan", True),
        ("audit", True),
        ("execution", True),
        ("documentation", True),
        ("verification", False),
        ("plan", True),
        ("audit", True),
        ("verification", True),
    ]
    assert (desk.root / "src/tally/splitting.py").read_text() == SPLITTING
    asked = [request for request in desk.front.requests if request.kind == "document"][-1]
    assert "needs src/tally/splitting.py: lines are split there. Carry out the plan with it?" in asked.message
    assert "src/tally/splitting.py does not exist yet" in desk.model.prompts("corrector")[1]
    assert "src/tally/splitting.py" in desk.model.prompts("auditor")[-1]


async def test_a_plan_that_the_audit_does_not_let_be_extended_ends_the_corrections(desk: Desk) -> None:
    wrong(desk)
    desk.model.says("auditor", approved(), rejected("not this file"))
    desk.model.says("corrector", NEEDS)
    error = await taken_back(desk)
    assert "gate 2 refused the plan with src/tally/splitting.py: " in error
    assert "not this file" in error


async def test_a_file_that_no_task_may_change_is_not_added(desk: Desk) -> None:
    wrong(desk)
    desk.model.says("corrector", "NEEDS FILE: ../elsewhere.py because it is wrong")
    assert "needs a file that no task may change" in await taken_back(desk)


async def test_a_person_who_does_not_want_the_file_is_not_asked_again(desk: Desk) -> None:
    wrong(desk)
    seen = []

    def answer(request: ConfirmationRequest) -> Decision:
        seen.append(request.message)
        return Decision(len(seen) == 1, by="user")

    desk.answers(document=answer)
    desk.model.says("corrector", NEEDS)
    assert "the plan with src/tally/splitting.py was declined" in await taken_back(desk)
    assert len(seen) == 2


MORE: Final = (
    "Say in the module how lines are split, as nobody will know it otherwise when they read this plan"
)


async def test_comments_on_an_extended_plan_go_to_the_planner(
    desk: Desk,
) -> None:
    wrong(desk)
    new = plan("count lines, split elsewhere", files=[*PLAN["files"], "src/tally/splitting.py"])
    seen: list[ConfirmationRequest] = []

    def answer(request: ConfirmationRequest) -> Decision:
        seen.append(request)
        return Decision(False, {"comments": [{"text": MORE}]}) if len(seen) == 2 else Decision(True)

    desk.answers(document=answer)
    desk.model.says("planner", PLAN, new)
    desk.model.says("corrector", NEEDS, edits(BOTH))
    result = await desk.run()
    assert result.ok, result.error
    _, extended, revised = seen
    assert extended.payload["revisable"]
    assert "Revision 2. The correction needs src/tally/splitting.py" in revised.message
    assert revised.payload["changed"]
    told = desk.model.prompts("planner")[1]
    assert MORE in told
    assert "src/tally/splitting.py" in told, "the planner is shown the plan as it was extended"
    assert [gate for gate, _ in desk.gates()].count("audit") == 3
    assert "count lines, split elsewhere" in desk.model.prompts("corrector")[1]
    assert (desk.root / "src/tally/splitting.py").read_text() == SPLITTING


async def test_only_so_many_files_are_added(desk: Desk) -> None:
    wrong(desk)
    wants = [NEEDS.replace("splitting", f"splitting{number}") for number in range(MOST_EXTENSIONS + 1)]
    desk.model.says("corrector", *wants)
    error = await taken_back(desk)
    assert f"wanted more than {MOST_EXTENSIONS} files beside the plan" in error


async def test_a_file_that_is_shown_already_is_not_added_however_it_is_written(desk: Desk) -> None:
    wrong(desk)
    shown = "NEEDS FILE: ./src/tally/lines.py, because it is wrong"
    desk.model.says("corrector", shown, edits({"src/tally/lines.py": LINES}))
    result = await desk.run()
    assert (result.ok, result.attempts) == (True, 1), result.error
    assert "it is shown, or is asked about by itself" in desk.model.prompts("corrector")[1]
    assert [gate for gate, _ in desk.gates()].count("plan") == 1


async def test_a_file_that_cannot_be_is_refused_by_gate_1_and_nobody_is_asked(desk: Desk) -> None:
    wrong(desk)
    desk.model.says("corrector", "NEEDS FILE: README.md/more.md because it is told there")
    error = await taken_back(desk)
    assert "gate 1 refused the plan with README.md/more.md: " in error
    assert "README.md is a file" in error
    assert (desk.kinds().count("document"), desk.model.asked("auditor")) == (1, 1)


async def test_where_nobody_is_asked_a_file_is_added_when_both_gates_let_it(desk: Desk) -> None:
    wrong(desk)
    desk.model.says("corrector", NEEDS, edits(BOTH))
    result = await desk.run(require_confirmation=False)
    assert (result.ok, result.attempts, desk.kinds()) == (True, 1, []), result.error
    assert desk.gates()[5:7] == [("plan", True), ("audit", True)]
    assert (desk.root / "src/tally/splitting.py").read_text() == SPLITTING


async def test_a_file_of_the_plan_that_cannot_be_shown_is_not_added_once_more(desk: Desk) -> None:
    desk.model.says("planner", plan(files=[*PLAN["files"], "data/sample.bin"]))
    wrong(desk)
    desk.model.says("corrector", "NEEDS FILE: data/sample.bin, because it is counted")
    assert "needs data/sample.bin, which the plan has and which cannot be shown" in await taken_back(desk)
    assert desk.model.asked("auditor") == 1


async def test_what_is_to_be_known_of_a_correction_is_told(desk: Desk) -> None:
    wrong(desk)
    broken = LINES.replace(BODY, "return len(text.splitlines()")
    desk.model.says("corrector", edits({"src/tally/lines.py": broken}))
    await taken_back(desk)
    notices = [data["message"] for data in desk.front.data(EventName.NOTICE)]
    assert (
        "src/tally/lines.py, line 6: '(' was never closed in 'return len(text.splitlines()' is new" in notices
    )
