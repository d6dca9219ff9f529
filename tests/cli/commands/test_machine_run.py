"""`tideate run` with a state machine: path, result, confirmations and refusals."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.harness.machines import SMALL
from tideate_core.machines.language import Obfuscator, parse
from tideate_core.workflows.obfuscation_key import workflow_key

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.harness.model_server import ModelServer
    from tests.harness.shell import Shell


pytestmark = pytest.mark.slow

WAY = ["*", "first", "second", "first", "*"]


@pytest.fixture
def small(shell: Shell, answering: ModelServer) -> Path:
    """A machine, and a model that goes through its loop once."""
    answering.answers("Do the *first* thing", "the first is **done**")
    answering.answers("Do the second thing", "the second is done")
    answering.answers("is in the state first", {"reason": "more is left", "next": "second"}, times=1)
    answering.answers("is in the state first", {"reason": "nothing is left", "next": "end"})
    answering.answers("is in the state second", {"reason": "once more", "next": "first"})
    return shell.write("small.workflow", SMALL)


@pytest.mark.parametrize("command", [["run"], ["machine", "run"]])
def test_a_file_runs_to_its_end(
    shell: Shell, small: Path, answering: ModelServer, command: list[str]
) -> None:
    done = shell.run(*command, "small.workflow", "the", "task")
    assert (done.returncode, done.stdout) == (0, "the first is **done**\n"), done.stderr
    lines = done.stderr.splitlines()
    assert "→ first  (always)" in lines
    assert "→ second  (there is more to do)" in lines
    assert "→ *  (all is done)" in lines
    assert "first#2 …" in lines
    assert "[1/" not in done.stderr
    assert "* → first → second → first → *" in lines
    assert "The task: the task" in str(answering.requests[0])


def test_a_projects_machine_runs_by_its_name_and_its_path_is_in_the_json_result(
    shell: Shell, small: Path
) -> None:
    small.rename(shell.write(".tideate/workflows/small.workflow", ""))
    result = shell.json("run", "small", "go")
    assert (result["response"], result["workflow"]) == ("the first is **done**\n".strip(), "small")
    assert [result["path"][0]["from"], *(move["to"] for move in result["path"])] == WAY
    assert result["path"][1]["when"] == "there is more to do"
    shell.fails(2, "ask", "run", "ask", "hello", "--obfuscate")


def test_states_appear_at_a_terminal_as_they_are_visited(
    shell: Shell, small: Path, answering: ModelServer
) -> None:
    gate = answering.holds("Do the second thing, slowly", text="slowly **done**")
    small.write_text(SMALL.replace("Do the second thing.", "Do the second thing, slowly."))
    terminal = shell.open("run", "small.workflow", "go")
    terminal.answer("✓ first", "→ second  (there is more to do)", "│ slowly")
    assert "first#2" not in terminal.text
    gate.release()
    terminal.wait_for("✓ first#2")
    terminal.answer("→ *  (all is done)", "* → first → second → first → *\n", "the first is done")
    assert terminal.wait_exit() == 0


def test_a_person_who_is_asked_sees_why_and_what_was_written_and_keeps_it(
    shell: Shell, small: Path, answering: ModelServer
) -> None:
    terminal = shell.open("run", "small.workflow", "go", "-i", "confirm=second")
    terminal.answer(
        "first:",
        "the first is **done**",
        "when: there is more to do",
        "because: more is left",
        "Do the second thing.",
        ("enter the state 'second' from 'first'? [y/N]", "n"),
        "declined",
        "unfinished: ",
        "the first is done",
    )
    assert terminal.wait_exit() == 3
    assert "declined: declined" not in terminal.text


def test_a_declined_run_prints_what_it_has(shell: Shell, small: Path, answering: ModelServer) -> None:
    declined = shell.run("run", "small.workflow", "go", "-i", "confirm=second", "--no")
    assert (declined.returncode, declined.stdout) == (3, "the first is **done**\n")
    assert "Do the second thing" not in str(answering.requests)
    assert "unfinished: " in declined.stderr
    assert "first:\nthe first is **done**\nwhen: there is more to do\n" in declined.stderr


def test_the_first_state_says_that_the_model_library_is_loading(shell: Shell, small: Path) -> None:
    terminal = shell.open("run", "small.workflow", "go", forked=False)
    terminal.wait_for("loading the model library")
    terminal.wait_for("✓ first")
    assert terminal.wait_exit() == 0


def test_messages_are_broken_between_words_at_a_terminal(shell: Shell, answering: ModelServer) -> None:
    shell.write("loop.workflow", "* to first_state\nfirst_state to second\nsecond to first_state\n")
    terminal = shell.open("run", "loop.workflow", "go", columns=50)
    terminal.wait_for("\nerror: loop: first_state ⇄ second: 'first_state'\n  was visited 10 times; ")
    terminal.wait_for("* → first_state → second → … 13 more … → second\n  → first_state")
    assert terminal.wait_exit() == 1


def test_the_list_and_the_doctor_tell_of_machines(shell: Shell, answering: ModelServer) -> None:
    shell.write(".tideate/workflows/mine.workflow", "# My own way\n" + SMALL)
    shell.write(".tideate/workflows/wrong.workflow", "* to\n")
    listed = shell.ok("list")
    rows = {line.split()[0]: " ".join(line.split()[1:]) for line in listed.stdout.splitlines()}
    assert rows["mine"] == "machine, 2 states (this project's) My own way"
    assert rows["PLANNER"].startswith("machine, ")
    assert "wrong.workflow:1:" in listed.stderr
    by_name = {one["name"]: one for one in shell.json("list")["workflows"]}
    assert (by_name["mine"]["kind"], by_name["mine"]["states"]) == ("machine", ["first", "second"])
    assert (by_name["ask"]["kind"], by_name["ask"]["source"]) == ("graph", "builtin")
    assert by_name["refactor"]["steps"] == ["analyze", "refactor"]
    assert rows["refactor"].startswith("analyze → refactor ")
    checked = shell.run("doctor")
    assert checked.returncode == 0, checked.stdout
    assert "mine (machine, 2 states (this project's))" in checked.stdout
    assert "wrong.workflow:1:" in checked.stdout
    assert "wrong" not in shell.run("list", "--root", str(shell.home), cwd=shell.home).stderr


NAMES = ("hidden_plan", "hidden_work", "hidden_proof")
SECRET = """\
* to hidden_plan:
  Think of the hidden_work to come.

