"""Reviews of another program's changes: conflicts, marks, folded files, a check of what is accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.dialogs import answers, ask, wait_focused
from tests.harness.review import FILES, accepted, bar, labels, opened, value

if TYPE_CHECKING:
    from tests.harness.editor import Editor

HUNKS = [
    {"start": 0, "old": ["line 01"], "new": ["first"]},
    {"start": 9, "old": ["line 10"], "new": ["ten"], "conflict": True},
    {"start": 59, "old": ["line 60"], "new": ["last"]},
]
FORMATTED = {
    "path": "form.c",
    "action": "modify",
    "before": "f( a )",
    "filetype": "",
    "folded": "formatting",
} | {"hunks": [{"start": 0, "old": ["f( a )"], "new": ["f(a)"]}]}
MOVED = {**FILES[3], "folded": "moved"}


def landing(editor: Editor, *files: dict[str, Any], columns: int = 80) -> None:
    editor.command(f"set columns={columns} lines=24")
    payload = {"files": [*files] or [opened(editor, HUNKS)], "collects": True}
    ask(editor, "review", payload=payload)
    wait_focused(editor)


@pytest.mark.parametrize("keys", ["gA", "gfa", "VGga"])
def test_accepting_several_hunks_leaves_conflicts_open_and_goes_to_them(editor: Editor, keys: str) -> None:
    landing(editor)
    editor.feed(f"gg{keys}")
    assert "1 conflict is left: ga accepts one and replaces your lines" in editor.messages()
    assert editor.lua("return vim.fn.line('.')") == 10
    editor.feed("g<CR>")
    assert accepted(editor) == [[0, 2]]
    assert value(editor)["files"][0]["rejected"] == []


def test_a_conflict_is_drawn_as_one_and_accepted_by_a_decision_of_its_own(editor: Editor) -> None:
    landing(editor)
    assert "! conflict: you changed this, too" in labels(editor)
    editor.feed("gg]c")
    editor.wait_for(lambda: "hunk 2/3 · conflict" in bar(editor), "the bar names the conflict")
    editor.feed("ga")
    assert "! conflict: you changed this, too" not in labels(editor)
    editor.feed("g<CR>")
    assert accepted(editor) == [[1]]


def test_a_conflict_is_merged_by_hand_from_both_versions(editor: Editor) -> None:
    landing(editor)
    editor.feed("gg]cge")
    lines = editor.lines()
    assert (lines[0][:7], lines[1], lines[3]) == ("<<<<<<<", "line 10", "ten")
    editor.feed("ggVGcboth<Esc>:w<CR>")
    editor.feed("g<CR>")
    assert value(editor)["files"][0]["edited"] == [{"hunk": 1, "old": ["line 10"], "new": ["both"]}]


def test_a_whole_file_in_conflict_is_left_by_accepting_all(editor: Editor) -> None:
    landing(editor, {**FILES[2], "conflict": True, "marks": ["conflict"]}, FILES[0])
    assert "delete · conflict" in bar(editor)
    editor.feed("gAg<CR>")
    assert accepted(editor) == [[], [0]]


def test_reasons_are_in_the_answer_beside_the_accepted_hunks(editor: Editor) -> None:
    landing(editor)
    editor.feed("gggbtoo long<CR>")
    editor.feed("gA")
    editor.feed("g<CR>")
    (answer,) = answers(editor)
    assert answer["accepted"]
    assert answer["value"]["comments"] == [{"path": "a.txt", "hunk": 0, "text": "too long"}]
    assert answer["value"]["files"][0]["accepted"] == [2]


def test_rejecting_everything_answers_with_the_decisions(editor: Editor) -> None:
    landing(editor)
    editor.feed("gRg<CR>")
    (answer,) = answers(editor)
    assert not answer["accepted"]
    assert answer["value"]["files"][0]["rejected"] == [0, 1, 2]


def test_marks_and_the_last_check_are_in_the_bar_and_the_list(editor: Editor) -> None:
    marked = {**FILES[0], "marks": ["2 fewer assertions"], "checked": "tests passed"}
    landing(editor, marked, FILES[1], columns=150)
    assert "2 fewer assertions · tests passed" in bar(editor)
    editor.feed("gl")
    assert editor.lines()[0].startswith(" ~? on_disk.txt")


def test_changes_of_form_are_one_line_in_the_list_until_it_is_opened(editor: Editor) -> None:
    landing(editor, FILES[0], MOVED, FORMATTED)
    editor.feed("gl")
    assert shown_list(editor) == ["~", "+ 2 files: only moved or formatted"]
    editor.feed("G<CR>")
    assert shown_list(editor) == ["~", "→", "~"]


def test_a_decision_on_the_line_of_folded_files_is_about_all_of_them(editor: Editor) -> None:
    landing(editor, FILES[0], MOVED, FORMATTED)
    editor.feed("glGga")
    editor.feed("g<CR>")
    assert accepted(editor) == [[], [0], [0]]


def test_decisions_do_not_open_the_fold(editor: Editor) -> None:
    landing(editor, FILES[0], MOVED, FORMATTED)
    editor.feed("glggga")
    editor.feed("gfo")
    assert shown_list(editor) == ["~", "+ 2 files: only moved or formatted"]
    editor.feed("glGgfa")
    editor.feed("gl")
    assert shown_list(editor)[-1] == "+ 2 files: only moved or formatted"


def test_the_next_file_after_the_fold_is_the_first(editor: Editor) -> None:
    landing(editor, FILES[0], FILES[1], MOVED, FORMATTED)
    editor.feed("glgg]c]c")
    assert editor.lua("return vim.fn.line('.')") == 3
    editor.feed("]c")
    assert editor.lua("return vim.fn.line('.')") == 1
    editor.feed("[c[c")
    assert editor.lua("return vim.fn.line('.')") == 2


def shown_list(editor: Editor) -> list[str]:
    """Return the sign of each file in the list, and the text of a closed fold."""
    lines = editor.lua("""
      local shown, line = {}, 1
      while line <= vim.fn.line('$') do
        local closed = vim.fn.foldclosed(line) > 0
        table.insert(shown, vim.trim(closed and vim.fn.foldtextresult(line) or vim.fn.getline(line)))
        line = closed and vim.fn.foldclosedend(line) + 1 or line + 1
      end
      return shown
    """)
    return [line if line.startswith("+ ") and "files" in line else line.split(" ")[0][:1] for line in lines]


CHECK = """
local client = require('tideate.client')
client.request = function(method, params, callback)
  _G.requested, _G.answer_check = { method, params }, callback
