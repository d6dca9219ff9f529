"""The user's edits during a task remain, regardless of the task's outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builtin.task.runs.test_correcting import BODY
from tests.harness.tally import DONE, WORDS, node
from tests.harness.tasks import CODE, edits, plan
from tideate_core.engine import EventName
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.builtin.task.runs.desk import Desk
    from tests.harness.model_rules import Body
    from tests.snapshots.trees import Node
    from tideate_core.engine import ConfirmationRequest, WorkflowResult

pytestmark = pytest.mark.slow

FILE = "src/tally/words.py"
TITLE = '"""Words of a text."""'
MINE = '"""Words of a text, as models see them."""'
THEIRS = '"""Words of a text, as people see them."""'
TAIL = '\n\ndef count_letters(text: str) -> int:\n    """Return how many letters."""\n    return len(text)\n'


def elsewhere(text: str) -> str:
    return text + TAIL


def same_line(text: str) -> str:
    return text.replace(MINE, THEIRS).replace(TITLE, THEIRS)


def edit(desk: Desk, change: Callable[[str], str], name: str = FILE) -> str:
    """Change a file as the user does; return its new text."""
    path = desk.root / name
    path.write_text(change(path.read_text()))
    return path.read_text()


def executing(desk: Desk, *, well: bool) -> str:
    """Script an executor that also changes the file's title; return its answer."""
    lines = CODE["src/tally/lines.py"]
    code = {**CODE, FILE: WORDS.replace(TITLE, MINE)}
    if not well:
        code["src/tally/lines.py"] = lines.replace(BODY, "return 0")
        desk.model.says("corrector", "I cannot.")
    desk.model.says("planner", plan(files=[*code, "docs/usage.md"]))
    desk.model.says("executor", edits(code))
    return edits(code)


async def written_then_edited(
    desk: Desk, *, well: bool, change: Callable[[str], str], name: str = FILE
) -> WorkflowResult:
    """Edit a file as the user after the task has written its code."""
    executing(desk, well=well)
    desk.when("STEP_STARTED", "documenting", lambda: edit(desk, change, name))
    result = await desk.run()
    left = [] if well else desk.front.data(EventName.ROLLED_BACK)[-1]["left"]
    assert (result.ok, result.rollback_performed) == (well, not well and not left), result.error
    assert well or result.files == left
    return result


@pytest.mark.parametrize("change", [elsewhere, same_line])
async def test_in_a_file_of_the_task_that_goes_well(desk: Desk, change: Callable[[str], str]) -> None:
    await written_then_edited(desk, well=True, change=change)
    assert desk.changed() == {**DONE, FILE: node(change(WORDS.replace(TITLE, MINE)))}


async def test_elsewhere_in_a_file_of_the_task_that_is_taken_back(desk: Desk) -> None:
    await written_then_edited(desk, well=False, change=elsewhere)
    assert desk.changed() == {FILE: node(elsewhere(WORDS))}
    (back,) = desk.front.data(EventName.ROLLED_BACK)
    assert (back["merged"], back["left"], back["error"]) == ([FILE], [], None)


async def test_in_the_same_line_of_the_task_that_is_taken_back(desk: Desk) -> None:
    await written_then_edited(desk, well=False, change=same_line)
    assert desk.changed() == {FILE: node(same_line(WORDS))}
    (back,) = desk.front.data(EventName.ROLLED_BACK)
    assert (back["merged"], back["left"]) == ([], [FILE])
    assert FILE not in back["restored"]


@pytest.mark.parametrize("well", [True, False])
async def test_in_another_file(desk: Desk, *, well: bool) -> None:
    name = "README.md"
    result = await written_then_edited(desk, well=well, change=lambda text: text + "\nMine.\n", name=name)
    expected: dict[str, Node] = {name: node((desk.root / name).read_text())}
    assert expected[name][2].endswith(b"\nMine.\n")
    if well:
        expected |= {**DONE, FILE: node(WORDS.replace(TITLE, MINE))}
    assert desk.changed() == expected
    assert name not in result.files


async def test_a_new_file_of_the_task_that_the_person_changed_stays(desk: Desk) -> None:
    await written_then_edited(desk, well=False, change=elsewhere, name="src/tally/lines.py")
    left = (desk.root / "src/tally/lines.py").read_text()
    assert left.endswith(TAIL)
    assert list(desk.changed()) == ["src/tally/lines.py"]


@pytest.mark.parametrize("change", [elsewhere, same_line])
async def test_before_the_task_writes_while_the_model_answers(
    desk: Desk, change: Callable[[str], str]
) -> None:
    answer = executing(desk, well=True)

    def meanwhile(_: Body) -> str:
        edit(desk, change)
        return answer

    desk.model.says("executor", meanwhile)
    result = await desk.run()
    stays(desk, result, change)


@pytest.mark.parametrize("change", [elsewhere, same_line])
async def test_before_the_task_writes_while_they_review_it(desk: Desk, change: Callable[[str], str]) -> None:
    executing(desk, well=True)

    def meanwhile(request: ConfirmationRequest) -> Decision:
        if request.step == "awaiting_execution_gate":
            edit(desk, change)
        return Decision(True)

    desk.answers(review=meanwhile)
    result = await desk.run()
    stays(desk, result, change)


def stays(desk: Desk, result: WorkflowResult, change: Callable[[str], str]) -> None:
    """Check that the user's edit remains, with the task's edits or without any of them."""
    if result.ok:
        assert change is elsewhere
        assert desk.changed() == {**DONE, FILE: node(change(WORDS.replace(TITLE, MINE)))}
    else:
        assert result.rollback_performed is True
        assert desk.changed() == {FILE: node(change(WORDS))}
        assert FILE in str(result.error)
