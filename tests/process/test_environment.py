from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from tideate_core.process import make_environment, project_environment, run_program

if TYPE_CHECKING:
    from pathlib import Path

OURS = {"PATH": "/bin", "HOME": "/h", "LC_ALL": "C", "OPENAI_API_KEY": "k", "AWS_SECRET": "s", "MINE": "m"}


@pytest.fixture
def _ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", OURS)


@pytest.mark.usefixtures("_ours")
def test_of_ours_only_what_is_known_or_named_is_passed_on() -> None:
    made = make_environment({"A": "1"}, ["MINE"])
    assert made.items() >= {"PATH": "/bin", "HOME": "/h", "LC_ALL": "C", "MINE": "m", "A": "1"}.items()
    assert not made.keys() & {"OPENAI_API_KEY", "AWS_SECRET"}


@pytest.mark.usefixtures("_ours")
def test_what_is_set_wins_over_what_is_ours_and_over_what_is_always_set() -> None:
    made = make_environment({"HOME": "/other", "NO_COLOR": ""})
    assert (made["HOME"], made["NO_COLOR"]) == ("/other", "")


def test_a_projects_own_programs_come_first(tmp_path: Path) -> None:
    for name in (".venv/bin", "node_modules/.bin"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / ".venv/bin/python").touch()
    made = project_environment(tmp_path, {"PATH": "/bin"})
    assert made["PATH"] == f"{tmp_path}/.venv/bin:{tmp_path}/node_modules/.bin:/bin"
    assert made["VIRTUAL_ENV"] == f"{tmp_path}/.venv"


async def test_a_program_gets_no_key_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "secret")
    result = await run_program([sys.executable, "-c", "import os; print(dict(os.environ))"], cwd=tmp_path)
    assert "'NO_COLOR': '1'" in result.stdout.text
    assert "SOME_API_KEY" not in result.stdout.text
