"""`:Workflow guard` and `:Workflow land`: a program in a terminal window, its review, its row."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.harness.dialogs import wait_focused
from tests.harness.panel import open_panel

if TYPE_CHECKING:
    from tests.harness.editor import Editor

pytestmark = pytest.mark.slow

TIDEATE = "from tideate_core.cli.main import main; main()"
BEFORE = "A = 1\nB = 2\nC = 3\nD = 4\n"


@pytest.fixture
def nvim(small_editor: Editor) -> Editor:
    small_editor.write("pyproject.toml", "")
    small_editor.write("a.py", BEFORE)
    return small_editor


def accept_all(nvim: Editor) -> None:
    """Wait until the review has the focus; accept and finish."""
    nvim.wait_screen("hunk 1/1")
    wait_focused(nvim)
    nvim.feed("gA")
    nvim.wait_screen("0 open")
    nvim.feed("g<CR>")


def test_the_program_sees_unsaved_changes_and_its_own_are_reviewed_while_it_runs(nvim: Editor) -> None:
    nvim.command("edit a.py")
    nvim.lua("vim.api.nvim_buf_set_lines(0, 3, 4, false, { 'D = 5' })")
    nvim.command(
        "Workflow guard sh -c 'grep D a.py; sed -i s/A/AA/ a.py; echo waits; read x; cat a.py; read x'"
    )
    nvim.wait_screen("waits")
    assert "D = 5" in nvim.screen()[12:][0]
    assert nvim.read("a.py") == BEFORE
    nvim.feed("<C-\\><C-n>")
    nvim.feed("gl")
    accept_all(nvim)
    nvim.wait("vim.fn.getbufline('a.py', 1)[1] == 'AA = 1'")
    assert nvim.lua("return vim.fn.getbufline('a.py', 4)[1]") == "D = 5"
    assert nvim.read("a.py") == BEFORE


def test_the_end_of_the_program_opens_the_review_and_closes_its_window(nvim: Editor) -> None:
    nvim.command("edit a.py")
    nvim.command("Workflow guard sh -c 'sed -i s/A/AA/ a.py'")
    nvim.wait_screen("hunk 1/1")
    assert nvim.lua("return #vim.fn.filter(vim.fn.getwininfo(), 'v:val.terminal')") == 0
    accept_all(nvim)
    nvim.wait_for(lambda: nvim.read("a.py") == BEFORE.replace("A", "AA"), "the landed file")


def test_a_program_without_changes_says_so_and_a_failed_one_stays_visible(nvim: Editor) -> None:
    nvim.command("Workflow guard sh -c 'echo why; exit 3'")
    nvim.wait_screen("changed no file (exit status 3)")
    assert any("why" in line for line in nvim.screen())


def test_a_command_that_cannot_run_is_refused(nvim: Editor) -> None:
    nvim.command("Workflow guard sh -c 'open")
    nvim.wait_screen("No closing quotation")
    nvim.command("Workflow guard no-such-program")
    nvim.wait_screen("no directory of PATH has it")
    nvim.command("Workflow guard")
    nvim.wait_screen("name the program to guard")


def test_a_session_in_the_panel_is_discarded_after_a_question(nvim: Editor) -> None:
    nvim.command("Workflow guard sh -c 'echo new > new.py; echo waits; read x'")
    nvim.wait_screen("waits")
    nvim.feed("<C-\\><C-n>")
    open_panel(nvim)
    nvim.wait_screen("running")
    nvim.feed("gg")
    nvim.feed("c")
    nvim.wait_screen("is still running; end it first")
    nvim.lua("vim.fn.jobstop(vim.bo[vim.fn.bufnr('guard/sh')].channel)")
    nvim.wait_screen("waiting")
    nvim.wait_screen("confirming")
    nvim.command("Workflow cancel")
    nvim.wait_screen("cancelled")
    nvim.feed("gg")
    nvim.feed("c")
    nvim.wait_screen("Discard the session")
    nvim.feed("d")
    nvim.wait_screen("- new.py")
    nvim.feed("y")
    nvim.wait("vim.fn.search('guard sh', 'nw') == 0")
    assert not (nvim.cwd / "new.py").exists()


def test_the_panel_with_the_focus_shows_what_other_processes_did(nvim: Editor) -> None:
    def guard(*words: str) -> None:
        nvim.lua("_G.out = vim.fn.system(...)", [sys.executable, "-c", TIDEATE, "guard", *words])

    open_panel(nvim)
    guard("--later", "sh", "-c", "echo new > new.py")
    assert not any("guard sh" in line for line in nvim.screen())
    nvim.command("doautocmd FocusGained")
    nvim.wait_screen("guard sh")
    guard("discard", "--yes")
    nvim.command("wincmd p")
    nvim.command("wincmd p")
    nvim.wait("vim.fn.search('guard sh', 'nw') == 0")


def test_the_program_of_a_session_runs_again_in_its_copy(nvim: Editor) -> None:
    nvim.command("Workflow guard sh -c 'echo new >> new.py; echo has $(wc -l < new.py); exit 3'")
    nvim.wait_screen("has 1")
    nvim.wait_screen("exited 3")
    nvim.wait("#require('tideate.state').active() == 1")
    nvim.command("Workflow cancel")
    nvim.wait("#require('tideate.state').active() == 0")
    open_panel(nvim)
    nvim.feed("gg")
    nvim.feed("p")
    nvim.wait_screen("has 2")
    assert nvim.lua("return #vim.fn.filter(vim.fn.getwininfo(), 'v:val.terminal')") == 1


def test_a_program_is_run_again_from_the_panel_in_a_window_with_its_own_bar(nvim: Editor) -> None:
    nvim.command("Workflow guard sh -c 'echo new >> new.py; echo waits; read x'")
    nvim.wait_screen("waits")
    nvim.feed("<CR>")
    nvim.wait_screen("create · 1 open")
    wait_focused(nvim)
    nvim.feed("q")
    nvim.wait_screen("land waits")
    open_panel(nvim)
    nvim.feed("gg")
    nvim.feed("p")
    nvim.wait("vim.fn.mode() == 't'")
    nvim.wait_screen("  running")
    nvim.wait("vim.wo.winbar:find('guarded sh')")


def test_a_review_that_was_left_opens_again_with_its_decisions(nvim: Editor) -> None:
    nvim.command("Workflow guard sh -c 'echo 1 > one.py; echo 2 > two.py; echo waits; read x'")
    nvim.wait_screen("waits")
    nvim.feed("<C-\\><C-n>")
    nvim.command("Workflow land")
    nvim.wait_screen("2 open")
    wait_focused(nvim)
    nvim.feed("ga")
    nvim.wait_screen("1 open")
    nvim.feed("q")
    nvim.wait_screen("land waits")
    nvim.wait("#require('tideate.state').active() == 0")
    nvim.command("Workflow land")
    nvim.wait_screen("1 open")
    assert nvim.lua("return #require('tideate.state').runs()") == 1


def test_of_several_sessions_one_is_chosen_to_land(nvim: Editor) -> None:
    nvim.lua("vim.ui.select = function(items, opts, on_choice) _G.asked = { items, opts, on_choice } end")
    for name in ("first", "second"):
        nvim.command(f"Workflow guard sh -c 'echo {name} > {name}.py'")
        nvim.wait_screen(f"+ {name}")
        wait_focused(nvim)
        nvim.feed("q")
        nvim.wait_screen("land waits")
        nvim.command("messages clear")
    nvim.command("Workflow land")
    nvim.wait("_G.asked ~= nil")
    shown = nvim.lua("return vim.tbl_map(_G.asked[2].format_item, _G.asked[1])")
    assert ["first" in line for line in shown] == [False, True]
    nvim.lua("_G.asked[3](_G.asked[1][2])")
    nvim.wait_screen("+ first")


def test_landing_again_shows_the_open_review(nvim: Editor) -> None:
    nvim.command("edit a.py")
    nvim.command("Workflow guard sh -c 'sed -i s/A/AA/ a.py; echo waits; read x'")
    nvim.wait_screen("waits")
    nvim.feed("<C-\\><C-n>")
    nvim.feed("gl")
    nvim.wait_screen("hunk 1/1")
    wait_focused(nvim)
    nvim.command("wincmd j")
    nvim.command("Workflow land")
    nvim.wait("vim.fn.expand('%:t') == 'a.py'")
    nvim.feed("gAg<CR>")
    nvim.wait_for(lambda: nvim.read("a.py") == BEFORE.replace("A", "AA"), "the landed file")
