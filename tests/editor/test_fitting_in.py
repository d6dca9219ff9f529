"""Runs in statusline, winbar and signs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.harness.events import Run

if TYPE_CHECKING:
    from tests.harness.editor import Editor, EditorFactory

STATUSLINE = "return require('tideate').statusline(...)"
HOSTILE = "%{execute('let g:done = 1')}%#Error#100%"
"""A name that a statusline would carry out."""
DIAGNOSTICS = 10
"""The priority of their signs, unless a person sets another."""
KEYS = """
return vim.iter({ 'n', 'x', 's', 'o', 'i', 'c', 't' }):map(function(mode)
  return vim.tbl_map(function(one) return mode .. one.lhs end, vim.api.nvim_get_keymap(mode))
end):totable()
"""
DRAWN = "return vim.api.nvim_eval_statusline(..., { winid = vim.api.nvim_get_current_win() }).str"
SIGNS = """
local ns = vim.api.nvim_get_namespaces()['tideate.ranges']
return vim.iter(vim.api.nvim_buf_get_extmarks(0, ns, 0, -1, { details = true })):map(function(mark)
  return mark[4].sign_text and { mark[2] + 1, mark[4].end_row + 1, mark[4].sign_text }
end):totable()
"""
START = """
require('tideate.client').request = function(method, params)
  _G.asked = method == 'run' and params or _G.asked
