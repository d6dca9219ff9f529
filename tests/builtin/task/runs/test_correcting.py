"""Verification errors are corrected while corrections make progress."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from tests.harness.tally import DONE, LINES
from tests.harness.tasks import CODE, PLAN, approved, edits, plan, rejected
from tideate_core.builtin.task.gates import MOST_EXTENSIONS
from tideate_core.engine import ConfirmationRequest, EventName
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from tests.builtin.task.runs.desk import Desk

pytestmark = pytest.mark.slow

BODY = "return len(text.splitlines())"


def written(expression: str) -> str:
    """Return an edit that makes the function return this expression."""
    return edits({"src/tally/lines.py": LINES.replace(BODY, f"return {expression}")})


def wrong(desk: Desk) -> None:
    """Script an executor's edit that fails the tests."""
    desk.model.says("executor", edits({**CODE, "src/tally/lines.py": LINES.replace(BODY, "return 0")}))


async def taken_back(desk: Desk) -> str:
    result = await desk.fail()
    (back,) = desk.front.data(EventName.ROLLED_BACK)
    assert (back["foreign"], back["left"]) == ([], [])
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


async def test_the_third_correction_may_still_do(desk: Desk) -> None:
    wrong(desk)
    answers = [written("1 / 0"), written("text.none"), written("len(text.splitlines())")]
    desk.model.says("corrector", *answers)
    result = await desk.run()
    assert (result.ok, result.attempts) == (True, 3), result.error
    assert desk.changed() == DONE


@pytest.mark.parametrize(
    ("expressions", "asked", "verified"),
    [
        (("1 / 0", "text.none", "[][0]", "len(text.splitlines())"), 3, 4),
        (("0 * 1", "0 * 2", "0 * 3"), 1, 2),
        (("1 / 0", "0", "1 / 0"), 3, 3),
        (("0",), 1, 1),
    ],
    ids=["the third is the last", "the same errors", "an earlier edit", "no change"],
)
async def test_corrections_end(desk: Desk, expressions: tuple[str, ...], asked: int, verified: int) -> None:
    wrong(desk)
    desk.model.says("corrector", *map(written, expressions))
    await taken_back(desk)
    assert desk.model.asked("corrector") == asked
    assert sum(step.startswith("verifying") for step in desk.steps()) == verified


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


@pytest.mark.parametrize(
    ("wants", "words", "audits"),
    [
        (["NEEDS FILE: ../elsewhere.py because it is wrong"], "needs a file that no task may change", 1),
        (
            ["NEEDS FILE: README.md/more.md because it is told there"],
            "gate 1 refused the plan with README.md/more.md: ",
            1,
        ),
        (
            ["NEEDS FILE: data/sample.bin, because it is counted"],
            "needs data/sample.bin, which the plan has and which cannot be shown",
            1,
        ),
        (
            [NEEDS.replace("splitting", f"splitting{number}") for number in range(MOST_EXTENSIONS + 1)],
            f"wanted more than {MOST_EXTENSIONS} files outside the plan",
            MOST_EXTENSIONS + 2,
        ),
    ],
)
async def test_a_file_that_cannot_be_added_ends_the_corrections(
    desk: Desk, wants: list[str], words: str, audits: int
) -> None:
    desk.model.says("planner", plan(files=[*PLAN["files"], "data/sample.bin"]))
    wrong(desk)
    desk.model.says("corrector", *wants)
    assert words in await taken_back(desk)
    assert (desk.model.asked("auditor"), desk.kinds().count("document")) == (audits, audits)


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
    await desk.succeed()
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


async def test_a_file_that_is_shown_already_is_not_added_however_it_is_written(desk: Desk) -> None:
    wrong(desk)
    shown = "NEEDS FILE: ./src/tally/lines.py, because it is wrong"
    desk.model.says("corrector", shown, edits({"src/tally/lines.py": LINES}))
    result = await desk.run()
    assert (result.ok, result.attempts) == (True, 1), result.error
    assert "it is shown, or is asked about by itself" in desk.model.prompts("corrector")[1]
    assert [gate for gate, _ in desk.gates()].count("plan") == 1


async def test_where_nobody_is_asked_a_file_is_added_when_both_gates_let_it(desk: Desk) -> None:
    wrong(desk)
    desk.model.says("corrector", NEEDS, edits(BOTH))
    result = await desk.run(require_confirmation=False)
    assert (result.ok, result.attempts, desk.kinds()) == (True, 1, []), result.error
    assert desk.gates()[5:7] == [("plan", True), ("audit", True)]
    assert (desk.root / "src/tally/splitting.py").read_text() == SPLITTING


async def test_what_is_to_be_known_of_a_correction_is_told(desk: Desk) -> None:
    wrong(desk)
    broken = LINES.replace(BODY, "return len(text.splitlines()")
    desk.model.says("corrector", edits({"src/tally/lines.py": broken}))
    await taken_back(desk)
    assert (
        "src/tally/lines.py, line 6: '(' was never closed in 'return len(text.splitlines()' is new"
        in desk.front.notices()
    )