: the hidden_plan is good
hidden_plan to hidden_work:
  Do what the hidden_plan says.

: there is no need of a hidden_proof
hidden_plan to hidden_proof

hidden_work to hidden_proof
hidden_proof to *
"""


@pytest.fixture
def tokens(shell: Shell) -> Mapping[str, str]:
    shell.write("secret.workflow", SECRET)
    shell.write("hidden_work.md", "about the hidden_proof\n")
    definition = parse(SECRET, "secret").require("secret")
    return Obfuscator(workflow_key(shell.state), definition).tokens


def names_in(shell: Shell, *outside: str) -> list[str]:
    log = shell.home / "state" / "tideate" / "shell.log"
    words = "".join([*outside, log.read_text() if log.exists() else ""]).casefold()
    return [name for name in (*NAMES, "hidden") if name in words]


def walks(answering: ModelServer, tokens: Mapping[str, str]) -> None:
    answering.answers("Its instruction", f"next comes {tokens['hidden_work']}")
    answering.answers("Which one is next", {"reason": "it is good", "next": tokens["hidden_work"]})


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_run_tells_nobody_a_name(
    shell: Shell, answering: ModelServer, tokens: Mapping[str, str], form: list[str]
) -> None:
    walks(answering, tokens)
    done = shell.ok(
        *("run", "secret.workflow", "the hidden_work", "--file", "hidden_work.md:1-1"),
        *("--obfuscate", "--yes", "-i", "confirm=hidden_work", *form),
    )
    assert all(token in done.stderr for token in tokens.values())
    assert tokens["hidden_proof"] in str(answering.requests[0])
    assert f"{tokens['hidden_work']}.md" in str(answering.requests[0])
    assert names_in(shell, done.stdout, done.stderr, str(answering.requests)) == []
    if form:
        path = json.loads(done.stdout)["path"]
        assert [move["to"] for move in path] == [*tokens.values(), "*"]


def test_a_run_that_fails_tells_nobody_a_name(
    shell: Shell, answering: ModelServer, tokens: Mapping[str, str]
) -> None:
    answering.answers("Its instruction", "done")
    answering.answers("Which one is next", {"reason": "?", "next": "elsewhere"})
    done = shell.run("run", "secret.workflow", "the hidden_work", "--obfuscate", "--json")
    assert done.returncode == 1, done.stderr
    assert tokens["hidden_plan"] in done.stderr
    assert names_in(shell, done.stdout, done.stderr, str(answering.requests)) == []


def test_a_declined_state_tells_nobody_its_name(
    shell: Shell, answering: ModelServer, tokens: Mapping[str, str]
) -> None:
    walks(answering, tokens)
    done = shell.fails(
        3,
        tokens["hidden_plan"],
        *("run", "secret.workflow", "go", "--obfuscate", "-i", f"confirm={tokens['hidden_work']}", "--json"),
    )
    assert names_in(shell, done.stdout, done.stderr) == []