end
require('tideate').run('refactor', { prompt = 'x', context = require('tideate.context').capture({ 2, 3 }) })
"""


def dispatch(editor: Editor, name: str, /, **data: Any) -> None:
    """Dispatch an event of the run started by `START`."""
    code = "local name, data = ... require('tideate.events').dispatch({"
    code += " name = 'SD_EVENT_' .. name, execution_id = _G.asked.execution_id, at = 0, data = data })"
    editor.lua(code, name, data or {"none": True})


def begin(editor: Editor) -> None:
    """Run a workflow on the second and third line, with a screen that does not follow it."""
    editor.lua("require('tideate.ui').on_event = function() end")
    editor.lua(START)
    dispatch(editor, "WORKFLOW_STARTED", name="refactor", steps=["analyze", "refactor"])
    dispatch(editor, "STEP_STARTED", step="analyze", index=1, total=2)


def test_the_statusline_has_all_runs_that_fit_and_the_number_of_the_rest(editor: Editor) -> None:
    for name in ("a", "bb", "ccc"):
        Run(editor, name)
    assert editor.lua(STATUSLINE, {"width": 80}) == "3 runs: ccc 1/2, bb 1/2, a 1/2"
    assert editor.lua(STATUSLINE, {"width": 30}) == "3 runs: ccc 1/2, bb 1/2, a 1/2"
    assert editor.lua(STATUSLINE, {"width": 29}) == "3 runs: ccc 1/2, bb 1/2 +1"
    assert editor.lua(STATUSLINE, {"width": 25}) == "3 runs: ccc 1/2 +2"
    assert editor.lua(STATUSLINE, {"width": 1}) == "3 runs: ccc 1/2 +2", "one is always named"


def test_a_name_is_shown_and_never_carried_out(editor: Editor) -> None:
    editor.set_lines(["1", "2", "3"])
    editor.lua(
        "package.preload['lualine.component'] = function() return { extend = function() return {} end } end"
    )
    begin(editor)
    dispatch(editor, "TOOL_CALLED", step="analyze", call="1", tool=HOSTILE, number=1, arguments={})
    for line in (
        "return require('lualine.components.tideate').update_status({})",
        "return require('tideate').statusline({ escape = true })",
        "return require('tideate').winbar()",
    ):
        assert HOSTILE in editor.lua(DRAWN, editor.lua(line))
        assert editor.lua("return vim.g.done") is None
    for item in ("%{v:lua.require'tideate'.statusline()}", "%{%v:lua.require'tideate'.winbar()%}"):
        assert HOSTILE in editor.lua(DRAWN, item)
        assert editor.lua("return vim.g.done") is None


def test_the_winbar_has_the_runs_of_its_buffer(editor: Editor) -> None:
    editor.set_lines(["1", "2", "3"])
    bar = "%{%v:lua.require'tideate'.winbar()%}"
    assert editor.lua(DRAWN, bar) == ""
    begin(editor)
    Run(editor, "elsewhere")
    assert editor.lua(DRAWN, bar) == "● refactor 1/2 analyze"
    dispatch(editor, "CONFIRMATION_REQUIRED", kind="review", message="?")
    assert editor.lua(DRAWN, bar) == "? refactor 1/2 analyze (confirming)", "readable without its colour"
    editor.command("new")
    assert editor.lua(DRAWN, bar) == ""
    editor.command("wincmd p")
    dispatch(editor, "WORKFLOW_CANCELLED", reason="cancelled")
    assert editor.lua(DRAWN, bar) == ""


def test_lines_have_signs_while_a_run_works_on_them(start_editor: EditorFactory) -> None:
    editor = start_editor(ui=(60, 12))
    editor.set_lines(["one", "two", "three", "four"])
    begin(editor)
    assert editor.lua(SIGNS) == [[2, 3, "▸ "]]
    screen = editor.wait_screen("▸ three")
    assert [line.strip() for line in screen[:4]] == ["one", "▸ two", "▸ three", "four"]
    editor.feed("ggOtyped<Esc>")
    assert editor.lua(SIGNS) == [[3, 4, "▸ "]], "they follow their lines"
    editor.feed("4GOtyped<Esc>")
    assert editor.lua(SIGNS) == [[3, 5, "▸ "]], "above the last one, too"
    dispatch(editor, "WORKFLOW_COMPLETED", response="", files=[])
    assert editor.lua(SIGNS) == []
    editor.lua("require('tideate').setup({ signs = false })")
    begin(editor)
    assert editor.lua(SIGNS) == []


RELOADED = {
    "a line comes above": ("zero\none\ntwo\nthree\nfour\n", [3, 4]),
    "lines come above, within and below": ("0\n0\none\ntwo\n2.5\nthree\n4\nfour\n", [4, 6]),
    "a line goes above": ("two\nthree\nfour\n", [1, 2]),
    "a marked line goes": ("one\nthree\nfour\n", [2, 2]),
    "a marked line and the one above change": ("ONE\nTWO\nthree\nfour\n", [2, 3]),
    "the marked lines go": ("one\nfour\n", [2, 2]),
    "nothing is left": ("", [1, 1]),
}


def test_signs_follow_their_lines_when_the_file_changes_on_disk(editor: Editor) -> None:
    ways = [("checktime", case) for case in RELOADED]
    ways += [(how, case) for how in ("edit!", "new | bunload # | edit # ") for case in list(RELOADED)[1:3]]
    for number, (how, case) in enumerate(ways):
        text, wanted = RELOADED[case]
        editor.edit(f"{number}.txt", "first\none\ntwo\nthree\n")
        begin(editor)
        editor.feed("ggddGofour<Esc>")
        editor.command("write")
        assert editor.lua(SIGNS) == [[1, 2, "▸ "]]
        editor.lua("""
          require('tideate.client').request = function(method, params) _G.asked = params end
          local context = require('tideate.context').capture({ 2, 3 })
          require('tideate').run('refactor', { prompt = 'x', context = context })
        """)
        editor.write(f"{number}.txt", text)
        editor.command(how)
        assert max(editor.lua(SIGNS)) == [*wanted, "▸ "], (how, case)
        editor.feed("ggOtyped<Esc>")
        assert max(editor.lua(SIGNS)) == [wanted[0] + 1, wanted[1] + 1, "▸ "], (how, case)
        editor.command("write")


def test_a_sign_leaves_room_for_those_of_other_plugins(editor: Editor) -> None:
    """The sign's priority is above signs of changed lines (gitsigns: 6) and below diagnostics (10)."""
    editor.set_lines(["one", "two", "three", "four"])
    editor.lua("""
      local ns = vim.api.nvim_create_namespace('others')
      vim.api.nvim_buf_set_extmark(0, ns, 1, 0, { sign_text = '┃', priority = 6 })
    """)
    begin(editor)
    marks = "vim.api.nvim_buf_get_extmarks(0, -1, {1, 0}, {1, -1}, { details = true, type = 'sign' })"
    best = f"local m = {marks} table.sort(m, function(a, b) return a[4].priority > b[4].priority end)"
    sign = editor.lua(f"{best} return m[1][4]")
    assert sign["sign_text"] == "▸ "
    assert sign["priority"] < DIAGNOSTICS


