"""Panel of runs: opening and copying lines of live and stored runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.editor.test_run_views import second
from tests.harness.events import Run
from tests.harness.panel import (
    FOCUSED,
    PANEL,
    ask_with_a_call,
    go_to,
    open_panel,
    opens,
    panel,
    unfold,
    wait_line,
    wait_no_line,
)

if TYPE_CHECKING:
    from tests.harness.editor import Editor, EditorFactory
    from tests.harness.model_server import ModelServer

pytestmark = pytest.mark.slow


@pytest.fixture
def looked(small_editor: Editor, server: ModelServer) -> Editor:
    """An editor with an open panel and an unfolded run, in which a model read a file and answered."""
    ask_with_a_call(small_editor, server)
    small_editor.feed("q")
    open_panel(small_editor)
    unfold(small_editor)
    return small_editor


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
    opens(screen, "● turn 1", "### Reasoning", "First this.", "half an ans", "after the end of the step")


def test_enter_on_an_error_leads_to_its_place_in_the_project(screen: Editor) -> None:
    screen.write("b.py", "one = 1\ntwo = = 2\n")
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


def test_enter_on_a_changed_file_or_buffer_opens_it(screen: Editor) -> None:
    screen.write("b.py", "x\n")
    number = screen.lua("return vim.api.nvim_create_buf(true, false)")
    run = Run(screen, "ask", "query")
    run.event("WORKFLOW_COMPLETED", response="", files=["b.py", f"buffer {number}"])
    go_to(screen, "✓ ask")
    screen.feed("zo")
    go_to(screen, r"· b\.py")
    screen.feed("<CR>")
    screen.wait("vim.api.nvim_buf_get_name(0):find('/b.py$')")
    screen.command("enew")
    line = panel(screen).index(wait_line(screen, r"· b\.py")) + 1
    screen.double_click(screen.lua(f"return {PANEL}"), line)
    screen.wait("vim.api.nvim_buf_get_name(0):find('/b.py$')")
    screen.lua(f"vim.api.nvim_set_current_win(vim.fn.bufwinid({PANEL}))")
    go_to(screen, rf"· buffer {number}\b")
    screen.feed("<CR>")
    screen.wait("vim.api.nvim_get_current_buf() == ...", 60, number)
    assert screen.lua("return vim.api.nvim_buf_get_name(0)") == ""


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


def test_a_place_is_looked_for_in_the_beginning_of_an_error_and_in_short_words_only(screen: Editor) -> None:
    screen.write("b.py", "one\ntwo\n")

    def place(text: str) -> list[int] | None:
        """Return the line and the column, without a pattern that takes hours on a megabyte without spaces."""
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


def test_y_copies_what_is_under_the_cursor(looked: Editor) -> None:
    for pattern, text in (
        ("✓ turn 2", "It is 41."),
        ("read_file b.py", "b.py, 1 line\nVALUE_OF_B = 41"),
        ("✓ query", "It is 41."),
    ):
        looked.lua("vim.fn.setreg('\"', '')")
        go_to(looked, pattern)
        looked.feed("y")
        assert looked.wait("vim.fn.getreg('\"') ~= '' and vim.fn.getreg('\"')") == text
    go_to(looked, "✓ ask")
    looked.feed('"ay')
    assert re.fullmatch("[0-9a-f]{32}", looked.lua("return vim.fn.getreg('a')"))
