"""Steps of the handoff on their own: what a plan may not say, and what stops them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from pydantic import ValidationError

from tests.builtin.handoff.test_files import PLAN
from tideate_core.builtin.handoff.models import PlanFile
from tideate_core.builtin.handoff.steps import _as_markdown, _places, _refuse_dirty
from tideate_core.errors import InvalidInput

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.workflows import StepContext


def _step(root: Path | None, **results: Any) -> StepContext:
    async def unsaved_files() -> list[str]:
        return []

    workspace = SimpleNamespace(root=root, unsaved_files=unsaved_files)
    return cast("StepContext", SimpleNamespace(workspace=workspace, results=results))


def test_the_plan_as_markdown_ends_with_its_rollback_strategy() -> None:
    plan = PlanFile.model_validate({**PLAN, "rollbackStrategy": "Revert the commit."})
    assert _as_markdown(plan).endswith("\n\nRollback: Revert the commit.")


def test_outside_of_a_project_there_is_no_handoff() -> None:
    with pytest.raises(InvalidInput, match="needs a project"):
        _places(_step(None))


async def test_more_changes_than_a_page_of_the_status_are_refused(tmp_path: Path) -> None:
    step = _step(tmp_path, status={"nextCursor": "c", "total": 1200, "files": []})
    with pytest.raises(InvalidInput, match="1200 files have changes"):
        await _refuse_dirty(step, ["a.py"])


def test_a_plan_with_characters_that_nobody_sees_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"U\+202E"):
        PlanFile.model_validate({**PLAN, "objective": "Greet \u202e everybody"})
