"""The panel of runs: its tree live and from the store, its folds, its keys, what it opens, its place."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.editor.test_run_views import THREE, answered_by_host, kill, second
from tests.support.dialogs import wait_focused
from tests.support.events import Run
from tests.support.runs import accept_all, configure, result, start
from tests.support.work import lua_work_of

if TYPE_CHECKING:
    from tests.editor.conftest import EditorFactory
    from tests.support.editor import Editor
    from tests.support.model_server import Gate, ModelServer

pytestmark = pytest.mark.slow

FOCUSED = "vim.bo.filetype == 'tideate-panel'"
PANEL = "vim.fn.bufnr('tideate://runs')"
READ = f"{FOCUSED} and not vim.wo.winbar:find('reading') and vim.fn.search('the runs are read', 'nw') == 0"
GO_TO = f"""
local line, win = ..., vim.fn.bufwinid({PANEL})
vim.api.nvim_set_current_win(win)
for row, there in ipairs(vim.api.nvim_buf_get_lines(0, 0, -1, true)) do
  if there == line then
    vim.api.nvim_win_set_cursor(0, {{ row, 0 }})
    return true
  end
end
return false
"""
MANY = """
-- a run with so many steps, each with a turn, and a step with as many items
local count = ...
local activity, steps = require('tideate.run_activity').new(), {}
local apply = require('tideate.run_activity').apply
for number = 1, count do
  steps[number] = { name = 's' .. number, label = 's', state = 'running', attempt = 1 }
  apply(activity, { name = 'SD_EVENT_TOKEN', data = { step = 's' .. number, text = 'x' } })
end
steps[count + 1] = { name = 'each', label = 'each', state = 'running', attempt = 1 }
for number = count, 1, -1 do
  apply(activity, { name = 'SD_EVENT_TOKEN', data = { step = ('each[%d]'):format(number), text = 'x' } })
end
apply(activity, { name = 'SD_EVENT_NOTICE', data = { step = 'each', message = 'x' } })
local run = { execution_id = 'r', name = 'r', state = 'running', prompt = '', steps = steps, step = 1,
  current_step = '', kind = 'graph', total_steps = count, elapsed_ms = 0, tokens = 0, files = {},
  started_at = 0 }
local tree = require('tideate.ui.panel.tree')
local sources = {
  activity = function() return activity end,
  within = function() return {} end,
  details = {},
}
_G.build = function()
  return tree.rows({ tree.run_node(tree.run(run), sources) }, {})
