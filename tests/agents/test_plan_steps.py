"""Analyses and reviews of a plan: prompts for the model, and results of its answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from tests.agents.stage import BRIEF, StageStep, role
from tests.harness.project import write_files
from tideate_core.agents.plan_steps import PartOfPlan, Verdict, analyse, review_change
from tideate_core.agents.staged_files import StagedFiles
from tideate_core.errors import UnusableAnswer
from tideate_core.workspace import FileChange

if TYPE_CHECKING:
    from pathlib import Path

PART = PartOfPlan("greet people", "look at it", "what is there?", ["coding: write it"], ["a.py", "new.py"])


async def analysed(step: StageStep, staged: StagedFiles | None = None, part: PartOfPlan = PART) -> str:
    return await analyse(step, role("planner"), BRIEF, part, staged or StagedFiles())  # type: ignore[arg-type]


async def reviewed(step: StageStep, diff: str) -> Verdict:
    return await review_change(step, role("auditor"), BRIEF, PART, diff)  # type: ignore[arg-type]


async def test_an_analysis_is_asked_for_with_the_files_and_the_other_parts(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.py": "A = 1\n"})
    step = StageStep(tmp_path, "  Nothing is there yet.\x07\n")
    assert await analysed(step) == "Nothing is there yet."
    asked = step.asked[0].user
    assert "The plan: greet people\n\nYour part of it: look at it\n\nwhat is there?\n" in asked
    assert "The other parts:\n\n- coding: write it\n" in asked
    assert "a.py as it is:\n\n```python\nA = 1\n```" in asked
    assert "new.py does not exist yet." in asked


async def test_an_analysis_sees_the_edits_that_were_made_before_it(tmp_path: Path) -> None:
    staged = StagedFiles()
    staged.stage([FileChange("new.py", "create", None, "B = 2\n")])
    step = StageStep(tmp_path, "Fine.")
    await analysed(step, staged)
    assert "new.py as it is:\n\n```python\nB = 2\n" in step.asked[0].user


async def test_an_empty_analysis_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnusableAnswer, match="the analysis 'look at it' is empty"):
        await analysed(StageStep(tmp_path, " \n"), part=PartOfPlan("greet people", "look at it"))


async def test_a_review_is_shown_the_change_and_gives_a_verdict(tmp_path: Path) -> None:
    step = StageStep(tmp_path, {"verdict": "reject", "reasons": ["no\ntest", "wrong name"]})
    verdict = await reviewed(step, "--- a\n+++ b\n+x = 1\n")
    assert (verdict.verdict, verdict.words) == ("reject", "no test\nwrong name")
    assert "```diff\n--- a\n+++ b\n+x = 1\n" in step.asked[0].user


async def test_a_review_of_nothing_says_so(tmp_path: Path) -> None:
    step = StageStep(tmp_path, {"verdict": "approve"})
    assert (await reviewed(step, "")).words == ""
    assert "Nothing was changed." in step.asked[0].user


@pytest.mark.parametrize("answer", [{}, {"verdict": "maybe"}, {"verdict": "approve", "note": "x"}])
def test_a_verdict_is_one_of_two_words(answer: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Verdict.model_validate(answer)
