"""Output window: content, undisturbed windows, speed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.harness.dialogs import gate, wait_focused
from tests.harness.events import Run

if TYPE_CHECKING:
    from tests.harness.editor import Editor, EditorFactory


def current(editor: Editor) -> int:
    return int(editor.lua("return vim.api.nvim_get_current_win()"))


def test_text_arrives_under_its_step(editor: Editor) -> None:
    run = Run(editor)
    run.start(1)
    run.token("It calls ")
    run.token("itself.\nTwice.")
    run.complete(1)
    run.start(2)
    run.token("done")
    run.complete(2)
    run.event("WORKFLOW_COMPLETED", response="done", files=["a.py"])
    assert run.text() == "\n".join(
        [
            "# refactor",
            "",
            "> make it iterative",
            "",
            "## analyze",
            "",
            "It calls itself.",
            "Twice.",
            "",
            "## refactor",
            "",
            "done",
            "",
            "---",
            "",
            "**Done.** Changed: `a.py`",
        ]
    )
    assert editor.lua("return vim.bo[...].filetype", run.buffer) == "markdown"
    editor.wait(f"vim.treesitter.highlighter.active[{run.buffer}] ~= nil")
    assert editor.lua("return vim.bo[...].modifiable", run.buffer) is False
    assert (
        editor.lua("return vim.api.nvim_buf_get_name(...)", run.buffer) == f"tideate://refactor/{run.id[:8]}"
    )


def test_a_notice_waits_for_the_end_of_the_line_that_is_streamed(editor: Editor) -> None:
    run = Run(editor)
    run.start(1)
    run.token("It calls it")
    run.event("NOTICE", step="analyze", message="slow", level="warn")
    run.token("self.\nTwi")
    run.event("NOTICE", step="analyze", message="slower", level="info")
    run.token("ce.")
    run.complete(1)
    text = run.text()
    assert "\n\nIt calls itself.\n\n> **Warning:** slow\n\nTwice.\n\n> slower" in text


def test_a_fence_left_open_does_not_swallow_what_follows(editor: Editor) -> None:
    run = Run(editor)
    run.start(1)
    run.token("```python\ndef f():")
    run.event("WORKFLOW_FAILED", error="the stream was cut off", step="analyze")
    assert "def f():\n```\n\n---\n\n**Failed.** the stream was cut off" in run.text()


def test_a_result_that_was_not_streamed_is_shown(editor: Editor) -> None:
    run = Run(editor, "ask", "query")
    run.start(1)
    run.complete(1, result="forty-two")
    run.event("WORKFLOW_COMPLETED", response="forty-two", files=[])
    assert run.text().endswith("> make it iterative\n\nforty-two")


def test_it_has_the_focus_in_normal_mode_and_gives_it_back(editor: Editor) -> None:
    before = current(editor)
    run = Run(editor)
    assert current(editor) == run.window()
    editor.feed("q")
    assert current(editor) == before
    assert not run.window()
    assert editor.lua("return require('tideate').is_running()")


@pytest.mark.parametrize("keys", ["i", "v", ":", "d"])
def test_a_person_who_types_keeps_the_focus(editor: Editor, keys: str) -> None:
    before = current(editor)
    editor.nvim.input(keys)
    if keys == "d":
        editor.nvim.input("<Esc>i")
    run = Run(editor)
    assert current(editor) == before
    assert run.window() is not None


@pytest.mark.parametrize("kind", ["float", "split", "vsplit", "tab"])
def test_every_kind_of_window_opens_and_leaves_nothing(editor: Editor, kind: str) -> None:
    editor.lua("require('tideate').setup({ui = {output = ...}})", kind)
    editor.edit("a.txt", "one\n")
    before = editor.lua("return vim.api.nvim_list_wins()")
    run = Run(editor)
    window = run.window()
    assert window is not None
    config = editor.lua("return vim.api.nvim_win_get_config(...).relative", window)
    assert (config != "") == (kind == "float")
    if kind != "tab":
        assert "analyze" in editor.lua("return vim.wo[...].winbar", window)
    editor.lua("require('tideate.ui').toggle_output()")
    assert editor.lua("return vim.api.nvim_list_wins()") == before
    editor.lua("require('tideate.ui').toggle_output()")
    assert run.window() is not None
    if kind != "float":
        assert editor.lua("return vim.wo[...].winbar", run.window()) != ""
    editor.lua("require('tideate.ui').close()")
    assert editor.lua("return vim.api.nvim_list_wins()") == before
    assert editor.lua("return vim.wo.winbar") == ""


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (40, 12)])
def test_title_steps_and_keys_fit_the_screen(start_editor: EditorFactory, size: tuple[int, int]) -> None:
    editor = start_editor(ui=size)
    run = Run(editor, demonstration=True)
    run.start(1)
    run.complete(1)
    run.start(2)
    run.token("hello")
    screen = "\n".join(editor.wait_screen("hello"))
    wanted = ["refactor 2/2", "✓ analyze 1.2s", "● refactor", "q hide"]
    for text in wanted if size[0] < 80 else [*wanted, "demonstration model"]:
        assert text in screen, screen


def test_it_follows_the_end_only_while_the_cursor_is_there(editor: Editor) -> None:
    run = Run(editor)
    run.start(1)
    run.token("\n".join(f"line {number}" for number in range(100)))
    editor.wait(
        "vim.api.nvim_win_get_cursor(0)[1] == vim.api.nvim_buf_line_count(0) and vim.fn.line('.') > 100"
    )
    editor.feed("gg")
    run.token("\nmore")
    editor.wait("vim.fn.getline('$') == 'more'")
    assert editor.lua("return {vim.fn.line('.'), vim.fn.line('w0')}") == [1, 1]
    editor.feed("G")
    run.token("\nlast")
    editor.wait("vim.fn.getline('.') == 'last'")


def test_control_c_cancels_the_run_that_is_shown(editor: Editor) -> None:
    editor.lua("require('tideate').cancel = function(id) _G.cancelled = id end")
    run = Run(editor)
    assert current(editor) == run.window()
    editor.wait(f"vim.bo[{run.buffer}].syntax == 'markdown'")

    def pressed() -> object:
        editor.feed("<C-c>")
        return editor.lua("return _G.cancelled")

    # Ctrl-C interrupts a script that runs at that moment; a user presses it again
    editor.wait_for(pressed, "the run is cancelled")
    assert editor.lua("return _G.cancelled") == run.id
    run.event("WORKFLOW_CANCELLED", reason="cancelled")
    editor.lua("_G.cancelled = nil")
    editor.feed("<C-c>")
    assert editor.lua("return _G.cancelled") is None


def test_the_spinner_turns_only_while_it_is_seen_and_something_runs(editor: Editor) -> None:
    editor.lua("""
      local progress = require('tideate.ui.progress')
      local tick = progress.tick
      _G.turning = 0
      progress.tick = function(callback)
        _G.turning = _G.turning + 1
        local stop = tick(callback)
        return function() _G.turning = _G.turning - 1 stop() end
      end
    """)
    turning = "return _G.turning"
    run = Run(editor)
    assert editor.lua(turning) == 1
    editor.feed("q")
    assert editor.lua(turning) == 0
    editor.lua("require('tideate.ui').toggle_output()")
    assert editor.lua(turning) == 1
    editor.command("tabnew")
    editor.wait("_G.turning == 0")
    editor.command("tabclose")
    editor.wait("_G.turning == 1")
    run.event("CONFIRMATION_REQUIRED")
    assert editor.lua(turning) == 0
    run.event("CONFIRMATION_ANSWERED")
    assert editor.lua(turning) == 1
    run.event("WORKFLOW_FAILED", error="no", step="analyze")
    assert editor.lua(turning) == 0


FLUSH = "require('tideate.ui.output.runs').get(...).stream:flush()"

STREAM = """
local id, count = ...
local words = {'The ', '`visit` ', 'function ', 'calls **itself**', '.\\n', '\\n```python\\n', 'x = 1\\n',
  '```\\n', '- item\\n'}
