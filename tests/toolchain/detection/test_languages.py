"""Tools of JavaScript and CMake projects, and of Makefiles."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.toolchain.detection.projects import NOTHING, commands, make
from tideate_core.project import project_state
from tideate_core.toolchain import Check
from tideate_core.toolchain.detection import detect_clean_command, detect_tools

if TYPE_CHECKING:
    from pathlib import Path


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


CMAKE = {"CMakeLists.txt": "", "build/CMakeCache.txt": "", "build/CTestTestfile.cmake": ""}


def test_a_cmake_project_is_built_outside_until_it_is_configured(tmp_path: Path) -> None:
    make(tmp_path, {"CMakeLists.txt": ""})
    outside = f"{project_state(tmp_path)}/scratch/cmake"
    build = f"ctest --build-and-test . {outside} --build-generator Unix Makefiles"
    assert commands(tmp_path) == {"build": build}
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


@pytest.mark.parametrize(
    ("script", "is_check"),
    [
        ("turbo run dev", False),
        ("concurrently 'npm:watch-*'", False),
        ("run-p build watch:*", False),
        ("flask run", False),
        ("mocha -w", False),
        ("next", False),
        ("playwright test --ui", False),
        ("jest --watchAll=true", False),
        ("jest --watchAll=false", True),
        ("mocha --ui tdd", True),
        ("pytest --cov uvicorn", True),
        ("echo what comes next", True),
        ("node test/serve.js", True),
        ("turbo run test", True),
        ("karma start", False),
        ("karma start karma.conf.js --single-run", True),
        ("parcel src/index.html", False),
        ("parcel", False),
        ("parcel build && node test.js", True),
        ("npm run build && parcel serve", False),
        ("while true; do mocha; sleep 1; done", False),
        ("while true; do nc -z db 1 && break; done; mocha", True),
        ("mocha parcel", True),
    ],
)
def test_servers_and_watchers_in_other_words_are_no_checks(
    tmp_path: Path, script: str, is_check: bool
) -> None:
    make(tmp_path, {"package.json": json.dumps({"scripts": {"test": script}})})
    assert ("tests" in commands(tmp_path)) is is_check


def test_karma_is_a_check_where_its_configuration_runs_it_once(tmp_path: Path) -> None:
    make(
        tmp_path,
        {
            "package.json": '{"scripts": {"test": "karma start"}}',
            "karma.conf.js": "module.exports = c => c.set({singleRun: true})",
        },
    )
    assert commands(tmp_path)["tests"] == "npm run test"


@pytest.mark.parametrize("script", ["cross-env CI=1 jest --ci", "NODE_ENV=test jest", "env A=1 B= jest"])
def test_the_program_behind_settings_of_variables_is_needed(tmp_path: Path, script: str) -> None:
    make(tmp_path, {"package.json": json.dumps({"scripts": {"test": script}})})
    (tool,) = detect_tools(tmp_path)[Check.TESTS]
    assert tool.needs == "jest"
