"""Panel of runs: window, width, untrusted texts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.harness.events import Run
from tests.harness.panel import (
    PANEL,
    go_to,
    open_panel,
    panel,
    wait_line,
    wait_no_line,
)
from tests.harness.runs import PAIR

if TYPE_CHECKING:
    from tests.harness.editor import Editor, EditorFactory

pytestmark = pytest.mark.slow

HOSTILE = "\x1b[2J\x07 \u202eevil\u202c \u200b\nsecond line\r" + "x" * 300


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
def test_nothing_wraps_or_waits_for_enter_at_80_columns(small_editor: Editor, command: str) -> None:
    workflows = small_editor.cwd / ".tideate" / "workflows"
    workflows.mkdir(parents=True)
    (workflows / "long.yaml").write_text(f"description: {'many words ' * 30}\n{PAIR}")
    for name in ("x" * 100, "漢字" * 60, "short"):
        run = Run(small_editor, name, "y" * 120, "語" * 70)
        run.start(1)
        run.event("TOKEN", step="y" * 120, text="z" * 500)
        run.event("NOTICE", step="y" * 120, message="n" * 300, level="info")
    small_editor.command(f"Workflow {command}")
    small_editor.wait("vim.bo.filetype:find('^tideate')")
    if command == "list":
        small_editor.wait("vim.fn.search('many words', 'w') > 0")
        small_editor.wait_screen("many words")
    else:
        small_editor.wait_for(lambda: len(panel(small_editor)) >= 6, "the runs")
    assert not small_editor.blocked()
    assert small_editor.mode() == "n"
    assert small_editor.lua("return vim.wo.wrap") is False
    widest = small_editor.lua(
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
            files = {}, usage = {}, compared = { 'small', 'large' },
            match = params.filter ~= '' and match or nil }
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
    assert "⇄ small, large words" in run
    assert r"\x1b[2J" in below
    assert re.findall(r"[\x00-\x1f\x7f\u200b\u202a-\u202e]", below) == []
    assert screen.lua("return vim.fn.strdisplaywidth(...) <= vim.api.nvim_win_get_width(0)", below)
    open_panel(screen, "Workflow history")
    wait_no_line(screen, "evil")
    assert len(panel(screen)) == 1
