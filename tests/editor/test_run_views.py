"""Runs of an ended Neovim: list, show, resume after a kill, cancel."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

from tests.editor.test_trust import trust
from tests.harness.dialogs import choose, say_yes
from tests.harness.runs import accept_all, configure, result, start
from tideate_core.store.reader import Reader

if TYPE_CHECKING:
    from tests.harness.editor import Editor, EditorFactory
    from tests.harness.model_server import ModelServer

pytestmark = pytest.mark.slow

RESUME = """
_G.done, _G.calls = nil, 0
require('tideate').resume(..., { on_done = function(result) _G.calls = _G.calls + 1; _G.done = result end })
"""
ASK = """
_G.answer = nil
local method, params = ...
require('tideate.client').request(method, params, function(answer) _G.answer = answer end)
"""
SEEN = """
_G.seen = {}
for _, name in ipairs({ 'WorkflowRestored', 'CheckpointCreated', 'StepStarted' }) do
  vim.api.nvim_create_autocmd('User', { pattern = 'Tideate' .. name, callback = function(args)
    table.insert(_G.seen, { name, args.data.step or '' })
  end })
end
"""


@pytest.fixture
def interrupted(pair: Editor, server: ModelServer) -> str:
    """Id of a run after Neovim was killed during the model call of the second step."""
    server.answers("say one", "FIRST")
    gate = server.holds("say two", text="half", times=1)
    identity = start(pair, "pair", "go")
    gate.wait_started()
    kill(pair)
    gate.wait_disconnected()
    server.answers("say two", "SECOND after FIRST")
    return identity


def kill(editor: Editor) -> None:
    """Kill Neovim and its host with SIGKILL; wait for their ends."""
    for pid in [editor.process.pid, *editor.children()]:
        os.kill(pid, signal.SIGKILL)
    editor.process.wait(60)
    assert editor.brood.gone(60)


def second(start_editor: EditorFactory, first: Editor, server: ModelServer) -> Editor:
    """Start the next editor in the project, with the same private state."""
    state = {"XDG_STATE_HOME": str(first.home / "state")}
    editor = start_editor(ui=(80, 24), cwd=first.cwd, env=state)
    configure(editor, server)
    return editor


def stored(first: Editor, identity: str) -> Any:
    return Reader(first.state).run(identity)


def test_a_killed_neovims_run_goes_on_in_the_next_one(
    pair: Editor, server: ModelServer, start_editor: EditorFactory, interrupted: str
) -> None:
    asked = len(server.requests)
    editor = second(start_editor, pair, server)
    editor.lua(SEEN)
    editor.command("Workflow resume")
    assert f"Resume pair {interrupted[:8]} (go)" in say_yes(editor)
    editor.wait_screen("resuming pair (1/2)")
    editor.wait("_G.seen[1]")
    editor.wait(f"require('tideate').get_status('{interrupted}').state == 'completed'", 60)
    assert len(server.requests) == asked + 1  # the first step was not asked again
    assert "FIRST" in str(server.requests[-1])
    run = stored(pair, interrupted)
    assert (run.status, run.completed_steps) == ("completed", 2)
    assert Reader(pair.state).response(interrupted) == "SECOND after FIRST"
    seen = editor.lua("return _G.seen")
    assert seen == [["WorkflowRestored", ""], ["StepStarted", "two"], ["CheckpointCreated", "two"]]
    steps = editor.lua("return require('tideate').get_status(...).steps", interrupted)
    assert [(step["name"], step["state"]) for step in steps] == [("one", "completed"), ("two", "completed")]


def test_the_next_start_offers_the_interrupted_run_once(
    pair: Editor, server: ModelServer, start_editor: EditorFactory, interrupted: str
) -> None:
    editor = second(start_editor, pair, server)
    server.answers("question", "answer")
    start(editor, "ask", "question")
    editor.wait("vim.api.nvim_exec2('messages', {output = true}).output:find('was interrupted')")
    assert "pair (1/2) was interrupted; :Workflow resume" in editor.messages()
    result(editor)
    start(editor, "ask", "question")
    result(editor)
    assert editor.messages().count("was interrupted") == 1


def test_a_run_is_resumed_from_the_history_and_shown(
    pair: Editor, server: ModelServer, start_editor: EditorFactory, interrupted: str
) -> None:
    editor = second(start_editor, pair, server)
    editor.command("Workflow history")
    screen = "\n".join(editor.wait_screen("interrupted"))
    assert interrupted[:8] in screen
    assert "1/2" in screen
    assert "was interrupted" not in editor.messages()  # nobody is offered what they look at
    editor.feed("p")
    say_yes(editor)
    editor.wait(f"(require('tideate').get_status('{interrupted}') or {{}}).state == 'completed'", 60)
    editor.command(f"Workflow show {interrupted[:6]}")
    editor.wait("vim.bo.filetype == 'tideate-runs'")
    text = "\n".join(editor.lines())
    assert "result: FIRST" in text
    editor.feed("e")
    editor.wait("vim.fn.search('WORKFLOW_RESTORED', 'nw') > 0")
    editor.feed("q")
    editor.wait("vim.fn.search('result: FIRST', 'nw') > 0")
    editor.feed("q")
    editor.wait("vim.bo.filetype ~= 'tideate-runs'")


def test_an_interrupted_run_is_given_up_with_c(
    pair: Editor, server: ModelServer, start_editor: EditorFactory, interrupted: str
) -> None:
    editor = second(start_editor, pair, server)
    editor.command("Workflow history")
    editor.wait_screen("interrupted")
    editor.feed("c")
    say_yes(editor)
    editor.wait_screen("pair  cancelled ")
    assert stored(pair, interrupted).status == "cancelled"
    editor.lua(RESUME, interrupted)
    editor.wait_screen("only a run that has not ended can be")
    assert editor.lua("return require('tideate').is_running()") is False


def test_a_run_whose_host_was_killed_goes_on_in_the_same_neovim(pair: Editor, server: ModelServer) -> None:
    server.answers("say one", "FIRST")
    gate = server.holds("say two", text="half", times=1)
    identity = start(pair, "pair", "go")
    gate.wait_started()
    os.kill(pair.lua("return require('tideate.host').info().pid"), signal.SIGKILL)
    assert result(pair)["error_code"] == "HostDied"
    server.answers("say two", "SECOND")
    pair.lua(RESUME, identity[:8])
    assert result(pair)["response"] == "SECOND"
    assert pair.lua("return require('tideate').get_status(...).state", identity) == "completed"
    output = pair.lua("return require('tideate.ui.output.runs').get(...).stream.buf", identity)
    assert "> Resumed; done before: one" in pair.lines(output)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_a_signal_that_ends_neovim_cancels_no_run(
    pair: Editor, server: ModelServer, start_editor: EditorFactory, number: signal.Signals
) -> None:
    gate = server.holds("say one", text="half", times=1)
    identity = start(pair, "pair", "go")
    gate.wait_started()
    pair.process.send_signal(number)
    pair.process.wait(60)
    gate.wait_disconnected()
    assert pair.brood.gone(60), pair.brood.commands()
    run = stored(pair, identity)
    assert (run.ended, run.status) == (False, "awaiting_completion")


def test_leaving_neovim_cancels_the_run_and_the_store_knows(pair: Editor, server: ModelServer) -> None:
    gate = server.holds("say one", text="half", times=1)
    identity = start(pair, "pair", "go")
    gate.wait_started()
    pair.quit()
    assert stored(pair, identity).status == "cancelled"


BOTH = """
steps:
  - id: inner
    workflow: {name: refactor, prompt: tidy}
  - id: last
    task: say that it is done
    dependencies: [inner]
