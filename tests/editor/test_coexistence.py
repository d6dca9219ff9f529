"""Coexistence with other plugins: inline suggestions with their server and key, keys of gitsigns.

The plugins are in no registry available to tests; doubles do what their documentation says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.harness.editor import Editor

COPILOT = """
_G.requests = {}
local function server()
  return {
    request = function(method, params, done)
      table.insert(_G.requests, method)
      if method == 'initialize' then
        done(nil, { capabilities = { inlineCompletionProvider = true } })
      elseif method == 'textDocument/inlineCompletion' then
        done(nil, { items = { { insertText = 'two = 2  # suggested' } } })
      else
        done(nil, nil)
      end
      return true, #_G.requests
    end,
    notify = function() return true end,
    is_closing = function() return false end,
    terminate = function() end,
  }
end
vim.lsp.start({ name = 'copilot', cmd = server, root_dir = vim.fn.getcwd() })
"""
ASKED = "vim.list_contains(_G.requests, ...)"
GHOST = """
local ns = vim.api.nvim_get_namespaces()['nvim.lsp.inline_completion']
return #vim.api.nvim_buf_get_extmarks(0, ns, 0, -1, {}) > 0
"""
REPLACE = """
local buf = vim.api.nvim_get_current_buf()
local hunk = { start = 1, old = { 'tw' }, new = { 'TWO = 2', 'THREE = 3' } }
local edit = { number = buf, tick = vim.api.nvim_buf_get_changedtick(buf), hunks = { hunk } }
return require('tideate.edit').buffer_replace({ edits = { edit } })
"""


@pytest.fixture
def suggesting(editor: Editor) -> Editor:
    """An editor with a file and an attached server like Copilot's."""
    editor.edit("a.py", "one = 1\ntw")
    editor.lua(COPILOT)
    editor.wait("#vim.lsp.get_clients({ bufnr = 0 }) == 1")
    return editor


def test_an_edit_beside_a_suggestion_changes_only_its_lines(suggesting: Editor) -> None:
    suggests = suggesting.lua("return vim.lsp.inline_completion ~= nil")  # from Neovim 0.12 on
    if suggests:
        suggesting.lua("vim.lsp.inline_completion.enable()")
    suggesting.feed("GA")
    if suggests:
        suggesting.wait(ASKED, 60, "textDocument/inlineCompletion")
        suggesting.wait_for(lambda: suggesting.lua(GHOST), "the suggestion is shown")
    assert suggesting.lua(REPLACE) == {"applied": True}
    suggesting.feed("<Esc>")
    assert suggesting.lines() == ["one = 1", "TWO = 2", "THREE = 3"], "nothing of the suggestion"
    suggesting.feed("u")
    assert suggesting.lines() == ["one = 1", "tw"]


def test_a_server_that_only_suggests_is_asked_nothing_else(suggesting: Editor) -> None:
    suggesting.lua("require('tideate.ui.prompt.completion').learn(vim.api.nvim_get_current_buf())")
    suggesting.lua("require('tideate.context').capture()")
    assert suggesting.lua("return _G.requests") == ["initialize"]


def test_it_does_not_follow_into_our_windows(suggesting: Editor) -> None:
    suggesting.command("Workflow ask")
    assert suggesting.lua("return vim.bo.filetype") == "tideate_prompt"
    assert suggesting.lua("return #vim.lsp.get_clients({ bufnr = 0 })") == 0


def test_a_global_tab_of_another_plugin_stays_and_the_prompt_has_its_own(editor: Editor) -> None:
    editor.command("inoremap <Tab> SUGGESTED")
    editor.feed("i<Tab><Esc>")
    assert editor.lines() == ["SUGGESTED"]
    editor.command("Workflow ask")
    editor.feed("@sel<Tab>")
    editor.wait("vim.fn.pumvisible() == 1 or vim.api.nvim_get_current_line() == '@selection'")
    assert "SUGGESTED" not in "".join(editor.lines())
    editor.feed("<Esc><Esc>q")
    editor.feed("o<Tab><Esc>")
    assert editor.lines()[-1] == "SUGGESTED"


def test_keys_that_gitsigns_has_in_a_buffer_come_back_after_ours(editor: Editor) -> None:
    def mapping() -> Any:
        return editor.lua("local m = vim.fn.maparg(']c', 'n', false, true) return { m.rhs, m.desc, m.expr }")

    editor.lua("vim.keymap.set('n', ']c', '<Cmd>let g:hunk = 1<CR>', { buffer = true, desc = 'Next hunk' })")
    before = mapping()
    editor.lua("""
      _G.restore = require('tideate.ui.keys').set(vim.api.nvim_get_current_buf(), {
        { lhs = { ']c' }, desc = 'next change', run = function() _G.ours = true end },
      })
    """)
    editor.feed("]c")
    assert editor.lua("return { _G.ours, vim.g.hunk }") == [True]
    editor.lua("_G.restore()")
    assert mapping() == before
    editor.feed("]c")
    assert editor.lua("return vim.g.hunk") == 1
