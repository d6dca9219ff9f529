"""Panel of runs: live tree, folds, redrawn lines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.editor.test_run_views import second
from tests.harness.events import Run
from tests.harness.panel import (
    FOCUSED,
    PANEL,
    go_to,
    open_panel,
    opens,
    panel,
    wait_line,
    wait_no_line,
)
from tests.harness.runs import configure, result, start
from tests.harness.work import lua_work_of
from tideate_core.machines.diagrams import lane_rows

if TYPE_CHECKING:
    from tests.harness.editor import Editor, EditorFactory
    from tests.harness.model_server import ModelServer

pytestmark = pytest.mark.slow

WIDE = """
steps:
  - id: last
    task: say last
    dependencies: [left, right]
  - id: left
    task: say left
    dependencies: [first]
  - id: right
    task: say right
    dependencies: [first]
  - id: first
    task: say first
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

GROW = """
local id, count = ...
for number = 0, count - 1 do
  local data = { step = 's' .. number, text = 'grows' }
  require('tideate.events').dispatch({ name = 'SD_EVENT_TOKEN', execution_id = id, at = 0, data = data })
end
"""
STOP_THE_CLOCK = "local now = vim.uv.now() vim.uv.now = function() return now end"


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
    opens(screen, "● turn 1", "half an ans", "after the end of the step")


def test_steps_side_by_side_stand_beside_lanes_that_pass_what_is_below_them(screen: Editor) -> None:
    lanes = lane_rows(
        [["first"], ["left", "right"], ["last"]],
        [("first", "left"), ("first", "right"), ("left", "last"), ("right", "last")],
    )
    rows = {step: row._asdict() for step, row in lanes.items()}
    run = Run(screen, "wide", *lanes, lanes=rows)
    wait_line(screen, r"^ {4}○     first")
    run.start(1)
    run.complete(1)
    run.start(2)
    run.start(3)
    run.event("TOKEN", step="left", text="words")
    run.event("TOKEN", step="right", text="words")
    wait_line(screen, r"● turn 1  words")
    wait_line(screen, r"^  ▾ ╰─●─┤ right")
    shown = [line.split("  ")[0] if line[:1] != " " else line[:24].rstrip() for line in panel(screen)]
    assert shown[1:] == [
        "    ✓     first",
        "  ▾ ├─●─╮ left",
        "    │   │   ● turn 1  wo",
        "  ▾ ╰─●─┤ right",
        "        │   ● turn 1  wo",
        "        ○ last",
    ]
    for number in (2, 3):
        run.complete(number)
    run.start(4)
    wait_line(screen, "^ {8}● last")
    wait_line(screen, "^  ▸ ├─✓─╮ left")


def test_what_a_step_needs_stands_behind_it_where_there_is_no_lane(screen: Editor) -> None:
    hostile = f"a{chr(27)}[2J{chr(0x202E)}"
    lane = {"before": "", "after": "  ", "below": "   ", "words": f"← {hostile}"}
    Run(screen, "wide", "one", "two", lanes={"two": lane})
    assert re.search(r"○   two  ← a\\x1b\[2J\S+$", wait_line(screen, "○ +two"))
    wait_line(screen, "^ {4}○ one")  # a step that the start did not announce has none


def test_the_lanes_of_a_run_are_the_same_while_it_runs_and_in_the_next_neovim(
    start_editor: EditorFactory, server: ModelServer
) -> None:
    editor = start_editor(ui=(80, 24))
    editor.write(".tideate/workflows/wide.yaml", WIDE)
    configure(editor, server)
    gate = server.holds("say left", text="LEFT", times=1)
    for step in ("first", "right", "last"):
        server.answers(f"say {step}", step.upper())
    start(editor, "wide", "go")
    gate.wait_started()
    open_panel(editor)
    wait_line(editor, r"^  . ├─●─╮ left")
    wait_line(editor, r"^  . ╰─✓─┤ right")
    wait_line(editor, r"^ {8}○ last")
    gate.release()
    assert result(editor)["ok"]
    editor.quit()
    later = second(start_editor, editor, server)
    open_panel(later)
    go_to(later, "✓ wide")
    later.feed("zo")
    wait_line(later, r"^  . ├─✓─╮ left")
    steps = [line[4:14].rstrip() for line in panel(later)[1:]]
    assert steps == ["✓     firs", "├─✓─╮ left", "╰─✓─┤ righ", "    ✓ last"]


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
    assert screen.lua(f"return require('tideate.ui.output').is_visible() and {FOCUSED}")
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
    screen.lua(STOP_THE_CLOCK)
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
    screen.lua(STOP_THE_CLOCK)  # times that change are changes of their own, on other lines
    run = Run(screen, "wide", *(f"s{number}" for number in range(60)))
    for number in range(1, 61):
        run.start(number)
        run.event("TOKEN", step=f"s{number - 1}", text="begins ")
    screen.wait_for(lambda: sum("begins" in line for line in panel(screen)) == 60, "a turn of every step")
    screen.wait("not require('tideate.client').busy()")  # an answer of the store builds all anew
    screen.lua("""
        local tree, text = require('tideate.ui.panel.tree'), require('tideate.ui.text')
        _G.built, _G.written, _G.changes, _G.drawings = 0, {}, 0, 0
        local rows, splice = tree.rows, text.splice
        local drawing = require('tideate.ui.panel.drawing')
        local touch = drawing.touch
        drawing.touch = function(...) _G.drawings = _G.drawings + 1 touch(...) end
        tree.rows = function(...) _G.built = _G.built + 1 return rows(...) end
        text.splice = function(buf, ns, first, last, lines)
          _G.changes = _G.changes + 1
          for row = first, first + #lines - 1 do _G.written[tostring(row)] = true end
          splice(buf, ns, first, last, lines)
        end
    """)
    # at once: one drawing has them all, not the run's count and a single step far below it
    screen.lua(GROW, run.id, 60)
    wait_line(screen, "begins grows")
    height = screen.lua(f"return vim.api.nvim_win_get_height(vim.fn.bufwinid({PANEL}))")
    assert screen.lua("return _G.built") == 0
    assert 0 < len(screen.lua("return vim.tbl_keys(_G.written)")) <= height
    # lines near each other are one change of the buffer
    assert 0 < screen.lua("return _G.changes") <= screen.lua("return _G.drawings")
    run.event("MODEL_ANSWERED", step="s0", model="m", usage={"input_tokens": 1, "output_tokens": 1})
    wait_line(screen, "✓ turn 1  m  begins grows")
    assert screen.lua("return _G.built") > 0
    run.event("TOKEN", step="s0", text="another turn")  # one that the tree does not have yet
    wait_line(screen, "● turn 2  another turn")


# -- folds --------------------------------------------------------------------------------------------


@pytest.fixture
def opened(screen: Editor) -> Editor:
    """Show a run with a turn and a tool call, with the cursor on the run."""
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


def test_keys_open_and_close_what_is_below(opened: Editor) -> None:
    for key in ("<Tab>", "za"):
        opened.feed(key)
        assert len(panel(opened)) == 1
        opened.feed(key)
        assert len(panel(opened)) == 4
    opened.feed("G")
    assert "search x" in opened.lua("return vim.api.nvim_get_current_line()")
    for keys, left in (("zc", 3), ("zczc", 1), ("zo", 2), ("zR", 4), ("zM", 1)):
        opened.feed(keys)
        assert len(panel(opened)) == left, keys
    Run(opened, "other", "a")
    wait_line(opened, "other")
    assert not any("turn 1" in line for line in panel(opened)), "all stays closed"
