"""Questions: drawn without taking keys, answered once, never lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.dialogs import answers, ask, decline, focused, gate, plan, wait_focused
from tests.harness.events import Run

if TYPE_CHECKING:
    from tests.harness.editor import Editor, EditorFactory

FILES = [
    {"path": "src/app.py", "action": "modify", "why": "call it"},
    {"path": "new.py", "action": "create", "why": "holds it"},
    {"path": "old.py", "action": "delete", "why": "unused"},
    {"path": "a.py", "action": "move", "move_to": "b.py", "why": ""},
]


@pytest.mark.parametrize(
    ("key", "accepted"), [("y", True), ("<CR>", True), ("n", False), ("q", False), ("<Esc>", False)]
)
def test_keys_answer_once_and_nothing_is_left(editor: Editor, key: str, accepted: bool) -> None:
    window = editor.lua("return vim.api.nvim_get_current_win()")
    gate(editor)
    wait_focused(editor)
    editor.feed(key)
    assert [one["accepted"] for one in answers(editor)] == [accepted]
    assert editor.lua("return vim.api.nvim_list_wins()") == [window]
    assert editor.lua("return #vim.api.nvim_list_bufs()") == 1
    assert not editor.lua("""return vim.iter(vim.api.nvim_get_autocmds({})):any(function(a)
        return (a.group_name or ''):find('^tideate%.dialog') ~= nil end)""")


@pytest.mark.parametrize(("key", "accepted"), [("y", True), ("<CR>", False)])
def test_an_override_is_a_no_by_default(editor: Editor, key: str, accepted: bool) -> None:
    ask(editor, "override", message="Write it anyway?")
    wait_focused(editor)
    editor.feed(key)
    assert [one["accepted"] for one in answers(editor)] == [accepted]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("start", "typed"), [("i", "yn"), ("v", "jk"), (":", "yn"), ("R", "yn"), ("q:i", "yn")]
)
def test_typed_keys_never_answer(editor: Editor, start: str, typed: str) -> None:
    editor.feed(start)
    gate(editor)
    editor.feed(typed)
    mode = editor.mode()
    quiet(editor)
    editor.feed(typed[0])
    assert editor.mode() == mode
    assert answers(editor) == []
    assert not focused(editor)
    editor.feed("<C-c><C-c>")


def stop_clock(editor: Editor) -> None:
    """From now on time passes for the question only by `later`."""
    editor.lua("""
      _G.clock = vim.uv.now()
      vim.uv.now = function() _G.looks = (_G.looks or 0) + 1 return _G.clock end
    """)


def later(editor: Editor, milliseconds: int) -> None:
    editor.lua("_G.clock = _G.clock + ...", milliseconds)


def look_twice(editor: Editor) -> None:
    """Wait until the question has looked twice whether the person types."""
    editor.lua("_G.looks = 0")
    editor.wait("_G.looks >= 2")


def settle(editor: Editor, milliseconds: int) -> None:
    """Have keys count so long after a question has got the focus, or after one that came before."""
    editor.lua("require('tideate.ui.questions.key_guard').limits = { settle = ... }", milliseconds)


def quiet(editor: Editor) -> None:
    """Wait until the question has seen that no key came for a while, and looked at the mode twice."""
    editor.lua("""
      local idle = require('tideate.ui.typing')
      local plain_normal = idle.plain_normal
      _G.looks = 0
      idle.plain_normal = function() _G.looks = _G.looks + 1 return plain_normal() end
    """)
    editor.wait("_G.looks >= 2")


@pytest.mark.slow
def test_a_person_who_types_in_normal_mode_keeps_the_focus(editor: Editor) -> None:
    editor.set_lines(["one two three", "four"])
    stop_clock(editor)
    gate(editor)
    for _ in range(4):  # together longer than the quiet time that a question waits for
        later(editor, 300)
        editor.feed("w")
        look_twice(editor)
        assert not focused(editor)
    wait_focused(editor)
    assert answers(editor) == []


def test_the_dialog_gets_the_focus_after_insert_mode(editor: Editor) -> None:
    editor.feed("ityping")
    gate(editor)
    editor.feed("more<Esc>")
    assert editor.lines(1) == ["typingmore"]
    wait_focused(editor)


@pytest.mark.slow
def test_the_q_that_ends_a_macro_answers_nothing(editor: Editor) -> None:
    editor.set_lines(["one two"])
    editor.feed("qax")
    gate(editor)
    quiet(editor)
    assert not focused(editor)
    editor.feed("q")
    wait_focused(editor)
    assert answers(editor) == []
    assert editor.lua("return vim.fn.getreg('a')") == "x"


def test_workflow_brings_the_person_to_the_question(editor: Editor) -> None:
    gate(editor)
    editor.command("Workflow")
    assert focused(editor)


@pytest.mark.slow
def test_an_unfocused_dialog_says_how_to_get_to_it(screen_editor: Editor) -> None:
    screen_editor.feed("i")
    gate(screen_editor)
    screen_editor.wait_screen("waits for you")
    screen_editor.feed("<Esc>")
    screen_editor.wait_screen("y yes")


@pytest.mark.slow
@pytest.mark.parametrize("key", ["y", "<Esc>", "<CR>"])
def test_a_key_typed_when_the_question_appears_is_no_answer(editor: Editor, key: str) -> None:
    settle(editor, 3_600_000)
    gate(editor)
    editor.wait_for(lambda: focused(editor), "the question has the focus")
    editor.feed(key)
    assert answers(editor) == []
    settle(editor, 0)
    editor.feed(key)  # begins to wait anew
    wait_focused(editor)
    assert answers(editor) == []
    editor.feed("y")
    assert [one["accepted"] for one in answers(editor)] == [True]


@pytest.mark.slow
def test_a_question_takes_the_focus_only_after_more_than_half_a_second_without_a_key(editor: Editor) -> None:
    editor.set_lines(["one two three"])
    stop_clock(editor)
    gate(editor)
    editor.feed("w")
    later(editor, 600)
    look_twice(editor)
    assert not focused(editor)
    later(editor, 100)
    editor.wait_for(lambda: focused(editor), "the question has the focus")


@pytest.mark.slow
def test_escape_ends_half_a_command_and_leads_to_the_question(editor: Editor) -> None:
    editor.set_lines(["one two"])
    editor.nvim.input("d")
    gate(editor)
    quiet(editor)
    assert not focused(editor)
    editor.nvim.input("<Esc>")
    wait_focused(editor)
    assert editor.lines(1) == ["one two"]


def test_a_question_stands_above_the_output(small_editor: Editor) -> None:
    Run(small_editor)
    gate(small_editor)
    wait_focused(small_editor)
    dialog, output = small_editor.lua("""
      local places = {}
      for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
        local config = vim.api.nvim_win_get_config(win)
        if config.relative ~= '' then
          table.insert(places, {config.row, config.row + config.height + 2})
        end
      end
      table.sort(places, function(a, b) return a[1] < b[1] end)
      return places
    """)
    assert dialog[1] <= output[0]


def test_the_title_names_the_run_where_two_wait(screen_editor: Editor) -> None:
    Run(screen_editor)
    Run(screen_editor, "ask", "query")
    ask(screen_editor, "gate")
    screen_editor.wait_screen("refactor · analyze · 01234567")


def test_quitting_the_dialog_is_a_no(editor: Editor) -> None:
    gate(editor)
    wait_focused(editor)
    editor.command("quit")
    editor.wait("#_G.answers == 1")
    assert answers(editor)[0]["accepted"] is False


def test_only_does_not_lose_the_question(editor: Editor) -> None:
    gate(editor)
    window = editor.lua("return vim.api.nvim_get_current_win()")
    editor.lua("require('tideate.ui').focus() vim.api.nvim_set_current_win(...)", window)
    editor.command("split | only!")
    editor.wait("#vim.api.nvim_list_wins() == 2")
    assert answers(editor) == []
    editor.lua("require('tideate.ui').focus()")
    editor.feed("y")
    assert answers(editor)[0]["accepted"] is True


def test_a_withdrawn_question_closes_without_an_answer(editor: Editor) -> None:
    identity = gate(editor)
    other = gate(editor)
    editor.lua("require('tideate.ui').withdraw(...)", other)
    editor.lua("require('tideate.ui').withdraw(...)", identity)
    assert answers(editor) == []
    assert editor.lua("return #vim.api.nvim_list_wins()") == 1


def test_details_are_shown_and_hidden(screen_editor: Editor) -> None:
    ask(screen_editor, "gate", message="Go on?", details="# why\n\nthe reason")
    screen_editor.wait_screen("the reason")
    wait_focused(screen_editor)
    screen_editor.wait_screen("d hide details")
    screen_editor.feed("d")
    screen_editor.wait_screen("shows the details (3 lines)")
    screen_editor.wait_screen("n no  d details")
    screen_editor.feed("?")
    screen_editor.wait_screen("no, stop here")
    screen_editor.feed("q")
    screen_editor.feed("y")
    assert answers(screen_editor)[0]["accepted"] is True


PAUSES = """
local typing, waiting = require('tideate.ui.typing'), 0
local when_quiet = typing.when_quiet
typing.when_quiet = function(callback)
  waiting = waiting + 1
  local function ended()
    waiting = waiting - 1
  end
  local finish = when_quiet(function()
    ended()
    callback()
  end)
  return function()
    finish()
    ended()
  end
