"""`tideate review` as a person at a terminal sees and answers it."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from tests.builtin.review.conftest import FIRST, git
from tests.cli.interrupted import object_of, only_run

if TYPE_CHECKING:
    from tests.cli.conftest import Shell

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
