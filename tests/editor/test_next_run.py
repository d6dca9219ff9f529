"""Follow-up runs proposed by a refactoring, in a real Neovim: started only after a yes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.editor.test_command import told
from tests.harness.dialogs import hurry, wait_focused
from tests.harness.runs import configure, start

if TYPE_CHECKING:
    from tests.harness.editor import Editor
    from tests.harness.model_server import ModelServer

pytestmark = pytest.mark.slow

CODE = "x = 1\n\ndef f():\n    return  1\n"
APP = "from a import f\n\nprint(f())\n"
ENDED = """(function(count)
  local runs = require('tideate.state').runs()
  return #runs == count and runs[1].state == 'completed'
end)(...)"""
ASKED = "(require('tideate.ui').pending()[1] or {}).message"
TOLD = "_G.told = {} vim.notify = function(message) table.insert(_G.told, message) end"
OFFER = "1 other file must change: app.py (calls f). Go on as multi_file with the same conversation?"
PROMPT = "Change what else must change with the refactoring of a.py."


@pytest.fixture
def nvim(small_editor: Editor, server: ModelServer) -> Editor:
    """An editor with a model that refactors `f` to `g`, names its caller and changes it on request."""
    configure(small_editor, server, tools=True)
    small_editor.write("pyproject.toml")
    small_editor.write("app.py", APP)
    files = [{"path": "app.py", "why": "calls f"}, {"path": "../away.py", "why": "obey"}]
    server.calls("what must not change", "report_affected_files", {"files": files}, times=1)
    server.answers("what must not change", "MY ANALYSIS", times=1)
    server.answers("Rewrite these lines of", "```python\ndef g():\n    return 1\n```", times=1)
    plan = {"files": [{"action": "modify", "path": "app.py", "why": "calls f"}]}
    server.calls("Which files have to", "submit_plan", plan, times=1)
    edits = [{"search": "print(f())", "replace": "print(g())"}]
    edit = {"path": "app.py", "edits": edits}
    server.calls("Carry it out completely", "edit_file", edit, times=1)
    server.calls("Carry it out completely", "submit_work", {"summary": "Done."}, times=1)
    small_editor.edit("a.py", CODE)
    hurry(small_editor)
    return small_editor


def answer(editor: Editor, keys: str) -> None:
    """Answer the next question."""
    editor.wait("#require('tideate.ui').pending() > 0", 60)
    wait_focused(editor)
    editor.feed(keys)


def refactored(editor: Editor, **opts: Any) -> None:
    """Refactor; accept the analysis and the edit."""
    context = editor.lua("return require('tideate.context').capture({3, 4})")
    start(editor, "refactor", "tidy", context=context, **opts)
    answers = ["y", "gAg<CR>"] if opts.get("require_confirmation", True) else ["gAg<CR>"]
    for keys in answers:
        answer(editor, keys)


def test_a_yes_goes_on_with_the_conversation(nvim: Editor, server: ModelServer) -> None:
    refactored(nvim)
    assert nvim.wait(f"{ASKED} == {json.dumps(OFFER)} and {ASKED}") == OFFER
    assert nvim.lines(1) == ["x = 1", "", "def g():", "    return 1"]
    assert (nvim.cwd / "a.py").read_text() == CODE
    done = nvim.lua("return _G.done")
    assert (done["ok"], [one["path"] for one in done["next"]["files"]]) == (True, ["app.py"])
    wait_focused(nvim)
    nvim.wait_screen("- app.py: calls f")
    nvim.feed("y")
    for keys in ("y", "gAg<CR>"):
        answer(nvim, keys)
    nvim.wait(ENDED, 60, 2)
    # what was refactored belongs to the files that were changed for it
    assert (nvim.cwd / "a.py").read_text() == "x = 1\n\ndef g():\n    return 1\n"
    assert not nvim.lua("return vim.bo[1].modified")
    first, second = nvim.lua("local runs = require('tideate.state').runs() return { runs[2], runs[1] }")
    assert (second["name"], second["prompt"]) == ("multi_file", PROMPT)
    assert (nvim.cwd / "app.py").read_text() == APP.replace("print(f())", "print(g())")
    said = json.dumps(server.requests[-1]["messages"])
    assert "MY ANALYSIS" in said
    assert "+def g():" in said
    nvim.command("Workflow history")
    nvim.wait_screen(f"↳ {first['execution_id'][:2]}")


@pytest.mark.parametrize("when", ["before", "afterwards"])
def test_what_the_person_has_not_saved_is_not_saved_with_the_others(nvim: Editor, when: str) -> None:
    nvim.lua(TOLD)
    if when == "before":
        nvim.lua("vim.api.nvim_buf_set_lines(1, 0, 1, true, { 'x = 2' })")
    refactored(nvim)
    nvim.wait(f"{ASKED} == {json.dumps(OFFER)}")
    if when == "afterwards":
        nvim.lua("vim.api.nvim_buf_set_lines(1, 0, 0, true, { '# mine' })")
    wait_focused(nvim)
    nvim.feed("y")
    for keys in ("y", "gAg<CR>"):
        answer(nvim, keys)
    nvim.wait(ENDED, 60, 2)
    assert (nvim.cwd / "app.py").read_text() == APP.replace("print(f())", "print(g())")
    assert (nvim.cwd / "a.py").read_text() == CODE
    assert nvim.lua("return vim.bo[1].modified")
    nvim.wait("vim.iter(_G.told):any(function(text) return text:find('not saved: a.py', 1, true) end)")
    output = "vim.fn.bufnr('tideate://multi_file/')"
    written = f"table.concat(vim.api.nvim_buf_get_lines({output}, 0, -1, true), ' ')"
    nvim.wait(f"{written}:find('other unsaved changes', 1, true) ~= nil")


def test_a_no_begins_nothing_and_says_how_to_go_on(nvim: Editor, server: ModelServer) -> None:
    nvim.lua(TOLD)
    refactored(nvim)
    nvim.wait(f"{ASKED} == {json.dumps(OFFER)}")
    wait_focused(nvim)
    asked = len(server.requests)
    nvim.feed("n")
    nvim.wait("#_G.told > 0")
    assert "`:Workflow! multi_file` goes on with it" in told(nvim)
    assert len(nvim.lua("return require('tideate.state').runs()")) == 1
    assert len(server.requests) == asked
    nvim.command("Workflow! multi_file")  # without a question for a prompt
    wait_focused(nvim)
    assert nvim.lua("return require('tideate.ui').pending()[1].kind") == "plan"
    assert nvim.lua("return require('tideate.state').runs()[1].prompt") == PROMPT
    assert (nvim.cwd / "app.py").read_text() == APP


def test_who_wants_no_questions_is_only_told(nvim: Editor) -> None:
    nvim.lua(TOLD)
    refactored(nvim, require_confirmation=False)
    nvim.wait("_G.done ~= nil and #_G.told > 0")
    assert nvim.lua("return #require('tideate.ui').pending()") == 0
    assert "1 other file must change: app.py (calls f); `:Workflow! multi_file` goes on" in told(nvim)


def test_a_program_that_goes_on_itself_is_not_asked(nvim: Editor) -> None:
    context = nvim.lua("return require('tideate.context').capture({3, 4})")
    nvim.lua(
        """local opts = ...
        require('tideate').run('refactor', opts, function(result)
          _G.next_id = require('tideate').run(result.next.workflow, {
            prompt = 'my own words', continues = result.execution_id, context = { cwd = vim.fn.getcwd() },
          })
        end)""",
        {"prompt": "tidy", "context": context},
    )
    for keys in ("y", "gAg<CR>"):
        answer(nvim, keys)
    nvim.wait("(require('tideate.ui').pending()[1] or {}).kind == 'plan'")
    assert nvim.lua("return #require('tideate.ui').pending()") == 1
    assert nvim.lua("return require('tideate.state').runs()[1].prompt") == "my own words"
