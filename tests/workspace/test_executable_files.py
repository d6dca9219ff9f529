"""Detection of automatically executed files by name, link target or content."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.workspace.project import deleting, edit, moving
from tideate_core.workspace import executable_changes, executable_paths
from tideate_core.workspace.executable_files import reason_by_path, reason_of_change

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.workspace import Workspace


@pytest.mark.parametrize(
    "path",
    [
        ".envrc",
        "deep/er/Makefile",
        "two\nlines/Makefile",
        "MAKEFILE",
        "vite.config.ts",
        ".github/workflows/ci.yml",
        "sub/.husky/pre-commit",
        ".vscode/tasks.json",
        "Makefile .",
    ],
)
def test_a_name_that_tools_look_for_is_known_in_any_case_and_depth(path: str) -> None:
    assert reason_by_path(path)


@pytest.mark.parametrize(
    "path", ["src/main.py", "makefiles.md", "github/workflows/ci.yml", "src/.vscode", "envrc"]
)
def test_other_names_are_not(path: str) -> None:
    assert reason_by_path(path) == ""


@pytest.mark.parametrize(
    ("before", "after", "runs"),
    [
        ({"version": "1"}, {"version": "2"}, False),
        ({"scripts": {"a": "x"}}, {"scripts": {"a": "x"}, "version": "2"}, False),
        ({"scripts": {"a": "x"}}, {"scripts": {"a": "y"}}, True),
        ({"scripts": {"a": "x"}}, {}, False),
        ({}, {"scripts": {}}, True),
    ],
)
def test_of_package_json_only_what_npm_runs_counts(before: object, after: object, runs: bool) -> None:
    assert bool(reason_of_change("package.json", json.dumps(before), json.dumps(after))) is runs


def test_a_part_that_cannot_be_parsed_counts_as_changed() -> None:
    assert reason_of_change("pyproject.toml", "[tool", "[tool.ruff")
    assert not reason_of_change("pyproject.toml", "[tool", "[tool")
    assert not reason_of_change("pyproject.toml", "", None)


async def test_a_link_counts_by_what_it_leads_to_and_a_move_by_its_new_name(
    root: Path, workspace: Workspace
) -> None:
    (root / "Makefile").write_text("all:\n")
    (root / "notes.txt").symlink_to("Makefile")
    changes = [
        edit("notes.txt", "all:\n", "all: x\n"),
        moving("run.sh", ".envrc"),
        deleting("Makefile", "all:\n"),
        edit("src/one.py", "a", "b"),
    ]
    assert [found.path for found in await executable_changes(workspace, changes)] == ["notes.txt", ".envrc"]
    assert [found.path for found in executable_paths(workspace, ["notes.txt", "run.sh"])] == ["notes.txt"]
