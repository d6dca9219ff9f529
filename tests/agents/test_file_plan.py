"""Plan of `multi_file`: messages about mistakes tell the model how to fix them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from tests.agents.stage import StageStep
from tests.harness.project import write_files
from tideate_core.adapters import Prompt
from tideate_core.agents.file_plan import make_plan, parse_plan
from tideate_core.errors import InvalidInput, StepFailed
from tideate_core.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tideate_core.agents import PlannedFile


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    write_files(tmp_path, {"src/kit/api.py": "A = 1\n"})
    return Workspace(tmp_path, private=tmp_path / "private")


def plan(action: str, path: str, **more: Any) -> dict[str, Any]:
    return {"action": action, "path": path, "why": "", **more}


async def planned(step: StageStep, known: Sequence[str] = ()) -> list[PlannedFile]:
    return await make_plan(step, partial(step.ask, quiet=True), Prompt("plan it"), known)  # type: ignore[arg-type]


def model(workspace: Workspace, *files: dict[str, Any]) -> StageStep:
    assert workspace.root is not None
    return StageStep(workspace.root, *({"files": [file]} for file in files), attempts=len(files))


async def test_a_path_that_does_not_exist_is_answered_with_its_neighbours(workspace: Workspace) -> None:
    step = model(workspace, plan("modify", "kit/api.py"), plan("modify", "src/kit/api.py"))
    files = await planned(step, ["src/kit/api.py"])
    assert [file.path for file in files] == ["src/kit/api.py"]
    mistake = "kit/api.py does not exist, so it cannot be modified (there is src/kit/api.py)"
    assert mistake in step.asked[1].user


async def test_a_plan_that_stays_wrong_fails_with_the_last_mistake(workspace: Workspace) -> None:
    with pytest.raises(StepFailed, match=r"after 1 attempts: none\.py does not exist"):
        await planned(model(workspace, plan("modify", "none.py")))


@pytest.mark.parametrize(
    ("file", "mistake"),
    [
        (plan("create", "src/kit/api.py"), "exists already"),
        (plan("move", "src/kit/api.py"), "needs a target"),
        (plan("modify", "src/kit/api.py", move_to="b.py"), "only a move has a target"),
        (plan("move", "src/kit/api.py", move_to="src/kit"), "exists already"),
        (plan("modify", "../a.py"), "outside"),
    ],
)
def test_a_plan_that_does_not_fit_the_project_is_refused(
    workspace: Workspace, file: dict[str, Any], mistake: str
) -> None:
    with pytest.raises(InvalidInput, match=mistake):
        parse_plan({"files": [file]}, workspace)


def test_a_planned_file_takes_the_place_of_a_directory_that_the_plan_empties(workspace: Workspace) -> None:
    files = [plan("delete", "src/kit/api.py"), plan("create", "src/kit")]
    assert [file.path for file in parse_plan({"files": files}, workspace)] == ["src/kit/api.py", "src/kit"]
    with pytest.raises(InvalidInput, match="src/kit exists already"):
        parse_plan({"files": files[1:]}, workspace)


@pytest.mark.parametrize(
    ("content", "why"),
    [(b"\x89PNG\0", "is binary"), (b"caf\xe9\n", "not UTF-8"), (b"\xff\xfea\0", "is binary")],
)
async def test_a_file_that_is_no_text_is_not_planned_to_be_modified(
    workspace: Workspace, content: bytes, why: str
) -> None:
    assert workspace.root is not None
    (workspace.root / "logo").write_bytes(content)
    step = model(workspace, plan("modify", "logo"), plan("move", "logo", move_to="src/logo"))
    files = await planned(step)
    assert [file.action for file in files] == ["move"]
    assert "logo cannot be modified" in step.asked[1].user
    assert why in step.asked[1].user
