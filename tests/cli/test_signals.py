"""Interrupting a run from outside."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Shell
    from tests.support.model_server import ModelServer

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_cancels_the_run_and_the_request(
    shell: Shell, answering: ModelServer, number: signal.Signals
) -> None:
    gate = answering.holds("wait for it")
    before = signal.signal(number, signal.SIG_DFL)  # this test may itself run under nohup
    try:
        process = shell.start("run", "ask", "wait for it", "--json")
    finally:
        signal.signal(number, before)
    gate.wait_started()
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=60)
    gate.wait_disconnected()
    assert process.returncode == 130, stderr
    assert json.loads(stdout)["reason"] == "cancelled"
    assert "Traceback" not in stderr
    answering.wait_idle()
    assert shell.brood.gone(within=60), shell.brood.commands()


def test_ctrl_c_at_the_terminal_cancels_while_streaming(shell: Shell, answering: ModelServer) -> None:
    gate = answering.holds("wait for it", text="streaming is visible")
    terminal = shell.open("run", "ask", "wait for it")
    gate.wait_started()
    terminal.wait_for("streaming")
    terminal.type("\x03")
    assert terminal.wait_exit() == 130
    gate.wait_disconnected()
    assert "cancelled" in terminal.text
    assert "\x1b[?25h" in terminal.raw.rpartition("\x1b[?25l")[2], "the cursor stays hidden"
    assert shell.brood.gone(within=60), shell.brood.commands()


def test_ctrl_c_in_a_question_changes_nothing(shell: Shell, answering: ModelServer) -> None:
    file = shell.write("a.py", "x = 1\n")
    answering.answers("what does the code do", "- assigns")
    terminal = shell.open("run", "refactor", "rename", "--file", "a.py")
    terminal.wait_for("[y/N]")
    terminal.type("\x03")
    assert terminal.wait_exit() == 130
    assert file.read_text() == "x = 1\n"
    assert len(answering.requests) == 1


def test_a_background_job_that_ignores_hangups_goes_on(shell: Shell, answering: ModelServer) -> None:
    gate = answering.holds("wait for it", text="held to the end")
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        process = shell.start("run", "ask", "wait for it", forked=False)
    finally:
        signal.signal(signal.SIGHUP, before)
    gate.wait_started()
    process.send_signal(signal.SIGHUP)
    gate.release()
    stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stdout) == (0, "held to the end\n"), stderr
