"""The workflow `edit` in a real Neovim: hunks stream into the buffer, and one key accepts them."""

from __future__ import annotations

import os
import re
import signal
from typing import TYPE_CHECKING

import pytest

from tests.editor.test_run_views import kill, second
from tests.harness.dialogs import choose, say_yes, wait_focused
from tests.harness.editor import REPOSITORY
from tests.harness.review import drawn, left_overs
from tests.harness.runs import configure, result, start

if TYPE_CHECKING:
    from tests.harness.editor import Editor, EditorFactory
    from tests.harness.model_server import Gate, ModelServer

TEXT = ["def area(r):", "    x = 3 * r", "    return x * r", "", "print(area(2))"]
FIRST = "```python\ndef area(r):\n    x = 3.14 * r\n"
REST = "    return x * r + 0\n```"
OTHER = "```python\nprint(area(3))\n"
EDITED = ["def area(r):", "    x = 3.14 * r", "    return x * r + 0", "", "print(area(2))"]
CAPTURE = "return require('tideate.context').capture({...})"
WINDOWS = "return #vim.api.nvim_list_wins()"
STREAMED = """
local lines = {}
for name, ns in pairs(vim.api.nvim_get_namespaces()) do
  if name:find('^tideate%.review%.%d') then
    for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, ns, 0, -1, { details = true })) do
      for _, line in ipairs(mark[4].virt_lines or {}) do
        table.insert(lines, vim.trim(table.concat(vim.tbl_map(function(c) return c[1] end, line))))
      end
    end
  end
end
return table.concat(lines, '\\n')
"""


@pytest.fixture
def editing(editor: Editor, server: ModelServer) -> Editor:
    """An editor with a file and the model server."""
    configure(editor, server)
    editor.edit("a.py", "\n".join(TEXT) + "\n")
    return editor


def begin(editor: Editor, server: ModelServer, first: int = 1, last: int = 3, prompt: str = "pi") -> Gate:
    """Start an edit of some lines and hold its answer after the first changed line."""
    gate = server.holds(prompt, text=FIRST + REST, pieces=[FIRST, REST])
    start(editor, "edit", prompt, context=editor.lua(CAPTURE, first, last))
    editor.wait_for(lambda: "3.14" in streamed(editor), "the first changed line is shown")
    return gate


def streamed(editor: Editor) -> str:
    """Return the virtual lines of streaming answers."""
    return str(editor.lua(STREAMED))


def leaves(editor: Editor) -> list[object]:
    """Return the marks, winbars and mapping of runs in the buffer."""
    return [
        left_overs(editor)["marks"],
        left_overs(editor)["bars"],
        editor.lua("return vim.fn.maparg('<C-c>', 'n')"),
    ]


def test_hunks_come_before_the_review_and_one_key_keeps_them(editing: Editor, server: ModelServer) -> None:
    gate = begin(editing, server)
    assert streamed(editing) == "+     x = 3.14 * r"
    assert editing.lua(WINDOWS) == 1, "no output window takes the place"
    assert editing.lines() == TEXT, "nothing is written"
    gate.release()
    wait_focused(editing)
    assert streamed(editing) == ""
    assert "x = 3.14 * r" in drawn(editing)
    editing.feed("gg<CR>")
    assert editing.lua("return vim.fn.line('.')") == 2, "outside the hunks the key moves the cursor"
    editing.feed("<CR>")
    assert result(editing)["ok"]
    assert editing.lines() == EDITED
    assert leaves(editing) == [0, 0, ""]
    editing.feed("u")
    assert editing.lines() == TEXT, "one undo takes it back"


def test_the_text_stays_where_it_is_when_the_review_comes_and_goes(
    screen_editor: Editor, server: ModelServer
) -> None:
    def row() -> int:
        return next(number for number, line in enumerate(screen_editor.screen()) if "def area" in line)

    configure(screen_editor, server)
    screen_editor.edit("a.py", "\n".join(["import os", "", *TEXT]) + "\n")
    screen_editor.feed("5G")
    assert row() == 2
    gate = begin(screen_editor, server, 3, 5)
    assert row() == 2
    gate.release()
    wait_focused(screen_editor)
    assert "review" in screen_editor.screen()[0]
    assert row() == 2
    screen_editor.feed("<CR>")
    assert result(screen_editor)["ok"]
    assert row() == 2


def test_the_text_stays_where_it_is_with_the_cursor_on_the_first_hunk(
    small_editor: Editor, server: ModelServer
) -> None:
    configure(small_editor, server)
    small_editor.edit("a.py", "\n".join(["import os", "", *TEXT]) + "\n")
    small_editor.feed("3G")
    server.answers("pi", f"{FIRST}{REST}")
    start(small_editor, "edit", "pi", context=small_editor.lua(CAPTURE, 3, 5))
    wait_focused(small_editor)
    small_editor.feed("<CR>")
    small_editor.wait("not vim.wo.winbar:find('hunk 1/2')", 60)
    small_editor.feed("g<CR>")
    assert result(small_editor)["ok"]
    assert small_editor.screen()[:3] == ["import os", "", "def area(r):"]


