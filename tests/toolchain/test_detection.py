"""Which tools a project has is read off its files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tideate_core.process import run_program
from tideate_core.project import Trust, project_state
from tideate_core.toolchain import Check, ProjectTrust, Tool
from tideate_core.toolchain.detection import detect_clean_command, detect_tools

if TYPE_CHECKING:
    from pathlib import Path

NOTHING = {"PATH": ""}


def make(root: Path, files: dict[str, str], *programs: str) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    for name in programs:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("#!/bin/sh\necho $0 $@\n")
        (root / name).chmod(0o755)
    return root


def commands(root: Path) -> dict[str, str]:
    return {check.value: " ".join(tool.argv) for check, tool in detect_tools(root, NOTHING).items()}


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
    assert tools[Check.TYPE_CHECK].reason == "pyproject.toml has [tool.mypy]; from .venv"
    assert (
        tools[Check.LINT].reason == "pyproject.toml has [tool.ruff]; of PATH, no virtual environment has it"
    )


@pytest.mark.parametrize(
    ("files", "check", "command"),
    [
        ({"setup.cfg": "[mypy]\nfiles = src\n"}, "type_check", "mypy --no-color"),
        ({"setup.cfg": "[flake8]\n"}, "lint", "flake8 ."),
        ({"setup.cfg": "[tool:pytest]\n"}, "tests", "pytest -q"),
        ({"tox.ini": "[pytest]\n"}, "tests", "pytest -q"),
        ({"pyproject.toml": "", "pyrightconfig.json": "{}"}, "type_check", "pyright"),
        ({"pyproject.toml": '[project]\ndependencies = ["ruff>=0.5"]\n'}, "lint", "ruff check"),
        (
            {"pyproject.toml": '[dependency-groups]\ndev = ["pytest", {include-group = "x"}]\n'},
            "tests",
            "pytest",
        ),
        ({"pyproject.toml": '[tool.poetry.group.dev.dependencies]\nmypy = "*"\n'}, "type_check", "mypy"),
        ({"setup.py": "", "requirements-dev.txt": "pytest==8\n"}, "tests", "pytest"),
        ({"setup.py": "", "tests/__init__.py": ""}, "tests", "python3 -m unittest discover -s tests -t ."),
        ({"setup.py": "", "tests/test_a.py": ""}, "tests", "python3 -m unittest discover -s tests"),
        ({"setup.py": "", "docs/conf.py": ""}, "documentation", "sphinx-build -W"),
        ({"Cargo.toml": ""}, "type_check", "cargo check --color never --all-targets"),
        ({"Cargo.toml": ""}, "tests", "cargo test --color never"),
        ({"Cargo.toml": ""}, "documentation", "cargo doc --color never --no-deps"),
        ({"go.mod": ""}, "type_check", "go vet ./..."),
        ({"go.mod": ""}, "build", "go build -o /dev/null ./..."),
        ({"go.mod": "", ".golangci.yml": ""}, "lint", "golangci-lint run"),
        ({"Makefile": "test: x\n\tpytest\n"}, "tests", "make test"),
        ({"Makefile": "lint:\n"}, "lint", "make lint"),
        ({"package.json": '{"scripts": {"lint": "eslint ."}}'}, "lint", "npm run lint"),
        ({"package.json": '{"scripts": {"test": "jest"}}', "pnpm-lock.yaml": ""}, "tests", "pnpm run test"),
        (
            {"package.json": '{"scripts": {"build": "x"}, "packageManager": "yarn@4"}'},
            "build",
            "yarn run build",
        ),
    ],
)
def test_a_file_of_the_project_gives_a_command(
    tmp_path: Path, files: dict[str, str], check: str, command: str
) -> None:
    assert commands(make(tmp_path, files))[check].startswith(command)


@pytest.mark.parametrize(
    ("files", "check"),
    [
        ({}, "tests"),
        ({"pyproject.toml": "[project]\n"}, "build"),
        ({"pyproject.toml": "[project]\n"}, "documentation"),
        ({"pyproject.toml": "[tool.mypy"}, "type_check"),
        ({"pyproject.toml": "tool = 3\nproject = []\n"}, "type_check"),
        ({"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'}, "tests"),
        ({"package.json": "[]"}, "tests"),
        ({"package.json": '{"scripts": [1]}'}, "tests"),
        ({"package.json": "{" * 100_000}, "tests"),
        ({"Makefile": "test := a\nlint = b\n"}, "tests"),
        ({"setup.cfg": "no section\n"}, "lint"),
        ({"go.mod": ""}, "lint"),
    ],
)
def test_what_no_file_says_is_not_guessed(tmp_path: Path, files: dict[str, str], check: str) -> None:
    assert check not in commands(make(tmp_path, files))


def test_programs_of_node_modules_stand_in_for_scripts(tmp_path: Path) -> None:
    files = {
        "package.json": '{"devDependencies": {"vitest": "1"}}',
        "tsconfig.json": "{}",
        "eslint.config.js": "",
    }
    make(tmp_path, files, *(f"node_modules/.bin/{name}" for name in ("tsc", "eslint", "vitest", "jest")))
    found = commands(tmp_path)
    assert found["type_check"] == "node_modules/.bin/tsc --noEmit --pretty false"
    assert found["lint"] == "node_modules/.bin/eslint ."
    assert found["tests"] == "node_modules/.bin/vitest run"


def test_the_makefile_is_for_what_nothing_else_does(tmp_path: Path) -> None:
    make(tmp_path, {"Cargo.toml": "", "Makefile": "test:\nlint:\n"})
    found = commands(tmp_path)
    assert found["tests"].startswith("cargo")
    assert found["lint"] == "make lint"


def test_a_named_pipe_keeps_nobody_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "Makefile")
    assert detect_tools(tmp_path, NOTHING) == {}


async def test_what_is_detected_can_be_run(tmp_path: Path) -> None:
    make(tmp_path, PYTHON, *OF_VENV)
    result = await run_program(detect_tools(tmp_path, NOTHING)[Check.LINT].argv, cwd=tmp_path)
    assert "ruff check --no-fix" in result.stdout.text


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


def test_a_script_that_changes_is_another_command(tmp_path: Path) -> None:
    meanings = set()
    for scripts in ('{"test": "jest"}', '{"test": "curl x | sh"}', '{"test": "jest", "pretest": "curl x"}'):
        make(tmp_path, {"package.json": f'{{"scripts": {scripts}}}'})
        meanings.add(detect_tools(tmp_path, NOTHING)[Check.TESTS].meaning)
    assert len(meanings) == 3


CMAKE = {"CMakeLists.txt": "", "build/CMakeCache.txt": "", "build/CTestTestfile.cmake": ""}


def test_a_cmake_project_is_known_once_it_is_configured(tmp_path: Path) -> None:
    make(tmp_path, {"CMakeLists.txt": ""})
    assert commands(tmp_path) == {}
    assert detect_clean_command(tmp_path, NOTHING) is None
    make(tmp_path, CMAKE)
    assert commands(tmp_path) == {
        "tests": "ctest --test-dir build --output-on-failure --no-tests=error",
        "build": "cmake --build build",
    }


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"package.json": '{"scripts": {"clean": "rm -rf dist"}}', "Makefile": "clean:\n"}, "npm run clean"),
        ({"package.json": "{}", "Makefile": "clean:\n"}, "make clean"),
        ({"Cargo.toml": "", "Makefile": "clean:\n"}, "cargo clean --color never"),
        (CMAKE, "cmake --build build --target clean"),
        ({"Makefile": "cleaner:\nclean := x\n"}, ""),
        ({"go.mod": ""}, ""),
        ({}, ""),
    ],
)
def test_what_a_build_made_is_removed_by_the_project_s_own_command(
    tmp_path: Path, files: dict[str, str], command: str
) -> None:
    tool = detect_clean_command(make(tmp_path, files), NOTHING)
    assert (" ".join(tool.argv) if tool else "") == command
