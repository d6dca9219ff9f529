"""Output of a model that uses tools: calls, reasoning, texts of its turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.events import Run

if TYPE_CHECKING:
    from tests.harness.editor import Editor, EditorFactory


@pytest.fixture
def screen(start_editor: EditorFactory) -> Editor:
    return start_editor(ui=(80, 24))


def call(run: Run, number: int, summary: str, arguments: Any = None, step: int = 1, **ending: Any) -> None:
    """Tell that a call began, or with `ok` that it ended."""
    place = {"step": run.steps[step - 1], "call": number, "server": "", "tool": summary.split()[0]}
    if ending:
        run.event("TOOL_COMPLETED", **place, summary=summary, duration_ms=120, **ending)
    else:
        run.event("TOOL_CALLED", **place, summary=summary, arguments=arguments or {"path": "a.py"})


def body(run: Run) -> list[str]:
    """Return the lines behind the run's head."""
    return run.text().split("> make it iterative\n\n")[1].split("\n")


def test_each_call_is_one_line_and_words_of_turns_stand_apart(editor: Editor) -> None:
    run = Run(editor, "ask", "query")
    run.start(1)
    run.token("Let me ")
    run.token("look.")
    run.event("MODEL_ANSWERED", step="query", model="m", usage={})
    call(run, 1, "read_file a.py 10-40")
    call(run, 2, 'search "total" in *.py')
    call(run, 1, "read_file a.py 10-40", ok=True, size=1234)
    call(run, 2, 'search "total" in *.py', ok=False, error="bad\npattern")
    run.event("MODEL_ANSWERED", step="query", model="m", usage={})
    run.token("It is ")
    run.token("41.")
    run.complete(1, result="It is 41.")
    run.event("WORKFLOW_COMPLETED", response="It is 41.", files=[])
    assert body(run) == [
        "Let me look.",
        "",
        "> ✓ `read_file a.py 10-40`  1.2k characters  0.1 s",
        '> ✗ `search "total" in *.py`  0.1 s  bad pattern',
        "",
        "It is 41.",
    ]


def test_the_plan_of_an_agent_is_a_checklist(editor: Editor) -> None:
    run = Run(editor, "agent", "work")
    run.start(1)
    place = {"step": "work", "call": 1, "server": "acp:claude", "tool": "plan", "summary": "acp:claude/plan"}
    run.event("TOOL_CALLED", **place, arguments={})
    now = {"progress": 1, "total": 2, "message": "write", "checklist": ["[x] look", "[-] write"]}
    run.event("TOOL_PROGRESS", **place, **now)
    assert [*filter(None, body(run))][:3] == ["… `acp:claude/plan`  1/2  write", "- [x] look", "- [-] write"]
    other = {"step": "work", "call": 2, "server": "acp:claude", "tool": "edit", "summary": "edit a.txt"}
    run.event("TOOL_CALLED", **other, arguments={})
    assert [*filter(None, body(run))][:3] == ["… `edit a.txt`", "- [x] look", "- [-] write"]
    run.event("TOOL_COMPLETED", **place, duration_ms=1, ok=True, checklist=["[x] look", "[x] write"])
    run.token("Done.")
    run.event("WORKFLOW_COMPLETED", response="Done.", files=[])
    assert body(run) == [
        "> ✓ `acp:claude/plan`  0.0 s",
        "",
        "- [x] look",
        "- [x] write",
        "",
        "Done.",
    ]


def test_a_running_call_takes_its_new_name(editor: Editor) -> None:
    run = Run(editor, "agent", "work")
    run.start(1)
    place = {"step": "work", "call": 1, "server": "acp:claude", "tool": "read"}
    run.event("TOOL_CALLED", **place, summary="acp:claude/read Read", arguments={})
    run.event("TOOL_PROGRESS", **place, summary="acp:claude/read Read a.py", message="")
    assert next(filter(None, body(run))) == "… `acp:claude/read Read a.py`"


def test_a_turn_without_a_call_is_apart_from_the_next(editor: Editor) -> None:
    run = Run(editor, "ask", "query")
    run.start(1)
    run.token("Let me look.")
    run.event("MODEL_ANSWERED", step="query", model="m", usage={})
    run.token("It is 41.")
    run.event("WORKFLOW_CANCELLED", reason="cancelled", message="", step="query")
    assert body(run)[:3] == ["Let me look.", "", "It is 41."]


def test_calls_of_a_step_beside_the_written_one_wait_for_its_place(editor: Editor) -> None:
    run = Run(editor)
    run.start(1)
    run.start(2)
    run.token("half a ")
    call(run, 1, "read_file b.py", step=2)
    call(run, 1, "read_file b.py", step=2, ok=True, size=3)
    run.event("TOKEN", step="refactor", text="said")
    run.token("sentence")
    run.complete(1)
    run.complete(2)
    run.event("WORKFLOW_COMPLETED", response="said", files=[])
    assert body(run) == [
        *("## analyze", "", "half a sentence", ""),
        *("## refactor", "", "> ✓ `read_file b.py`  3 characters  0.1 s", "", "said"),
    ]


