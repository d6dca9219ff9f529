"""Replies to runs in a real Neovim: `:Workflow ask!` and the key of the output window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.runs import accept_all, configure, result, start

if TYPE_CHECKING:
    from tests.editor.conftest import FakeHost
    from tests.harness.editor import Editor
    from tests.harness.model_server import ModelServer

CODE = "x = 1\n\ndef f():\n    return  1\n"
ENDED = """(function(count)
  local runs = require('tideate.state').runs()
  return #runs == count and runs[1].state == 'completed'
end)(...)"""


@pytest.fixture
def nvim(screen_editor: Editor, server: ModelServer) -> Editor:
    """An editor with the model server as default adapter."""
    configure(screen_editor, server)
    screen_editor.write("pyproject.toml")
    return screen_editor


def roles(server: ModelServer) -> list[str]:
    return [message["role"] for message in server.requests[-1]["messages"]]


def told(editor: Editor) -> list[str]:
    return list(editor.lua("return _G.told"))


@pytest.mark.slow
def test_a_bang_goes_on_with_the_newest_conversation(nvim: Editor, server: ModelServer) -> None:
    server.answers("first", "ONE", times=1)
    server.answers("and then", "TWO")
    start(nvim, "ask", "first")
    assert result(nvim)["ok"]
    nvim.command("Workflow ask! and then")
    nvim.wait(ENDED, 60, 2)
    assert roles(server) == ["system", "user", "assistant", "user"]
    assert "ONE" in str(server.requests[-1])
    first = nvim.lua("return require('tideate.state').runs()[2].execution_id")
    nvim.command("Workflow history")
    nvim.wait_screen(f"↳ {first[:8]} and then")


@pytest.mark.slow
@pytest.mark.parametrize("key", ["r", "i"])
def test_a_reply_in_the_output_window_rewrites_what_was_just_written(
    nvim: Editor, server: ModelServer, key: str
) -> None:
    nvim.edit("a.py", CODE)
    server.answers("what must not change", "MY ANALYSIS", times=1)
    server.answers("Rewrite these lines of", "```python\ndef g():\n    return 1\n```", times=1)
    server.answers("keep the name", "```python\ndef f():\n    return 1\n```")
    accept_all(nvim)
    context = nvim.lua("return require('tideate.context').capture({3, 4})")
    start(nvim, "refactor", "tidy", context=context)
    assert result(nvim)["ok"]
    assert nvim.lines(1) == ["x = 1", "", "def g():", "    return 1"]
    nvim.lua("require('tideate.ui.output').focus()")
    nvim.feed(key)
    nvim.feed("keep the name<C-s>")
    nvim.wait(ENDED, 60, 2)
    assert nvim.lines(1) == ["x = 1", "", "def f():", "    return 1"]
    assert (nvim.cwd / "a.py").read_text() == CODE, "the buffer was changed, and nothing saved"
    assert "MY ANALYSIS" in str(server.requests[-1])


@pytest.mark.slow
def test_a_reply_to_a_run_that_has_not_ended_starts_nothing(nvim: Editor, server: ModelServer) -> None:
    gate = server.holds("first")
    start(nvim, "ask", "first")
    gate.wait_started()
    nvim.lua("_G.told = {} vim.notify = function(message) table.insert(_G.told, message) end")
    nvim.lua("require('tideate.ui.output').show(require('tideate.state').runs()[1].execution_id, true)")
    nvim.feed("r")
    assert any("has not ended; reply to it then" in words for words in told(nvim))
    gate.release()
    assert result(nvim)["ok"]
    assert len(server.requests) == 1


def test_a_subcommand_takes_no_bang(faked: Editor, fake_host: FakeHost) -> None:
    faked.lua("_G.told = {} vim.notify = function(message) table.insert(_G.told, message) end")
    faked.command("Workflow! history")
    assert any("takes no `!`" in words for words in told(faked))
    assert fake_host.heard("history") == []


def test_selected_lines_go_with_a_reply(faked: Editor, fake_host: FakeHost) -> None:
    faked.edit("a.py", CODE)
    faked.command("3,4Workflow refactor! this, too")
    (request,) = faked.wait_for(lambda: fake_host.heard("run"), "a run")
    params: dict[str, Any] = request["params"]
    assert (params["continues"], params["prompt"]) == ("last", "this, too")
    assert params["context"]["selection"] == {"start": 3, "end": 4}
