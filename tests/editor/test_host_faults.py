"""Host faults: killed, stopped, not started, invalid messages; one clear end each, no process left."""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.processes import Brood
from tests.harness.runs import configure, result, start

if TYPE_CHECKING:
    from pathlib import Path

    from tests.editor.conftest import FakeHost
    from tests.harness.editor import Editor, EditorFactory
    from tests.harness.model_server import ModelServer

RUN = """
_G.done = _G.done or {}
_G.id = require('tideate').run(..., { prompt = 'p' }, function(result) table.insert(_G.done, result) end)
return _G.id
"""

COUNT_PINGS = """
local host = require('tideate.host')
local notify = host.notify
_G.pings = 0
host.notify = function(name, payload)
  _G.pings = _G.pings + (payload.method == 'ping' and 1 or 0)
  return notify(name, payload)
end
"""
# after what piled up meanwhile, before anything that comes later
NOTE_PINGS = "vim.schedule(function() _G.at_once = _G.pings end)"


def run(editor: Editor, workflow: str) -> str:
    return str(editor.lua(RUN, workflow))


def ended(editor: Editor) -> dict[str, Any]:
    """Wait for the end of the run; assert that it arrived exactly once."""
    editor.wait("_G.done[1]")
    # a second end would come with the messages that are already on their way
    editor.lua("vim.wait(50)")
    results = editor.lua("return _G.done")
    assert len(results) == 1
    assert editor.lua("return require('tideate').is_running()") is False
    return dict(results[0])


def shorten_limits(editor: Editor, **limits: int) -> None:
    code = "local l = require('tideate.host').limits for k, v in pairs(...) do l[k] = v end"
    editor.lua(code, limits)


def test_the_host_is_started_by_the_first_run_and_only_once(faked: Editor, fake_host: FakeHost) -> None:
    assert fake_host.heard() == []
    first = run(faked, "ask")
    result = ended(faked)
    assert (result["ok"], result["response"], result["execution_id"]) == (True, "forty-two", first)
    run(faked, "ask")
    faked.wait("_G.done[2]")
    calls = [call["call"] for call in fake_host.heard()]
    assert calls.count("TideateStart") == 1
    assert len(fake_host.heard("run")) == 2


def test_a_second_reply_is_not_given_on(faked: Editor) -> None:
    run(faked, "twice")
    assert ended(faked)["response"] == 1


def test_a_killed_host_fails_its_runs_and_says_what_to_do(faked: Editor) -> None:
    run(faked, "hold")
    run(faked, "hold")
    faked.wait("#require('tideate.state').active() == 2 and require('tideate').get_status().step == 2")
    os.kill(faked.lua("return require('tideate.host').info().pid"), signal.SIGKILL)
    faked.wait("#_G.done == 2")
    for done in faked.lua("return _G.done"):
        assert done["error_code"] == "HostDied"
        for words in ("signal 9", "Run the workflow again", "host.log"):
            assert words in done["error"]


def test_a_host_that_ends_itself_is_quoted_and_its_run_announced_as_failed(faked: Editor) -> None:
    faked.lua("""
    vim.api.nvim_create_autocmd('User', { pattern = 'TideateWorkflowFailed', callback = function(args)
      _G.failed = args.data
    end })""")
    execution_id = run(faked, "die")
    result = ended(faked)
    assert result["error_code"] == "HostDied"
    assert "Traceback: the end" in result["error"]
    log = faked.home / "state" / "tideate" / "host.log"
    assert "Traceback: the end" in log.read_text()
    failed = faked.lua("return _G.failed")
    assert (failed["execution_id"], failed["error_code"]) == (execution_id, "HostDied")
    assert faked.lua("return require('tideate').get_status(...).state", execution_id) == "failed"


def test_a_question_of_a_dead_host_is_taken_back(faked: Editor) -> None:
    question = {"execution_id": "a" * 32, "workflow": "w", "step": "s", "kind": "gate", "message": "Sure?"}
    prompt = json.dumps({"method": "confirm", "params": question | {"details": ""}})
    faked.lua("_G.done = {}")
    faked.lua(
        "require('tideate').run('ask_back', { prompt = ... }, function(r) table.insert(_G.done, r) end)",
        prompt,
    )
    faked.wait("#require('tideate.ui').pending() == 1")
    os.kill(faked.lua("return require('tideate.host').info().pid"), signal.SIGKILL)
    assert ended(faked)["error_code"] == "HostDied"
    assert faked.lua("return require('tideate.ui').pending()") == []


