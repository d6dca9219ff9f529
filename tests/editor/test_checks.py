"""Checks, gates and a rollback of a run: in its output, the quickfix list and messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.events import Run

if TYPE_CHECKING:
    from tests.editor.conftest import FakeHost
    from tests.harness.editor import Editor


def verifying(editor: Editor) -> Run:
    run = Run(editor, "task", "verifying")
    run.start(1)
    return run


def begin(run: Run, check: str = "tests", command: str = "python -m pytest -q") -> None:
    run.event("CHECK_STARTED", step="verifying", check=check, command=command)


def say(run: Run, *lines: str, check: str = "tests") -> None:
    run.event("CHECK_OUTPUT", step="verifying", check=check, lines=list(lines))


def end(run: Run, check: str = "tests", status: str = "passed", **more: Any) -> None:
    data = {"step": "verifying", "reason": "", "duration_ms": 1200, "exit_code": 0, "failures": []}
    run.event("CHECK_ENDED", **data | {"check": check, "status": status} | more)


def failure(name: str, line: int, text: str = "wrong") -> dict[str, Any]:
    return {"filename": name, "lnum": line, "col": 3, "text": text, "type": "E", "code": "", "tool": "pytest"}


def quickfix(editor: Editor) -> dict[str, Any]:
    found = editor.lua("return vim.fn.getqflist({ title = 1, items = 1, nr = '$', id = 0 })")
    return dict(found)


def test_a_running_check_shows_its_last_lines_and_then_how_it_ended(small_editor: Editor) -> None:
    run = verifying(small_editor)
    begin(run)
    small_editor.wait_screen("▸ tests  python -m pytest -q")
    say(run, *(f"line {number}" for number in range(100)))
    screen = small_editor.wait_screen("│ line 99")
    assert sum("│ line" in line for line in screen) <= 6
    window = run.window()
    small_editor.lua("vim.api.nvim_win_set_cursor(..., { 1, 0 })", window)
    say(run, "one more")
    small_editor.wait_for(lambda: "│ one more" in run.text(), "the line is shown")
    assert small_editor.lua("return vim.api.nvim_win_get_cursor(...)", window) == [1, 0]
    end(run, reason="its command is configured")
    small_editor.wait_screen("✓ **tests** passed in 1.2s")
    text = run.text()
    assert "▸" not in text
    assert "line 99" not in text
    assert "is configured" not in text


def test_a_check_that_says_nothing_stays_shown(editor: Editor) -> None:
    """The first line arrives while the text before it is still being written."""
    editor.lua("""
      _G.stream = require('tideate.ui.transcript.stream').new('tideate://checks')
      stream:write('verifying')
      stream:set_tail({ 'a check' })
      vim.defer_fn(function() _G.later = true end, 50)
    """)
    editor.wait("_G.later")
    assert editor.lua("return vim.api.nvim_buf_get_lines(stream.buf, 0, -1, true)") == [
        "verifying",
        "a check",
    ]


def test_output_of_a_check_is_bounded_and_nothing_of_it_is_kept(editor: Editor) -> None:
    run = verifying(editor)
    begin(run)
    for number in range(50):
        say(run, "x" * 100_000, f"\x1b[31mline {number}")
    editor.wait_for(lambda: "line 49" in run.text(), "the last line is shown")
    assert len(run.text()) < 4_000
    assert "\x1b" not in run.text()
    end(run)
    assert "line 49" not in run.text()


def test_a_burst_of_output_is_drawn_a_frame_at_a_time(editor: Editor) -> None:
    run = verifying(editor)
    begin(run)
    before = editor.lua("return vim.api.nvim_buf_get_changedtick(...)", run.buffer)
    editor.lua(
        """
        local id = ...
        for number = 1, 5000 do
          require('tideate.events').dispatch({ name = 'SD_EVENT_CHECK_OUTPUT', execution_id = id, at = 0,
            data = { step = 'verifying', check = 'tests', lines = { 'line ' .. number } } })
        end
        """,
        run.id,
    )
    editor.wait_for(lambda: "│ line 5000" in run.text(), "the last line is shown")
    assert editor.lua("return vim.api.nvim_buf_get_changedtick(...)", run.buffer) - before < 50


def test_the_status_line_names_the_check_that_is_running(editor: Editor) -> None:
    run = verifying(editor)
    statusline = "return require('tideate').statusline()"
    begin(run)
    assert editor.lua(statusline) == "task 1/1 verifying (tests)"
    assert editor.lua("return require('tideate').get_status(...).check", run.id) == "tests"
    end(run)
    assert editor.lua(statusline) == "task 1/1 verifying"
    assert editor.lua("return vim.fn.getqflist({ nr = '$' }).nr") == 0, "there is no failure to list"


def test_failures_fill_a_list_of_the_runs_own_and_the_persons_stay(editor: Editor) -> None:
    editor.lua("vim.fn.setqflist({}, ' ', { title = 'mine', items = { { text = 'a' } } })")
    editor.lua("vim.fn.setqflist({}, ' ', { title = 'mine too', items = { { text = 'b' } } })")
    editor.command("colder")
    editor.edit("src/a.py", "A = 1\nB = 2\n")
    editor.edit("other.py", "")
    run = verifying(editor)
    end(run, status="failed", failures=[failure(str(editor.cwd / "src/a.py"), 2, "assert 1 == 2")])
    end(run, "lint", "failed", failures=[failure(str(editor.cwd / "src/a.py"), 1), failure("", 0, "no file")])
    titles = [
        editor.lua("return vim.fn.getqflist({ nr = ..., title = 1 }).title", number) for number in (1, 2, 3)
    ]
    assert titles == ["mine", "mine too", f"tideate: tests, lint (run {run.id[:8]})"]
    assert quickfix(editor)["nr"] == 3
    assert [item["text"] for item in quickfix(editor)["items"]] == ["assert 1 == 2", "wrong", "no file"]
    assert editor.lua("return vim.fn.getqflist({ winid = 0 }).winid") == 0
    assert "2 failures in the quickfix list" in run.text()
    editor.command("cfirst")
    assert editor.lua("return vim.fn.expand('%:t')") == "a.py"
    assert editor.lua("return vim.fn.line('.')") == 2


@pytest.mark.slow
def test_a_new_round_of_checks_takes_the_place_of_the_last(editor: Editor) -> None:
    run = verifying(editor)
    end(run, status="failed", failures=[failure("/a.py", 2)])
    first = quickfix(editor)["id"]
    end(run, status="failed", step="verifying#2", failures=[failure("/b.py", 3, "another")])
    assert [item["text"] for item in quickfix(editor)["items"]] == ["another"]
    end(run, step="verifying#3")
    assert quickfix(editor)["items"] == []
    assert quickfix(editor)["title"] == f"tideate: no failures (run {run.id[:8]})"
    assert quickfix(editor)["id"] == first
    other = verifying(editor)
    end(other, status="failed", failures=[failure("/c.py", 1)])
    assert quickfix(editor)["id"] != first


def gate(run: Run, name: str, number: int, *issues: str, **more: Any) -> None:
    data = {"step": f"awaiting_{name}_gate", "gate": name, "number": number, "issues": list(issues)}
    more = {"duration_ms": 20, "auto_fixed": False, "entries": []} | more
    run.event("GATE_FAILED" if issues else "GATE_PASSED", **data | more)


def test_gates_say_their_number_and_what_is_wrong(editor: Editor) -> None:
    run = verifying(editor)
    gate(run, "plan", 1)
    gate(run, "audit", 2, auto_fixed=True)
    gate(run, "execution", 3, "src/a.py:2:1: invalid syntax", entries=[failure("/x/src/a.py", 2, "invalid")])
    text = run.text()
    assert "✓ **gate 1, plan** passed" in text
    assert "✓ **gate 2, audit** passed in 0.0s, with the fixes applied" in text
    assert "✗ **gate 3, execution** failed in 0.0s\n> - src/a.py:2:1: invalid syntax" in text
    assert quickfix(editor)["title"] == f"tideate: execution gate (run {run.id[:8]})"


def test_the_fifth_gate_does_not_list_the_checks_failures_twice(editor: Editor) -> None:
    run = verifying(editor)
    entry = failure("/x/a.py", 2)
    end(run, status="failed", failures=[entry])
    gate(run, "verification", 5, "tests: failed", entries=[entry])
    assert len(quickfix(editor)["items"]) == 1
    assert quickfix(editor)["title"] == f"tideate: tests (run {run.id[:8]})"


def test_gates_and_the_rollback_are_autocommands(editor: Editor) -> None:
    editor.lua("""
      _G.heard = {}
      vim.api.nvim_create_autocmd('User', { pattern = 'Tideate*', callback = function(event)
        table.insert(_G.heard, { event.match, event.data })
      end })
    """)
    run = verifying(editor)
    gate(run, "plan", 1)
    gate(run, "audit", 2, "too vague")
    say(run, "not told")
    run.event("ROLLED_BACK", restored=["a.py"], merged=[], left=[], snapshot=None, error=None)
    heard = dict(editor.lua("return _G.heard"))
    assert heard["TideateGatePassed"]["number"] == 1
    assert heard["TideateGateFailed"]["number"] == 2
    assert heard["TideateGateFailed"]["issues"] == ["too vague"]
    assert heard["TideateWorkflowRolledBack"]["restored"] == ["a.py"]
    assert "TideateCheckOutput" not in heard


@pytest.mark.parametrize(
    ("rolled_back", "shown", "told"),
    [
        (
            {
                "restored": ["src/b.py", "src/a.py"],
                "merged": ["c.py"],
                "left": ["d.py"],
                "snapshot": "0123456789abcdef",
                "error": "e.py: no room",
            },
            [
                "**Not everything was rolled back: e.py: no room**",
                "Restored: `src/a.py`, `src/b.py`.",
                "Restored, your own edits kept: `c.py`.",
                "Stays, changed after the run wrote it: `d.py`.",
                "snapshot `01234567`",
            ],
            "- tests: failed\n3 files rolled back; left, changed since: d.py",
        ),
        (
            {"restored": ["a.py"], "foreign": ["b.py", "made/"], "more_foreign": 3},
            [
                "> **Rolled back** what the run wrote.",
                "> Stays, changed by you or a check: `b.py`, `made/` and 3 more.",
            ],
            "- tests: failed\n1 file rolled back",
        ),
        ({}, ["**Nothing to roll back**: the run had changed no file."], "- tests: failed"),
    ],
)
def test_a_rollback_says_what_became_of_every_file(
    editor: Editor, rolled_back: dict[str, Any], shown: list[str], told: str
) -> None:
    run = verifying(editor)
    nothing: dict[str, Any] = {"restored": [], "merged": [], "left": [], "snapshot": None, "error": None}
    run.event("ROLLED_BACK", **nothing | rolled_back)
    run.event("WORKFLOW_FAILED", error="gate 5:\n- tests: failed", error_code="GateFailed")
    text = run.text()
    assert [words for words in shown if words not in text] == []
    assert f"task failed: gate 5:\n{told}" in editor.messages()


def test_how_a_check_ended_is_said(editor: Editor) -> None:
    run = verifying(editor)
    for status, words in (
        ("failed", "failed in 1.2s: 2 errors"),
        ("not_configured", "not configured in 1.2s: 2 errors"),
        ("timed_out", "took too long"),
        ("not_trusted", "not trusted"),
    ):
        begin(run, "lint")
        end(run, "lint", status, reason="2 errors")
        assert f"✗ **lint** {words}" in run.text()
    off: dict[str, Any] = {"status": "not_configured", "reason": 'verify.lint is "off"', "duration_ms": 0}
    end(run, "lint", **off, required=False)
    end(run, "build", **off, required=True)
    assert "> · **lint** off\n" in run.text(), "it has not failed"
    assert '> ✗ **build** not configured: verify.lint is "off"' in run.text()
    marks = """return require('tideate.ui.pages.run_page.task').facts({ gist = {}, events = {
      { name = 'SD_EVENT_CHECK_ENDED', data = { check = 'tests', status = 'passed' } },
      { name = 'SD_EVENT_CHECK_ENDED',
        data = { check = 'lint', status = 'not_configured', required = ... } } } })[3]"""
    assert editor.lua(marks, False) == ["checks", ["✓ tests", "· lint"], "TideateDone"]
    assert editor.lua(marks, True) == ["checks", ["✓ tests", "✗ lint"], "TideateFailed"]


def test_the_result_says_that_it_was_rolled_back(faked: Editor, fake_host: FakeHost) -> None:
    faked.lua("require('tideate').run('rolled_back', { prompt = 'x' }, function(r) _G.result = r end)")
    result = faked.wait("_G.result")
    assert result["rollback_performed"] is True
    assert result["attempts"] == 3
    assert fake_host.heard("run")
    assert "rolled_back failed: no; 1 file rolled back" in faked.messages()


DIAGNOSTICS = """
local buf = vim.fn.bufnr(...)
return vim.tbl_map(function(one)
  return { one.lnum, one.col, one.message, one.source, one.severity }
end, buf < 0 and {} or vim.diagnostic.get(buf, { namespace = vim.api.nvim_get_namespaces().tideate }))
"""


def diagnostics(editor: Editor, path: str) -> list[list[Any]]:
    """Return line and column from 0, message, source and severity of the diagnostics of a file."""
    return list(editor.lua(DIAGNOSTICS, str(editor.cwd / path)))


def run_on(editor: Editor, path: str) -> None:
    """Start a run on a file without a host to execute it."""
    editor.lua("require('tideate.client').request = function() end")
    editor.command("wincmd p")
    editor.edit(path)
    editor.lua("require('tideate').run('ask', { prompt = 'why' })")


def ends(run: Run, *files: str) -> None:
    run.event("WORKFLOW_COMPLETED", response="", duration_ms=5, files=list(files))


def test_failures_of_checks_are_diagnostics_until_the_next_run_of_the_file(editor: Editor) -> None:
    editor.edit("a.py", "A = 1\n\tß = 2\n")
    a, b = str(editor.cwd / "a.py"), str(editor.cwd / "b.py")
    other = "{ { lnum = 0, col = 0, message = 'of another' } }"
    editor.lua(f"vim.diagnostic.set(vim.api.nvim_create_namespace('other'), 0, {other})")
    run = verifying(editor)
    warning = failure(a, 2, "\x1b[31mß\u202e is short\nand late") | {"type": "W", "code": "E1"}
    end(run, "lint", "failed", failures=[warning, failure(b, 7)])
    end(run, "tests", "failed", failures=[failure(a, 1, "failed"), failure("", 0, "no place")])
    at_a = diagnostics(editor, "a.py")
    assert [one[:2] + one[3:] for one in at_a] == [[1, 3, "tideate: lint", 2], [0, 2, "tideate: tests", 1]]
    assert "\x1b" not in at_a[0][2] and "\u202e" not in at_a[0][2]
    assert at_a[0][2].endswith("is short\nand late")
    assert not editor.lua("return vim.api.nvim_buf_is_loaded(vim.fn.bufnr(...))", b)
    end(run, "lint", "failed", failures=[failure(b, 8)])
    assert [one[3] for one in diagnostics(editor, "a.py")] == ["tideate: tests"], "the check found it no more"
    assert [one[0] for one in diagnostics(editor, "b.py")] == [7]
    run_on(editor, "a.py")
    assert diagnostics(editor, "a.py") == []
    assert len(diagnostics(editor, "b.py")) == 1
    assert editor.lua("return #vim.diagnostic.get(0)") == 1, "others' diagnostics stay"


def test_a_refused_edit_stands_where_it_would_have_gone(editor: Editor) -> None:
    editor.edit("a.py", "A = 1\nB = 2\n")
    run = Run(editor)
    entry = failure(str(editor.cwd / "a.py"), 2, "a.py was changed where the edit goes")
    run.event("STEP_FAILED", step="refactor", error="conflict", error_code="EditConflict", entries=[entry])
    run.event("WORKFLOW_FAILED", error="conflict", error_code="EditConflict")
    assert [(one[0], one[3]) for one in diagnostics(editor, "a.py")] == [(1, "tideate: refused edit")]
    assert quickfix(editor)["title"] == f"tideate: refused edit (run {run.id[:8]})"
    editor.command("cfirst")
    assert editor.lua("return vim.fn.line('.')") == 2


@pytest.mark.slow
def test_a_syntax_error_is_told_once_it_is_written(editor: Editor) -> None:
    root = str(editor.cwd)
    editor.edit("a.py", "A = 1\nB = (\n")
    entries = [failure(f"{root}/a.py", 2, "'(' was never closed"), failure(f"{root}/b.py", 1, "bad")]

    def proposed(name: str, *gates: str) -> Run:
        run = Run(editor, name)
        run.event("WORKFLOW_RESTORED", name="refactor", steps=["refactor"], root=root)
        for name in gates:
            run.event(f"GATE_{name}", step="refactor", gate="syntax", issues=["x"], entries=entries)
        return run

    declined = proposed("a", "FAILED")
    assert diagnostics(editor, "a.py") == [], "the review is open, and nothing is written"
    ends(declined)
    assert diagnostics(editor, "a.py") == []
    corrected = proposed("b", "FAILED")
    corrected.event("GATE_PASSED", step="refactor", gate="syntax", issues=[])
    ends(corrected, "a.py")
    assert diagnostics(editor, "a.py") == []
    ends(proposed("c", "FAILED"), "a.py")
    assert [(one[0], one[2], one[3]) for one in diagnostics(editor, "a.py")] == [
        (1, "'(' was never closed", "tideate: syntax")
    ]
    assert diagnostics(editor, "b.py") == [], "this one was not accepted"
    assert [item["lnum"] for item in quickfix(editor)["items"]] == [2]
    ends(proposed("d"), "a.py")
    assert diagnostics(editor, "a.py") == [], "a later run wrote the file"
