"""`tideate say` to a running and to an ended run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.interrupted import only_run

if TYPE_CHECKING:
    from tests.harness.model_server import ModelServer
    from tests.harness.shell import Shell

pytestmark = pytest.mark.slow


def test_a_message_reaches_the_model_of_another_process(shell: Shell, server: ModelServer) -> None:
    shell.use(server, tools=True)
    shell.write("b.py", "VALUE_OF_B = 41\n")
    gate = server.holds("make b 42", text="Let me look.", before_first=True, times=1)
    edit = {"path": "b.py", "edits": [{"search": "41", "replace": "42"}]}
    server.calls("be short", "read_file", {"path": "b.py"}, times=1)
    server.calls(
        "VALUE_OF_B", "submit_plan", {"files": [{"action": "modify", "path": "b.py", "why": "w"}]}, times=1
    )
    server.calls("Carry it out", "edit_file", edit, times=1)
    server.calls("Carry it out", "submit_work", {"summary": "Done."}, times=1)
    running = shell.start("run", "multi_file", "make b 42", "--yes")
    gate.wait_started()
    run = only_run(shell)["execution_id"]
    said = shell.run("say", run[:6], "be", "short")
    assert (said.returncode, "its model reads it before its next turn" in said.stderr) == (0, True), (
        said.stderr
    )
    shell.fails(2, "there is nothing to say; add the message", "say", run[:6])
    assert running.stderr is not None
    while "you: be short" not in (line := running.stderr.readline()):
        assert line, "the run has ended without the message"
    gate.release()
    # not `communicate`: that loses what was read together with the line above
    words = running.stderr.read()
    assert running.wait(60) == 0, words
    assert "the model reads your message: be short" in words
    assert "✓ read_file b.py" in words
    assert shell.read("b.py") == "VALUE_OF_B = 42\n"
    shell.fails(1, "no model reads it any more", "say", run[:6], "too late")
    shown = shell.run("show", run[:6])
    assert "tool calls: " in shown.stdout or "tool call: " in shown.stdout
