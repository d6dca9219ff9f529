"""`:Workflow pick` in each picker, with doubles that follow the documentation of the plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.editor import REPOSITORY

if TYPE_CHECKING:
    from tests.harness.editor import Editor

PICKERS = ("snacks", "telescope", "fzf-lua", "mini", "select")
DOUBLE = "local name, index = ... dofile(_G.doubles)[name](index)"
RUNS = [
    {"execution_id": "a" * 32, "workflow": "ask", "state": "completed", "prompt": "why", "started_at": 0},
    {
        "execution_id": "b" * 32,
        "workflow": "refactor",
        "state": "failed",
        "prompt": "first\n\x1b[31mred",
        "error": "no \u202emodel",
        "started_at": 0,
        "files": ["src/a.py", "gone.py"],
    },
]
ANSWERS = """
local runs = ...
_G.asked = {}
require('tideate.client').request = function(method, params, done)
  table.insert(_G.asked, { method, params })
  local team = { name = 'team', description = 'ours', steps = { 'one' }, source = 'project' }
  local mine = { adapter = 'mine', model = 'm', source = 'configuration' }
  local result = {
    history = { ok = true, runs = runs },
    list = { ok = true, workflows = { team } },
    models = { ok = true, default = 'm', models = { mine } },
    model_check = { ok = true },
  }
  if result[method] then
    done(result[method])
  end
end
"""


@pytest.fixture
def picking(editor: Editor) -> Editor:
    """An editor in a project, with two runs, a workflow and a model in the host."""
    (editor.cwd / ".git").mkdir()
    editor.edit("src/a.py", "A = 1\nB = 2\n")
    editor.lua("_G.doubles = ...", str(REPOSITORY / "tests" / "harness" / "plugins" / "pickers.lua"))
    editor.lua(ANSWERS, RUNS)
    return editor


def pick(editor: Editor, picker: str, index: int, arguments: str = "runs") -> dict[str, Any]:
    """Return the arguments of the picker, after it chose the item of this number."""
    editor.lua(DOUBLE, picker, index)
    editor.command(f"Workflow pick {arguments}")
    editor.wait("_G.picked")
    return dict(editor.lua("local picked = _G.picked _G.picked = nil return picked"))


@pytest.mark.parametrize("picker", PICKERS)
def test_a_picker_shows_runs_with_a_preview_and_opens_the_chosen_one(picking: Editor, picker: str) -> None:
    picking.lua("require('tideate.ui.pages.run_page').show = function(id) _G.shown = id end")
    pick(picking, picker, 9)
    picking.lua("vim.schedule(function() _G.later = true end)")
    picking.wait("_G.later")
    assert picking.lua("return _G.shown") is None, "nothing was chosen"
    given = pick(picking, picker, 2)
    assert (given["name"], given["title"]) == (picker, "Runs")
    assert given["texts"][0].startswith("aaaaaaaa  1970-01-0")
    assert given["texts"][0].endswith("  ask  completed  why")
    assert "refactor  failed  first" in given["texts"][1]
    text = "".join(given["texts"]) + "\n".join(given.get("preview") or [])
    assert "\x1b" not in text
    assert "\u202e" not in text
    if picker != "select":
        assert given["preview"][0] == "# refactor, failed"
        assert "- src/a.py" in given["preview"]
    assert picking.wait("_G.shown") == "b" * 32


def test_files_of_a_run_are_previewed_and_opened(picking: Editor) -> None:
    picking.command("enew")
    given = pick(picking, "telescope", 1, "files bbbb")
    assert given["title"] == "Files of run bbbbbbbb", "the only run of this id is not asked for"
    assert given["texts"] == ["src/a.py", "gone.py"]
    assert given["preview"] == ["A = 1", "B = 2"]
    picking.wait("vim.api.nvim_buf_get_name(0):match('/src/a.py$')")
    assert pick(picking, "telescope", 2, "files bbbb")["preview"] == ["this file is not there"]


@pytest.mark.parametrize("picker", ["snacks", "telescope", "mini"])
def test_a_preview_is_made_of_what_is_looked_at_alone(picking: Editor, picker: str) -> None:
    picking.lua("""
      _G.made, _G.doubled = 0, ...
      dofile(_G.doubles)[_G.doubled](2)
      local items = {}
      for value = 1, 50 do
        items[value] = { text = tostring(value), value = value, filetype = 'lua', preview = function()
          _G.made = _G.made + 1
          return { 'preview ' .. value }
        end }
      end
      require('tideate').setup({ picker = _G.doubled })
      require('tideate.pickers').open('Numbers', items, function() end)
    """, picker)  # fmt: skip
    assert picking.lua("return { _G.made, _G.picked.preview }") == [1, ["preview 2"]]


def test_workflows_and_models_are_picked_too(picking: Editor) -> None:
    picking.lua(
        "require('tideate').run = function(name, opts) _G.ran = { name, opts.context.buffer.path } end"
    )
    names = pick(picking, "mini", 1, "workflows")["texts"]
    assert any(line.startswith("team  ours") for line in names)
    assert picking.wait("_G.ran")[1].endswith("/src/a.py")
    models = pick(picking, "mini", 2, "models")
    assert models["title"] == "Model"
    assert models["texts"][1] == "mine  (m)"
    picking.wait("require('tideate.model_choice').adapter_for('ask') == 'mine'")


@pytest.mark.slow
def test_the_configured_picker_is_used_and_missed_where_it_is_not_there(picking: Editor) -> None:
    name = "return require('tideate.pickers').name()"
    assert picking.lua(name) == "select", "none is installed"
    for index, picker in enumerate(reversed(PICKERS[:-1])):
        picking.lua(DOUBLE, picker, 1)
        assert picking.lua(name) == picker, f"before those that were there, {index}"
    assert (
        picking.lua("require('tideate').setup({ picker = 'mini' }) return require('tideate.pickers').name()")
        == "mini"
    )
    picking.lua("_G.MiniPick = nil")
    picking.command("Workflow pick")
    assert "the picker 'mini' is not there" in picking.messages()
    assert picking.lua("return require('tideate').setup({ picker = 'other' })") is False


def test_what_cannot_be_picked_is_named(picking: Editor) -> None:
    picking.command("Workflow pick run")
    assert "did you mean 'runs'" in picking.messages()
    assert picking.lua("return vim.fn.getcompletion('Workflow pick m', 'cmdline')") == ["models"]
