"""`tideate agents`: the roles of a task, where each comes from, and a copy to change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.interrupted import object_of
from tideate_core.agents import BUILTIN_ROLES, Roles
from tideate_core.app.roles import role_names

if TYPE_CHECKING:
    from tests.harness.model_server import ModelServer
    from tests.harness.shell import Shell

pytestmark = pytest.mark.slow

NAMES = ["assistant", "planner", "auditor", "executor", "documenter", "corrector"]


def listed(shell: Shell) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in shell.json("agents")["agents"]}


def test_all_are_listed_in_the_order_in_which_a_task_asks_them(shell: Shell) -> None:
    done = shell.ok("agents")
    assert [line.split()[0] for line in done.stdout.splitlines()[1:]] == NAMES == role_names(None)
    planner = listed(shell)["planner"]
    known = Roles(None).get("planner")
    assert (planner["from"], planner["tokens"], planner["timeout_ms"]) == (
        ["built-in"],
        known.tokens,
        known.timeout,
    )


def test_the_origin_of_an_ejected_and_changed_role_is_shown(shell: Shell) -> None:
    own = shell.home / "config" / "tideate" / "agents"
    own.mkdir(parents=True)
    (own / "planner.md").write_text("---\nadapter: mine\n---\n")
    done = shell.ok("agents", "eject", "planner")
    path = shell.project / ".tideate" / "agents" / "planner.md"
    assert done.stdout == f"{path}\n"
    assert path.read_bytes() == (BUILTIN_ROLES / "planner.md").read_bytes()
    path.write_text("Plan in *one* step.\n")
    shell.fails(1, "already exists", "agents", "eject", "planner")
    planner = listed(shell)["planner"]
    assert (planner["from"], planner["adapter"]) == (["built-in", "yours", "the project's"], "mine")
    shown = shell.run("agents", "show", "planner")
    assert "Plan in *one* step." in shown.stdout
    assert "built-in, yours, the project's" in shown.stdout


def test_what_is_left_out_until_it_is_trusted_is_said(shell: Shell) -> None:
    path = shell.write(".tideate/agents/auditor.md", "---\nadapter: elsewhere\n---\nBe strict.\n")
    done = shell.run("agents")
    assert "left out adapter" in done.stderr
    assert listed(shell)["auditor"]["adapter"] is None
    shell.ok("trust", "--yes")
    assert listed(shell)["auditor"]["adapter"] == "elsewhere"
    path.write_text("---\nadaptor: elsewhere\n---\n")
    shell.fails(2, "auditor.md:2:1", "agents")


@pytest.mark.parametrize("command", ["show", "eject"])
def test_an_unknown_role_is_told_with_the_nearest(shell: Shell, command: str) -> None:
    shell.fails(2, "did you mean 'planner'", "agents", command, "planer")


def test_a_projects_own_agent_is_listed_checked_completed_and_does_a_step(
    shell: Shell, answering: ModelServer
) -> None:
    shell.write(".tideate/agents/cook.md", "---\ndescription: Cooks\n---\nYou cook for many.\n")
    shell.write(".tideate/workflows/menu.yaml", "steps: [{id: menu, agentId: cook, task: Make a menu}]\n")
    shell.write(".tideate/workflows/wrong.yaml", "steps: [{id: menu, agent: cok, task: Make a menu}]\n")
    cook = listed(shell)["cook"]
    assert (cook["from"], cook["description"], cook["agents"]) == (["the project's"], "Cooks", [])
    checked = shell.run("check")
    assert "no agent is called 'cok'; did you mean 'cook'?" in checked.stdout + checked.stderr
    assert "cook" in object_of(shell.run("schema"))["$defs"]["WorkflowStep"]["properties"]["agent"]["enum"]
    answering.answers("Make a menu", "soup")
    done = shell.run("run", "menu")
    assert (done.returncode, done.stdout) == (0, "soup\n"), done.stderr
    assert "You cook for many." in answering.requests[0]["messages"][0]["content"]


def test_names_of_tools_are_checked_and_proposed(shell: Shell) -> None:
    shell.write(".tideate/agents/cook.md", "---\ntools: [git, serch, read_file, 'git/*']\n---\nYou cook.\n")
    step = "steps: [{id: menu, task: Make a menu, tools: [look, git, 'team/x', edit_fil]}]\n"
    shell.write(".tideate/workflows/menu.yaml", step)
    assert shell.run("trust", "--yes").returncode in (0, 2)
    done = shell.run("agents")
    assert done.returncode == 2
    said = " ".join(done.stderr.split())
    assert "the agent 'cook': 'git' is both a tool of tideate and an MCP server" in said
    assert "is called 'serch'; did you mean 'search'?" in said
    assert "read_file" not in said
    checked = shell.run("check")
    found = " ".join((checked.stdout + checked.stderr).split())
    assert "menu.yaml:1:53: " in found
    assert "write `own:git` for tideate's, or `git/*` for all tools of the server" in found
    assert "did you mean 'edit_file'?" in found
    assert "no MCP server is called 'team'" in found
    items = object_of(shell.run("schema"))["$defs"]["WorkflowStep"]["properties"]["tools"]["items"]
    assert {"look", "edits", "read_file"} <= set(items["anyOf"][0]["enum"])
