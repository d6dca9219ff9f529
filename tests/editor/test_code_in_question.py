"""Layout of questions and output: the code in question stays visible, and no window covers another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.dialogs import answers, ask, gate, wait_focused
from tests.harness.events import Run

if TYPE_CHECKING:
    from tests.harness.editor import Editor, EditorFactory

FILE = [f"code {number:02d}" for number in range(1, 61)]
ASKED = "0123456789abcdef" * 2
"""Id of the run of `ask`."""
BEGIN = """
local id, first, last = ...
vim.api.nvim_win_set_cursor(0, { first, 0 })
local buffer = { number = vim.api.nvim_get_current_buf() }
require('tideate.ui.ranges').begin(id, { buffer = buffer, selection = { start = first, ['end'] = last } })
return vim.api.nvim_get_current_win()
"""
SCROLL = "vim.api.nvim_win_call(..., function() vim.fn.winrestview({ topline = 30, lnum = 31 }) end)"
VIEW = "return vim.api.nvim_win_call(..., vim.fn.winsaveview)"


def begun(editor: Editor, first: int, last: int) -> int:
    """Start a run on lines of a file with text in its output; return the file's window."""
    editor.edit("a.txt", "\n".join(FILE) + "\n")
    window: int = editor.lua(BEGIN, ASKED, first, last)
    run = Run(editor)
    run.start(1)
    run.token("\n".join(f"said {number}" for number in range(30)))
    editor.wait_screen("said 29")
    return window


def floats(editor: Editor) -> list[tuple[int, int]]:
    """Return the rows of the floats from top to bottom."""
    found = editor.lua("""
      local places = {}
      for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
        local config = vim.api.nvim_win_get_config(win)
        if config.relative ~= '' then
          table.insert(places, { config.row, config.row + config.height + 2 })
        end
      end
      table.sort(places, function(a, b) return a[1] < b[1] end)
      return places
    """)
    return [(int(first), int(last)) for first, last in found]


@pytest.mark.parametrize(
    ("size", "first"), [((80, 24), 8), ((80, 24), 53), ((120, 40), 14), ((200, 50), 1), ((200, 50), 53)]
)
def test_the_lines_that_a_question_is_about_are_in_sight(
    start_editor: EditorFactory, size: tuple[int, int], first: int
) -> None:
    editor = start_editor(ui=size)
    begun(editor, first, first + 7)
    ask(editor, "gate", message="Refactor them along this analysis?")
    wait_focused(editor)
    screen = "\n".join(editor.wait_screen("y yes"))
    assert [line for line in FILE[first - 1 : first + 7] if line not in screen] == []
    assert "said 29" in screen


def test_the_details_of_a_question_leave_the_lines_in_sight(small_editor: Editor) -> None:
    begun(small_editor, 14, 18)
    ask(small_editor, "gate", details="\n".join(f"detail {number}" for number in range(1, 13)))
    wait_focused(small_editor)
    small_editor.wait_screen("y yes")
    small_editor.feed("d")
    screen = "\n".join(small_editor.wait_screen("detail 5"))
    assert [line for line in FILE[13:18] if line not in screen] == [], screen


def test_lines_longer_than_the_room_fill_it(small_editor: Editor) -> None:
    begun(small_editor, 10, 50)
    gate(small_editor)
    wait_focused(small_editor)
    screen = "\n".join(small_editor.wait_screen("y yes"))
    assert "code 10" in screen
    taken = sum(last - first for first, last in floats(small_editor))
    assert screen.count("code ") >= 22 - taken - 1


def test_a_place_beside_many_lines_is_found_by_looking_at_its_lines_once(
    start_editor: EditorFactory,
) -> None:
    editor = start_editor(ui=(200, 60))
    begun(editor, 20, 45)
    ask(editor, "gate", details="\n".join(f"detail {number}" for number in range(300)))
    wait_focused(editor)
    editor.lua("""
        local screenpos = vim.fn.screenpos
        _G.looked = 0
        vim.fn.screenpos = function(...) _G.looked = _G.looked + 1 return screenpos(...) end
    """)
    editor.feed("d")
    editor.wait_screen("detail 5")
    assert 0 < editor.lua("return _G.looked") <= 12 * 26


def test_after_the_answer_the_person_sees_what_they_saw_and_the_output_is_as_high_as_before(
    small_editor: Editor,
) -> None:
    window = begun(small_editor, 16, 20)
    before, output = small_editor.lua(VIEW, window), floats(small_editor)
    gate(small_editor)
    wait_focused(small_editor)
    assert small_editor.lua(VIEW, window)["topline"] != before["topline"]
    small_editor.feed("y")
    assert small_editor.lua(VIEW, window) == before
    assert floats(small_editor) == output
    gate(small_editor, "another")
    wait_focused(small_editor)
    small_editor.lua(SCROLL, window)
    small_editor.feed("y")
    assert small_editor.lua(VIEW, window)["topline"] == 30, "a view that the person changed stays"


def test_a_question_about_no_lines_leaves_the_output_as_it_is(small_editor: Editor) -> None:
    begun(small_editor, 16, 20)
    output = floats(small_editor)
    ask(small_editor, "tool", details="git status")
    assert output[0] in floats(small_editor)