def test_typing_meanwhile_is_kept_and_the_hunks_stay_at_their_lines(
    editing: Editor, server: ModelServer
) -> None:
    gate = begin(editing, server)
    editing.feed("ggOimport os<CR><Esc>Goprint(os)<Esc>")
    assert streamed(editing) == "+     x = 3.14 * r"
    gate.release()
    wait_focused(editing)
    editing.feed("<CR>")
    assert result(editing)["ok"]
    assert editing.lines() == ["import os", "", *EDITED, "print(os)"]


def test_ctrl_c_stops_the_request_and_removes_everything(editing: Editor, server: ModelServer) -> None:
    editing.command("nnoremap <buffer> <C-c> mine")
    begin(editing, server)
    editing.feed("<C-c>")
    assert result(editing)["cancelled"]
    server.wait_idle()
    assert server.disconnects == 1
    assert editing.lines() == TEXT
    assert leaves(editing) == [0, 0, "mine"]


def test_ctrl_c_in_the_review_asks_and_a_review_that_was_left_opens_again(
    editing: Editor, server: ModelServer
) -> None:
    begin(editing, server).release()
    wait_focused(editing)
    choose(editing, 1)
    editing.feed("<C-c>")
    editing.wait("#_G.choices == 1")
    assert "x = 3.14 * r" in drawn(editing), "nothing is lost by a key"
    editing.feed("q")
    assert not result(editing)["ok"]
    assert leaves(editing) == [0, 0, ""]
    editing.command("Workflow review")
    wait_focused(editing)
    editing.feed("<CR>")
    editing.wait_for(lambda: editing.lines() == EDITED, "the edit is written")


def test_a_reason_streams_the_next_round_to_the_same_place(editing: Editor, server: ModelServer) -> None:
    server.answers("pi", "```python\ndef area(r):\n    x = 3.1 * r\n    return x * r\n```", times=1)
    start(editing, "edit", "pi", context=editing.lua(CAPTURE, 1, 3))
    wait_focused(editing)
    gate = server.holds("more digits", text=FIRST + REST, pieces=[FIRST, REST])
    editing.feed("gbmore digits<CR>")
    editing.wait_for(lambda: "3.14" in streamed(editing), "the revision is shown as it comes")
    gate.release()
    wait_focused(editing)
    editing.feed("gAg<CR>")
    assert result(editing)["ok"]
    assert editing.lines() == EDITED


def test_a_killed_host_leaves_nothing(editing: Editor, server: ModelServer) -> None:
    begin(editing, server)
    os.kill(editing.lua("return require('tideate.host').info().pid"), signal.SIGKILL)
    assert not result(editing)["ok"]
    assert leaves(editing) == [0, 0, ""]
    assert editing.lines() == TEXT


def begin_second(editor: Editor, server: ModelServer) -> Gate:
    """Start an edit of the last line and hold its answer before the closing fence."""
    gate = server.holds("three", text=OTHER + "```", pieces=[OTHER, "```"])
    start(editor, "edit", "three", context=editor.lua(CAPTURE, 5, 5))
    editor.wait_for(lambda: "area(3)" in streamed(editor), "both are shown")
    assert "3.14" in streamed(editor)
    return gate


@pytest.mark.parametrize(
    ("row", "left", "text"),
    [("G", "+     x = 3.14 * r", EDITED), ("gg", "+ print(area(3))", [*TEXT[:4], "print(area(3))"])],
    ids=["second", "first"],
)
def test_ctrl_c_stops_the_edit_at_the_cursor(
    editing: Editor, server: ModelServer, row: str, left: str, text: list[str]
) -> None:
    gates = begin(editing, server), begin_second(editing, server)
    editing.feed(f"{row}<C-c>")
    editing.wait_for(lambda: streamed(editing) == left, "only the other one is shown")
    for gate in gates:
        gate.release()
    wait_focused(editing)
    editing.feed("<CR>")
    editing.wait_for(lambda: editing.lines() == text, "the other edit is written")
    editing.wait("require('tideate').get_status() == nil")
    assert leaves(editing) == [0, 0, ""]


def test_two_edits_of_one_buffer_are_kept_one_after_the_other(editing: Editor, server: ModelServer) -> None:
    gate, other = begin(editing, server), begin_second(editing, server)
    other.release()
    wait_focused(editing)
    assert "3.14" in streamed(editing), "the other one goes on beside the review"
    editing.feed("<CR>")
    editing.wait_for(lambda: editing.lines() == [*TEXT[:4], "print(area(3))"], "the second edit is written")
    gate.release()
    wait_focused(editing)
    editing.feed("<CR>")
    editing.wait_for(lambda: editing.lines() == [*EDITED[:4], "print(area(3))"], "so is the first")
    editing.wait("require('tideate').get_status() == nil")
    assert leaves(editing) == [0, 0, ""]


