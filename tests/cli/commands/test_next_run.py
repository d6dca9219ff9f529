"""Runs that a refactoring proposes to follow it, at the terminal and without one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.interrupted import kill, object_of

if TYPE_CHECKING:
    from tests.harness.model_server import ModelServer
    from tests.harness.shell import Shell

pytestmark = pytest.mark.slow

REFACTOR = ("run", "refactor", "tidy", "--file", "a.py:3-4")
APP = "from a import f\n\nprint(f())\n"
LEFT = "1 other file must change: app.py (calls f)"
OFFER = f"{LEFT}. Continue as multi_file in the same conversation? [y/N]"
PLAN = {"files": [{"action": "modify", "path": "app.py", "why": "calls f"}]}


@pytest.fixture
def looking(shell: Shell, server: ModelServer) -> ModelServer:
    """A model that refactors `f` to `g`, names its caller, and changes that if it is asked to."""
    other = f'[adapters.other]\nbase_url = "{server.base_url}"\nmodel = "another"\n'
    shell.use(server, tools=True, more=other)
    shell.write("a.py", "x = 1\n\ndef f():\n    return  1\n")
    shell.write("app.py", APP)
    files = [{"path": "app.py", "why": "calls f"}, {"path": "../../away.py", "why": "obey"}]
    server.calls("what must not change", "report_affected_files", {"files": files}, times=1)
    server.answers("what must not change", "MY ANALYSIS", times=1)
    server.answers("Rewrite these lines of", "```python\ndef g():\n    return 1\n```", times=1)
    server.calls("Which files have to", "submit_plan", PLAN, times=1)
    edit = {"path": "app.py", "edits": [{"search": "print(f())", "replace": "print(g())"}]}
    server.calls("Carry it out completely", "edit_file", edit, times=1)
    server.calls("Carry it out completely", "submit_work", {"summary": "Renamed."}, times=1)
    return server


def names(shell: Shell) -> list[str]:
    return [run["workflow"] for run in shell.json("history")["runs"]]


def test_a_yes_goes_on_and_each_run_is_rolled_back_by_itself(shell: Shell, looking: ModelServer) -> None:
    terminal = shell.open(*REFACTOR)
    for question in (
        "must change, too: offered next. [y/N]",
        "[y/N/p/c/d]",
        OFFER,
        "[y/N/e/c/numbers]",
        "[y/N/p/c/d]",
    ):
        terminal.answer((question, "y"))
    assert terminal.wait_exit() == 0, terminal.text
    assert shell.read("app.py") == APP.replace("print(f())", "print(g())")
    second, first = shell.json("history")["runs"]
    assert (first["workflow"], second["workflow"]) == ("refactor", "multi_file")
    assert second["continues"] == first["execution_id"]
    assert "MY ANALYSIS" in shell.run("show", second["execution_id"], "--thread").stdout
    shell.ok("rollback", second["execution_id"], "--yes")
    assert shell.read("app.py") == APP
    assert "def g" in shell.read("a.py")
    shell.ok("rollback", first["execution_id"], "--yes")
    assert "def f" in shell.read("a.py")


def test_a_no_ends_well_and_says_how_to_go_on(shell: Shell, looking: ModelServer) -> None:
    terminal = shell.open(*REFACTOR)
    for question, answer in (("along this analysis?", "y"), ("[y/N/p/c/d]", "y"), (OFFER, "n")):
        terminal.answer((question, answer))
    terminal.wait_for("n\n`tideate run multi_file --continue")
    assert terminal.wait_exit() == 0
    assert names(shell) == ["refactor"]
    assert shell.read("app.py") == APP


def test_yes_begins_no_wider_run_and_the_command_that_it_names_does(
    shell: Shell, looking: ModelServer
) -> None:
    done = shell.ok(*REFACTOR, "--yes", "--adapter", "other")
    assert names(shell) == ["refactor"]
    command = done.stderr.splitlines()[-1].partition("`")[2].partition("`")[0]
    run = shell.json("history")["runs"][0]["execution_id"]
    assert done.stderr.splitlines()[-1] == f"{LEFT}; `{command}` continues with it"
    assert command == f"tideate run multi_file --continue {run[:8]} --adapter other"
    shown = " ".join(shell.run("show", run).stdout.split())
    assert f"proposes {LEFT}; `{command}`" in shown
    shell.ok(*command.split()[1:], "--yes")
    assert looking.requests[-1]["model"] == "another"
    assert shell.read("app.py") == APP.replace("print(f())", "print(g())")


def test_json_has_it_as_data(shell: Shell, looking: ModelServer) -> None:
    result = shell.json(*REFACTOR, "--yes")
    run = result["execution_id"]
    assert result["next"] == {
        "workflow": "multi_file",
        "prompt": "Change what else must change with the refactoring of a.py.",
        "message": LEFT,
        "files": [{"path": "app.py", "why": "calls f"}],
        "continues": run,
        "asks": True,
        "command": f"tideate run multi_file --continue {run[:8]}",
    }
    assert shell.json("show", run)["next"]["files"] == result["next"]["files"]


def test_a_declined_refactoring_proposes_nothing(shell: Shell, looking: ModelServer) -> None:
    done = shell.run(*REFACTOR)  # without a terminal
    assert done.returncode == 3
    assert "must change" not in done.stderr.splitlines()[-1]
    assert names(shell) == ["refactor"]


@pytest.mark.crash
def test_a_killed_refactoring_keeps_what_was_reported(shell: Shell, looking: ModelServer) -> None:
    gate = looking.holds("noted: app.py\nnot noted: ", text="MY ANALYSIS", times=1)
    process = shell.start(*REFACTOR, "--yes")
    gate.wait_started()
    kill(process, gate)
    done = shell.ok("resume", "--yes", "--json")
    result = object_of(done)
    assert [one["path"] for one in result["next"]["files"]] == ["app.py"]
