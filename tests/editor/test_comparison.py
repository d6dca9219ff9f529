"""Comparison of two runs in the editor: page, windows, keys."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.panel import go_to, open_panel, wait_line
from tests.harness.runs import configure, result, start

if TYPE_CHECKING:
    from tests.harness.editor import Editor
    from tests.harness.model_server import ModelServer

PAGE = "vim.bo.filetype == 'tideate-runs'"
HOSTILE = "\x1b[2J\u202eevil\n"
CHOOSES_FIRST = """
vim.ui.select = function(items, opts, done)
  _G.offered = vim.tbl_map(opts.format_item, items)
  done(items[1])
end
"""
ASKED = """
-- the host's answers, by method; what it was asked is in _G.asked
local answers = ...
_G.asked = {}
require('tideate.stored_runs').ask = function(method, params, on_result)
  table.insert(_G.asked, { method, params })
  on_result(vim.deepcopy(answers[method]))
end
"""


def run(identity: str, **facts: Any) -> dict[str, Any]:
    usage = {"input_tokens": 1500, "output_tokens": 20}
    known = {"execution_id": identity * 32, "workflow": "ask", "state": "completed", "duration_ms": 2000}
    return {**known, "usage": usage, **facts}


def ended(status: str = "completed", *, reused: bool = False) -> dict[str, Any]:
    usage = {"input_tokens": 0, "output_tokens": 0}
    return {"status": status, "reused": reused, "duration_ms": 1000, "usage": usage}


COMPARED: dict[str, Any] = {
    "runs": [run("a"), run("b", forked_from={"execution_id": "a" * 32, "step": "two"}, duration_ms=3000)],
    "same_definition": False,
    "inputs": [{"name": "prompt", "values": ["old", "new"]}],
    "steps": [
        {"step": "one", "ends": [ended(), ended(reused=True)], "diff": ""},
        {"step": "two", "ends": [ended(), ended("failed")], "diff": "@@ -1 +1 @@\n-was\n+is" + HOSTILE},
    ],
    "response": "",
    "edits": [
        {"path": "same.py", "written": [True, True], "diff": ""},
        {"path": "b.py", "written": [False, True], "diff": "--- a/b.py\n+++ b/b.py\n@@ -1 +1 @@\n-1\n+2\n"},
    ],
    "checks": [{"check": "tests", "statuses": ["passed", "failed"]}],
}


@pytest.fixture
def compared(small_editor: Editor) -> Editor:
    """Open the comparison of two runs; only the first left a text."""
    texts = {"texts": [{"text": f"one\n{HOSTILE}"}, {}]}
    small_editor.lua(ASKED, {"diff": COMPARED, "diff_texts": texts})
    small_editor.lua("require('tideate.ui.pages.comparison').open('a', 'b', { folder = '/there' })")
    small_editor.wait(PAGE)
    return small_editor


def cursor_to(editor: Editor, words: str) -> None:
    assert editor.lua("return vim.fn.search(...)", words) > 0


def test_the_page_says_what_the_shell_prints(compared: Editor) -> None:
    text = "\n".join(compared.lines())
    for pattern in (
        r"^ took +2\.0s +3\.0s",
        r"^ forked +aaaaaaaa\.two",
        "^ their definitions differ$",
        "^ prompt\n   -old\n   \\+new$",
        r"^ one +completed 1\.0s +completed, reused +same$",
        r"^ two +completed 1\.0s +failed 1\.0s +differs$",
        "^ file b\\.py, written by bbbbbbbb only$",
        "^ file same\\.py: the same$",
        r"^ tests +passed +failed",
    ):
        assert re.search(pattern, text, re.MULTILINE), f"{pattern} in\n{text}"
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_a_difference_has_the_colours_of_one(compared: Editor) -> None:
    cursor_to(compared, "+2$")
    marks = compared.lua("""
        local row = vim.fn.line('.') - 1
        local found = vim.api.nvim_buf_get_extmarks(0, -1, { row, 0 }, { row, -1 }, { details = true })
        return vim.tbl_map(function(mark) return mark[4].hl_group end, found)
    """)
    assert marks == ["TideateAddSign"]


def test_both_texts_are_shown_side_by_side_and_closed_together(compared: Editor) -> None:
    cursor_to(compared, "file b")
    compared.feed("<CR>")
    compared.wait("#vim.api.nvim_list_tabpages() == 2")
    asked = compared.lua("return _G.asked[2]")
    assert asked[0] == "diff_texts"
    assert asked[1] == {"execution_id": "a" * 32, "other": "b" * 32, "path": "b.py", "folder": "/there"}
    lines = "vim.tbl_map(function(w) return vim.fn.getbufline(vim.fn.winbufnr(w), 1, '$') end, { 1, 2 })"
    left, right = compared.lua(f"return {lines}")
    assert left[0] == "one"
    assert "\u202e" not in left[1]
    assert right == [""]
    assert compared.lua("return { vim.wo[vim.fn.win_getid(1)].diff, vim.wo[vim.fn.win_getid(2)].diff }") == [
        True,
        True,
    ]
    colours = compared.lua("return { vim.wo[vim.fn.win_getid(1)].winhighlight, vim.wo.winhighlight }")
    assert colours == ["DiffAdd:TideateDelete", ""], "what only the left has was removed"
    assert "there is none" in compared.lua("return vim.wo.winbar")
    assert compared.lua("return vim.bo.syntax") == "python"
    compared.feed("q")
    compared.wait(f"#vim.api.nvim_list_tabpages() == 1 and {PAGE}")
    compared.feed("<CR>")
    compared.wait("#vim.api.nvim_list_tabpages() == 2")
    compared.command("quit")  # of one of them
    compared.wait("#vim.api.nvim_list_tabpages() == 1")


def test_swapped_runs_are_asked_for_the_other_way_round(compared: Editor) -> None:
    compared.feed("x")
    compared.wait("#_G.asked == 2")
    params = compared.lua("return _G.asked[2][2]")
    assert (params["execution_id"], params["other"]) == ("b" * 32, "a" * 32)
    compared.feed("q")
    compared.wait(f"not ({PAGE})")


def test_a_long_difference_is_folded_and_a_step_alone_is_shown(compared: Editor) -> None:
    patch = "@@ -1,99 +1,99 @@\n" + "".join(f"+line {number}\n" for number in range(99))
    long = {**COMPARED, "edits": [{"path": "a.py", "written": [True, True], "diff": patch}]}
    compared.lua(ASKED, {"diff": long})
    compared.lua("require('tideate.ui.pages.comparison').open('a', 'b')")
    compared.wait("vim.fn.search('line 50', 'nw') > 0")
    assert compared.lua("return vim.fn.foldclosed(vim.fn.search('line 50', 'nw'))") > 0
    compared.lua("require('tideate.ui.pages.comparison').open('a', 'b', { step = 'two' })")
    compared.wait("vim.fn.search('line 50', 'nw') == 0")
    text = "\n".join(compared.lines())
    assert re.search("^ result of two$", text, re.MULTILINE)
    assert not re.search("took|prompt|file|^ one", text, re.MULTILINE)


@pytest.mark.slow
def test_equals_compares_with_the_marked_run_else_with_a_chosen_one(
    small_editor: Editor, server: ModelServer
) -> None:
    configure(small_editor, server)
    server.answers("first", "the answer")
    server.answers("second", "another answer")
    for prompt in ("first", "second"):
        start(small_editor, "ask", prompt)
        assert result(small_editor)["ok"]
    open_panel(small_editor)
    go_to(small_editor, "^▸ ✓ ask.*first")
    small_editor.feed("m")
    wait_line(small_editor, "^▸ ✓ » ask.*first")
    go_to(small_editor, "^▸ ✓ ask.*second")
    small_editor.feed("=")
    small_editor.wait(PAGE)
    text = "\n".join(small_editor.lines())
    assert "   -the answer\n   +another answer" in text  # the older one is on the left
    small_editor.feed("q")
    small_editor.wait("vim.bo.filetype == 'tideate-panel'")
    go_to(small_editor, "^▸ ✓ » ask.*first")
    small_editor.feed("m")
    wait_line(small_editor, "^▸ ✓ ask.*first")
    small_editor.lua(CHOOSES_FIRST)
    small_editor.feed("=")
    small_editor.wait(PAGE)
    assert len(small_editor.lua("return _G.offered")) == 1


@pytest.mark.slow
def test_x_exports_the_marked_runs_into_a_buffer_that_is_saved_by_hand(
    small_editor: Editor, server: ModelServer
) -> None:
    configure(small_editor, server)
    for prompt in ("first", "second"):
        server.answers(prompt, f"the {prompt} answer")
        start(small_editor, "ask", prompt)
        assert result(small_editor)["ok"]
    open_panel(small_editor)
    small_editor.lua(CHOOSES_FIRST)
    go_to(small_editor, "^▸ ✓ ask.*second")
    small_editor.feed("x")
    small_editor.wait("vim.bo.filetype == 'markdown' and vim.fn.expand('%'):match('^run%-%x+%.md$')")
    assert "the second answer" in small_editor.lines()
    assert small_editor.lua("return vim.bo.modified and vim.bo.buftype == ''")
    small_editor.command("write")
    small_editor.command("quit")
    small_editor.command("Workflow status")  # it was open: closed
    open_panel(small_editor)
    for prompt in ("first", "second"):
        go_to(small_editor, f"^▸ ✓ ask.*{prompt}")
        small_editor.feed("m")
        wait_line(small_editor, f"» ask.*{prompt}")
    small_editor.feed("x")
    small_editor.wait("vim.fn.expand('%'):match('^runs%-%x+%-and%-1%.md$')")
    assert {"the first answer", "the second answer"} <= set(small_editor.lines())
