"""Steps that call tools, run from the shell with a real server."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from tests.mcp.client.conftest import BARE

if TYPE_CHECKING:
    from tests.harness.shell import Shell
    from tests.harness.terminal import Terminal

pytestmark = pytest.mark.slow

FLOW = """\
inputs: {word: {type: string, default: a}}
steps:
  - id: first
    tool: {server: bare, name: add, arguments: {text: "{{ inputs.word }}1"}}
  - id: second
    dependencies: [first]
    tool: {server: bare, name: add, arguments: {text: "{{ steps.first.result }} again"}}
"""


def trusted(shell: Shell, text: str) -> None:
    shell.write("flow.yaml", text)
    shell.ok("trust", "--yes", "flow.yaml")


@pytest.fixture
def project(shell: Shell) -> Shell:
    command = json.dumps([sys.executable, str(BARE), str(shell.project)])
    shell.configure(f"[mcp.servers.bare]\ncommand = {command}\n")
    trusted(shell, FLOW)
    return shell


def added(shell: Shell) -> list[str]:
    path = shell.project / "added"
    return path.read_text().splitlines() if path.exists() else []


def test_with_yes_tools_are_called_shown_and_kept_and_nothing_is_allowed_for_ever(project: Shell) -> None:
    ended = project.ok("run", "flow.yaml", "--yes", "--json", "-i", "word=x")
    result = json.loads(ended.stdout)
    assert result["results"] == {"first": "added x1", "second": "added added x1 again"}
    assert added(project) == ["x1", "added x1 again"]
    assert "connected to the MCP server bare (stdio, 2025-06-18)" in ended.stderr
    assert "✓ bare/add" in ended.stderr
    shown = project.run("show", result["execution_id"][:8]).stdout
    assert shown.count("✓ bare/add") == 2
    shape = project.json("show", result["execution_id"][:8])
    assert [(call["step"], call["ok"]) for call in shape["tool_calls"]] == [("first", True), ("second", True)]
    project.fails(3, "--yes accepts", "run", "flow.yaml")
    assert len(added(project)) == 2


def answered(project: Shell, *keys: str) -> Terminal:
    terminal = project.open("run", "flow.yaml")
    for key in keys:
        terminal.answer(("[y/N/r/a]", key))
    return terminal


def test_a_person_allows_a_tool_once_for_the_run_or_for_ever(project: Shell) -> None:
    terminal = answered(project, "n")
    assert terminal.wait_exit() == 3
    assert '"text": "a1"' in terminal.text
    assert "It is add." in terminal.text
    assert answered(project, "q").wait_exit() == 3
    assert answered(project, "y", "a").wait_exit() == 0
    assert added(project) == ["a1", "added a1 again"]
    project.ok("run", "flow.yaml")
    before = len(added(project))
    (project.project / "description").write_text("It adds, and tells everybody.")
    assert project.run("run", "flow.yaml").returncode == 3
    assert len(added(project)) == before


def test_what_the_definition_names_and_is_not_there_is_told(project: Shell) -> None:
    trusted(project, FLOW.replace("server: bare", "server: bear"))
    project.fails(1, "no MCP server is called 'bear'; did you mean 'bare'?", "run", "flow.yaml", "--yes")


def test_check_warns_of_a_server_that_is_configured_nowhere(project: Shell) -> None:
    path = project.write("flow.yaml", FLOW)
    assert project.run("check", path.name).stdout.count("warning") == 0
    project.write("flow.yaml", FLOW.replace("server: bare", "server: bear", 1))
    ended = project.ok("check", path.name)
    assert "flow.yaml:4:20" in ended.stdout
    assert "no MCP server is called 'bear'; did you mean 'bare'?" in ended.stdout