def test_asking_for_a_line_loads_nothing_before_something_runs(editor: Editor) -> None:
    lines = editor.lua("return { require('tideate').statusline(), require('tideate').winbar() }")
    ours = "vim.tbl_filter(function(name) return name:find('^tideate') end, vim.tbl_keys(package.loaded))"
    assert editor.lua(f"return {ours}") == ["tideate"]
    assert lines == ["", ""]


def test_no_key_is_mapped_outside_of_our_buffers_and_each_of_ours_is_described(editor: Editor) -> None:
    editor.lua("""
      _G.undescribed = {}
      local set = vim.keymap.set
      vim.keymap.set = function(modes, lhs, rhs, opts)
        local ours = debug.getinfo(2, 'S').source:find('lua/tideate/', 1, true)
        if ours and not (opts and opts.buffer and opts.desc) then
          table.insert(_G.undescribed, lhs)
        end
        return set(modes, lhs, rhs, opts)
      end
    """)
    before = editor.lua(KEYS)
    editor.edit("a.py", "A = 1\n")
    run = Run(editor)
    run.start(1)
    editor.command("Workflow output")
    editor.command("Workflow status")
    editor.command("Workflow")
    editor.feed("q")
    editor.command("Workflow ask")
    editor.feed("<Esc>q")
    assert editor.lua("return _G.undescribed") == []
    assert editor.lua(KEYS) == before
    plugs = "vim.tbl_filter(function(one) return one.lhs:find('tideate') end, vim.api.nvim_get_keymap('n'))"
    found = editor.lua(f"return vim.tbl_map(function(one) return one.desc or '' end, {plugs})")
    assert len(found) > 10
    assert [text for text in found if not text.startswith("tideate: ")] == []


def test_groups_are_links_to_standard_ones_that_a_person_may_set(editor: Editor) -> None:
    """All groups link to standard groups: every colour scheme is enough."""
    editor.lua("vim.api.nvim_set_hl(0, 'TideateFailed', { link = 'Search' })")
    editor.lua("require('tideate.ui.highlights').define()")
    links = editor.lua("return require('tideate.ui.highlights').links")
    shown = editor.lua(
        "return vim.tbl_map(function(group) return vim.api.nvim_get_hl(0, { name = group }).link end, ...)",
        sorted(links),
    )
    assert dict(zip(sorted(links), shown, strict=True)) == {**links, "TideateFailed": "Search"}
    exists = "return vim.tbl_filter(function(name) return vim.fn.hlexists(name) == 0 end, ...)"
    assert editor.lua(exists, sorted(set(links.values()))) == []


def test_states_are_told_apart_without_colours(editor: Editor) -> None:
    run = {"name": "ask", "step": 0, "total_steps": 1, "elapsed_ms": 5, "steps": []}
    marks = {"starting": "…", "paused": "‖", "completed": "✓", "failed": "✗", "cancelled": "⊘"}
    for state, mark in marks.items():
        title = editor.lua("return require('tideate.ui.progress').title(...)", {**run, "state": state})
        assert mark in "".join(chunk[0] for chunk in title)