def test_children_of_a_killed_host_go_with_it(faked: Editor) -> None:
    run(faked, "child")
    faked.wait("require('tideate').get_status().step == 2")
    os.kill(faked.lua("return require('tideate.host').info().pid"), signal.SIGKILL)
    ended(faked)
    faked.wait_for(lambda: not faked.children(), "the end of the host's child")


def test_a_stopped_host_is_noticed(faked: Editor) -> None:
    limits = faked.lua("return require('tideate.host').limits")
    assert limits["ping"] * (limits["silent_pings"] + 1) <= 15_000, "milliseconds"
    shorten_limits(faked, ping=40)
    run(faked, "stop")
    result = ended(faked)
    assert result["error_code"] == "HostDied"
    assert "has not answered" in result["error"]
    faked.wait_for(lambda: not faked.children(), "the end of the stopped host")


@pytest.mark.slow
def test_a_host_that_answers_pings_is_left_alone(faked: Editor, fake_host: FakeHost) -> None:
    shorten_limits(faked, ping=10, silent_pings=200)
    run(faked, "hold")
    faked.wait_for(lambda: len(fake_host.heard("ping")) > 220, "pings")
    assert faked.lua("return require('tideate').is_running()") is True


def test_no_pings_while_nothing_runs(faked: Editor) -> None:
    shorten_limits(faked, ping=10, silent_pings=1000)
    faked.lua(COUNT_PINGS)
    run(faked, "hold")
    faked.wait("_G.pings > 2")
    faked.lua("require('tideate').cancel()")
    ended(faked)
    faked.wait("not require('tideate.client').busy()")
    before = faked.lua("return _G.pings")
    faked.lua("vim.wait(100)")
    assert faked.lua("return _G.pings") == before


@pytest.mark.slow
def test_pings_do_not_pile_up_while_the_editor_is_busy(faked: Editor) -> None:
    shorten_limits(faked, ping=20, silent_pings=1000)
    run(faked, "hold")
    faked.wait("require('tideate').get_status().step == 2")
    faked.lua(f"{COUNT_PINGS} vim.wait(300, function() return false end, 10, true) {NOTE_PINGS}")
    assert faked.wait("_G.at_once") == 1


@pytest.mark.slow
def test_pings_do_not_pile_up_while_the_editor_waits_for_a_key(
    start_editor: EditorFactory, fake_host: FakeHost
) -> None:
    editor = start_editor(env=fake_host.environment(), ui=(100, 30))
    shorten_limits(editor, ping=20, silent_pings=1000)
    run(editor, "hold")
    editor.wait("require('tideate').get_status().step == 2")
    editor.lua(COUNT_PINGS)
    editor.feed(":lua _G.pings = 0<CR>:echo 'a' | echo 'b'<CR>")
    editor.wait_screen("Press ENTER")
    assert editor.ui
    editor.ui.wait_flush(0.5)  # nothing is drawn: many beats pass
    editor.nvim.input(f":lua {NOTE_PINGS}<CR>")
    assert editor.wait("_G.at_once") == 1


def test_a_host_that_never_gets_ready_is_ended(start_editor: EditorFactory, fake_host: FakeHost) -> None:
    editor = start_editor(env=fake_host.environment("never"))
    shorten_limits(editor, ready=200)
    run(editor, "ask")
    result = ended(editor)
    assert result["error_code"] == "HostNotReady"
    assert ":checkhealth tideate" in result["error"]
    editor.wait_for(lambda: not editor.children(), "the end of the host")


@pytest.mark.parametrize(
    ("start", "code", "words"),
    [
        ("crash", "HostDied", ["No module named 'pynvim'", ":Workflow install"]),
        ("broken", "ConfigError", ["no such key"]),
    ],
)
def test_a_host_that_cannot_start_says_why(
    start_editor: EditorFactory, fake_host: FakeHost, start: str, code: str, words: list[str]
) -> None:
    editor = start_editor(env=fake_host.environment(start))
    run(editor, "ask")
    result = ended(editor)
    assert result["error_code"] == code
    assert [one for one in words if one not in result["error"]] == []


def test_a_wrong_interpreter_is_named(start_editor: EditorFactory) -> None:
    editor = start_editor(env={"TIDEATE_PYTHON": "/nowhere/python"})
    editor.lua("""
    _G.done = {}
    local returned = false
    require('tideate').run('ask', { prompt = 'p' }, function(result)
      _G.after = returned
      table.insert(_G.done, result)
    end)
    returned = true""")
    result = ended(editor)
    assert editor.lua("return _G.after") is True, "the callback never comes before run() returns"
    assert result["error_code"] == "HostMissing"
    assert "/nowhere/python" in result["error"]
    assert "$TIDEATE_PYTHON" in result["error"]