"""


def test_one_rollback_takes_back_what_a_nested_workflow_changed(pair: Editor, server: ModelServer) -> None:
    both = pair.cwd / ".tideate" / "workflows" / "both.yaml"
    both.write_text(BOTH)
    trust(pair, str(both))
    pair.edit("a.py", "def f():\n    return  1\n")
    server.answers("what must not change", "ANALYSIS")
    server.answers("ANALYSIS", "```python\ndef f():\n    return 1\n```")
    server.answers("say that it is done", "DONE")
    accept_all(pair)
    start(pair, "both", "go")
    done = result(pair)
    assert done["ok"], done["error"]
    assert pair.lines(1) == ["def f():", "    return 1"]
    pair.command("Workflow rollback")
    pair.wait_screen("rolled back: a.py")
    assert pair.lines(1) == ["def f():", "    return  1"]


def answered_by_host(pair: Editor) -> None:
    """Wait until the host has read all requests."""
    pair.lua(ASK, "list", {})
    pair.wait("_G.answer")


def paused_elsewhere(pair: Editor, server: ModelServer) -> str:
    """A run paused by the first editor before its second step."""
    gate = server.holds("say one", text="FIRST", times=1)
    server.answers("say two", "SECOND")
    identity = start(pair, "pair", "go")
    gate.wait_started()
    assert pair.lua("return require('tideate').pause()")
    answered_by_host(pair)  # the model's answer must not be there before the pause
    gate.release()
    pair.wait("require('tideate').get_status().state == 'paused'")
    return identity


def test_another_neovims_run_is_cancelled_from_the_history(
    pair: Editor, server: ModelServer, start_editor: EditorFactory
) -> None:
    identity = paused_elsewhere(pair, server)
    editor = second(start_editor, pair, server)
    editor.command("Workflow history")
    editor.wait_screen("paused")
    editor.feed("R")
    editor.wait_screen("has not ended")
    editor.feed("c")
    say_yes(editor)
    assert result(pair)["cancelled"] is True
    assert stored(pair, identity).status == "cancelled"


def test_where_nothing_ran_there_is_nothing_to_resume_or_show(pair: Editor) -> None:
    pair.command("Workflow resume")
    pair.wait_screen("no run can be resumed")
    pair.command("Workflow rollback")
    pair.wait_screen("no run of this project changed a file")
    pair.command("Workflow show")
    pair.wait_screen("nothing has run in this project yet")
    pair.command("Workflow history")
    pair.wait("vim.bo.filetype == 'tideate-panel' and vim.fn.search('nothing has run', 'nw') > 0")
    assert pair.lines() == ["  nothing has run in this project yet"]


MOVING = {
    "files": [
        {"action": "modify", "path": "a.py", "why": "rename"},
        {"action": "move", "path": "here.py", "move_to": "there.py", "why": "belongs there"},
    ]
}


def test_a_run_of_an_earlier_neovim_is_chosen_and_rolled_back(
    pair: Editor, server: ModelServer, start_editor: EditorFactory
) -> None:
    """The run is named by the start of its id or chosen in a list; a moved file counts once."""
    pair.write("here.py", "HERE = 1\n")
    pair.write("a.py", "A = 1\n")
    accept_all(pair)
    runs = []
    for name, plan in (("B", MOVING), ("C", {"files": MOVING["files"][:1]})):
        server.answers("Which files have to be", plan, times=1)
        server.answers("Change a.py", f"```python\n{name} = 1\n```", times=1)
        start(pair, "multi_file", "rename A")
        done = result(pair)
        assert done["ok"], done
        runs.append(done["execution_id"])
    editor = second(start_editor, pair, server)
    choose(editor, 1)
    editor.command("Workflow rollback")
    editor.wait("#_G.choices == 1")
    prompt, items = editor.lua("return _G.choices[1]")
    assert [runs.index(item["execution_id"]) for item in items] == [1, 0], prompt
    assert say_yes(editor) == f"Roll back 1 file to the state before multi_file {runs[1][:8]} (rename A)?"
    editor.wait_screen("rolled back: a.py")
    assert (pair.cwd / "a.py").read_text() == "B = 1\n"
    assert editor.lua("return vim.fn.getcompletion('Workflow rollback ', 'cmdline')") == []
    editor.wait(
        "vim.tbl_contains(vim.fn.getcompletion('Workflow rollback ', 'cmdline'), ...)", 60, runs[0][:8]
    )
    editor.command(f"Workflow rollback {runs[0][:6]}")
    assert say_yes(editor).startswith(f"Roll back 2 files to the state before multi_file {runs[0][:8]}")
    editor.wait("vim.api.nvim_exec2('messages', {output = true}).output:find('here.py', 1, true)")
    assert (pair.cwd / "here.py").exists()
    assert (pair.cwd / "a.py").read_text() == "A = 1\n"
    editor.command(f"Workflow rollback {runs[0][:6]}")
    editor.wait_screen("nothing to roll back")
    editor.command("Workflow rollback")
    editor.wait_screen("no run of this project changed a file that can be rolled back")
