"""What verification finds is corrected, as long as that leads anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.tally import DONE, LINES
from tests.support.tasks import CODE, edits
from tideate_core.engine import EventName

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