def test_without_any_environment_the_message_says_install(editor: Editor, tmp_path: Path) -> None:
    editor.lua("vim.env.TIDEATE_PYTHON = nil")
    editor.lua("local dir = ... require('tideate.paths').root = function() return dir end", str(tmp_path))
    run(editor, "ask")
    result = ended(editor)
    assert result["error_code"] == "HostMissing"
    assert ":Workflow install" in result["error"]


def test_input_that_cannot_be_sent_fails_the_run(faked: Editor) -> None:
    run(faked, "ask")
    faked.wait("_G.done[1]")
    faked.lua("""
    _G.done = {}
    require('tideate').run('ask', { prompt = 'p', inputs = { f = function() end } }, function(result)
      table.insert(_G.done, result)
    end)""")
    assert ended(faked)["error_code"] == "InvalidInput"


@pytest.mark.slow
def test_nonsense_from_the_host_does_not_keep_the_rest_back(faked: Editor) -> None:
    run(faked, "garbage")
    assert ended(faked)["response"] == "forty-two"


@pytest.mark.slow
def test_a_callback_that_fails_is_reported_and_harms_nothing(faked: Editor) -> None:
    faked.lua("require('tideate').run('ask', { prompt = 'p' }, function() error('mine') end)")
    faked.wait("vim.api.nvim_exec2('messages', { output = true }).output:find('mine')")
    run(faked, "ask")
    assert ended(faked)["ok"] is True


def test_cancel_ends_the_run_as_cancelled(faked: Editor) -> None:
    execution_id = run(faked, "hold")
    faked.wait("require('tideate').get_status().step == 2")
    assert faked.lua("return require('tideate').cancel(...)", execution_id) is True
    result = ended(faked)
    assert result["cancelled"] is True
    assert faked.lua("return require('tideate').get_status()") is None
    assert faked.lua("return require('tideate').cancel()") is False


def test_a_run_cancelled_before_the_host_is_ready_is_cancelled(faked: Editor) -> None:
    faked.lua(f"{RUN.replace('return _G.id', '')} require('tideate').cancel(_G.id)", "hold")
    assert ended(faked)["cancelled"] is True


@pytest.mark.slow
@pytest.mark.parametrize("workflow", ["hold", "stop", "child"])
def test_nothing_outlives_neovim(faked: Editor, workflow: str) -> None:
    run(faked, workflow)
    faked.wait("require('tideate').get_status().step == 2")
    faked.quit()
    assert faked.brood.gone(60), faked.brood.commands()


def test_no_host_is_started_while_neovim_ends(faked: Editor) -> None:
    run(faked, "echo")
    ended(faked)
    told = faked.home / "told"
    faked.lua(
        """
        local told = ...
        vim.api.nvim_create_autocmd('VimLeave', { callback = function()
          -- what waits for a time, or for an answer, is called while Neovim ends its processes
          local host = require('tideate.host')
          vim.wait(60000, function() return host.state() == 'stopped' end, 10)
          require('tideate.client').request('history', {}, function() end)
          vim.fn.writefile({ host.state() }, told)
        end })
        """,
        str(told),
    )
    faked.close(within=10)
    assert told.read_text() == "stopped\n"


def test_a_brood_finds_only_its_own() -> None:
    assert Brood().pids() == set()


DELETE = "vim.fn.delete(vim.fn.getcwd(), 'rf')"


def test_a_directory_that_was_deleted_before_the_start_is_named(
    faked: Editor, fake_host: FakeHost, tmp_path: Path
) -> None:
    faked.lua("vim.fn.mkdir(..., 'p') vim.cmd.cd(...)", str(tmp_path / "gone"))
    faked.lua(DELETE)
    run(faked, "ask")
    done = ended(faked)
    assert done["error"] == "The working directory was deleted; change to another one with `:cd`."
    assert fake_host.heard() == []


@pytest.mark.slow
def test_a_directory_that_was_deleted_while_the_host_lives_is_named(
    start_editor: EditorFactory, server: ModelServer
) -> None:
    editor = start_editor(env={"TIDEATE_PYTHON": sys.executable})
    configure(editor, server)
    server.answers("hi", "hello")
    start(editor, "ask", "hi")
    assert result(editor)["ok"]
    editor.lua(DELETE)
    start(editor, "ask", "hi")
    assert "the working directory was deleted" in result(editor)["error"]
    assert not editor.cwd.exists()
    assert len(server.requests) == 1
