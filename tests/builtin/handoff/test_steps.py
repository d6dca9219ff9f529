"""Handoff steps in isolation: rejected plans and blocking conditions."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from pydantic import ValidationError

from tests.builtin.handoff.test_file_formats import PLAN
from tideate_core.builtin.handoff.models import PlanFile
from tideate_core.builtin.handoff.progress import now
from tideate_core.builtin.handoff.steps import (
    _as_markdown,
    _project,
    _refuse_dirty,
    _refuse_forbidden_files,
    edit,
)
from tideate_core.errors import InvalidInput
from tideate_core.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.bench import Bench
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
        _project(_step(None))


async def test_more_changes_than_a_page_of_the_status_are_refused(tmp_path: Path) -> None:
    step = _step(tmp_path, status={"nextCursor": "c", "total": 1200, "files": []})
    with pytest.raises(InvalidInput, match="1200 files have changes"):
        await _refuse_dirty(step, ["a.py"])


def test_a_plan_with_characters_that_nobody_sees_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"U\+202E"):
        PlanFile.model_validate({**PLAN, "objective": "Greet \u202e everybody"})


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("-rf.py", "programs take '-rf.py' for an option"),
        ("~/greet.py", "a shell expands ~"),
        ("src\\greet.py", "it has a backslash"),
    ],
)
def test_a_name_that_no_new_file_may_have_is_refused(tmp_path: Path, name: str, why: str) -> None:
    one = {**PLAN["steps"][2], "expectedOutputs": [name]}
    plan = PlanFile.model_validate({"planId": "p", "steps": [one]})
    step = SimpleNamespace(workspace=Workspace(tmp_path, private=tmp_path / ".tideate"))
    with pytest.raises(InvalidInput, match=f"the plan's step 't': .* is not a name for a new file: {why}"):
        _refuse_forbidden_files(cast("StepContext", step), plan)


async def test_a_plan_that_leaves_all_as_it_is_fails_and_says_so(bench: Bench) -> None:
    text = "def test_greet():\n    assert True\n"
    bench.write("tests/test_greet.py", text)
    plan = {"plan": {"planId": "p", "steps": [PLAN["steps"][2]]}, "started_at": now()}

    async def planned(_step: StepContext) -> dict[str, Any]:
        return plan

    async def status(_step: StepContext) -> dict[str, Any]:
        return {"nextCursor": None, "files": []}

    bench.register("hand", {"plan": planned, "status": status, "edit": edit})
    result = await bench.run("hand")
    assert (result.ok, result.error) == (False, "the plan was carried out and changes no file")
    assert bench.server.requests == [], "its tests are there already"
    assert bench.fingerprint() == {"tests/test_greet.py": text.encode()}
