"""Roles read a project's memory, and the documenter proposes changes to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from tests.agents.stage import StageStep, write_files
from tests.agents.test_documenter import CHANGELOG, answer, documented
from tideate_core.agents.records import LONGEST_MEMORY, MEMORY_FILE, memory_material
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.workflows import StepContext

NOTES = "# Notes\n\n- The tests need a clock.\n"


async def shown(step: StageStep) -> str:
    return await memory_material(cast("StepContext", step))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_files(tmp_path, {"CHANGELOG.md": CHANGELOG, MEMORY_FILE: NOTES, "src/a.py": ""})
    return tmp_path


async def test_a_role_is_shown_the_memory(root: Path) -> None:
    text = await shown(StageStep(root))
    assert "(MEMORY.md):\n\n```markdown\n# Notes\n\n- The tests need a clock.\n```" in text


async def test_without_a_memory_nothing_is_shown(root: Path, tmp_path: Path) -> None:
    (root / MEMORY_FILE).unlink()
    assert await shown(StageStep(root)) == ""
    (root / MEMORY_FILE).write_text("  \n")
    assert await shown(StageStep(root)) == ""


async def test_a_long_memory_is_cut_off_with_a_word(root: Path) -> None:
    (root / MEMORY_FILE).write_text("x" * LONGEST_MEMORY + "y")
    text = await shown(StageStep(root))
    assert "y" not in text.rpartition("x")[0]
    assert "and more that is not shown here" in text


async def test_a_memory_that_leads_out_of_the_project_is_not_read(root: Path, tmp_path: Path) -> None:
    (root / MEMORY_FILE).unlink()
    (root / MEMORY_FILE).symlink_to("/etc/hosts")
    step = StageStep(root, answer())
    assert await shown(step) == ""
    assert "the project's memory was not read" in step.notices[0]
    done = await documented(step)
    assert [change.path for change in done.changes] == ["CHANGELOG.md"]


async def test_a_secret_in_the_memory_is_not_shown_unasked(root: Path) -> None:
    (root / MEMORY_FILE).write_text("token = ghp_" + "a1B2" * 9 + "\n")
    step = StageStep(root, decisions=(Decision(False),))
    assert await shown(step) == ""
    assert "MEMORY.md was left out" in step.notices[0]


async def test_the_documenter_changes_the_memory_where_the_change_taught_something(root: Path) -> None:
    step = StageStep(root, answer(documents=(MEMORY_FILE,)), f"```markdown\n{NOTES}- Doubling is exact.\n```")
    done = await documented(step)
    first, second = step.asked
    assert "MEMORY.md keeps what later tasks have to know" in first.user
    assert "take out what is no longer true" in second.user
    changed = {change.path: change.after for change in done.changes}
    assert changed[MEMORY_FILE] == f"{NOTES}- Doubling is exact."
    assert done.result.docs == [MEMORY_FILE]


async def test_the_memory_stays_as_it_is_where_nothing_was_learned(root: Path) -> None:
    step = StageStep(root, answer())
    done = await documented(step)
    assert [change.path for change in done.changes] == ["CHANGELOG.md"]
