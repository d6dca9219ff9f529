"""Files outside the plan: one question for each change, and none about decided files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.agents.stage import StageStep
from tideate_core.agents.writer import within_plan
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.agents.tools.tool import MayChange

PLANNED = {"a.py": "", "kept.md": "somebody else keeps it"}


def asking(step: StageStep) -> MayChange:
    return within_plan(step, PLANNED.get)  # type: ignore[arg-type]


async def test_one_question_is_about_all_files_of_a_change_and_is_not_asked_again(tmp_path: Path) -> None:
    step = StageStep(tmp_path, decisions=(Decision(True),))
    assert await asking(step)(["a.py", "b.py", "c.py"]) == ""
    assert await asking(step)(["c.py"]) == ""
    ((message, details),) = step.confirmed
    assert message == "stage: may the model also change 2 more files? The plan does not name them."
    assert details.startswith("- b.py\n- c.py\n\n")


@pytest.mark.parametrize(("paths", "named"), [(["b.py"], "it"), (["b.py", "c.py"], "them")])
async def test_a_no_is_told_with_the_names_and_is_not_asked_again(
    tmp_path: Path, paths: list[str], named: str
) -> None:
    step = StageStep(tmp_path, decisions=(Decision(False),))
    words = (
        f"{', '.join(paths)}: the plan does not name {named}, and the person does not want {named} changed"
    )
    for _ in range(2):
        assert await asking(step)(["a.py", *paths]) == words
    assert len(step.confirmed) == 1


async def test_what_may_not_be_changed_at_all_is_asked_about_with_nothing(tmp_path: Path) -> None:
    step = StageStep(tmp_path, decisions=(Decision(True),))
    assert await asking(step)(["b.py", "kept.md"]) == "kept.md: somebody else keeps it"
    assert step.confirmed == []
