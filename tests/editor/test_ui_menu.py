"""Menu, messages, interfaces for other plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.harness.dialogs import gate, wait_focused
from tests.harness.events import Run

if TYPE_CHECKING:
    from tests.harness.editor import Editor

MENU = """
_G.chosen = {}
require('tideate.ui').menu({{name = 'ask', description = 'A question'}, {name = 'refactor'}}, function(entry)
  table.insert(_G.chosen, entry and entry.name or 'none')
end)
"""


@pytest.mark.parametrize(("keys", "chosen"), [("j<CR>", "refactor"), ("q", "none"), ("<Esc>", "none")])
def test_the_menu_calls_back_once(editor: Editor, keys: str, chosen: str) -> None:
    editor.lua(MENU)
    editor.feed(keys)
    assert editor.lua("return _G.chosen") == [chosen]
    assert editor.lua("return #vim.api.nvim_list_wins()") == 1


def test_leaving_the_menu_chooses_nothing(editor: Editor) -> None:
    editor.lua(MENU)
    editor.command("wincmd p")
    editor.wait("#_G.chosen == 1")
    assert editor.lua("return _G.chosen") == ["none"]
    assert editor.lua("return #vim.api.nvim_list_wins()") == 1


def test_the_menu_gives_way_to_a_question(editor: Editor) -> None:
    gate(editor)
    editor.lua(MENU)
    assert editor.lua("return #vim.api.nvim_list_wins()") == 2
    wait_focused(editor)
    assert editor.lua("return _G.chosen") == []


def test_a_long_message_needs_no_key_and_goes_away(screen_editor: Editor) -> None:
    editor = screen_editor
    editor.lua("require('tideate.ui').notify(('something went wrong; '):rep(20), vim.log.levels.ERROR)")
    editor.wait_screen("something went wrong")
    assert not editor.blocked()
    editor.lua("require('tideate.ui').close()")
    assert editor.lua("return #vim.api.nvim_list_wins()") == 1


def test_the_persons_own_notifications_are_used(editor: Editor) -> None:
    editor.lua("vim.notify = function(message, level, opts) _G.told = {message, level, opts.title} end")
    editor.lua("require('tideate.ui').notify('hello', vim.log.levels.WARN)")
    assert editor.lua("return _G.told") == ["tideate: hello", 3, "tideate"]


def test_the_end_is_announced_unless_the_person_wants_silence(editor: Editor) -> None:
    editor.lua("require('tideate').setup({ui = {notify = false}})")
    Run(editor).event("WORKFLOW_COMPLETED", response="", files=[])
    assert "done in" not in editor.messages()
    Run(editor, "other", "x").event("WORKFLOW_FAILED", error="no model", step="x")
    assert "other failed: no model" in editor.messages()


def test_closing_everything_leaves_nothing(editor: Editor) -> None:
    Run(editor)
    gate(editor)
    editor.lua("require('tideate.ui').close()")
    assert editor.lua("return {#vim.api.nvim_list_wins(), #vim.api.nvim_list_bufs()}") == [1, 1]
    assert (
        editor.lua(
            "return #vim.tbl_filter(function(a) return (a.group_name or ''):find('^tideate') end,"
            " vim.api.nvim_get_autocmds({}))"
        )
        == 0
    )


def test_the_lualine_component_shows_the_statusline(editor: Editor) -> None:
    editor.lua("""
      package.preload['lualine.component'] = function()
        return { extend = function(self) return setmetatable({}, { __index = self }) end }
      end
    """)
    text = "return require('lualine.components.tideate').update_status({})"
    assert editor.lua(text) == ""
    run = Run(editor)
    run.start(1)
    assert "refactor 1/2 analyze" in editor.lua(text)
