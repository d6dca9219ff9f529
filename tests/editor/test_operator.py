"""Operators: run a workflow on the lines of a motion; `.` repeats it with the same prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.editor.conftest import FakeHost
    from tests.harness.editor import Editor, EditorFactory

TEXT = ["one", "two", "", "four", "five", "six", "", "eight", "nine"]
SENT = "return _G.sent"
RECORD = """
_G.sent = {}
require('tideate.client').request = function(method, params, _)
  if method == 'run' then
    local lines = params.context.selection
    table.insert(_G.sent, { params.name, params.prompt, { lines.start, lines['end'] } })
  end
end
"""
MAPPINGS = """
nmap gz <Plug>(tideate-refactor-operator)
xmap gz <Plug>(tideate-refactor-operator)
nmap gzz <Plug>(tideate-refactor-line)
nmap ga <Plug>(tideate-ask-operator)
nmap gR <Plug>(tideate-refactor)
onoremap <silent> au :<C-u>normal! Vj<CR>
"""


@pytest.fixture
def mapped(editor: Editor) -> Editor:
    """An editor with operator mappings that records requested runs."""
    editor.set_lines(TEXT)
    editor.lua(RECORD)
    editor.nvim.api.exec2(MAPPINGS, {})
    return editor


def cursor(editor: Editor, line: int) -> None:
    editor.nvim.api.win_set_cursor(0, [line, 0])


def last(editor: Editor) -> Any:
    return editor.lua(SENT)[-1]


def test_a_motion_is_repeated_with_the_same_prompt(mapped: Editor) -> None:
    for line, keys, lines, again, lines_again in (
        (1, "gzip", [1, 2], 5, [4, 6]),
        (1, "gzj", [1, 2], 4, [4, 5]),
        (1, "2gzj", [1, 3], 5, [5, 7]),
        (4, "gz2j", [4, 6], 1, [1, 3]),
        (1, "gz}", [1, 2], 4, [4, 6]),
        (1, "gzz", [1, 1], 5, [5, 5]),
        (1, "3gzz", [1, 3], 4, [4, 6]),
        (1, "Vjgz", [1, 2], 5, [5, 6]),
        (1, "gzau", [1, 2], 5, [5, 6]),
        (1, "gz/nine<CR>", [1, 8], 8, [8, 8]),
        (5, "gzgg", [1, 5], 3, [1, 3]),
        (1, "gziw", [1, 1], 6, [6, 6]),
    ):
        mapped.lua("_G.sent = {}")
        cursor(mapped, line)
        mapped.feed(keys)
        assert mapped.mode() == "i", "the prompt is asked"
        mapped.feed("say it better<C-s>")
        assert last(mapped) == ["refactor", "say it better", lines]
        before = mapped.nvim.api.win_get_cursor(0)
        cursor(mapped, again)
        mapped.feed(".")
        assert mapped.mode() == "n", "the prompt is not asked again"
        assert last(mapped) == ["refactor", "say it better", lines_again]
        assert mapped.lines() == TEXT
        assert before[0] <= lines[1]
        assert len(mapped.lua(SENT)) == 2


NESTED = ["local M = {}", "function M.f()", "  return function()", "", "    return 1", "  end", "end"]
FUNCTION = ["local function f()", "  local x = 1", "", "  return x", "end", "", "local y = 2", "print(y)"]


def test_in_normal_mode_refactor_takes_the_function_or_paragraph_under_the_cursor(mapped: Editor) -> None:
    for filetype, text, line, lines, again, lines_again in (
        ("", TEXT, 2, [1, 2], 5, [4, 6]),
        ("lua", FUNCTION, 4, [1, 5], 8, [7, 8]),
        ("lua", NESTED, 2, [2, 7], 5, [3, 6]),
    ):
        mapped.set_lines(text)
        mapped.nvim.api.set_option_value("filetype", filetype, {"buf": 0})
        cursor(mapped, line)
        mapped.feed("gR")
        assert mapped.mode() == "i", "the prompt is asked"
        mapped.feed("say it better<C-s>")
        assert last(mapped) == ["refactor", "say it better", lines]
        cursor(mapped, again)
        mapped.feed(".")
        assert last(mapped) == ["refactor", "say it better", lines_again]
        assert mapped.lines() == text


def test_a_count_before_the_repetition_takes_the_place_of_the_first(mapped: Editor) -> None:
    mapped.feed("gzzx<C-s>")
    cursor(mapped, 4)
    mapped.feed("3.")
    assert last(mapped) == ["refactor", "x", [4, 6]]


def test_the_operator_asks_again_when_it_is_used_anew(mapped: Editor) -> None:
    mapped.feed("gzzfirst<C-s>")
    mapped.feed("gzjsecond<C-s>")
    assert last(mapped) == ["refactor", "second", [1, 2]]
    cursor(mapped, 5)
    mapped.feed(".")
    assert last(mapped) == ["refactor", "second", [5, 6]]


def test_one_that_was_given_up_leaves_the_last_to_the_dot(mapped: Editor) -> None:
    mapped.feed("gzzfirst<C-s>")
    mapped.feed("gz<Esc>")
    cursor(mapped, 4)
    mapped.feed(".")
    assert last(mapped) == ["refactor", "first", [4, 4]]


def test_a_prompt_that_was_closed_is_asked_for_again(mapped: Editor) -> None:
    mapped.feed("gzipdraft<Esc>q")
    assert mapped.lua(SENT) == []
    cursor(mapped, 1)
    mapped.feed("gzip")
    assert mapped.lines() == ["draft"], "as everywhere, the text is kept as a draft"
    mapped.feed("<C-s>")
    assert last(mapped) == ["refactor", "draft", [1, 2]]


def test_the_workflow_that_the_prompt_names_is_repeated(mapped: Editor) -> None:
    mapped.feed("gzz/ask why<C-s>")
    assert last(mapped) == ["ask", "why", [1, 1]]
    cursor(mapped, 2)
    mapped.feed(".")
    assert last(mapped) == ["ask", "why", [2, 2]]


def test_another_change_takes_the_dot(mapped: Editor) -> None:
    mapped.feed("gzzx<C-s>")
    mapped.feed("x.")
    assert mapped.lines()[0] == "e"
    assert len(mapped.lua(SENT)) == 1


def test_nothing_listens_to_keys_when_the_motion_is_over(mapped: Editor) -> None:
    before = mapped.lua("return vim.on_key()")
    mapped.feed("gzipx<C-s>")
    assert mapped.lua("return vim.on_key()") == before
    mapped.feed("gz<Esc>l")
    assert mapped.lua("return vim.on_key()") == before


@pytest.mark.slow
def test_the_repeated_run_has_its_own_lines(start_editor: EditorFactory, fake_host: FakeHost) -> None:
    editor = start_editor(env=fake_host.environment())
    editor.set_lines(TEXT)
    editor.nvim.api.exec2(MAPPINGS, {})
    editor.feed("gaipwhy<C-s>")
    editor.wait("require('tideate.state').runs()[1].state == 'completed'")
    editor.feed("<C-w>p")
    cursor(editor, 5)
    editor.feed(".")
    editor.wait("#require('tideate.state').runs() == 2")
    editor.wait("require('tideate.state').runs()[1].state == 'completed'")
    asked = [call["params"] for call in fake_host.heard("run")]
    assert [(one["prompt"], one["context"]["selection"]) for one in asked] == [
        ("why", {"start": 1, "end": 2}),
        ("why", {"start": 4, "end": 6}),
    ]
