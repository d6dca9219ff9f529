"""The command with the bundled model: real inference, no network."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.harness.shell import Shell

pytestmark = pytest.mark.slow


def test_a_question_is_answered_and_called_a_demonstration(shell: Shell) -> None:
    done = shell.ok("run", "ask", "What is the capital of France?")
    assert len(done.stdout.strip()) > 3
    assert "only a demonstration" in done.stderr
    assert shell.brood.gone(within=60), shell.brood.commands()


def test_its_edits_are_not_applied_by_yes(shell: Shell) -> None:
    file = shell.write("a.py", "x = 1\n")
    done = shell.run("run", "generate", "a function that adds two numbers", "--file", "a.py", "--yes")
    assert file.read_text() == "x = 1\n"
    assert done.returncode in {1, 3}, done.stderr


def test_ctrl_c_leaves_no_model_running(shell: Shell) -> None:
    terminal = shell.open("run", "ask", "Write a long story about a dragon and a knight.")
    terminal.wait_for("│ ")
    terminal.type("\x03")
    assert terminal.wait_exit() == 130
    assert shell.brood.gone(within=60), shell.brood.commands()