end
"""


def test_gc_runs_a_check_on_what_is_accepted_and_shows_its_result(editor: Editor) -> None:
    landing(editor)
    editor.lua(CHECK)
    editor.feed("ggga")
    editor.feed("gc")
    method, params = editor.lua("return _G.requested")
    assert (method, params["files"][0]["accepted"]) == ("check_review", [0])
    editor.wait_for(lambda: "check runs" in bar(editor), "the bar says that it runs")
    editor.lua(
        "_G.answer_check({ ok = true, check = 'tests', status = 'failed', report = 'tests: 1 failed' })"
    )
    assert "tests: 1 failed" in editor.messages()
    assert "tests failed" in bar(editor)
    editor.feed("ga")
    editor.wait_for(lambda: "tests failed earlier" in bar(editor), "later decisions were not checked")


def test_a_check_is_named_in_the_bar_of_each_file_until_its_next_decision(editor: Editor) -> None:
    landing(editor, FILES[0], FILES[1], columns=150)
    editor.lua(CHECK)
    editor.feed("gc")
    editor.lua(
        "_G.answer_check({ ok = true, check = 'tests', status = 'passed', report = 'tests: 1 passed' })"
    )
    editor.wait_for(lambda: "tests passed ·" in bar(editor), "the files are as they were checked", 9)
    editor.feed("]cga")
    seen = {bar(editor).split(" · ")[0].split()[-1]: "earlier" in bar(editor)}
    editor.feed("]f")
    seen |= {bar(editor).split(" · ")[0].split()[-1]: "earlier" in bar(editor)}
    assert sorted(seen.values()) == [False, True], seen


def test_gc_asks_which_of_several_checks_and_tells_why_none_runs(editor: Editor) -> None:
    landing(editor)
    editor.lua(CHECK)
    editor.lua("vim.ui.select = function(items, _, choose) choose(items[2]) end")
    editor.feed("gc")
    editor.lua("_G.answer_check({ ok = true, checks = { 'lint', 'tests' } })")
    editor.wait("_G.requested[2].check == 'tests'", 5)
    editor.lua("_G.answer_check({ ok = false, error = 'no check can run here' })")
    assert "no check can run here" in editor.messages()


def test_the_reasons_of_a_landing_are_in_a_register(editor: Editor) -> None:
    update = {"feedback": "too long", "feedback_file": "/p/.tideate/feedback.md"}
    editor.lua("require('tideate.landing').hand_over({ results = { update = ... } })", update)
    assert editor.lua("return vim.fn.getreg('+') .. vim.fn.getreg('\"')").startswith("too long")
    assert "in /p/.tideate/feedback.md of the copy" in editor.messages()


def test_other_reviews_have_no_check(editor: Editor) -> None:
    ask(editor, "review", payload={"files": [opened(editor, HUNKS)]})
    wait_focused(editor)
    assert editor.lua("return vim.fn.maparg('gc', 'n', false, true).buffer or 0") == 0
