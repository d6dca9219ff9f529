"""`tideate review` as a person at a terminal sees and answers it."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from tests.builtin.review.conftest import FIRST, git
from tests.cli.interrupted import LOOP, SHORT, object_of, only_run

if TYPE_CHECKING:
    from tests.cli.conftest import Shell
    from tests.support.model_server import ModelServer
    from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow

CHANGED = FIRST.replace("one", "ONE").replace("eight", "EIGHT")
ASKED = "Keep the changes to 2 files since HEAD ("


def shown(text: str) -> list[str]:
    """The lines of the changes that a terminal showed before the question."""
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
    resumed.wait_for("]")
    resumed.type("r\n")
    assert resumed.wait_exit() == 0
    assert (root / "a.py").read_text() == FIRST
    assert not (root / "new.txt").exists()
    assert [run["state"] for run in object_of(shell.run("history", "--json"))["runs"]] == ["completed"]


def test_a_file_called_like_a_commit_does_not_narrow_a_review(shell: Shell) -> None:
    root = shell.project
    git(root, "init", "-q")
    for name in ("HEAD", "main"):
        shell.write(name, "x\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    shell.write("evil.py", "evil\n")
    assert "evil.py" in shell.run("review", "HEAD", "--no").stderr
    refused = shell.run("review", "main", "--no")
    assert refused.returncode == 2
    assert "give ./main for the one" in refused.stderr
    nothing = shell.run("review", "./main", "--no")
    assert "nothing is changed" in nothing.stdout


def refactoring(shell: Shell, answering: ModelServer, before: str = LOOP, after: str = SHORT) -> Terminal:
    """A terminal at the review of a refactoring."""
    shell.write("a.py", before)
    answering.answers("what must not change", "Nothing.")
    answering.answers("in one fenced block", f"```python\n{after}```")
    terminal = shell.open("run", "refactor", "shorten", "--file", "a.py")
    terminal.wait_for("[y/N]")
    terminal.type("y\n")
    terminal.wait_for("[y/N/p")
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
    again.wait_for("[y/N/p")
    again.type("y\n")
    assert again.wait_exit() == 0
    assert (shell.project / "a.py").read_text() == SHORT
    assert len(answering.requests) == requests, "the model is not asked again"


def test_a_cancelled_run_keeps_what_was_decided_in_its_review(shell: Shell, answering: ModelServer) -> None:
    lines = [f"n{number} = {number}\n" for number in range(20)]
    new = [*lines[:2], "first = 1\n", *lines[2:18], "last = 1\n", *lines[18:]]
    terminal = refactoring(shell, answering, "".join(lines), "".join(new))
    terminal.type("p\n")
    terminal.wait_for("hunk 1/2")
    terminal.type("n\n")
    terminal.wait_for("hunk 2/2")
    terminal.process.send_signal(signal.SIGTERM)
    terminal.wait_exit()
    identity = only_run(shell)["execution_id"]
    assert shell.run("cancel", identity).returncode == 0
    assert only_run(shell)["state"] == "cancelled"
    again = shell.open("review", identity)
    again.wait_for("1 hunk decided before, at the terminal")
    again.type("p\n")
    again.wait_for("hunk 2/2")
    again.type("y\n")
    assert again.wait_exit() == 0
    assert (shell.project / "a.py").read_text() == "".join([*lines[:18], "last = 1\n", *lines[18:]])


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
    assert (shell.project / "a.py").read_text() == LOOP
    again.type("y\n")
    assert again.wait_exit() == 0
    assert (shell.project / "a.py").read_text() == SHORT
    assert len(answering.requests) == requests, "the model is not asked again"
    new, old = object_of(shell.run("history", "--json"))["runs"]
    assert (new["state"], old["state"]) == ("completed", "cancelled")
    assert new["forked_from"]["execution_id"] == run["execution_id"]
    refused = shell.run("review", new["execution_id"])
    assert refused.returncode != 0
    assert "no review of it was declined or left open" in refused.stderr
