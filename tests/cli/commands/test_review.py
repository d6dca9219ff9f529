"""`tideate review` at a terminal: killed, left, cancelled and declined reviews."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from tests.builtin.review.conftest import FIRST
from tests.cli.interrupted import LOOP, SHORT, only_run, shouting
from tests.harness.project import git

if TYPE_CHECKING:
    from tests.harness.model_server import ModelServer
    from tests.harness.shell import Shell
    from tests.harness.terminal import Terminal

pytestmark = pytest.mark.slow

CHANGED = FIRST.replace("one", "ONE").replace("eight", "EIGHT")
ASKED = "Keep the changes to 2 files since HEAD ("


def shown(text: str) -> list[str]:
    """Return the lines of the patch above the question."""
    return [line for line in text.split(ASKED)[0].splitlines() if line.startswith("│")]


def test_a_review_that_was_killed_at_its_question_shows_the_same_hunks_again(shell: Shell) -> None:
    root = shell.project
    shell.write(".gitignore", ".tideate/\n")
    shell.write("a.py", FIRST)
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    shell.write("a.py", CHANGED)
    shell.write("new.txt", "new\n")
    killed = shell.open("review", "HEAD")
    killed.wait_for(ASKED)
    killed.process.send_signal(signal.SIGKILL)
    killed.wait_exit()
    run = only_run(shell)
    assert (run["workflow"], run["state"], run["completed_steps"]) == ("review_changes", "interrupted", 1)
    git(root, "commit", "-aqm", "what HEAD is now is not what was reviewed")
    resumed = shell.open("resume", run["execution_id"])
    resumed.wait_for(ASKED)
    assert "│ +EIGHT" in shown(killed.text)
    assert shown(resumed.text) == shown(killed.text)
    resumed.answer(("]", "r"))
    assert resumed.wait_exit() == 0
    assert (root / "a.py").read_text() == FIRST
    assert not (root / "new.txt").exists()
    assert [run["state"] for run in shell.json("history")["runs"]] == ["completed"]


def test_a_file_called_like_a_commit_does_not_narrow_a_review(shell: Shell) -> None:
    root = shell.project
    git(root, "init", "-q")
    for name in ("HEAD", "main"):
        shell.write(name, "x\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    shell.write("evil.py", "evil\n")
    assert "evil.py" in shell.run("review", "HEAD", "--no").stderr
    shell.fails(2, "give ./main for the path", "review", "main", "--no")
    nothing = shell.run("review", "./main", "--no")
    assert "nothing is changed" in nothing.stdout


def refactoring(shell: Shell, answering: ModelServer) -> Terminal:
    """A terminal at the review of a refactoring."""
    shell.write("a.py", LOOP)
    answering.answers("what must not change", "Nothing.")
    answering.answers("in one fenced block", f"```python\n{SHORT}```")
    terminal = shell.open("run", "refactor", "shorten", "--file", "a.py")
    terminal.answer(("[y/N]", "y"), "[y/N/p")
    return terminal


def test_a_review_that_is_left_by_q_waits_and_is_opened_by_its_run(
    shell: Shell, answering: ModelServer
) -> None:
    terminal = refactoring(shell, answering)
    terminal.type("q\n")
    assert terminal.wait_exit() == 130
    run = only_run(shell)
    assert run["state"] == "interrupted"
    requests = len(answering.requests)
    again = shell.open("review", run["execution_id"][:8])
    again.answer(("[y/N/p", "y"))
    assert again.wait_exit() == 0
    assert shell.read("a.py") == SHORT
    assert len(answering.requests) == requests, "the model is not asked again"


def test_a_cancelled_run_keeps_what_was_decided_in_its_review(shell: Shell, answering: ModelServer) -> None:
    terminal, lines, loud = shouting(shell, answering)
    terminal.process.send_signal(signal.SIGTERM)
    terminal.wait_exit()
    identity = only_run(shell)["execution_id"]
    shell.ok("cancel", identity)
    assert only_run(shell)["state"] == "cancelled"
    again = shell.open("review", identity)
    again.answer("1 hunk decided before, at the terminal", ("[y/N/p/c/o/d]", "y"))
    assert again.wait_exit() == 0
    assert shell.read("a.txt") == "\n".join([*lines[:5], *loud[5:], ""])


def test_a_declined_review_is_opened_again_as_a_new_run(shell: Shell, answering: ModelServer) -> None:
    terminal = refactoring(shell, answering)
    terminal.type("n\n")
    assert terminal.wait_exit() == 3
    run = only_run(shell)
    assert (run["state"], run["reason"]) == ("cancelled", "declined")
    assert f"`tideate review {run['execution_id'][:8]}` opens it again" in terminal.text
    requests = len(answering.requests)
    again = shell.open("review", run["execution_id"][:8])
    again.wait_for("[y/N/p")
    assert shell.read("a.py") == LOOP
    again.type("y\n")
    assert again.wait_exit() == 0
    assert shell.read("a.py") == SHORT
    assert len(answering.requests) == requests, "the model is not asked again"
    new, old = shell.json("history")["runs"]
    assert (new["state"], old["state"]) == ("completed", "cancelled")
    assert new["forked_from"]["execution_id"] == run["execution_id"]
    refused = shell.run("review", new["execution_id"])
    assert refused.returncode != 0
    assert "no review of it was declined or left open" in refused.stderr
