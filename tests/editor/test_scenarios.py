"""SCEN-WORK-001 to 008 with a real Neovim, the real host and a local HTTP model server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.harness.dialogs import wait_focused
from tests.harness.runs import accept_all, configure, result, start

if TYPE_CHECKING:
    from tests.harness.editor import Editor
    from tests.harness.model_server import ModelServer


@pytest.fixture
def nvim(screen_editor: Editor, server: ModelServer) -> Editor:
    """An editor with the model server as default adapter."""
    configure(screen_editor, server)
    return screen_editor


def register(editor: Editor, name: str, steps: list[str], handlers: str, rest: str = "") -> None:
    """Register a workflow with a Lua table of handlers."""
    ok, err = editor.lua(
        f"local ok, err = require('tideate').register(..., {{steps = ({{select(2, ...)}})[1],"
        f" handlers = {handlers}, {rest}}}) return {{ok, err or ''}}",
        name,
        steps,
    )
    assert ok, err


def test_001_a_simple_ask_runs_the_query_step_and_asks_the_adapter(nvim: Editor, server: ModelServer) -> None:
    server.answers("question", "the answer")
    identity = start(nvim, "ask", "question")
    done = result(nvim)
    assert (done["ok"], done["response"], done["execution_id"]) == (True, "the answer", identity)
    assert done["results"] == {"query": "the answer"}
    assert len(server.requests) == 1
    assert server.requests[0]["stream"] is True


def test_002_refactor_analyzes_first_and_uses_it(nvim: Editor, server: ModelServer) -> None:
    nvim.edit("a.py", "def f():\n    return  1\n")
    server.answers("what must not change", "MY ANALYSIS")
    server.answers("MY ANALYSIS", "```python\ndef f():\n    return 1\n```")
    accept_all(nvim)
    start(nvim, "refactor", "tidy", require_confirmation=True)
    done = result(nvim)
    assert done["ok"], done
    assert done["results"]["analyze"] == "MY ANALYSIS"
    assert nvim.lines(1) == ["def f():", "    return 1"]
    assert nvim.lua("return _G.kinds") == ["gate", "review"]
    nvim.feed("q")
    nvim.feed("u")
    assert nvim.lines(1) == ["def f():", "    return  1"]


def test_a_buffer_that_is_closed_while_the_model_works_is_loaded_again(
    nvim: Editor, server: ModelServer
) -> None:
    nvim.edit("a.py", "def f():\n    return  1\n")
    server.answers("what must not change", "MY ANALYSIS")
    server.answers("MY ANALYSIS", "```python\ndef f():\n    return 1\n```")
    start(nvim, "refactor", "tidy", require_confirmation=True)
    nvim.wait_screen("along this analysis?")
    wait_focused(nvim)
    nvim.command("bdelete a.py")
    nvim.feed("y")
    nvim.wait_screen("hunk 1/1")
    wait_focused(nvim)
    nvim.feed("gA")
    nvim.feed("g<CR>")
    done = result(nvim)
    assert done["ok"], done
    buffer = nvim.lua("return vim.fn.bufnr('a.py')")
    assert nvim.lines(buffer) == ["def f():", "    return 1"]
    assert nvim.lua("return vim.bo[...].buflisted", buffer)


def test_one_hunk_of_a_long_refactoring_is_accepted_alone(nvim: Editor, server: ModelServer) -> None:
    old = ["def f():", "    x = 1", "    if x:", "        pass", "    return x", ""] * 170
    new = [line.replace("return x", "return x + 1") for line in old]
    nvim.edit("a.py", "\n".join(old) + "\n")
    server.answers("what must not change", "nothing")
    server.answers("nothing", "```python\n" + "\n".join(new) + "\n```", pieces=10)
    start(nvim, "refactor", "add one", require_confirmation=False)
    nvim.wait_screen("hunk 1/170", 60)
    wait_focused(nvim)
    nvim.feed("]cga")
    nvim.feed("g<CR>")
    done = result(nvim)
    assert done["ok"], done
    assert [at for at, line in enumerate(nvim.lines(1)) if line not in old] == [10]


HANDLERS = """{
  a = function(_, _, done) done({requires_confirmation = true, message = 'Proceed?', value = 'A'}) end,
  b = function(state, _, done) _G.reached = state.results.a; done('end') end,
}"""


@pytest.mark.parametrize(("key", "ok"), [("y", True), ("n", False)])
def test_003_a_confirmation_is_shown_and_decides(nvim: Editor, key: str, ok: bool) -> None:
    register(nvim, "gated", ["a", "b"], HANDLERS, "require_confirmation = true")
    start(nvim, "gated")
    nvim.wait_screen("Proceed?")
    wait_focused(nvim)
    assert nvim.lua("return require('tideate').get_status().state") == "confirming"
    nvim.feed(key)
    done = result(nvim)
    if ok:
        assert done["response"] == "end"
        assert nvim.lua("return _G.reached") == "A"
    else:
        assert done == {"ok": False, "cancelled": True} | {
            key: done[key] for key in done.keys() - {"ok", "cancelled"}
        }
        assert nvim.lua("return _G.reached == nil")
    assert not any("Proceed?" in line for line in nvim.screen())


def test_004_multi_file_shows_its_plan_before_it_executes(nvim: Editor, server: ModelServer) -> None:
    nvim.write("pyproject.toml")
    nvim.write("a.py", "A = 1\n")
    plan = {
        "files": [
            {"action": "modify", "path": "a.py", "why": "rename it"},
            {"action": "create", "path": "b.py", "why": "holds the rest"},
        ]
    }
    server.answers("Which files have to be", plan)
    server.answers("Change a.py", "```python\nB = 1\n```")
    server.answers("Write the new file b.py", "```python\nC = 2\n```")
    start(nvim, "multi_file", "rename A")
    nvim.wait_screen("b.py")
    screen = "\n".join(nvim.screen())
    assert "a.py" in screen
    assert "rename it" in screen
    assert len(server.requests) == 1
    nvim.wait_screen("Continue with 2 files?")
    wait_focused(nvim)
    nvim.feed("n")
    assert result(nvim)["cancelled"]
    assert len(server.requests) == 1
    assert (nvim.cwd / "a.py").read_text() == "A = 1\n"
    assert not (nvim.cwd / "b.py").exists()


def test_005_an_error_of_a_handler_stops_the_run_and_tells_the_person(nvim: Editor) -> None:
    register(
        nvim,
        "failing",
        ["a", "b"],
        "{a = function(_, _, done) done({error = 'message'}) end, b = function() _G.reached = true end}",
    )
    start(nvim, "failing")
    done = result(nvim)
    assert (done["ok"], done["error"], done["error_code"]) == (False, "message", "StepFailed")
    assert nvim.lua("return _G.reached == nil")
    assert nvim.lua("return _G.seen")[-1] == "SD_EVENT_WORKFLOW_FAILED"
    nvim.wait("vim.api.nvim_exec2('messages', {output = true}).output:find('message')")


def test_006_a_missing_handler_is_named(nvim: Editor) -> None:
    register(nvim, "holes", ["missing_step"], "{}")
    start(nvim, "holes")
    done = result(nvim)
    assert done["error"].startswith("Missing step handler: missing_step")
    assert done["error_code"] == "MissingStepHandler"


ASKING = """{
  a = function(_, _, done) done('A') end,
  b = function(_, adapter, done) adapter:ask('hold it', function(reply) done(reply.text) end) end,
  c = function(_, _, done) _G.reached = true; done('C') end,
}"""


def test_007_cancel_at_step_2_of_3_closes_the_adapters_stream(nvim: Editor, server: ModelServer) -> None:
    gate = server.holds("hold it", text="one two")
    register(nvim, "three", ["a", "b", "c"], ASKING)
    start(nvim, "three")
    gate.wait_started()
    nvim.wait("require('tideate').get_status().step == 2")
    assert nvim.lua("return require('tideate').cancel()")
    done = result(nvim)
    assert done["cancelled"] is True
    assert done["ok"] is False
    gate.wait_disconnected()
    assert nvim.lua("return _G.reached == nil")


def test_008_the_status_names_workflow_and_step(nvim: Editor, server: ModelServer) -> None:
    gate = server.holds("hold it", text="one two")
    register(nvim, "three", ["a", "b", "c"], ASKING)
    identity = start(nvim, "three")
    gate.wait_started()
    nvim.wait("require('tideate').get_status().step == 2")
    status = nvim.lua("return require('tideate').get_status()")
    expected = {"name": "three", "step": 2, "total_steps": 3, "current_step": "b", "state": "running"}
    assert {key: status[key] for key in expected} == expected
    assert status["execution_id"] == identity
    assert status["elapsed_ms"] >= 0
    assert nvim.lua("return require('tideate').statusline()").startswith("three 2/3 b")
    gate.release()
    assert result(nvim)["response"] == "C"
    assert nvim.lua("return require('tideate').statusline()") == ""
