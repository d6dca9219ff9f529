"""`:Workflow guard` and `:Workflow land`: a guarded program in a terminal window, its review, its panel row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.harness.panel import open_panel

if TYPE_CHECKING:
    from tests.harness.editor import Editor

pytestmark = pytest.mark.slow


@pytest.fixture
def nvim(small_editor: Editor) -> Editor:
    small_editor.write("pyproject.toml", "")
    small_editor.write("a.py", "A = 1\nB = 2\nC = 3\nD = 4\n")
    return small_editor


def test_the_program_sees_unsaved_changes_and_its_own_are_reviewed(nvim: Editor) -> None:
    nvim.command("edit a.py")
    nvim.lua("vim.api.nvim_buf_set_lines(0, 3, 4, false, { 'D = 5' })")
    nvim.command("Workflow guard sh -c 'grep D a.py; sed -i s/A/AA/ a.py; echo waits; read x'")
    nvim.wait_screen("D = 5")
    nvim.wait_screen("waits")
    assert nvim.read("a.py") == "A = 1\nB = 2\nC = 3\nD = 4\n"
    nvim.feed("<C-\\><C-n>")
    nvim.feed("gl")
    nvim.wait("vim.api.nvim_buf_get_name(0):find('a.py') ~= nil")
    nvim.feed("gA")
    nvim.feed("g<CR>")
    nvim.wait_for(lambda: nvim.lua("return vim.fn.getbufline('a.py', 1)[1]") == "AA = 1", "the landed change")
    assert nvim.lua("return vim.fn.getbufline('a.py', 4)[1]") == "D = 5"


def test_the_end_of_the_program_opens_the_review(nvim: Editor) -> None:
    nvim.command("Workflow guard sh -c 'sed -i s/A/AA/ a.py'")
    nvim.wait_screen("AA = 1")


def test_a_program_without_changes_says_so(nvim: Editor) -> None:
    nvim.command("Workflow guard sh -c 'exit 3'")
    nvim.wait_screen("changed no file (exit status 3)")


def test_a_session_is_in_the_panel_and_discarded_after_a_question(nvim: Editor) -> None:
    nvim.command("Workflow guard sh -c 'echo new > new.py; echo waits; read x'")
    nvim.wait_screen("waits")
    nvim.feed("<C-\\><C-n>")
    open_panel(nvim)
    nvim.wait_screen("guard sh")
    nvim.wait_screen("running")