def test_a_running_call_is_shown_until_it_has_ended(screen: Editor) -> None:
    run = Run(screen, "ask", "query")
    run.start(1)
    call(run, 1, "read_file a.py")
    screen.wait_screen("… `read_file a.py`")
    call(run, 1, "read_file a.py", ok=True, size=3)
    screen.wait_screen("✓ `read_file a.py`  3 characters")
    assert "…" not in run.text()


def test_the_status_names_the_tool_that_is_under_way(editor: Editor) -> None:
    run = Run(editor, "ask", "query")
    run.start(1)
    call(run, 1, "read_file a.py")
    call(run, 2, "search x")
    tool = "return require('tideate').get_status().current_tool or 'none'"
    assert editor.lua(tool) == "search"
    assert editor.lua("return require('tideate').statusline()") == "ask 1/1 query (search)"
    call(run, 2, "search x", ok=True)
    assert editor.lua(tool) == "read_file"
    call(run, 1, "read_file a.py", ok=True)
    assert editor.lua(tool) == "none"


def test_enter_shows_the_whole_call_with_the_difference_of_its_edits(screen: Editor) -> None:
    run = Run(screen, "multi_file", "write")
    run.start(1)
    edits = [{"search": "a = 1\nb = 2\n", "replace": "a = 2"}]
    for number in (1, 2):
        call(run, number, "edit_file a.py (1 edit)", {"path": f"{number}.py", "edits": edits})
        call(run, number, "edit_file a.py (1 edit)", ok=True, size=30, result=f"staged: {number}")
    screen.feed("<CR>")
    screen.wait_screen("path: 2.py")
    lines = screen.lines()
    assert [line for line in lines if line.startswith(("-", "+"))] == ["-a = 1", "-b = 2", "+a = 2"]
    assert "staged: 2" in lines
    screen.feed("q")
    screen.feed("k<CR>")
    screen.wait_screen("path: 1.py")
    screen.feed("q")
    assert run.window() == screen.lua("return vim.api.nvim_get_current_win()")


def test_reasoning_is_folded_and_dimmed_and_no_part_of_the_answer(screen: Editor) -> None:
    run = Run(screen, "ask", "query")
    run.start(1)
    run.event("REASONING", step="query", text="First this.\n")
    screen.wait_screen("… reasoning (12 characters)")
    run.event("REASONING", step="query", text="Then that.")
    run.token("It is 41.")
    run.event("WORKFLOW_COMPLETED", response="It is 41.", files=[])
    assert body(run) == ["┆ First this.", "┆ Then that.", "", "It is 41."]
    screen.wait_screen("┆ reasoning (22 characters)")
    assert "First this" not in screen.screen()
    assert screen.lua("return table.concat(require('tideate.state').text(...))", run.id) == "It is 41."
    screen.feed("gg/Then<CR>zc<CR>")
    screen.wait_screen("First this.")


PAGE = """
local count = ...
local none = { input_tokens = 0, output_tokens = 0 }
local events = {}
for number = 1, count do
  local tool = number <= 2 and 'search' or 'read_file'
  local summary = ('%s %d.py'):format(tool, number)
  local data = { step = 'write', server = '', tool = tool, summary = summary, duration_ms = 100 }
  data.ok = number ~= 2
  table.insert(events, { name = 'SD_EVENT_TOOL_COMPLETED', data = data })
end
local run = { execution_id = ('a'):rep(32), workflow = 'w', state = 'completed', started_at = 0, prompt = '',
  failed_steps = 0, usage = none, files = {}, steps = 1, completed_steps = 1, total_steps = 1,
  kind = 'graph' }
local step = { step = 'write', agent = '', status = 'completed', attempts = 1, usage = none, files = {} }
local all = { run = run, steps = { step }, checkpoints = 0, events = events, gist = {} }
local page = require('tideate.ui.pages.run_page.text').show(all)
local lines = vim.tbl_map(function(chunks)
  return table.concat(vim.tbl_map(function(chunk) return chunk[1] end, chunks))
end, page.lines)
return { lines, page.folds }
"""


def test_the_page_of_a_run_folds_many_calls_below_their_number(editor: Editor) -> None:
    few, none = editor.lua(PAGE, 2)
    assert [line.strip() for line in few[-2:]] == ["✓ search 1.py 0.1 s", "✗ search 2.py 0.1 s stopped"]
    assert none == []
    many, folds = editor.lua(PAGE, 9)
    assert many[-10].strip() == "9 tool calls: 7 read_file, 2 search (1 failed)"
    assert folds == [[len(many) - 8, len(many)]]
