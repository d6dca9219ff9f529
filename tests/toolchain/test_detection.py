"""Detection of a project's tools by its files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.toolchain.detection.projects import commands, make

if TYPE_CHECKING:
    from pathlib import Path


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
