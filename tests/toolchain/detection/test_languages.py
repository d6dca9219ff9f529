"""Tools of JavaScript and CMake projects, and of Makefiles; scripts as part of a command."""

from __future__ import annotations

import json
import os
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
    "script",
    [
        *(
            "vitepress dev",
            "mint dev",
            "next dev",
            "vite",
            "vite --host",
            "nodemon x.js",
            "tsc -w",
            "mocha -w",
        ),
        *(
            "typedoc --watch",
            "mkdocs serve",
            "docusaurus start",
            "http-server docs",
            "a && astro dev --port 3",
        ),
        *(
            "turbo run dev",
            "concurrently 'npm:watch-*'",
            "run-p build watch:*",
            "flask run",
            "next",
            "parcel",
        ),
        *("playwright test --ui", "jest --watchAll=true", "karma start", "parcel src/index.html"),
        *("npm run build && parcel serve", "while true; do mocha; sleep 1; done"),
    ],
)
def test_servers_and_watchers_are_no_checks(tmp_path: Path, script: str) -> None:
    package = json.dumps({"scripts": {"test": script}})
    make(tmp_path, {"package.json": package, "Makefile": f"test:\n\t{script}\n"})
    assert "tests" not in commands(tmp_path)


@pytest.mark.parametrize(
    "script",
    [
        "vitepress build",
        "vite build",
        "next build",
        "astro build",
        "typedoc",
        "turbo run test",
        "jest --watch=false",
        "jest --watchAll=false",
        "mocha --ui tdd",
        "pytest --cov uvicorn",
        "echo what comes next",
        "node test/serve.js",
        "karma start karma.conf.js --single-run",
        "parcel build && node test.js",
        "while true; do nc -z db 1 && break; done; mocha",
        "mocha parcel",
    ],
)
def test_a_script_that_ends_is_a_check(tmp_path: Path, script: str) -> None:
    make(tmp_path, {"package.json": json.dumps({"scripts": {"test": script}})})
    assert commands(tmp_path) == {"tests": "npm run test"}


def test_a_script_that_runs_a_server_by_another_script_is_no_check(tmp_path: Path) -> None:
    scripts = {"docs": "npm run docs:dev", "docs:dev": "vitepress dev docs"}
    assert commands(make(tmp_path, {"package.json": json.dumps({"scripts": scripts})})) == {}


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


def test_a_named_pipe_keeps_nobody_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "Makefile")
    assert detect_tools(tmp_path, NOTHING) == {}


def test_a_script_that_changes_is_another_command(tmp_path: Path) -> None:
    meanings = set()
    for scripts in ('{"test": "jest"}', '{"test": "curl x | sh"}', '{"test": "jest", "pretest": "curl x"}'):
        make(tmp_path, {"package.json": f'{{"scripts": {scripts}}}'})
        meanings.add(detect_tools(tmp_path, NOTHING)[Check.TESTS][0].meaning)
    assert len(meanings) == 3