_G.appends, _G.written = 0, 0
local set_text = vim.api.nvim_buf_set_text
vim.api.nvim_buf_set_text = function(buf, row, column, end_row, end_column, lines)
  _G.appends, _G.written = _G.appends + 1, _G.written + #table.concat(lines, '\\n')
  return set_text(buf, row, column, end_row, end_column, lines)
end
local sent = 0
for at = 1, count do
  local data = {step = 'analyze', text = words[at % #words + 1]}
  sent = sent + #data.text
  require('tideate.events').dispatch({name = 'SD_EVENT_TOKEN', execution_id = id, at = 0, data = data})
end
return sent
"""


def test_pieces_that_come_at_once_are_appended_together_and_nothing_is_written_again(
    screen_editor: Editor,
) -> None:
    editor = screen_editor
    run = Run(editor)
    run.start(1)
    run.token("It")  # with the step's heading
    editor.lua(FLUSH, run.id)
    sent = editor.lua(STREAM, run.id, 4000)
    editor.wait("#vim.api.nvim_buf_get_lines(0, 0, -1, true) > 1500 and _G.written >= ...", 60, sent)
    assert editor.lua("return _G.written") == sent
    # 16 KiB at once, so that none is felt
    assert editor.lua("return _G.appends") <= sent // 16384 + 1


def test_a_notice_makes_room_for_a_question(screen_editor: Editor) -> None:
    screen_editor.lua("require('tideate.ui').notify(('a long notice '):rep(12))")
    gate(screen_editor)
    wait_focused(screen_editor)
    screen = "\n".join(screen_editor.wait_screen("y yes  n no"))
    assert screen.index("a long notice") < screen.index("Go on?")


def test_progress_messages_where_the_editor_has_them(editor: Editor) -> None:
    editor.lua("""
      _G.progress = {}
      if vim.fn.exists('##Progress') == 1 then
        vim.api.nvim_create_autocmd('Progress', {callback = function(e)
          table.insert(_G.progress, {e.data.status, e.data.percent, e.data.title}) end})
      end
    """)
    run = Run(editor)
    run.start(1)
    run.complete(1)
    run.start(2)
    run.event("WORKFLOW_COMPLETED", response="", files=[])
    seen = editor.lua("return _G.progress")
    if editor.lua("return vim.fn.has('nvim-0.12')") == 1:
        assert seen[-2:] == [["running", 50, "refactor"], ["success", 100, "refactor"]]
    else:
        assert seen == []


WORDS = " ".join(f"word{number}" for number in range(150))
"""A paragraph that is longer than the window."""


def rows(screen: list[str]) -> list[str]:
    return [row.strip("│ ").strip() for row in screen]


@pytest.mark.slow
def test_the_end_of_a_paragraph_longer_than_the_window_is_seen(small_editor: Editor) -> None:
    run = Run(small_editor)
    run.start(1)
    run.token(WORDS)
    small_editor.wait_screen("word149")
    run.token(f"\n\n{WORDS} tail")
    screen = rows(small_editor.wait_screen("tail"))
    end = next(row for row, text in enumerate(screen) if text.endswith("tail"))
    assert "word120" in " ".join(screen[end - 6 : end])
    # nothing between the text and the border
    assert "hide" in screen[end + 1]
    assert screen[end - 1].startswith("word"), screen


def test_reading_the_buffer_again_keeps_the_text(editor: Editor) -> None:
    run = Run(editor)
    run.start(1)
    run.token("kept text")
    editor.wait("vim.fn.getline('$') == 'kept text'")
    before = run.text()
    editor.command("edit!")
    assert run.text() == before
    assert editor.lua("return vim.bo.modifiable") is False
    run.token(" and more")
    run.event("WORKFLOW_COMPLETED", response="", files=[])
    editor.command("edit!")
    assert run.text() == before + " and more"


def test_a_wiped_buffer_comes_back_with_heads_and_all(editor: Editor) -> None:
    run = Run(editor)
    run.start(1)
    run.token("first")
    run.complete(1)
    run.start(2)
    run.token("sec")
    editor.lua(FLUSH, run.id)
    before = run.text()
    editor.command("bwipeout!")
    run.token("ond")
    run.complete(2)
    run.event("WORKFLOW_CANCELLED", reason="declined")
    editor.command("Workflow output")
    assert run.text() == f"{before}ond\n\n---\n\n**Declined.**"
    assert run.window() is not None


def test_a_file_opened_in_the_window_goes_where_files_are_shown(editor: Editor) -> None:
    editor.edit("a.txt", "one\n")
    editor.write("b.txt", "two\n")
    behind = current(editor)
    run = Run(editor)
    window = run.window()
    assert current(editor) == window
    editor.command("edit! b.txt")
    editor.wait(f"vim.api.nvim_get_current_win() == {behind}")
    assert editor.lua("return vim.fn.bufname()") == "b.txt"
    assert run.window() == window
    assert editor.lua("return vim.wo[...].winfixbuf", window)


@pytest.mark.slow
def test_the_text_of_an_old_run_can_still_be_shown(editor: Editor) -> None:
    first = Run(editor, "ask", "query")
    first.start(1)
    first.token("old words")
    first.event("WORKFLOW_COMPLETED", response="", files=[])
    later = [Run(editor, f"r{number}", "query") for number in range(12)]
    for run in later:
        run.event("WORKFLOW_COMPLETED", response="", files=[])
    Run(editor, "last", "query")
    assert first.buffer == -1
    editor.lua("require('tideate.ui').toggle_output(...)", first.id)
    assert first.text().endswith("old words")


def test_underscores_of_names_are_no_mistake(editor: Editor) -> None:
    editor.command("syntax on")
    run = Run(editor, "essay", "initial_loaded", "next_one")
    run.start(1)
    run.token("create_project")
    groups = editor.lua(
        """
        local buf, found = ..., {}
        vim.api.nvim_buf_call(buf, function()
          for row = 1, vim.fn.line('$') do
            for column = 1, #vim.fn.getline(row) do
              found[vim.fn.synIDattr(vim.fn.synID(row, column, 1), 'name')] = true
            end
          end
        end)
        return vim.tbl_keys(found)
        """,
        run.buffer,
    )
    assert "markdownH2" in groups
    assert "markdownError" not in groups


def test_a_declined_run_is_called_declined_everywhere(screen_editor: Editor) -> None:
    run = Run(screen_editor)
    run.start(1)
    run.event("WORKFLOW_CANCELLED", reason="declined")
    screen = "\n".join(screen_editor.wait_screen("⊘ declined"))
    assert "cancelled" not in screen
    assert "**Declined.**" in run.text()
    screen_editor.command("Workflow status")
    assert "⊘ refactor  declined" in "\n".join(screen_editor.lines())


def test_a_float_draws_no_ruler_over_the_command_line(screen_editor: Editor) -> None:
    screen_editor.lua("vim.o.ruler = true")
    before = screen_editor.screen()[-1]
    run = Run(screen_editor)
    window = run.window()
    screen_editor.lua("vim.api.nvim_set_current_win(...)", window)
    run.start(1)
    run.token("some text")
    screen_editor.wait_screen("some text")
    assert "All" not in screen_editor.screen()[-1].removeprefix(before.rstrip())
    screen_editor.feed("q")
    assert screen_editor.lua("return vim.o.ruler") is True


def test_the_ruler_comes_back_where_a_float_is_closed_without_autocommands(screen_editor: Editor) -> None:
    screen_editor.lua("vim.o.ruler = true; require('tideate.ui.questions.preview').open('x', 'text', 'text')")
    assert screen_editor.lua("return vim.o.ruler") is False
    screen_editor.command("noautocmd close")
    screen_editor.feed("ithere<Esc>")  # the cursor moves
    screen_editor.wait("vim.o.ruler and #vim.api.nvim_get_autocmds({ group = 'tideate.ruler' }) == 0")


@pytest.mark.parametrize("own", [False, True])
def test_our_windows_have_a_name_in_the_statusline(screen_editor: Editor, own: bool) -> None:
    screen_editor.lua("require('tideate').setup({ ui = { output = 'split' } })")
    if own:
        screen_editor.lua("vim.o.statusline = 'my own'")
    run = Run(screen_editor)
    line = "return vim.api.nvim_eval_statusline(vim.wo[...].statusline, { winid = ... }).str"
    if own:
        assert screen_editor.lua("return vim.wo[...].statusline", run.window()) == "my own"
    else:
        assert screen_editor.lua(line, run.window()).split()[0] == f"tideate://refactor/{run.id[:8]}"
    screen_editor.lua("vim.o.laststatus = 3")
    screen_editor.lua("require('tideate.ui.keys').help('output', require('tideate.ui.output').keys())")
    last = "my own" if own else " tideate"
    screen_editor.wait_for(lambda: screen_editor.screen()[-2].rstrip() == last, "the statusline")


FAILURE = "the server says: " + "it is too busy to answer, " * 8 + "try again later"
TOAST_LINES = """
for _, win in ipairs(vim.api.nvim_list_wins()) do
  if vim.api.nvim_win_get_config(win).zindex == 130 then
    return vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(win), 0, -1, true)
  end
end
"""
TOASTS = """
return #vim.tbl_filter(function(win)
  return vim.api.nvim_win_get_config(win).zindex == 130
end, vim.api.nvim_list_wins())
"""


def test_a_failure_that_the_output_shows_is_not_laid_over_it(screen_editor: Editor) -> None:
    run = Run(screen_editor)
    run.start(1)
    run.event("WORKFLOW_FAILED", error=FAILURE)
    screen = screen_editor.wait_screen("tideate: refactor failed: the server says: ")
    assert not screen_editor.blocked()
    assert screen_editor.lua(TOASTS) == 0
    assert any("**Failed.** the server says" in line for line in screen)
    assert FAILURE in screen_editor.lua("return vim.api.nvim_exec2('messages', { output = true }).output")


def test_a_failure_that_the_output_does_not_show_gives_way_to_the_next_run(screen_editor: Editor) -> None:
    run = Run(screen_editor)
    run.start(1)
    screen_editor.lua("require('tideate.ui.output').hide()")
    run.event("WORKFLOW_FAILED", error=FAILURE)
    assert screen_editor.lua(TOASTS) == 1
    Run(screen_editor, "ask", "query")
    assert screen_editor.lua(TOASTS) == 0


def test_a_long_failure_is_announced_with_its_last_line_which_says_what_to_do(
    screen_editor: Editor,
) -> None:
    run = Run(screen_editor)
    run.start(1)
    screen_editor.lua("require('tideate.ui.output').hide()")
    commands = [f"- tests: command {number}" for number in range(5)]
    lines = ["These commands are not trusted yet:", *commands, "Look at the project, then trust it"]
    run.event("WORKFLOW_FAILED", error="\n".join(lines))
    assert screen_editor.lua(TOAST_LINES) == [
        " refactor failed: These commands are not trusted yet:",
        " … 5 more lines, :Workflow show",
        " Look at the project, then trust it",
    ]


def test_a_notice_that_is_not_of_a_run_stays_when_one_begins(screen_editor: Editor) -> None:
    screen_editor.lua("require('tideate.ui').notify(('a long notice '):rep(12))")
    Run(screen_editor)
    assert screen_editor.lua(TOASTS) == 1


def test_the_reason_of_a_decline_that_nobody_gave_is_told(screen_editor: Editor) -> None:
    run = Run(screen_editor)
    run.start(1)
    run.event("WORKFLOW_CANCELLED", reason="declined", message="a.txt was closed, and its file is gone")
    screen_editor.wait_screen("refactor: declined: a.txt was closed, and its file is gone")
    assert run.text().endswith("**Declined.** a.txt was closed, and its file is gone")


def test_a_pause_that_is_to_come_is_told_and_withdrawn(screen_editor: Editor) -> None:
    editor = screen_editor
    editor.lua(
        """
        _G.heard = {}
        require('tideate.client').request = function(method, _, done)
          table.insert(_G.heard, method)
          done({ ok = true })
        end
        """
    )
    run = Run(editor)
    run.start(1)
    editor.command("Workflow pause")
    editor.wait_screen("‖ pausing")
    assert "(pausing)" in editor.lua("return require('tideate').statusline()")
    assert editor.lua("return require('tideate').get_status().state") == "pausing"
    offered = editor.lua("return require('tideate.command').complete('', 'Workflow resume ', 16)")
    assert offered == [run.id[:8]]
    editor.command("Workflow resume")
    assert editor.lua("return _G.heard") == ["pause", "resume"]
    assert editor.lua("return require('tideate').get_status().state") == "running"
    editor.command("Workflow pause")
    run.event("WORKFLOW_PAUSED", step="analyze")
    assert editor.lua("return require('tideate').get_status().state") == "paused"
    run.event("WORKFLOW_RESUMED", step="analyze")
    assert editor.lua("return require('tideate').get_status().state") == "running"


def test_the_first_event_loads_nothing_that_was_loaded_while_the_host_started(editor: Editor) -> None:
    editor.lua("""
    require('tideate.events') require('tideate.host') require('tideate.config')
    require('tideate.ui').load_ahead(nil, function() _G.loaded_ahead = vim.tbl_keys(package.loaded) end)
    _G.at_once = vim.tbl_count(package.loaded)""")
    before = editor.wait("_G.loaded_ahead")
    assert editor.lua("return _G.at_once") < len(before) - 20, "a module at a time, not within the call"
    Run(editor)
    after = editor.lua("return vim.tbl_keys(package.loaded)")
    assert [name for name in sorted({*after} - {*before}) if name.startswith("tideate")] == []


def test_a_host_that_starts_is_time_to_load_what_a_run_is_shown_with(editor: Editor) -> None:
    editor.lua("""
    require('tideate.host').start = function() end
    require('tideate.client').request('list', nil, function() end)""")
    editor.wait("package.loaded['tideate.ui.output'] ~= nil")


def test_no_scripts_and_styles_are_read_to_colour_an_answer(editor: Editor) -> None:
    run = Run(editor)
    editor.wait(f"vim.bo[{run.buffer}].syntax == 'markdown'")
    read = editor.lua("return vim.tbl_map(function(one) return one.name end, vim.fn.getscriptinfo())")
    names = [one.rpartition("/syntax/")[2] for one in read if "/syntax/" in one]
    assert {"markdown.vim", "html.vim"} <= {*names}
    assert not {"javascript.vim", "css.vim", "vb.vim"} & {*names}
    assert editor.lua("return vim.g.main_syntax") is None


def test_a_person_whose_markdown_has_blocks_of_java_is_asked_nothing(editor: Editor) -> None:
    editor.lua("vim.g.markdown_fenced_languages = {'java', 'py=python'}")
    run = Run(editor)
    editor.wait(f"vim.bo[{run.buffer}].syntax == 'markdown'")
    assert editor.lua("return vim.api.nvim_get_mode().blocking") is False
    assert editor.lua(f"return vim.b[{run.buffer}].current_syntax") == "markdown"


@pytest.mark.parametrize(
    ("answered", "end", "offered"),
    [
        (True, ("WORKFLOW_COMPLETED", {"response": "x", "files": []}), True),
        (True, ("WORKFLOW_FAILED", {"error": "x"}), True),
        (False, ("WORKFLOW_FAILED", {"error": "the model cannot be reached"}), False),
        (False, ("WORKFLOW_COMPLETED", {"response": "x", "files": []}), False),
        (True, ("WORKFLOW_PAUSED", {"reason": "interrupted"}), False),
    ],
)
def test_a_reply_is_offered_where_a_model_answered(
    screen_editor: Editor, answered: bool, end: tuple[str, dict[str, object]], offered: bool
) -> None:
    editor = screen_editor
    run = Run(editor)
    run.start(1)
    run.token("text")
    if answered:
        run.event("MODEL_ANSWERED", step="analyze", model="m", usage={})
    run.event(end[0], **end[1])
    screen = "\n".join(editor.wait_screen("hide"))
    assert ("r reply" in screen) is offered
    editor.lua("require('tideate.ui.output').focus()")
    editor.lua(
        "_G.told, _G.asked = {}, false vim.notify = function(words) table.insert(_G.told, words) end"
        " require('tideate').run = function() _G.asked = true end"
    )
    editor.feed("r")
    assert editor.lua("return _G.asked") is offered
    assert (editor.lua("return #_G.told") == 0) is offered


def test_a_notice_does_not_wait_for_a_model_that_hangs(editor: Editor) -> None:
    editor.lua("require('tideate.ui.transcript').limits.held = 20")
    run = Run(editor)
    run.start(1)
    run.token("It calls")
    run.event("NOTICE", step="analyze", message="pauses before the next step", level="info")
    editor.wait_for(lambda: "\n\n> pauses before the next step" in run.text(), "the notice")