def test_lines_count_without_signs_too(small_editor: Editor) -> None:
    small_editor.lua("require('tideate').setup({ signs = false })")
    begun(small_editor, 16, 20)
    gate(small_editor)
    wait_focused(small_editor)
    screen = "\n".join(small_editor.wait_screen("y yes"))
    assert "code 16" in screen
    assert "▸" not in screen


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_a_run_that_begins_beside_a_question_hides_nothing_and_takes_no_key(
    start_editor: EditorFactory, size: tuple[int, int]
) -> None:
    editor = start_editor(ui=size)
    window = begun(editor, 16, 20)
    editor.lua("require('tideate.ui.output').hide()")
    gate(editor)
    wait_focused(editor)
    editor.lua("vim.api.nvim_set_current_win(...)", window)
    Run(editor, "ask", "query")
    assert editor.lua("return vim.api.nvim_get_current_win()") == window
    editor.wait("require('tideate.ui.output').is_visible()")
    places = editor.lua("""
      return vim.tbl_map(function(win)
        local config = vim.api.nvim_win_get_config(win)
        return { config.row, config.row + config.height + 2, config.col, config.col + config.width + 2 }
      end, vim.tbl_filter(require('tideate.ui.window').is_float, vim.api.nvim_tabpage_list_wins(0)))
    """)
    assert len(places) == 2
    one, other = places
    assert one[1] <= other[0] or other[1] <= one[0] or one[3] <= other[2] or other[3] <= one[2]
    editor.lua("require('tideate.ui').focus()")
    editor.feed("y")
    assert [one["accepted"] for one in answers(editor)] == [True]


def reviewed(editor: Editor) -> int:
    window = begun(editor, 16, 20)
    buffer = editor.lua("return vim.api.nvim_win_get_buf(...)", window)
    file: dict[str, Any] = {
        "path": "a.txt",
        "action": "modify",
        "buffer": buffer,
        "before": "\n".join(FILE),
        "filetype": "",
        "hunks": [{"start": 15, "old": ["code 16"], "new": ["other"]}],
    }
    ask(editor, "review", payload={"files": [file]})
    wait_focused(editor)
    return window


def test_a_run_that_begins_during_a_review_is_shown_at_once_where_the_output_is_open(
    small_editor: Editor,
) -> None:
    window = reviewed(small_editor)
    small_editor.lua("require('tideate.ui.output').toggle() vim.api.nvim_set_current_win(...)", window)
    run = Run(small_editor, "ask", "query")
    assert run.window() is not None
    assert small_editor.lua("return vim.api.nvim_get_current_win()") == window


def test_a_person_who_goes_back_without_an_answer_writes_where_their_cursor_was(
    small_editor: Editor,
) -> None:
    window = begun(small_editor, 50, 54)
    small_editor.lua(
        "vim.api.nvim_set_current_win(...) vim.fn.winrestview({ topline = 1, lnum = 3, col = 2 })", window
    )
    before = small_editor.lua(VIEW, window)
    gate(small_editor)
    wait_focused(small_editor)
    assert small_editor.lua(VIEW, window)["lnum"] > 3
    small_editor.lua("vim.api.nvim_set_current_win(...)", window)
    small_editor.feed("ix<Esc>")
    assert small_editor.lines() == [*FILE[:2], "coxde 03", *FILE[3:]]
    assert small_editor.lua(VIEW, window)["topline"] == before["topline"]
    before = small_editor.lua(VIEW, window)
    small_editor.lua("require('tideate.ui').focus()")
    small_editor.wait_screen("code 54")
    small_editor.feed("y")
    assert len(answers(small_editor)) == 1
    assert small_editor.lua(VIEW, window) == before


def held(editor: Editor, name: str) -> Run:
    """Start a run during a review and wait for its end."""
    run = Run(editor, name, "query")
    run.start(1)
    assert (run.window(), floats(editor)) == (None, [])
    assert f"{name} runs; its output comes after the review" in editor.lua(
        "return vim.fn.execute('messages')"
    )
    return run


def test_of_two_runs_that_begin_during_a_review_one_is_shown_after_it_and_the_other_is_named(
    small_editor: Editor,
) -> None:
    window = reviewed(small_editor)
    one, other = held(small_editor, "ask"), held(small_editor, "tests")
    assert small_editor.lua("return vim.api.nvim_get_current_win()") == window
    small_editor.feed("gag<CR>")
    assert len(answers(small_editor)) == 1
    assert other.window() is not None
    assert one.window() is None
    assert f"also began: {one.id[:8]}; :Workflow output" in small_editor.lua(
        "return vim.fn.execute('messages')"
    )


@pytest.mark.parametrize("command", ["tabnew", "enew"])
def test_a_run_that_begins_where_no_window_shows_the_review_is_shown_at_once(
    small_editor: Editor, command: str
) -> None:
    reviewed(small_editor)
    small_editor.command(command)
    window = small_editor.lua("return vim.api.nvim_get_current_win()")
    run = Run(small_editor, "ask", "query")
    assert run.window() is not None
    assert small_editor.lua("return vim.api.nvim_get_current_win()") == window
