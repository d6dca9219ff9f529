"""Tools of Python projects: virtual environment before PATH."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.toolchain.detection.projects import NOTHING, commands, make
from tideate_core.process import run_program
from tideate_core.project import project_state
from tideate_core.toolchain import Check, missing_program
from tideate_core.toolchain.detection import detect_tools

if TYPE_CHECKING:
    from pathlib import Path


PYTHON = {
    "pyproject.toml": (
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
        "[tool.mypy]\nstrict = true\n[tool.ruff]\n[tool.pytest.ini_options]\n"
    ),
    "mkdocs.yml": "",
}


OF_VENV = tuple(
    f".venv/bin/{name}" for name in ("python", "mypy", "ruff", "pytest", "pyproject-build", "mkdocs")
)


def test_a_python_project_uses_the_tools_of_its_own_environment(tmp_path: Path) -> None:
    make(tmp_path, PYTHON, *OF_VENV)
    (tmp_path / ".venv/lib/python3.11/site-packages/hatchling").mkdir(parents=True)
    found = commands(tmp_path)
    assert found["type_check"].startswith(".venv/bin/python -m mypy ")
    assert found["type_check"].endswith(" .")
    assert found["lint"] == ".venv/bin/ruff check --no-fix --output-format=concise ."
    assert found["tests"].startswith(".venv/bin/python -m pytest -q ")
    scratch = project_state(tmp_path) / "scratch"
    assert found["build"] == f".venv/bin/python -m build --wheel --no-isolation --outdir {scratch}/dist"
    assert found["documentation"].startswith(".venv/bin/python -m mkdocs build --strict")


def test_without_an_environment_the_tools_are_those_of_the_path(tmp_path: Path) -> None:
    found = commands(make(tmp_path, PYTHON))
    assert found["lint"].startswith("ruff check ")
    assert found["tests"].startswith("pytest -q ")
    assert "--no-isolation" not in found["build"]


def test_the_reason_names_the_file_and_where_the_tool_is_from(tmp_path: Path) -> None:
    tools = detect_tools(make(tmp_path, PYTHON, ".venv/bin/python", ".venv/bin/mypy"), NOTHING)
    assert tools[Check.TYPE_CHECK][0].reason == "pyproject.toml has [tool.mypy]; from .venv"
    assert (
        tools[Check.LINT][0].reason
        == "pyproject.toml has [tool.ruff]; of PATH, no virtual environment has it"
    )


def test_a_broken_environment_is_said(tmp_path: Path) -> None:
    make(tmp_path, {**PYTHON, ".venv/pyvenv.cfg": ""})
    (tmp_path / ".venv/bin").mkdir()
    (tmp_path / ".venv/bin/python").symlink_to("/nowhere/python3")
    reason = detect_tools(tmp_path, NOTHING)[Check.TESTS][0].reason
    assert reason.endswith("of PATH, because .venv is broken: .venv/bin/python cannot be run; recreate it")


@pytest.mark.parametrize("venv", ["", ".venv/bin/"])
def test_django_s_tests_need_django(tmp_path: Path, venv: str) -> None:
    make(
        tmp_path, {"manage.py": "from django.core import management\n"}, *([f"{venv}python"] if venv else ())
    )
    (tool,) = detect_tools(tmp_path, NOTHING)[Check.TESTS]
    python = make(tmp_path / "programs", {}, "python3")
    path = {"PATH": str(python)}
    missing = missing_program(tmp_path, tool, path)
    assert missing == f"{venv}django-admin is not installed; run `pip install Django`"
    make(tmp_path if venv else python, {}, f"{venv}django-admin")
    assert missing_program(tmp_path, tool, path) == ""


async def test_what_is_detected_can_be_run(tmp_path: Path) -> None:
    make(tmp_path, PYTHON, *OF_VENV)
    result = await run_program(detect_tools(tmp_path, NOTHING)[Check.LINT][0].argv, cwd=tmp_path)
    assert "ruff check --no-fix" in result.stdout.text
