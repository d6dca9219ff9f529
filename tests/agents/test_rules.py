"""Roles get the rules for the files of their stage, if the model is large enough."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.agents.stage import BRIEF, StageStep, block, role
from tests.agents.test_corrector import FOUND, PLAN, RIGHT, A
from tests.harness.project import write_files
from tideate_core.agents.corrector import correct_task
from tideate_core.agents.rules import project_rules

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    root = tmp_path / "project"
    write_files(root, {"AGENTS.md": "RULE-ROOT", "src/AGENTS.md": "RULE-SRC", "src/a.py": A + "\n"})
    return root


async def rules(step: StageStep, *paths: str) -> str:
    return await project_rules(step, paths)  # type: ignore[arg-type]


async def test_the_corrector_has_the_rules_of_the_files_that_it_corrects(root: Path) -> None:
    step = StageStep(root, block(RIGHT, "src/a.py"))
    await correct_task(step, role("corrector"), BRIEF, PLAN, FOUND, ("src/a.py",))  # type: ignore[arg-type]
    (asked,) = step.asked
    assert [asked.user.count(rule) for rule in ("RULE-ROOT", "RULE-SRC")] == [1, 1]
    assert "RULE" not in asked.system


async def test_they_come_for_a_file_that_is_not_there_yet_and_not_for_one_outside(root: Path) -> None:
    step = StageStep(root)
    assert "RULE-SRC" in await rules(step, "src/deep/new.py")
    assert "RULE-SRC" in await rules(step, str(root / "src/a.py"))
    assert "RULE-SRC" not in await rules(step, "../src/a.py", "/etc/passwd", "")


@pytest.mark.parametrize("tokens", [512, 16_384])
async def test_a_small_model_or_a_demonstration_gets_none(root: Path, tokens: int) -> None:
    assert await rules(StageStep(root, context_tokens=tokens)) == ""
    assert await rules(StageStep(root, demonstration=True)) == ""
    assert "RULE-ROOT" in await rules(StageStep(root, context_tokens=16_385))


async def test_what_is_sent_is_told_once(root: Path) -> None:
    step = StageStep(root)
    for _ in range(2):
        await rules(step)
        await rules(step, "src/a.py")
    assert step.notices == ["rules: AGENTS.md (0.0 kB)", "rules: src/AGENTS.md (0.0 kB)"]


async def test_rules_that_may_be_opened_are_named_with_what_they_are_about(root: Path) -> None:
    write_files(root, {".cursor/rules/db.mdc": "---\ndescription: Migrations\n---\nRULE-DB"})
    text = await rules(StageStep(root), "src/a.py")
    assert "- .cursor/rules/db.mdc: Migrations" in text
    assert "RULE-DB" not in text
