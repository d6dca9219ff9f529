"""The user's changes to plan and review determine the result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.tally import AFTER, DONE, WORDS
from tests.harness.tasks import CODE, edits, plan
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.builtin.task.runs.desk import Desk
    from tideate_core.engine import ConfirmationRequest


def with_text(change: Callable[[str], str]) -> Callable[[ConfirmationRequest], Decision]:
    """Return an answer that edits the plan and accepts it."""

    def answer(request: ConfirmationRequest) -> Decision:
        edited = change(request.payload["text"])
        assert edited != request.payload["text"]
        return Decision(True, {"text": edited})

    return answer


def only(*names: str) -> Callable[[ConfirmationRequest], Decision]:
    """Return an answer that accepts only the changes of these files."""
    return taking(lambda file: range(max(1, len(file["hunks"]))) if file["path"] in names else ())


def taking(hunks: Callable[[dict[str, Any]], Any]) -> Callable[[ConfirmationRequest], Decision]:
    def answer(request: ConfirmationRequest) -> Decision:
        verdicts = [{"accepted": list(hunks(file))} for file in request.payload["files"]]
        return Decision(True, {"files": verdicts})

    return answer


@pytest.mark.slow
async def test_what_a_person_changes_in_the_plan_is_what_is_executed(desk: Desk) -> None:
    desk.answers(document=with_text(lambda text: text.replace("write count_lines", "write it in one line")))
    await desk.succeed()
    (told,) = desk.model.prompts("executor")
    assert ("write it in one line" in told, "write count_lines" in told) == (True, False)
    assert "write count_lines" not in desk.model.prompts("documenter")[0]
    (request, *_) = desk.front.requests
    assert request.payload["filetype"] == "markdown"
    for words in (plan()["objective"], plan()["rollback_strategy"], "tools/count.sh"):
        assert words in request.payload["text"]


@pytest.mark.slow
async def test_a_plan_that_a_person_spoils_is_asked_about_again_as_they_left_it(desk: Desk) -> None:
    strategy = plan()["rollback_strategy"]
    shown: list[dict[str, Any]] = []

    def answer(request: ConfirmationRequest) -> Decision:
        shown.append(request.payload)
        text = request.payload["text"]
        mended = text.replace(strategy, "") if len(shown) == 1 else text + f"\n{strategy}\n"
        return Decision(True, {"text": mended})

    desk.answers(document=answer)
    await desk.succeed()
    first, second = shown
    assert (first["problems"], strategy in second["text"]) == ([], False)
    assert "rollback strategy" in " ".join(second["problems"])
    assert desk.model.asked("executor") == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("value", "by", "error"),
    [
        (["# Plan"], "user", "the answer to a document is its text"),
        ({"text": 5}, "user", "the answer to a document is its text"),
        ({"text": "no plan"}, "policy", "the edited plan is invalid"),
    ],
)
async def test_what_is_no_plan_is_no_answer_about_the_plan(
    desk: Desk, value: Any, by: Any, error: str
) -> None:
    desk.answers(document=Decision(True, value, by=by))
    assert error in str((await desk.fail()).error)
    assert desk.model.asked("executor") == 0


@pytest.mark.slow
async def test_a_declined_plan_is_not_executed(desk: Desk) -> None:
    desk.answers(document=Decision(False, reason="not now"))
    result = await desk.fail()
    assert (result.cancelled, result.reason) == (True, "declined")
    assert desk.model.asked("executor") == 0


@pytest.mark.slow
async def test_a_part_of_the_review_is_what_is_written(desk: Desk) -> None:
    wanted = [name for name in CODE if name != "tools/count.sh"]
    desk.answers(review=lambda request: only(*wanted)(request) if len(desk.kinds()) == 2 else Decision(True))
    result = await desk.succeed()
    assert desk.changed() == {name: node for name, node in DONE.items() if name != "tools/count.sh"}
    assert "tools/count.sh" not in result.files
    decided = [gate for gate, _ in desk.gates()]
    assert decided.count("execution") == 2
    assert "wc -wl" not in desk.model.prompts("documenter")[0]


@pytest.mark.slow
async def test_a_part_that_is_no_whole_does_not_pass_gate_3_again(desk: Desk) -> None:
    both = WORDS.replace("-> int:\n", "-> int:\n    told = (\n").replace(
        "    return len", "    )\n    assert told\n    return len"
    )
    desk.model.says("planner", plan(files=[*CODE, "src/tally/words.py"]))
    desk.model.says("executor", edits({**CODE, "src/tally/words.py": both}))

    def first_hunk(file: dict[str, Any]) -> Any:
        assert file["path"] != "src/tally/words.py" or len(file["hunks"]) == 2
        return [0]

    desk.answers(review=taking(first_hunk))
    result = await desk.fail()
    assert desk.gates()[-2:] == [("execution", True), ("execution", False)]
    assert "src/tally/words.py" in str(result.error)


def documents(*names: str) -> Callable[[ConfirmationRequest], Decision]:
    """Return an answer that accepts all code, and only these documents."""

    def answer(request: ConfirmationRequest) -> Decision:
        return only(*names)(request) if request.step == "awaiting_documentation_gate" else Decision(True)

    return answer


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["docs/usage.md", "CHANGELOG.md"])
async def test_a_part_of_the_documents_is_written_if_it_passes_gate_4_again(desk: Desk, missing: str) -> None:
    desk.answers(review=documents(*{"CHANGELOG.md", "CHECKLIST.md", "docs/usage.md"} - {missing}))
    passes = missing != "CHANGELOG.md"
    if passes:
        await desk.succeed()
        assert desk.changed() == {name: node for name, node in DONE.items() if name != missing}
    else:
        assert "CHANGELOG.md" in str((await desk.fail()).error)
    assert [passed for gate, passed in desk.gates() if gate == "documentation"] == [True, passes]


@pytest.mark.slow
@pytest.mark.parametrize("nth", [2, 3])
async def test_a_declined_review_takes_everything_back(desk: Desk, nth: int) -> None:
    desk.answers(review=lambda _: Decision(len(desk.kinds()) < nth, reason="no"))
    result = await desk.fail()
    assert (result.cancelled, result.reason) == (True, "declined")


@pytest.mark.slow
async def test_nobody_is_asked_where_nobody_wants_to_be(desk: Desk) -> None:
    desk.configure("[workflows.task]\nrequire_confirmation = false\n")
    await desk.succeed()
    assert (desk.kinds(), desk.changed()) == ([], DONE)
    assert len(desk.gates()) == 5


@pytest.mark.slow
async def test_a_project_may_give_a_role_other_instructions(desk: Desk) -> None:
    agents = desk.config / "agents"
    agents.mkdir()
    desk.model.server.answers("You are the planner of this house", plan())
    (agents / "planner.md").write_text("You are the planner of this house.\n")
    result = await desk.run()
    assert (result.ok, desk.model.asked("planner")) == (True, 0), result.error
    assert AFTER["src/tally/lines.py"] == (desk.root / "src/tally/lines.py").read_text()
