"""Parts of a project, and parts affected by a change."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.toolchain.detection.projects import commands, make
from tideate_core.toolchain import Check
from tideate_core.toolchain.detection import detect_tools, parts
from tideate_core.toolchain.detection.parts import affected_folders, find_folders, unsearched

if TYPE_CHECKING:
    from pathlib import Path


def test_what_others_wrote_is_no_part(tmp_path: Path) -> None:
    names = (
        "node_modules/a",
        "vendor/b",
        "tests/data/c",
        "examples/d",
        ".cache/e",
        "target/f",
        "web",
        "a/b/c/own",
    )
    make(tmp_path, {f"{name}/package.json": "{}" for name in names})
    assert sorted(find_folders(tmp_path)) == ["a/b/c/own", "web"]


def test_a_folder_that_git_ignores_is_no_part(tmp_path: Path) -> None:
    make(tmp_path, {"made/go.mod": "", "own/go.mod": "", ".gitignore": "made/\n"})
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    assert list(find_folders(tmp_path)) == ["own"]


@pytest.mark.parametrize(
    "files",
    [
        {
            "package.json": '{"workspaces": ["packages/*"], "scripts": {"test": "x"}}',
            "packages/a/package.json": '{"scripts": {"test": "y"}}',
        },
        {"Cargo.toml": "[workspace]\n", "a/Cargo.toml": "[package]\n"},
        {"go.work": "use ./a\n", "a/go.mod": ""},
        {"CMakeLists.txt": "enable_testing()\n", "src/CMakeLists.txt": ""},
        {"pom.xml": "<modules>", "a/pom.xml": ""},
    ],
)
def test_a_workspace_is_one_part(tmp_path: Path, files: dict[str, str]) -> None:
    tests = commands(make(tmp_path, files))["tests"]
    assert "&" not in tests
    assert not tests.startswith("a: ")


def test_a_cmake_project_that_none_above_adds_is_a_part(tmp_path: Path) -> None:
    root = "project(a)\nadd_subdirectory(lib)\n# add_subdirectory(tool)\nadd_subdirectory(apps/${app})\n"
    own = "cmake_minimum_required(VERSION 3.20)\nproject(b)\n"
    files = dict.fromkeys(("lib/inner", "apps/one", "tool"), own) | {
        "": root,
        "src": "add_executable(c c.c)\n",
    }
    files["lib"] = f"{own}add_subdirectory(${{CMAKE_CURRENT_SOURCE_DIR}}/inner)\n"
    make(tmp_path, {f"{folder}/CMakeLists.txt".lstrip("/"): text for folder, text in files.items()})
    assert [tool.folder for tool in detect_tools(tmp_path)[Check.BUILD]] == ["", "tool"]


def test_a_package_beside_a_workspace_is_a_part(tmp_path: Path) -> None:
    script = '{"scripts": {"test": "y"}}'
    root = '{"workspaces": ["packages/*", "!packages/x"], "scripts": {"test": "x"}}'
    make(tmp_path, {"package.json": root, "site/package.json": script, "packages/x/package.json": script})
    assert commands(tmp_path)["tests"] == "npm run test & packages/x: npm run test & site: npm run test"


def test_scripts_of_members_are_run_by_the_workspace_that_has_none(tmp_path: Path) -> None:
    make(
        tmp_path,
        {
            "package.json": '{"private": true}',
            "pnpm-workspace.yaml": "packages:\n  - 'apps/*'\n",
            "pnpm-lock.yaml": "",
        },
    )
    make(tmp_path, {f"apps/{name}/package.json": '{"scripts": {"test": "x"}}' for name in ("a", "b")})
    assert commands(tmp_path) == {"tests": "pnpm -r --if-present run test"}


PARTS = {
    "api/pyproject.toml": '[project]\nname = "my-api"\ndependencies = ["shared_lib"]\n',
    "lib/pyproject.toml": '[project]\nname = "shared-lib"\n',
    "web/package.json": '{"name": "web", "dependencies": {"ui": "file:../ui"}}',
    "ui/package.json": '{"name": "ui", "scripts": {"gen": "x ../proto/a.proto"}}',
    "svc/go.mod": "module example.com/svc\n",
}


@pytest.mark.parametrize(
    ("changed", "affected"),
    [
        ({"svc/main.go"}, {"svc"}),
        ({"api/a.py", "CHANGELOG.md"}, {"api"}),
        ({"lib/a.py"}, {"lib", "api"}),
        ({"ui/a.ts"}, {"ui", "web"}),
        ({"proto/a.proto"}, {"ui", "web"}),
        ({"svc2/main.go"}, {"api", "lib", "web", "ui", "svc"}),
        ({"svc/main.go", "schema.json"}, {"api", "lib", "web", "ui", "svc"}),
        ({"README.md"}, {"api", "lib", "web", "ui", "svc"}),
    ],
)
def test_a_change_affects_its_parts_and_those_that_name_them(
    tmp_path: Path, changed: set[str], affected: set[str]
) -> None:
    make(tmp_path, PARTS)
    assert affected_folders(tmp_path, ["api", "lib", "web", "ui", "svc"], changed) == affected


def test_parts_are_found_at_any_depth_and_where_the_search_ended_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, {"a/b/c/d/e/f/package.json": "{}", "z/go.mod": ""})
    assert sorted(find_folders(tmp_path)) == ["a/b/c/d/e/f", "z"]
    assert unsearched(tmp_path) == ""
    monkeypatch.setattr(parts, "_MOST_LOOKED_AT", 4)
    assert "first 4 folders only, so those in a/b/c or after it" in unsearched(tmp_path)
    monkeypatch.setattr(parts, "_MOST_PARTS", 1)
    assert "first 1 parts only" in unsearched(tmp_path)


@pytest.mark.parametrize(
    ("files", "folder"),
    [
        (
            {
                "package.json": '{"workspaces": ["a"]}',
                "a/package.json": '{"workspaces": ["b"]}',
                "a/b/package.json": '{"scripts": {"test": "x"}}',
            },
            "a/b",
        ),
        ({"Cargo.toml": "[workspace]\n", "tool/Cargo.toml": "[package]\n[workspace]\n"}, "tool"),
        ({"Cargo.toml": "[workspace]\nexclude = ['./fuzz/']\n", "fuzz/Cargo.toml": ""}, "fuzz"),
        (
            {
                "yarn.lock": "",
                "package.json": '{"workspaces": ["a"]}',
                "a/package.json": '{"scripts": {"test": "x"}}',
            },
            "a",
        ),
    ],
)
def test_what_no_command_of_a_workspace_runs_is_a_part(
    tmp_path: Path, files: dict[str, str], folder: str
) -> None:
    assert f"{folder}: " in commands(make(tmp_path, files))["tests"]


def test_a_workspace_of_pnpm_without_a_lock_is_run_by_pnpm(tmp_path: Path) -> None:
    script = '{"scripts": {"test": "x"}}'
    make(
        tmp_path,
        {"pnpm-workspace.yaml": "packages: \n- p/*\n", "package.json": "{}", "p/a/package.json": script},
    )
    assert commands(tmp_path)["tests"] == "pnpm -r --if-present run test"
