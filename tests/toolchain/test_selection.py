"""Selection of check commands: configuration before detection, trust."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tideate_core.config import VerifyConfig
from tideate_core.project import Trust
from tideate_core.toolchain import Check, ProjectTrust, Tool
from tideate_core.toolchain.detection.tools import tool_name
from tideate_core.toolchain.selection import select_tools

if TYPE_CHECKING:
    from pathlib import Path


def tool(*argv: str, recipe: str = "") -> Tool:
    return Tool(Check.TESTS, argv[0], argv, "", recipe)


def test_a_command_is_trusted_as_it_is_and_where_it_is(tmp_path: Path) -> None:
    trust = ProjectTrust(tmp_path / "a")
    assert not trust.is_trusted(tool("make", "test", recipe="x"))
    trust.trust([tool("make", "test", recipe="x"), tool("pytest")])
    assert trust.is_trusted(tool("make", "test", recipe="x"))
    assert trust.is_trusted(tool("pytest"))
    assert not trust.is_trusted(tool("make", "test", recipe="y"))
    assert not trust.is_trusted(tool("pytest", "-x"))
    assert not ProjectTrust(tmp_path / "b").is_trusted(tool("pytest"))
    assert Trust(tmp_path / "a").revoke_allowed() == ["`make test` (tests)", "`pytest` (tests)"]
    assert not trust.is_trusted(tool("pytest"))


@pytest.mark.parametrize(
    ("argv", "name"),
    [
        (["ruff", "check"], "ruff"),
        (["/usr/bin/mypy", "."], "mypy"),
        ([".venv/bin/python3.12", "-m", "pytest", "-q"], "pytest"),
        (["python", "script.py"], "python"),
        (["uv", "run", "--frozen", "python", "-m", "mypy"], "mypy"),
        (["npx", "eslint", "."], "eslint"),
        (["poetry", "run"], "poetry"),
    ],
)
def test_the_tool_behind_a_command_is_known(argv: list[str], name: str) -> None:
    assert tool_name(argv) == name


def test_what_is_configured_wins_over_what_is_detected(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("test:\nlint:\n")
    tools = select_tools(tmp_path, VerifyConfig(tests=["pytest"], lint="off"))
    assert list(tools) == [Check.LINT, Check.TESTS]
    assert tools[Check.LINT] == ()
    tests = tools[Check.TESTS][0]
    assert tests.argv == ("pytest",)


def test_a_configured_command_may_hold_a_long_script(tmp_path: Path) -> None:
    script = "pytest -q && " * 30
    tests = select_tools(tmp_path, VerifyConfig(tests=["bash", "-c", script]))[Check.TESTS][0]
    assert tests.argv == ("bash", "-c", script)
    assert not tests.names_paths


def test_a_command_of_the_persons_own_configuration_needs_no_trust_in_a_project(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("test:\n\t@echo\n")
    config = VerifyConfig(tests=["make", "test"], lint=["make", "lint"])
    config.written_by_person({"tests"})
    tools = select_tools(tmp_path, config)
    allowed = {check: ProjectTrust(tmp_path).allows(tools[check][0]) for check in (Check.TESTS, Check.LINT)}
    assert allowed == {Check.TESTS: True, Check.LINT: False}


@pytest.mark.attack
@pytest.mark.parametrize("words", [["ruff", "check"], ["bin/ruff"], ["./../{root}/bin/ruff"], ["linked"]])
def test_a_program_of_the_project_needs_trust_even_if_the_person_named_it(
    tmp_path: Path, words: list[str]
) -> None:
    for place in (".venv/bin/python", ".venv/bin/ruff", "bin/ruff", "node_modules/.bin/linked"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text("#!/bin/sh\n")
        (tmp_path / place).chmod(0o755)
    config = VerifyConfig(lint=[word.format(root=tmp_path.name) for word in words])
    config.written_by_person({"lint"})
    (tool,) = select_tools(tmp_path, config)[Check.LINT]
    assert not ProjectTrust(tmp_path).allows(tool)
