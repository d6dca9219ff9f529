"""Commands in CI configurations: plain ones found, others ignored."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.toolchain.detection.projects import NOTHING, commands, make
from tideate_core.config import VerifyConfig
from tideate_core.toolchain import Check, ProjectTrust, select_tools
from tideate_core.toolchain.detection import detect_tools

if TYPE_CHECKING:
    from pathlib import Path

GITHUB = """name: ci
on: [push]
jobs:
  check:
    steps:
      - uses: actions/checkout@v4
      - name: tests
        run: |
          echo hello
          prove -lr t
      - run: npm ci
      - run: make lint
        working-directory: site
  deploy-site:
    steps:
      - run: make docs
"""
GITLAB = """stages: [test]
.base: &base
  image: x
unit:
  <<: *base
  script:
    - dotnet test
    - dotnet build
lint:
  script: codespell
"""


def test_the_place_of_a_command_is_its_reason(tmp_path: Path) -> None:
    make(
        tmp_path,
        {".github/workflows/ci.yml": GITHUB, ".gitlab-ci.yml": GITLAB, "site/Makefile": "lint:\n\tx\n"},
    )
    found = {tool.words: tool.reason for tools in detect_tools(tmp_path, NOTHING).values() for tool in tools}
    assert found == {
        "prove -lr t": ".github/workflows/ci.yml:10 runs it",
        "dotnet test": ".gitlab-ci.yml:7 runs it",
        "dotnet build": ".gitlab-ci.yml:8 runs it",
        "codespell": ".gitlab-ci.yml:10 runs it",
    }


def run_of(line: str, **more: str) -> str:
    keys = "".join(f"        {key}: {value}\n" for key, value in more.items())
    return f"jobs:\n  a:\n    steps:\n      - run: '{line}'\n{keys}"


@pytest.mark.parametrize(
    "line",
    [
        "pytest && rm -rf /",
        "pytest | tee log",
        "pytest $EXTRA",
        "pytest `id`",
        "pytest > out",
        "TOKEN=x pytest",
        "pytest --token ${{ secrets.TOKEN }}",
        "pip install pytest",
        "npm publish",
        "make deploy",
        "cargo install x",
        "twine upload dist/x",
        "curl https://x.example",
        "npm run release",
        "eslint --fix .",
        "/bin/pytest",
        "../pytest",
        "sudo pytest",
        "cd api",
        "vitest --watch",
        "pytest ~/x",
        "pytest (",
        "evil",
        "",
    ],
)
def test_what_is_no_plain_command_of_a_check_is_not_offered(tmp_path: Path, line: str) -> None:
    assert commands(make(tmp_path, {".github/workflows/ci.yml": run_of(line)})) == {}


def test_a_step_with_secrets_or_in_a_folder_outside_is_passed_over(tmp_path: Path) -> None:
    secret = "jobs:\n  a:\n    steps:\n      - run: pytest\n        env:\n          KEY: ${{ secrets.KEY }}\n"
    assert commands(make(tmp_path, {".github/workflows/ci.yml": secret})) == {}
    for folder in ("../x", "/etc", "${{ matrix.x }}", "nosuch"):
        text = run_of("pytest", **{"working-directory": f"'{folder}'"})
        assert commands(make(tmp_path, {".github/workflows/ci.yml": text})) == {}


@pytest.mark.parametrize(
    "text",
    [
        "[",
        "jobs: [1]",
        "jobs:\n  a: {steps: 3}",
        "a: &a [*a]\njobs: *a",
        "!!python/object:os.system x",
        "- " * 40_000,
        "\0",
    ],
)
def test_a_broken_configuration_offers_nothing(tmp_path: Path, text: str) -> None:
    assert commands(make(tmp_path, {".github/workflows/ci.yml": text})) == {}


def test_many_aliases_take_no_time(tmp_path: Path) -> None:
    bomb = "a0: &a0 [x, x]\n" + "".join(
        f"a{n + 1}: &a{n + 1} [{', '.join([f'*a{n}'] * 9)}]\n" for n in range(40)
    )
    text = f"{bomb}jobs:\n  a:\n    steps:\n      - run: pytest\n"
    assert commands(make(tmp_path, {".github/workflows/ci.yml": text})) == {"tests": "pytest"}


def test_none_replaces_what_is_detected_or_configured_and_none_is_trusted(tmp_path: Path) -> None:
    lines = (
        "jobs:\n  a:\n    steps:\n      - run: pytest -x\n      - run: mypy src\n      - run: ruff check\n"
    )
    make(tmp_path, {".github/workflows/ci.yml": lines, "Makefile": "test:\n\tx\n"})
    tools = select_tools(tmp_path, VerifyConfig(type_check=["pyright"], lint="off"), NOTHING)
    assert {check: [tool.words for tool in found] for check, found in tools.items()} == {
        Check.TYPE_CHECK: ["pyright"],
        Check.LINT: [],
        Check.TESTS: ["make test"],
    }
    (lint,) = select_tools(tmp_path, VerifyConfig(), NOTHING)[Check.LINT]
    assert not ProjectTrust(tmp_path).allows(lint)


def test_a_script_that_ci_runs_is_trusted_as_it_is(tmp_path: Path) -> None:
    meanings = set()
    for recipe in ("unit:\n\tx\n", "unit:\n\tcurl x | sh\n"):
        make(tmp_path, {".github/workflows/ci.yml": run_of("make unit-tests"), "Makefile": recipe})
        meanings |= {tool.meaning for tool in detect_tools(tmp_path, NOTHING)[Check.TESTS]}
    assert len(meanings) == 2


@pytest.mark.parametrize(
    "step",
    [
        "run: jest -u",
        "run: pytest --snapshot-update",
        "run: cargo test --no-run",
        "run: npm run lint:fix",
        "run: npm run test:watch",
        "run: tox -e format",
        "run: rake db:drop",
        "{run: pytest, continue-on-error: true}",
        "{run: pytest, if: false}",
        "{run: pytest, shell: python}",
        "run: |\n          for one in a b\n          do\n          pytest\n          done",
        "run: |\n          cat <<END > file\n          pytest\n          END",
    ],
)
def test_what_changes_files_may_fail_or_may_not_run_is_no_check(tmp_path: Path, step: str) -> None:
    text = f"jobs:\n  a:\n    steps:\n      - {step}\n"
    assert commands(make(tmp_path, {".github/workflows/ci.yml": text})) == {}