end
_G.pauses = function() return waiting end
"""


def test_a_question_takes_the_focus_once(editor: Editor) -> None:
    editor.lua(PAUSES)
    gate(editor)
    assert editor.lua("return _G.pauses()") == 1
    wait_focused(editor)
    assert editor.lua("return _G.pauses()") == 0
    editor.lua("vim.cmd.tabnew() require('tideate.ui').focus()")
    assert focused(editor)
    assert editor.lua("return _G.pauses()") == 0, "who leaves it again would be brought back"


def test_a_question_follows_to_another_tab(editor: Editor) -> None:
    gate(editor)
    editor.command("tabnew")
    editor.wait("require('tideate.ui').focus() and require('tideate.ui').pending()[1].focused")
    assert editor.lua("return vim.fn.tabpagenr()") == 2
    editor.feed("y")
    assert editor.lua("return #vim.api.nvim_list_wins()") == 2


@pytest.mark.parametrize(
    "commands",
    [["tabnew | tabclose"], ["tabnew", "tabprevious"], ["split", "close"], ["help", "helpclose"]],
    ids=" ".join,
)
def test_a_question_has_the_focus_again_after_a_window_that_was_opened_from_it(
    editor: Editor, commands: list[str]
) -> None:
    gate(editor)
    wait_focused(editor)
    editor.lua("require('tideate.ui.typing').limits = { quiet = 1e9, look = 10 }")
    for command in commands:
        editor.command(command)
    editor.wait("require('tideate.ui').pending()[1].ready")
    editor.feed("q")
    assert answers(editor) == [{"accepted": False}]
    assert editor.lua("return vim.fn.reg_recording()") == ""


@pytest.mark.parametrize("command", ["wincmd w", "split", "help"])
def test_a_question_that_was_left_for_another_window_takes_no_focus(editor: Editor, command: str) -> None:
    gate(editor)
    wait_focused(editor)
    editor.lua(PAUSES)
    editor.command(command)
    assert not focused(editor)
    assert editor.lua("return _G.pauses()") == 0, "nothing waits to take it"


# -- the plan ---------------------------------------------------------------------------------------


def answered_paths(editor: Editor) -> list[str]:
    (answer,) = answers(editor)
    assert answer["accepted"] is True
    return [file["path"] for file in answer["value"]["files"]]


def test_a_plan_shows_every_file_with_its_action_and_why(screen_editor: Editor) -> None:
    plan(screen_editor, FILES)
    screen = screen_editor.wait_screen("4 files")
    for text in ("~ src/app.py", "+ new.py", "- old.py", "→ a.py → b.py", "holds it"):
        assert any(text in line for line in screen), text


@pytest.mark.parametrize("key", ["x", "<Space>", "dd"])
def test_files_are_taken_out_and_back_in(editor: Editor, key: str) -> None:
    plan(editor, FILES)
    wait_focused(editor)
    editor.feed(key + key)
    editor.feed("gg" + key)
    editor.feed("y")
    assert answered_paths(editor) == ["src/app.py", "old.py", "a.py"]


def test_nulls_of_the_engine_are_no_text(editor: Editor) -> None:
    files = [{"path": "a.py", "action": "modify", "why": None, "move_to": None}]
    editor.lua(
        """
      require('tideate.ui').confirm('x', {
        execution_id = ('0'):rep(32), workflow = 'w', step = 's', kind = 'plan', message = 'm',
        details = vim.NIL, payload = {files = ...},
      }, function(answer) _G.answers = {answer} end)
    """,
        files,
    )
    wait_focused(editor)
    editor.feed("y")
    assert answers(editor)[0]["value"]["files"] == [{"path": "a.py", "action": "modify"}]


def test_control_characters_of_names_are_shown_as_such(screen_editor: Editor) -> None:
    editor = screen_editor
    editor.lua(
        "require('tideate.ui').confirm('x', { execution_id = ('0'):rep(32), workflow = 'w\\n1',"
        " step = 's\\27', kind = 'gate', message = 'm' }, function() end)"
    )
    editor.wait_screen(r"w\n1 · s\x1b")


def test_a_question_that_cannot_be_shown_does_not_hold_up_the_next(editor: Editor) -> None:
    editor.lua("""
    _G.failed = {}
    package.loaded['tideate.ui.questions.plan'] = { open = function() error('no room') end }
    require('tideate.ui').confirm('x', { kind = 'plan' }, function() table.insert(_G.failed, 'answer') end,
      function(err) table.insert(_G.failed, err) end)""")
    gate(editor)
    wait_focused(editor)
    (failed,) = editor.lua("return _G.failed")
    assert "no room" in failed


def test_a_plan_without_files_is_not_accepted(editor: Editor) -> None:
    plan(editor, FILES[:1])
    wait_focused(editor)
    editor.feed("xy")
    assert answers(editor) == []
    decline(editor, "n")
    assert answers(editor)[0]["accepted"] is False


@pytest.mark.parametrize("accept", [":w<CR>", "<CR>"])
def test_a_plan_is_edited_as_text(editor: Editor, accept: str) -> None:
    plan(editor, FILES)
    wait_focused(editor)
    editor.feed("e")
    editor.feed("ggdGimove x.py -> y z.py — tidy<CR>create n.py<Esc>" + accept)
    editor.feed("y")
    assert answers(editor)[0]["value"]["files"] == [
        {"action": "move", "path": "x.py", "move_to": "y z.py", "why": "tidy"},
        {"action": "create", "path": "n.py", "why": ""},
    ]
    assert editor.lua("return #vim.api.nvim_list_wins()") == 1


def parsed(editor: Editor, *lines: str) -> list[Any]:
    """Return the files of a plan as text, and its errors."""
    code = "local files, errors = require('tideate.ui.questions.plan.text').parse(...)"
    return list(editor.lua(f"{code} return {{ files, errors }}", list(lines)))


def test_an_error_in_the_text_is_shown_at_its_line(editor: Editor) -> None:
    for line, words in (
        ("mdify a.py", "did you mean 'modify'"),
        ("modify", "needs a path"),
        ("move a.py", "needs two paths"),
        ("move a.py -> a.py", "different"),
        ("create a.py -> b.py", "only move"),
        ("delete src/app.py", "line 1 already"),
        ('modify "a.py', ""),
        ('modify "a.py" b.py', ""),
    ):
        _, (error,) = parsed(editor, "modify src/app.py", line)
        assert words in str(error)
    plan(editor, FILES)
    wait_focused(editor)
    editor.feed("e")
    editor.feed("Gomodify<Esc><CR>")
    (found,) = editor.lua(
        "return vim.tbl_map(function(d) return {d.lnum, d.message} end, vim.diagnostic.get(0))"
    )
    assert found[0] == 6
    assert "needs a path" in found[1]
    editor.feed("dd<CR>y")
    assert answered_paths(editor) == ["src/app.py", "new.py", "old.py", "a.py"]


def test_typed_text_is_still_there_after_leaving_the_text(editor: Editor) -> None:
    plan(editor, FILES)
    wait_focused(editor)
    editor.feed("e")
    editor.feed("Gocreate typed.py<Esc>")
    editor.command("quit")
    editor.feed("y")
    assert answers(editor) == []
    editor.feed("e")
    assert editor.lines()[-1] == "create typed.py"
    editor.feed(":w<CR>")
    editor.feed("y")
    assert answered_paths(editor)[-1] == "typed.py"


def test_the_question_of_a_plan_is_the_hosts_with_the_files_that_are_left(screen_editor: Editor) -> None:
    words = "a.py: no block\nTry 4 files again? No leaves out what failed."
    ask(screen_editor, "plan", message=words, payload={"files": FILES, "problems": ["a.py: no block"]})
    screen = "\n".join(screen_editor.wait_screen("Try 4 files again? No leaves out"))
    assert screen.count("a.py: no block") == 1
    wait_focused(screen_editor)
    screen_editor.feed("x")
    screen_editor.wait_screen("Try 3 files again? No leaves out")
    screen_editor.feed("y")
    assert answered_paths(screen_editor) == ["new.py", "old.py", "a.py"]


def test_files_that_were_taken_out_are_comments_in_the_text(editor: Editor) -> None:
    plan(editor, FILES)
    wait_focused(editor)
    editor.feed("xe")
    assert editor.lines()[2:4] == ["# modify src/app.py — call it", "create new.py — holds it"]
    editor.feed("Gdd<CR>")
    editor.wait_for(lambda: focused(editor), "the plan is back")
    shown = "\n".join(editor.lines())
    assert "○ ~ src/app.py" in shown
    editor.feed("y")
    assert answered_paths(editor) == ["new.py", "old.py"]


def test_a_file_taken_out_while_the_text_is_unfinished_stays_out(editor: Editor) -> None:
    plan(editor, FILES)
    wait_focused(editor)
    editor.feed("e")
    editor.feed("Gocreate typed.py<Esc>")
    editor.command("quit")
    editor.feed("ggxe")
    editor.feed(":w<CR>")
    editor.feed("y")
    assert answered_paths(editor) == ["new.py", "old.py", "a.py", "typed.py"]


def test_edits_that_an_answer_leaves_out_are_not_those_of_the_next_plan(editor: Editor) -> None:
    plan(editor, FILES)
    wait_focused(editor)
    editor.feed("eGocreate typed.py<Esc>")
    editor.command("quit")
    editor.feed("yy")
    assert "typed.py" not in answered_paths(editor)
    plan(editor, FILES[:1])
    wait_focused(editor)
    editor.feed("e")
    assert not any("typed.py" in line for line in editor.lines())


def test_the_whole_reason_is_as_high_as_its_lines_wrap(screen_editor: Editor) -> None:
    plan(screen_editor, [{**FILES[0], "why": "word " * 80 + "end."}])
    wait_focused(screen_editor)
    screen_editor.feed("K")
    screen_editor.wait_screen("end.")


def test_an_error_in_the_text_is_shown_whole(start_editor: EditorFactory) -> None:
    editor = start_editor(ui=(60, 24))
    plan(editor, FILES)
    wait_focused(editor)
    editor.feed("e")
    editor.feed("Gocreate a.py -> b.py<Esc>")
    assert "in quotes" in "\n".join(editor.wait_screen("stands"))


def test_every_dash_between_blanks_begins_the_reason(editor: Editor) -> None:
    for line, path, why in (
        ("modify a.py - tidy - it", "a.py", "tidy - it"),
        ("modify a.py -- tidy", "a.py", "tidy"),
        ("modify a.py — a - b", "a.py", "a - b"),
        ('modify "a - b.py" - tidy', "a - b.py", "tidy"),
        ("modify a-b.py", "a-b.py", ""),
    ):
        assert parsed(editor, line) == [[{"action": "modify", "path": path, "why": why}], []]


def test_a_plan_survives_the_way_through_text(editor: Editor) -> None:
    files = [*FILES, {"path": "with blank - and dash.py", "action": "modify", "why": "a -- b, and\nc"}]
    expected = [dict(file) for file in files]
    expected[-1]["why"] = "a -- b, and c"
    lines = editor.lua("return require('tideate.ui.questions.plan.text').format(...)", files)
    assert parsed(editor, *lines) == [expected, []]


def test_long_details_are_folded_and_leave_the_last_lines_of_the_output(small_editor: Editor) -> None:
    run = Run(small_editor)
    run.start(1)
    run.token("\n".join(f"line {number}" for number in range(30)))
    small_editor.wait_screen("line 29")
    details = "\n".join(f"- detail {number} " + "and more words " * 7 for number in range(12))
    ask(small_editor, "gate", message="Enter `execution`?", details=details)
    screen = "\n".join(small_editor.wait_screen("shows the details (12 lines)"))
    assert "line 22" in screen
    assert "detail 0" not in screen
    small_editor.lua("require('tideate.ui').focus()")
    small_editor.feed("d")
    screen = "\n".join(small_editor.wait_screen("detail 1"))
    assert "line 29" in screen, screen
    assert "y yes" in screen
    # what follows a bullet stands under its text
    assert "│   words" in screen or "│   and" in screen or "│   more" in screen, screen