end
"""
MODEL = "model (empty: the same)"
HOSTILE = "\x1b[2J\x07 \u202eevil\u202c \u200b\nsecond line\r" + "x" * 300


def panel(editor: Editor) -> list[str]:
    return editor.lines(int(editor.lua(f"return {PANEL}")))


def wait_line(editor: Editor, pattern: str) -> str:
    """Wait until a line of the panel matches, and return it."""

    def look() -> str | None:
        return next((line for line in panel(editor) if re.search(pattern, line)), None)

    return str(editor.wait_for(look, f"{pattern} in the panel"))


def wait_no_line(editor: Editor, pattern: str) -> None:
    editor.wait_for(
        lambda: not any(re.search(pattern, line) for line in panel(editor)), f"no {pattern} in the panel"
    )


def open_panel(editor: Editor, command: str = "Workflow status") -> None:
    editor.command(command)
    editor.wait(READ)


def go_to(editor: Editor, pattern: str) -> None:
    """Put the cursor of the focused panel on a line."""
    # a line may be drawn anew between the two looks at it
    editor.wait_for(lambda: editor.lua(GO_TO, wait_line(editor, pattern)), f"the cursor on {pattern}")


@pytest.fixture
def screen(start_editor: EditorFactory) -> Editor:
    """A small screen with the panel open."""
    editor = start_editor(ui=(80, 24))
    open_panel(editor)
    return editor


# -- the tree -----------------------------------------------------------------------------------------


def test_a_running_run_is_shown_with_its_steps_turns_and_calls_as_they_come(screen: Editor) -> None:
    run = Run(screen, "refactor")
    wait_line(screen, rf"^▾ . refactor  running \d\d:\d\d {run.id[:8]}  make it iterative")
    wait_line(screen, r"^ +○ refactor")
    run.start(1)
    wait_line(screen, r"^  . ● analyze")
    run.token("I look ")
    run.token("at it")
    wait_line(screen, r"● turn 1  I look at it +\d+s +3$")
    usage = {"input_tokens": 1500, "output_tokens": 20, "cost": 0.0125}
    run.event("MODEL_ANSWERED", step="analyze", model="deep", usage=usage, duration_ms=2400)
    wait_line(screen, r"✓ turn 1  deep  I look at it +2\.4s +1\.5k +\$0\.01$")
    place = {"step": "analyze", "call": 1, "server": "", "tool": "read_file", "summary": "read_file a.py"}
    run.event("TOOL_CALLED", **place, arguments={"path": "a.py"})
    wait_line(screen, r"^ {6,}  ● read_file a.py")
    run.event("TOOL_COMPLETED", **place, duration_ms=120, ok=False, error="no\nsuch file")
    wait_line(screen, r"✗ read_file a.py  no such file +0\.1s")
    wait_line(screen, r"✓ turn 1  deep  1 tool call")
    run.event("STEP_RETRYING", step="analyze", attempt=1, wait_ms=2000, error="too slow")
    wait_line(screen, r"↻ analyze  attempt 2")
    wait_line(screen, r"↻ attempt 1 failed: too slow")
    run.event("NOTICE", step="analyze", message="not as you think", level="warn")
    wait_line(screen, r"! not as you think")
    run.complete(1)
    wait_line(screen, r"▸ ✓ analyze  attempt 2 +1\.2s +1\.5k +\$0\.01$")
    wait_no_line(screen, "turn 1")
    run.start(2)
    run.event("STEP_FAILED", step="refactor", error="it broke")
    run.event("WORKFLOW_FAILED", error="it broke")
    wait_line(screen, r"^▾ ✗ refactor  failed ")
    wait_line(screen, r"^ {4} +✗ it broke")


def test_answers_that_are_told_again_after_a_resume_are_turns_of_their_own(screen: Editor) -> None:
    run = Run(screen, "ask", "query")
    run.start(1)
    run.event("TOKEN", step="query", text="from before\n\n", again=True)
    run.event("TOKEN", step="query", text="and this\n\n", again=True)
    run.token("new words")
    wait_line(screen, "● turn 3  new words")
    wait_line(screen, "✓ turn 1  from before")
    wait_line(screen, "✓ turn 2  and this")


def test_a_turn_without_figures_is_none_of_those_that_were_stored(screen: Editor) -> None:
    run = Run(screen, "ask", "query")
    run.start(1)
    run.token("half an ans")
    screen.lua(
        "require('tideate.stored_runs').ask = function(_, _, take)"
        " take({ said = { { role = 'model', model = 'm', text = 'an earlier one' } } }) end"
    )
    opens(screen, "● turn 1", "half an ans", "when the step has ended")


def test_steps_at_the_same_time_are_held_together(screen: Editor) -> None:
    run = Run(screen, "wide", "first", "left", "middle", "right", "last")
    run.start(1)
    run.complete(1)
    for number in (2, 3, 4):
        run.start(number)
    wait_line(screen, "┌ ● left")
    wait_line(screen, "├ ● middle")
    wait_line(screen, "└ ● right")
    for number in (2, 3, 4):
        run.complete(number)
    run.start(5)
    wait_line(screen, "^ +● last")
    wait_line(screen, "^ +✓ first")


def test_items_of_a_list_and_runs_that_are_steps_stand_below_their_step(screen: Editor) -> None:
    run = Run(screen, "list", "each", "inner")
    run.start(1)
    run.event("TOKEN", step="each[1]", text="second")
    run.event("TOKEN", step="each[0]", text="first")
    wait_line(screen, r"● each\[0\]")
    assert [line.split()[2] for line in panel(screen) if "each[" in line] == ["each[0]", "each[1]"]
    run.event("STEP_EXECUTED", step="each[0]", success=True, duration_ms=1)
    wait_line(screen, r"✓ each\[0\]")
    run.complete(1)
    run.start(2)
    data = {"name": "nested", "steps": ["x"], "parent": run.id, "parent_step": "inner", "prompt": "p"}
    screen.lua(
        "local id, data = ... require('tideate.events').dispatch({ name = 'SD_EVENT_WORKFLOW_STARTED',"
        " execution_id = id, at = 0, data = data })",
        "f" * 32,
        data,
    )
    wait_line(screen, "^ {4}▾ . nested  running")
    wait_line(screen, "^ {6} +○ x")


def test_two_runs_at_once_are_both_followed_and_the_cursor_stays_on_its_line(screen: Editor) -> None:
    first = Run(screen, "one", "a")
    first.start(1)
    go_to(screen, "● a")
    second_run = Run(screen, "two", "b")
    second_run.start(1)
    wait_line(screen, "● b")
    assert "● a" in screen.lua("return vim.api.nvim_get_current_line()")
    second_run.event("TOKEN", step="b", text="from b")
    first.event("TOKEN", step="a", text="from a")
    wait_line(screen, "turn 1  from a")
    wait_line(screen, "turn 1  from b")
    assert "● a" in screen.lua("return vim.api.nvim_get_current_line()")
    assert "2 running" in "\n".join(screen.wait_screen("2 running"))
    second_run.event("WORKFLOW_COMPLETED", response="", files=[])
    wait_line(screen, "✓ two")
    wait_line(screen, "● one  running")


def test_who_works_elsewhere_sees_the_run_that_begins(screen: Editor) -> None:
    for number in range(12):
        Run(screen, f"old{number}", "a").event("WORKFLOW_COMPLETED", response="", files=[])
    go_to(screen, "old0")
    screen.feed("<C-w>p")
    Run(screen, "newest", "a")
    screen.wait_screen("newest  running")


def test_only_lines_that_changed_are_written(screen: Editor) -> None:
    screen.lua("local now = vim.uv.now() vim.uv.now = function() return now end")  # no second goes by
    run = Run(screen, "wide", "left", "right")
    run.start(1)
    run.start(2)
    wait_line(screen, "● right")
    screen.lua(
        """
        _G.written = {}
        local text = require('tideate.ui.text')
        local splice = text.splice
        text.splice = function(buf, ns, first, last, lines)
          if vim.bo[buf].filetype == 'tideate-panel' then
            table.insert(_G.written, #lines)
          end
          splice(buf, ns, first, last, lines)
        end
        """
    )
    run.event("NOTICE", step="right", message="asked to wait", level="info")
    wait_line(screen, "asked to wait")
    assert max(screen.lua("return _G.written")) <= 2  # the step, which can be opened now, and its note


def test_the_tree_of_four_times_as_many_steps_is_four_times_the_work(screen: Editor) -> None:
    def work(count: int) -> int:
        screen.lua(MANY, count)
        return lua_work_of(screen, "_G.rows = _G.build()")

    work(50)
    few = work(100)
    assert screen.lua("return #_G.rows") == 1 + 2 * 100 + 2 + 100
    many = work(400)
    assert screen.lua("return #_G.rows") == 1 + 2 * 400 + 2 + 400
    assert many < 5 * few


def test_a_text_that_grows_builds_no_rows_anew_and_writes_only_what_is_seen(screen: Editor) -> None:
    run = Run(screen, "wide", *(f"s{number}" for number in range(60)))
    for number in range(1, 61):
        run.start(number)
        run.event("TOKEN", step=f"s{number - 1}", text="begins ")
    screen.wait_for(lambda: sum("begins" in line for line in panel(screen)) == 60, "a turn of every step")
    screen.wait("not require('tideate.client').busy()")  # an answer of the store builds all anew
    screen.lua("""
        local tree, text = require('tideate.ui.panel.tree'), require('tideate.ui.text')
        _G.built, _G.written = 0, {}
        local rows, splice = tree.rows, text.splice
        tree.rows = function(...) _G.built = _G.built + 1 return rows(...) end
        text.splice = function(buf, ns, first, last, lines)
          for row = first, first + #lines - 1 do _G.written[tostring(row)] = true end
          splice(buf, ns, first, last, lines)
        end
    """)
    for number in range(60):
        run.event("TOKEN", step=f"s{number}", text="grows")
    wait_line(screen, "begins grows")
    height = screen.lua(f"return vim.api.nvim_win_get_height(vim.fn.bufwinid({PANEL}))")
    assert screen.lua("return _G.built") == 0
    assert 0 < len(screen.lua("return vim.tbl_keys(_G.written)")) <= height
    run.event("MODEL_ANSWERED", step="s0", model="m", usage={"input_tokens": 1, "output_tokens": 1})
    wait_line(screen, "✓ turn 1  m  begins grows")
    assert screen.lua("return _G.built") > 0
    run.event("TOKEN", step="s0", text="another turn")  # one that the tree does not have yet
    wait_line(screen, "● turn 2  another turn")


# -- folds --------------------------------------------------------------------------------------------


@pytest.fixture
def opened(screen: Editor) -> Editor:
    """A run with a turn that made a call; the cursor is on the run."""
    run = Run(screen, "ask", "query")
    run.start(1)
    run.token("Let me look.")
    run.event("MODEL_ANSWERED", step="query", model="m", usage={"input_tokens": 1, "output_tokens": 1})
    place = {"step": "query", "call": 1, "server": "", "tool": "search", "summary": "search x"}
    run.event("TOOL_CALLED", **place, arguments={"text": "x"})
    run.event("TOOL_COMPLETED", **place, duration_ms=1, ok=True, size=3, result="a:1")
    go_to(screen, "search x")
    screen.feed("gg")
    return screen


@pytest.mark.parametrize("key", ["<Tab>", "za"])
def test_a_key_opens_and_closes_what_is_below(opened: Editor, key: str) -> None:
    opened.feed(key)
    assert len(panel(opened)) == 1
    opened.feed(key)
    assert len(panel(opened)) == 4


def test_a_line_without_a_fold_closes_what_it_is_part_of(opened: Editor) -> None:
    opened.feed("G")
    assert "search x" in opened.lua("return vim.api.nvim_get_current_line()")
    opened.feed("zc")
    assert "turn 1" in opened.lua("return vim.api.nvim_get_current_line()")
    assert len(panel(opened)) == 3
    opened.feed("zczc")
    assert len(panel(opened)) == 1
    opened.feed("zo")
    assert len(panel(opened)) == 2


def test_all_is_closed_and_opened_and_stays_so(opened: Editor) -> None:
    opened.feed("zM")
    assert len(panel(opened)) == 1
    opened.feed("zR")
    assert len(panel(opened)) == 4
    opened.feed("zM")
    Run(opened, "other", "a")
    wait_line(opened, "other")
    assert not any("turn 1" in line for line in panel(opened))


# -- what is opened and copied ------------------------------------------------------------------------


@pytest.fixture
def looked(start_editor: EditorFactory, server: ModelServer) -> Editor:
    """An editor in which a model has read a file and answered, with the panel open and the run unfolded."""
    editor = start_editor(ui=(80, 24))
    ask_with_a_call(editor, server)
    editor.feed("q")
    open_panel(editor)
    unfold(editor)
    return editor


def ask_with_a_call(editor: Editor, server: ModelServer) -> str:
    configure(editor, server, tools=True)
    (editor.cwd / "b.py").write_text("VALUE_OF_B = 41\n")
    server.calls("what is in b", "read_file", {"path": "b.py"}, times=1)
    server.answers("VALUE_OF_B", "It is 41.")
    identity = start(editor, "ask", "what is in b?")
    assert result(editor)["response"] == "It is 41."
    return identity


def unfold(editor: Editor) -> None:
    go_to(editor, "✓ ask")
    editor.feed("zo")
    go_to(editor, "✓ query")
    editor.feed("zo")
    wait_line(editor, "✓ read_file b.py")


def opens(editor: Editor, pattern: str, *texts: str) -> None:
    """Press <CR> on a line: a window with these texts opens, and `q` leads back."""
    go_to(editor, pattern)
    editor.feed("<CR>")
    for text in texts:
        editor.wait(
            "vim.fn.search('\\\\V' .. ..., 'nw') > 0 and vim.bo.filetype ~= 'tideate-panel'", 30, text
        )
    editor.feed("q")
    editor.wait(FOCUSED)


def test_enter_opens_what_is_under_the_cursor(looked: Editor) -> None:
    opens(looked, "✓ turn 1", "## Prompt", "what is in b?", "read_file", "## Instructions")
    opens(
        looked, "✓ turn 2", "## Result of read_file", "VALUE_OF_B = 41", "## Answer of scripted", "It is 41."
    )
    opens(looked, "✓ query", "what is in b?", "VALUE_OF_B = 41", "It is 41.", "## Instructions")
    opens(looked, "read_file b.py", "path: b.py", "VALUE_OF_B = 41")
    opens(looked, "✓ ask", "result: It is 41.")


def test_a_recorded_run_is_the_same_after_a_restart(
    start_editor: EditorFactory, server: ModelServer, looked: Editor
) -> None:
    looked.quit()
    editor = second(start_editor, looked, server)
    asked = len(server.requests)
    open_panel(editor)
    go_to(editor, "▸ ✓ ask .* what is in b")
    editor.lua(
        """
        _G.methods = {}
        local client = require('tideate.client')
        local request = client.request
        client.request = function(method, ...)
          table.insert(_G.methods, method)
          return request(method, ...)
        end
        """
    )
    unfold(editor)
    wait_line(editor, "✓ turn 2  scripted")
    assert editor.lua("return _G.methods").count("show") == 1
    opens(editor, "✓ turn 2", "VALUE_OF_B = 41", "It is 41.")
    opens(editor, "read_file b.py", "path: b.py", "VALUE_OF_B = 41")
    opens(editor, "✓ query", "what is in b?", "It is 41.")
    assert editor.lua("return _G.methods").count("show") == 1
    assert len(server.requests) == asked


def test_details_that_cannot_be_read_are_asked_for_once_until_the_list_is_read_again(
    start_editor: EditorFactory, server: ModelServer, looked: Editor
) -> None:
    looked.quit()
    editor = second(start_editor, looked, server)
    open_panel(editor)
    go_to(editor, "▸ ✓ ask ")
    editor.lua(
        """
        _G.shows = 0
        local client = require('tideate.client')
        local request = client.request
        client.request = function(method, params, call, ...)
          if method == 'show' and not _G.readable then
            _G.shows = _G.shows + 1
            return vim.schedule(function() call({ ok = false, error = 'the store is locked' }) end)
          end
          return request(method, params, call, ...)
        end
        """
    )
    editor.feed("zo")
    wait_line(editor, "cannot be read: the store is locked")
    for _ in range(3):
        editor.feed("zc")
        wait_no_line(editor, "cannot be read")
        editor.feed("zo")
        wait_line(editor, "cannot be read")
    assert editor.lua("return _G.shows") == 1
    editor.lua("_G.readable = true require('tideate.ui.panel').refresh()")
    wait_line(editor, "✓ query")


def test_reasoning_and_what_is_written_now_can_be_looked_at(screen: Editor) -> None:
    run = Run(screen, "ask", "query")
    run.start(1)
    run.event("REASONING", step="query", text="First this.")
    wait_line(screen, "● turn 1  thinks: First this.")
    run.token("half an ans")
    screen.lua("require('tideate.stored_runs').ask = function(_, _, take) take({}) end")
    opens(screen, "● turn 1", "### Reasoning", "First this.", "half an ans", "when the step has ended")


def test_enter_on_an_error_leads_to_its_place_in_the_project(screen: Editor) -> None:
    (screen.cwd / "b.py").write_text("one = 1\ntwo = = 2\n")
    (screen.home / "outside.py").write_text("x\n")
    run = Run(screen, "ask", "query")
    run.start(1)
    run.event("STEP_FAILED", step="query", error=f"{screen.home}/outside.py:1 and b.py:2:7: invalid syntax")
    run.event("WORKFLOW_FAILED", error="invalid syntax")
    go_to(screen, "✗ ask")
    screen.feed("zo")
    go_to(screen, "^ {4} +✗ /")
    screen.feed("<CR>")
    screen.wait("vim.api.nvim_buf_get_name(0):find('/b.py$')")
    assert screen.lua("return vim.api.nvim_win_get_cursor(0)") == [2, 6]
    assert screen.lua(f"return vim.fn.bufwinid({PANEL})") > 0


def test_enter_on_an_error_without_a_place_shows_all_of_it(screen: Editor) -> None:
    run = Run(screen, "ask", "query")
    run.event("WORKFLOW_FAILED", error="first\nsecond of nothing.py:3")
    go_to(screen, "✗ ask")
    screen.feed("zo")
    opens(screen, "✗ first second", "second of nothing.py:3")


def test_enter_on_a_changed_file_opens_it(screen: Editor) -> None:
    (screen.cwd / "b.py").write_text("x\n")
    run = Run(screen, "ask", "query")
    run.event("WORKFLOW_COMPLETED", response="", files=["b.py"])
    go_to(screen, "✓ ask")
    screen.feed("zo")
    go_to(screen, r"· b\.py")
    screen.feed("<CR>")
    screen.wait("vim.api.nvim_buf_get_name(0):find('/b.py$')")


def test_enter_opens_no_file_outside_of_the_project_and_makes_none(screen: Editor) -> None:
    (screen.home / "outside.py").write_text("x\n")
    (screen.cwd / "link.py").symlink_to(screen.home / "outside.py")
    names = [f"{screen.home}/outside.py", "../outside.py", "link.py", "gone.py", "buffer 9999"]
    buffers = "return #vim.api.nvim_list_bufs()"
    run = Run(screen, "ask", "query")
    run.event("WORKFLOW_COMPLETED", response="", files=names)
    go_to(screen, "✓ ask")
    screen.feed("zo")
    wait_line(screen, r"· buffer 9999")
    before = screen.lua(buffers)
    screen.lua(
        "_G.said = {} require('tideate.ui').notify = function(text) table.insert(_G.said, text) end"
        f" vim.api.nvim_set_current_win(vim.fn.bufwinid({PANEL}))"
    )
    for count, name in enumerate(names, 1):
        go_to(screen, rf"· {re.escape(name[:12])}")
        screen.feed("<CR>")
        screen.wait("#_G.said == ...", 60, count)
        assert screen.lua(f"return {FOCUSED}")
    assert all("not there any more" in text for text in screen.lua("return _G.said"))
    assert screen.lua(buffers) == before


def test_enter_on_a_buffer_without_a_name_leads_to_it(screen: Editor) -> None:
    number = screen.lua("return vim.api.nvim_create_buf(true, false)")
    run = Run(screen, "ask", "query")
    run.event("WORKFLOW_COMPLETED", response="", files=[f"buffer {number}"])
    go_to(screen, "✓ ask")
    screen.feed("zo")
    go_to(screen, rf"· buffer {number}\b")
    screen.feed("<CR>")
    screen.wait("vim.api.nvim_get_current_buf() == ...", 60, number)
    assert screen.lua("return vim.api.nvim_buf_get_name(0)") == ""


def test_a_place_is_looked_for_in_the_beginning_of_an_error_and_in_short_words_only(screen: Editor) -> None:
    (screen.cwd / "b.py").write_text("one\ntwo\n")

    def place(text: str) -> list[int] | None:
        """Return the line and the column; the pattern would take hours over a megabyte without a blank."""
        find = (
            "local it = require('tideate.ui.panel.details').place_in(...)"
            " return it and { it.line, it.column }"
        )
        found: list[int] | None = screen.lua(find, text, str(screen.cwd))
        return found

    assert place("QUJD" * 250_000) is None
    assert place("QUJD" * 1000 + " in b.py:2:3") == [2, 3]
    assert place('{"at":"b.py:1"} and so on') == [1, 1]
    assert place("word " * 2000 + "b.py:2") is None


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("✓ turn 2", "It is 41."),
        ("✓ query", "It is 41."),
        ("read_file b.py", "b.py, 1 line\n1\tVALUE_OF_B = 41"),
    ],
)
def test_y_copies_what_is_under_the_cursor(looked: Editor, pattern: str, text: str) -> None:
    go_to(looked, pattern)
    looked.feed("y")
    assert looked.wait("vim.fn.getreg('\"') ~= '' and vim.fn.getreg('\"')") == text
    go_to(looked, "✓ ask")
    looked.feed('"ay')
    assert re.fullmatch("[0-9a-f]{32}", looked.lua("return vim.fn.getreg('a')"))


# -- keys ---------------------------------------------------------------------------------------------


@pytest.fixture
def held(start_editor: EditorFactory, server: ModelServer) -> tuple[Editor, Gate, str]:
    """A run of two steps whose first one waits for its model, with the cursor on it in the panel."""
    editor = start_editor(ui=(80, 24))
    (editor.cwd / ".tideate" / "workflows").mkdir(parents=True)
    (editor.cwd / ".tideate" / "workflows" / "pair.yaml").write_text(THREE)
    configure(editor, server)
    gate = server.holds("say one", text="FIRST", times=1)
    server.answers("say two", "SECOND")
    identity = start(editor, "pair", "go")
    gate.wait_started()
    open_panel(editor)
    go_to(editor, "● one")
    return editor, gate, identity


def test_c_cancels_the_run_of_the_line(held: tuple[Editor, Gate, str]) -> None:
    editor, gate, _ = held
    editor.feed("c")
    assert result(editor)["cancelled"] is True
    gate.wait_disconnected()
    wait_line(editor, "⊘ pair  cancelled")
    wait_line(editor, "⊘ one")


def test_p_pauses_and_resumes_the_run_of_the_line(held: tuple[Editor, Gate, str]) -> None:
    editor, gate, _ = held
    editor.feed("p")
    wait_line(editor, "‖ pair  pausing")
    answered_by_host(editor)
    gate.release()
    wait_line(editor, "‖ pair  paused")
    editor.feed("p")
    assert result(editor)["response"] == "SECOND"
    wait_line(editor, "✓ pair")


def test_s_tells_a_model_at_work_something(start_editor: EditorFactory, server: ModelServer) -> None:
    editor = start_editor(ui=(80, 24))
    configure(editor, server, tools=True)
    (editor.cwd / "b.py").write_text("VALUE_OF_B = 41\n")
    server.calls("what is in b", "read_file", {"path": "b.py"}, times=1)
    gate = server.holds("VALUE_OF_B", text="It is 41.", before_first=True)
    start(editor, "ask", "what is in b?")
    gate.wait_started()
    open_panel(editor)
    go_to(editor, "read_file b.py")
    editor.feed("s")
    editor.wait_screen("Say:")
    editor.feed("be short<CR>")
    wait_line(editor, "you: be short")
    gate.release()
    assert result(editor)["ok"]
    go_to(editor, "ask")
    editor.feed("s")
    editor.wait_screen("no model reads it any more")


def test_o_shows_and_hides_the_output_beside_the_panel(held: tuple[Editor, Gate, str]) -> None:
    editor, gate, identity = held
    where = "require('tideate.ui.output').float()"
    config = editor.lua(f"return vim.api.nvim_win_get_config({where})")
    row = editor.lua(f"return vim.api.nvim_win_get_position(vim.fn.bufwinid({PANEL}))[1]")
    assert config["row"] + config["height"] + 2 <= row
    editor.feed("o")
    editor.wait(f"not {where}")
    editor.feed("o")
    editor.wait(where)
    assert editor.lua("return require('tideate.state').ended(...)", identity) is False
    gate.release()
    assert result(editor)["ok"]


def refactored(editor: Editor, server: ModelServer) -> str:
    """Let a run change a.py."""
    configure(editor, server)
    editor.edit("a.py", "def f():\n    return  1\n")
    server.answers("what must not change", "ANALYSIS")
    server.answers("ANALYSIS", "```python\ndef f():\n    return 1\n```")
    editor.lua("_G.confirm = require('tideate.ui').confirm")
    accept_all(editor)
    identity = start(editor, "refactor", "tidy")
    assert result(editor)["ok"]
    editor.lua("require('tideate.ui').confirm = _G.confirm")
    editor.feed("q")
    return identity


def test_r_shows_what_a_rollback_restores_and_does_it_after_a_yes(
    start_editor: EditorFactory, server: ModelServer
) -> None:
    editor = start_editor(ui=(80, 24))
    refactored(editor, server)
    open_panel(editor)
    go_to(editor, "✓ refactor .* tidy")
    for answer, text in (("n", "    return 1"), ("y", "    return  1")):
        editor.feed("R")
        wait_focused(editor)
        editor.wait_screen("Roll back 1 file")
        editor.feed("d")
        editor.wait_screen("a.py")
        editor.feed(answer)
        if answer == "n":
            editor.wait(FOCUSED)
        else:
            editor.wait_screen("rolled back: a.py")
        assert editor.lines(1)[1] == text


def test_r_runs_what_failed_anew_and_f_with_another_prompt(
    start_editor: EditorFactory, server: ModelServer
) -> None:
    editor = start_editor(ui=(80, 24))
    (editor.cwd / ".tideate" / "workflows").mkdir(parents=True)
    (editor.cwd / ".tideate" / "workflows" / "pair.yaml").write_text(THREE)
    configure(editor, server)
    server.answers("say one", "FIRST")
    server.answers("say two", "SECOND")
    first = start(editor, "pair", "go")
    assert result(editor)["ok"]
    editor.feed("q")
    asked = len(server.requests)
    open_panel(editor)
    go_to(editor, f"✓ pair .*{first[:8]}")
    editor.feed("zo")
    go_to(editor, "✓ two")
    editor.feed("r")
    wait_line(editor, f"✓ pair .*(?!{first[:8]})[0-9a-f]{{8}}")
    newest = "(require('tideate.state').runs()[1] or {})"
    editor.wait(f"{newest}.execution_id ~= ... and {newest}.state == 'completed'", 60, first)
    assert len(server.requests) == asked + 1  # the step before it was not asked again
    second_id = editor.lua(f"return {newest}.execution_id")
    for key in "rf":  # of a run that completed, nothing says from where on
        go_to(editor, f"✓ pair .*{first[:8]}")
        editor.feed(key)
        editor.wait_screen("put the cursor on the step")
        editor.lua("vim.cmd.messages('clear')")
    assert editor.lua(f"return {newest}.execution_id") == second_id
    go_to(editor, "✓ one")
    editor.feed("f")
    editor.wait("vim.bo.filetype == 'tideate-fork'")
    assert editor.lines() == ["▍▍ anew from the step one on", "▍ prompt", "go", f"▍ {MODEL}", ""]
    editor.feed("ccanother<Esc>:w<CR>")
    editor.wait(f"{newest}.execution_id ~= ... and {newest}.state == 'completed'", 60, second_id)
    assert editor.lua(f"return {newest}.prompt") == "another"


def test_a_form_takes_another_result_and_is_kept_where_the_fork_is_refused(
    start_editor: EditorFactory, server: ModelServer
) -> None:
    editor = start_editor(ui=(80, 24))
    (editor.cwd / ".tideate" / "workflows").mkdir(parents=True)
    (editor.cwd / ".tideate" / "workflows" / "pair.yaml").write_text(THREE)
    configure(editor, server)
    server.answers("say one", "FIRST")
    server.answers("say two", "SECOND")
    start(editor, "pair", "go")
    first = result(editor)
    assert first["ok"]
    open_panel(editor)
    go_to(editor, f"✓ pair .*{first['execution_id'][:8]}")
    editor.feed("zo")
    go_to(editor, "✓ two")
    editor.feed("f")
    form = "vim.bo.filetype == 'tideate-fork'"
    editor.wait(form)
    lines = editor.lines()
    assert lines[-2:] == ["▍ result of one", "FIRST"]
    editor.set_lines([*lines[:-1], "OTHER", "▍▍ no heading", "", "▍ no part"])
    editor.feed(":w<CR>")
    editor.wait_screen("there is no part with this heading")
    editor.lua("vim.cmd.messages('clear')")
    editor.set_lines([*lines[:4], "nobody", *lines[5:-1], "OTHER", "▍▍ no heading", ""])
    editor.feed(":w<CR>")
    editor.wait_screen("nobody")  # such an adapter there is not: the form comes again with what was written
    editor.wait(f"{form} and vim.fn.getline(5) == 'nobody'")
    editor.set_lines([*lines[:-1], "OTHER", "▍▍ no heading", ""])
    editor.feed(":w<CR>")
    newest = "require('tideate.state').runs()[1]"
    editor.wait(f"{newest}.execution_id ~= ... and {newest}.state == 'completed'", 60, first["execution_id"])
    editor.lua(f"""
        local id = {newest}.execution_id
        require('tideate.stored_runs').ask('show', {{ execution_id = id }}, function(answer)
          _G.shown = answer
        end)
    """)
    editor.wait("_G.shown")
    assert editor.lua("return _G.shown.steps[1].result") == "OTHER\n▍ no heading\n"


def test_help_names_every_key(screen: Editor) -> None:
    screen.feed("?")
    shown = "\n".join(screen.wait_screen("open or close what is below"))
    keys = "return vim.tbl_map(function(key) return key.lhs[1] end, require('tideate.ui.panel').keys())"
    for key in screen.lua(keys):
        assert f" {key} " in shown
    screen.feed("q")
    screen.wait(FOCUSED)


# -- the window ---------------------------------------------------------------------------------------


def test_the_command_opens_and_closes_the_panel_and_gives_the_focus_back(screen: Editor) -> None:
    assert screen.lua(f"return vim.fn.bufwinid({PANEL})") > 0
    screen.command("Workflow status")
    assert screen.lua(f"return {PANEL}") == -1
    assert screen.lua("return #vim.api.nvim_list_wins()") == 1
    open_panel(screen)
    screen.feed("q")
    assert screen.lua("return #vim.api.nvim_list_wins()") == 1


def test_it_is_closed_with_all_its_windows_and_opens_anew(screen: Editor) -> None:
    screen.command("split")
    screen.feed("q")
    assert screen.lua("return #vim.api.nvim_list_wins()") == 1
    assert screen.lua(f"return {PANEL}") == -1
    open_panel(screen)
    assert screen.messages() == ""


def test_of_two_windows_the_one_that_is_left_goes_on(screen: Editor) -> None:
    run = Run(screen, "one", "a")
    run.start(1)
    go_to(screen, "● a")
    first = screen.lua("return vim.api.nvim_get_current_win()")
    screen.command("split")
    other = screen.lua("return vim.api.nvim_get_current_win()")
    assert other != first
    screen.lua("vim.api.nvim_set_current_win(...)", first)
    screen.command("quit")
    assert screen.lua("return vim.api.nvim_win_is_valid(...)", other)
    run.event("NOTICE", step="a", message="goes on", level="info")
    wait_line(screen, "goes on")
    screen.lua("vim.api.nvim_set_current_win(...)", other)
    screen.command("quit")
    screen.wait("not require('tideate.ui.panel').is_visible()")
    assert screen.lua(f"return {PANEL}") == -1
    assert screen.messages() == ""


@pytest.mark.parametrize(
    ("columns", "option", "side"),
    [(80, None, False), (200, None, True), (200, "below", False), (80, "right", True)],
)
def test_it_stands_below_or_at_the_side(
    start_editor: EditorFactory, columns: int, option: str | None, side: bool
) -> None:
    editor = start_editor(ui=(columns, 40))
    if option:
        editor.lua("require('tideate').setup({ ui = { panel = ... } })", option)
    open_panel(editor)
    row, column = editor.lua("return vim.api.nvim_win_get_position(0)")
    assert (column > 0, row > 0) == (side, not side)


@pytest.mark.parametrize("command", ["status", "history", "list"])
def test_nothing_wraps_or_waits_for_enter_at_80_columns(start_editor: EditorFactory, command: str) -> None:
    editor = start_editor(ui=(80, 24))
    workflows = editor.cwd / ".tideate" / "workflows"
    workflows.mkdir(parents=True)
    (workflows / "long.yaml").write_text(f"description: {'many words ' * 30}\n{THREE}")
    for name in ("x" * 100, "漢字" * 60, "short"):
        run = Run(editor, name, "y" * 120, "語" * 70)
        run.start(1)
        run.event("TOKEN", step="y" * 120, text="z" * 500)
        run.event("NOTICE", step="y" * 120, message="n" * 300, level="info")
    editor.command(f"Workflow {command}")
    editor.wait("vim.bo.filetype:find('^tideate')")
    if command == "list":
        editor.wait_screen("many words")
    else:
        editor.wait_for(lambda: len(panel(editor)) >= 6, "the runs")
    assert not editor.blocked()
    assert editor.mode() == "n"
    assert editor.lua("return vim.wo.wrap") is False
    widest = editor.lua(
        "return vim.iter(vim.api.nvim_buf_get_lines(0, 0, -1, true)):map(vim.fn.strdisplaywidth)"
        ":fold(0, math.max)"
    )
    assert widest <= 80


def test_closing_it_while_a_run_streams_disturbs_nothing(screen: Editor) -> None:
    screen.lua(
        """
        _G.due, _G.defer_fn = 0, vim.defer_fn
        vim.defer_fn = function(call, ...)
          _G.due = _G.due + 1
          return _G.defer_fn(function() _G.due = _G.due - 1 call() end, ...)
        end
        """
    )
    run = Run(screen, "ask", "query")
    run.start(1)
    run.token("before ")
    wait_line(screen, "turn 1  before")
    screen.lua(f"vim.api.nvim_set_current_win(vim.fn.bufwinid({PANEL}))")
    run.token("meanwhile ")  # what is due is not drawn any more
    screen.feed("q")
    run.token("after")
    screen.lua("vim.defer_fn = _G.defer_fn")
    screen.wait("_G.due == 0")
    assert screen.messages() == ""
    open_panel(screen)
    wait_line(screen, "turn 1  before meanwhile after")
    screen.command("bwipeout! tideate://runs")
    run.event("WORKFLOW_COMPLETED", response="", files=[])
    open_panel(screen)
    wait_line(screen, "✓ ask")


def test_texts_of_models_and_tools_are_escaped(screen: Editor) -> None:
    run = Run(screen, "ask", "query")
    run.start(1)
    run.event("MODEL_ANSWERED", step="query", model=HOSTILE, usage={"input_tokens": 1, "output_tokens": 1})
    place = {
        "step": "query",
        "call": 1,
        "server": "",
        "tool": "read_file",
        "summary": f"read_file {HOSTILE.splitlines()[0]}",
    }
    run.event("TOOL_CALLED", **place, arguments={"path": HOSTILE})
    run.event("TOOL_COMPLETED", **place, duration_ms=1, ok=True, size=3, result=HOSTILE)
    run.event("NOTICE", step="query", message=HOSTILE, level="info")
    run.token(HOSTILE)
    wait_line(screen, r"● turn 2")

    def controls(lines: list[str]) -> list[str]:
        return re.findall(r"[\x00-\x08\x0b-\x1f\x7f\u200b\u202a-\u202e]", "\n".join(lines))

    assert controls(panel(screen)) == []
    assert r"\x1b[2J" in "\n".join(panel(screen))
    go_to(screen, "read_file ")
    screen.feed("<CR>")
    screen.wait("vim.fn.search('result:', 'nw') > 0")
    assert controls(screen.lines()) == []


def test_the_words_that_were_searched_for_stand_below_their_run_escaped_and_in_its_width(
    screen: Editor,
) -> None:
    screen.lua(
        """
        local match = ...
        require('tideate.stored_runs').ask = function(_, params, on_result, on_end)
          local run = { execution_id = ('a'):rep(32), workflow = 'ask', kind = 'graph', state = 'completed',
            started_at = 0, completed_steps = 1, failed_steps = 0, total_steps = 1, prompt = 'words',
            files = {}, usage = {}, match = params.filter ~= '' and match or nil }
          on_end({ ok = true })
          on_result({ ok = true, runs = { run }, more = false })
        end
        """,
        HOSTILE.replace("\n", " "),
    )
    open_panel(screen, "Workflow history evil")
    match = wait_line(screen, "evil")
    run, below = panel(screen)
    assert below == match
    assert "✓ ask" in run
    assert r"\x1b[2J" in below
    assert re.findall(r"[\x00-\x1f\x7f\u200b\u202a-\u202e]", below) == []
    assert screen.lua("return vim.fn.strdisplaywidth(...) <= vim.api.nvim_win_get_width(0)", below)
    open_panel(screen, "Workflow history")
    wait_no_line(screen, "evil")
    assert len(panel(screen)) == 1


def test_a_killed_neovims_run_is_interrupted_and_goes_on_from_the_panel(
    start_editor: EditorFactory, server: ModelServer, held: tuple[Editor, Gate, str]
) -> None:
    first, gate, identity = held
    kill(first)
    gate.wait_disconnected()
    server.answers("say one", "FIRST")
    editor = second(start_editor, first, server)
    open_panel(editor)
    go_to(editor, "⊘ pair  interrupted 0/2")
    editor.feed("p")
    editor.wait("(require('tideate').get_status(...) or {}).state == 'completed'", 60, identity)
    wait_line(editor, "✓ pair")