@pytest.mark.slow
def test_an_edit_whose_neovim_was_killed_is_resumed_in_the_buffer(
    start_editor: EditorFactory, editing: Editor, server: ModelServer
) -> None:
    (editing.cwd / ".tideate").mkdir()
    gate = begin(editing, server)
    kill(editing)
    editor = second(start_editor, editing, server)
    editor.command("edit other.py | edit a.py")
    editor.command("Workflow resume")
    say_yes(editor)
    editor.wait_for(lambda: "3.14" in streamed(editor), "the answer comes again")
    gate.release()
    wait_focused(editor)
    editor.feed("<CR>")
    editor.wait_for(lambda: editor.lines() == EDITED, "the edit is written")


def test_a_failure_is_told_and_opens_no_window(editing: Editor, server: ModelServer) -> None:
    server.fails("pi", 400)
    start(editing, "edit", "pi")
    assert not result(editing)["ok"]
    assert "edit failed" in editing.messages()
    assert leaves(editing) == [0, 0, ""]


def test_a_reply_continues_it_in_the_buffer(editing: Editor, server: ModelServer) -> None:
    begin(editing, server).release()
    wait_focused(editing)
    editing.feed("<CR>")
    assert result(editing)["ok"]
    more = "```python\ndef area(r):\n    x = 3.14159 * r\n"
    gate = server.holds("more digits", text=more + REST, pieces=[more, REST])
    editing.command("Workflow! edit more digits")
    editing.wait_for(lambda: "3.14159" in editing.lua(STREAMED), "the answer comes into the buffer")
    assert editing.lua(WINDOWS) == 1
    gate.release()
    wait_focused(editing)
    editing.feed("<CR>")
    editing.wait_for(lambda: "3.14159" in editing.lines()[1], "the reply is written")
    assert "pi" in str(server.requests[-1]["messages"][1])


def test_an_empty_buffer_without_a_file_is_filled(editor: Editor, server: ModelServer) -> None:
    configure(editor, server)
    server.answers("a constant", "```python\nLIMIT = 3\n```")
    start(editor, "edit", "a constant")
    wait_focused(editor)
    editor.feed("ga")
    assert result(editor)["ok"]
    assert editor.lines() == ["LIMIT = 3"]


MAPPINGS = """
nmap gz <Plug>(tideate-edit)
xmap gz <Plug>(tideate-edit)
nmap gzz <Plug>(tideate-edit-line)
nmap gRR <Plug>(tideate-refactor-line)
"""
TABLE = REPOSITORY / "docs" / "help" / "comparison.md"


def press(editor: Editor, keys: str) -> int:
    """Type keys, and return their number."""
    editor.feed(keys)
    return len(re.findall(r"<[^>]+>|.", keys))


def documented(workflow: str) -> list[str]:
    """Return the numbers of a workflow in the table of keystrokes."""
    (row,) = re.findall(rf"^\| `{workflow}` of tideate \|(.*)\|$", TABLE.read_text(), re.MULTILINE)
    return re.findall(r"\b\d+\b", row)


def test_one_mapping_one_prompt_one_key_and_a_dot_repeats_it(editing: Editor, server: ModelServer) -> None:
    editing.nvim.api.exec2(MAPPINGS, {})
    server.answers("line 2 of", "```python\n    x = 3.14 * r\n```")
    server.answers("line 5 of", "```python\nprint(area(3))\n```")
    editing.feed("jgzzmore")
    keys = press(editing, "<C-s>")
    wait_focused(editing)
    keys += press(editing, "<CR>")
    editing.wait_for(lambda: "3.14" in editing.lines()[1], "the first edit is written")
    assert documented("edit") == [str(keys), str(len(server.requests))]
    editing.wait("require('tideate').get_status() == nil")
    editing.feed("G.")
    wait_focused(editing)
    editing.feed("ga")
    editing.wait_for(lambda: editing.lines()[4] == "print(area(3))", "the same prompt, another line")


def test_refactor_needs_more_keys_and_requests(editing: Editor, server: ModelServer) -> None:
    editing.nvim.api.exec2(MAPPINGS, {})
    server.answers("what must not change", "It multiplies.")
    server.answers("in one fenced block", "```python\n    x = 3.14 * r\n```")
    editing.feed("jgRRmore")
    keys = press(editing, "<C-s>")
    for answer in ("y", "ga", "g<CR>"):
        wait_focused(editing)
        keys += press(editing, answer)
    editing.wait_for(lambda: "3.14" in editing.lines()[1], "the edit is written")
    assert documented("refactor") == [str(keys), str(len(server.requests))]


@pytest.mark.parametrize("where", ["prompt", "output"])
def test_a_refactoring_is_sent_as_an_edit_without_analysis(
    editing: Editor, server: ModelServer, where: str
) -> None:
    server.answers("line 2 of", "```python\n    x = 3.14 * r\n```")
    server.holds("what must not change")
    editing.command("2Workflow refactor")
    if where == "prompt":
        editing.feed("more<C-e>")
    else:
        editing.feed("more<C-s>")
        editing.wait("require('tideate.ui.output').focus()")
        server.wait_for_requests(1)
        editing.feed("e")
    wait_focused(editing)
    editing.feed("<CR>")
    editing.wait_for(lambda: "3.14" in editing.lines()[1], "the edit is written")
    assert len(server.requests) == (1 if where == "prompt" else 2)
    server.wait_idle()
