"""Placement of notices: never over the cursor's line or a dialog."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.harness.editor import Editor

LONG = "a notice that is longer than the command line is wide, so that it has a window of its own " * 2
PLACE = """
  for _, win in ipairs(vim.api.nvim_list_wins()) do
    local config = vim.api.nvim_win_get_config(win)
    if config.relative ~= '' then
      return { first = config.row, last = config.row + config.height + 1 }
    end
  end
"""


@pytest.mark.parametrize("line", [1, 15, 19, 20, 22])
def test_a_notice_leaves_the_cursors_line_in_sight(editor: Editor, line: int) -> None:
    editor.lua("vim.o.lines, vim.o.columns = 24, 80")
    editor.edit("a.txt", "".join(f"line {number}\n" for number in range(1, 23)))
    editor.lua("vim.api.nvim_win_set_cursor(0, { ..., 0 })", line)
    editor.lua("require('tideate.ui.notify').notify(...)", LONG)
    place = editor.lua(PLACE)
    cursor = editor.lua("return vim.fn.screenpos(0, vim.fn.line('.'), 1).row - 1")
    assert cursor < place["first"] or cursor > place["last"], (cursor, place)
    # where nothing is in the way it stands at the bottom
    assert (place["first"] > 12) is (line < 18), place
