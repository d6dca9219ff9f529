"""`:Workflow review` in a real Neovim: keep or revert changes of other programs, apply a patch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.builtin.review.conftest import FIRST
from tests.harness.dialogs import answers, ask, say_yes, wait_focused
from tests.harness.project import git

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.editor import Editor

TWO = FIRST.replace("one", "ONE").replace("eight", "EIGHT")
HUNKS = [{"start": 0, "old": ["one"], "new": ["ONE"]}, {"start": 7, "old": ["eight"], "new": ["EIGHT"]}]
DONE = """
_G.ended = nil
vim.api.nvim_create_autocmd('User', {
  pattern = { 'TideateWorkflowCompleted', 'TideateWorkflowFailed', 'TideateWorkflowCancelled' },
  callback = function(event) _G.ended = event.match .. ' ' .. (event.data.error or '') end,
})
"""


def written(editor: Editor, *files: dict[str, Any]) -> None:
    text = {"path": "a.py", "action": "modify", "before": FIRST.rstrip("\n"), "filetype": "", "hunks": HUNKS}
    ask(editor, "review", payload={"files": [text, *files], "written": True, "revisable": False})
    wait_focused(editor)


def labels(editor: Editor) -> str:
    """Return the text after the lines of the review."""
    return str(
        editor.lua("""
          local ns, found = vim.api.nvim_get_namespaces()['tideate.review'], {}
          for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, ns, 0, -1, { details = true })) do
            for _, chunk in ipairs(mark[4].virt_text or {}) do
              table.insert(found, chunk[1])
            end
          end
          return table.concat(found)
        """)
    )


def test_what_is_rejected_alone_is_an_answer(editor: Editor) -> None:
    written(editor)
    editor.feed("gR")
    editor.feed("g<CR>")
    (answer,) = answers(editor)
    assert answer["accepted"] is True
    assert answer["value"]["files"] == [{"path": "a.py", "accepted": [], "rejected": [0, 1]}]


def test_the_end_says_what_is_reverted_of_modes_and_binaries_too(editor: Editor) -> None:
    mode = {"path": "a.py", "action": "modify", "hunks": [], "note": "mode 644 → 755", "whole": True}
    binary = {**mode, "path": "bin", "binary": True, "note": "binary, 3 bytes"}
    written(editor, {**mode, "before": "", "mode": ["100644", "100755"]}, {**binary, "before": ""})
    editor.feed("gr")
    editor.feed("gr")
    assert "mode 644 → 755" in editor.lua("return vim.wo.winbar")
    editor.feed("gr")
    assert editor.lines() == ["binary, 3 bytes"]
    editor.feed("ga")
    editor.feed("g<CR>")
    (answer,) = answers(editor)
    assert answer["accepted"] is True
    assert answer["value"]["files"] == [
        {"path": "a.py", "accepted": [], "rejected": [0, 1]},
        {"path": "a.py", "accepted": [], "rejected": [0]},
        {"path": "bin", "accepted": [0], "rejected": []},
    ]
    assert "review finished: 1 of 4 kept, 3 reverted" in editor.messages()


def test_the_words_are_those_of_changes_that_stand_in_the_files(editor: Editor) -> None:
    editor.lua("vim.o.columns = 200")
    written(editor)
    bar = "return vim.api.nvim_eval_statusline(vim.wo.winbar, { use_winbar = true }).str"
    assert "ga keep  gr revert" in editor.lua(bar)
    editor.feed("g<CR>")
    assert "nothing is decided yet: gA to keep all, gR to revert all" in editor.messages()
    editor.feed("ga")
    editor.feed("gr")
    assert "all is decided: g<CR> finishes, gu undoes" in editor.messages()
    assert "2 hunks: 1 kept, 1 to revert" in editor.lua(bar)
    assert "gu undo" in editor.lua(bar)
    assert labels(editor) == " ✓ kept ✗ to revert"
    editor.feed("g?")
    shown = "\n".join(editor.lines())
    assert "undo the last decision" in shown
    assert "redo the decision or comment" in shown
    assert "revert the chosen hunks and keep the open ones" in " ".join(shown.split())
    assert "accept" not in shown
    assert "reject" not in shown


@pytest.fixture
def project(editor: Editor) -> Path:
    root = editor.cwd
    (root / "a.py").write_text(FIRST)
    (root / "sub dir").mkdir()
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    git(root, "branch", "topic")
    editor.lua(DONE)
    return root


@pytest.mark.slow
def test_a_file_that_something_else_wrote_is_reviewed_reverted_and_rolled_back(
    editor: Editor, project: Path
) -> None:
    editor.edit("a.py")
    (project / "a.py").write_text(TWO)  # the buffer has the text of before
    (project / "sub dir/new.txt").write_text("new\n")
    editor.command("Workflow review HEAD")
    wait_focused(editor)
    assert "tideate://review/" in editor.lua("return vim.api.nvim_buf_get_name(0)")
    editor.command("Workflow review")  # it is open already
    editor.feed("gr")
    editor.feed("ga")
    editor.feed("gr")
    editor.feed("g<CR>")
    assert editor.wait("_G.ended") == "TideateWorkflowCompleted "
    assert (project / "a.py").read_text() == FIRST.replace("eight", "EIGHT")
    assert not (project / "sub dir/new.txt").exists()
    shown = editor.lua("return vim.api.nvim_buf_get_lines(vim.fn.bufnr('a.py'), 0, 1, true)[1]")
    assert (shown, editor.lua("return vim.bo[vim.fn.bufnr('a.py')].modified")) == ("one", False)
    editor.command("Workflow rollback")
    assert "Roll back 2 files to the state before review_changes" in say_yes(editor)
    editor.wait_for(lambda: (project / "sub dir/new.txt").exists(), "the run is rolled back")
    editor.wait_for(lambda: (project / "a.py").read_text() == TWO, "the run is rolled back")


@pytest.mark.slow
def test_what_is_as_it_was_stays_decided_when_a_review_is_opened_again(editor: Editor, project: Path) -> None:
    editor.lua("vim.o.columns = 200")
    (project / "a.py").write_text(TWO)
    (project / "new.txt").write_text("new\n")
    editor.command("Workflow review HEAD")
    wait_focused(editor)
    editor.feed("gr")
    editor.feed("ga")
    editor.feed("gr")
    assert "all is decided" in editor.messages()
    editor.lua("vim.uv.kill(require('tideate.host').info().pid, 9)")
    editor.wait("_G.ended")
    editor.lua("_G.ended = nil")
    (project / "a.py").write_text(TWO.replace("ONE", "1"))
    (project / "a0.txt").write_text("another\n")
    editor.command("Workflow review")
    editor.wait("vim.wo.winbar:find('2 open', 1, true)")
    wait_focused(editor)
    assert "4 hunks: 1 kept, 1 to revert, 2 open" in editor.lua("return vim.wo.winbar")
    editor.feed("gA")
    editor.feed("g<CR>")
    assert editor.wait("_G.ended") == "TideateWorkflowCompleted "
    assert (project / "a.py").read_text() == TWO.replace("ONE", "1")
    assert (project / "a0.txt").exists()
    assert not (project / "new.txt").exists()


@pytest.mark.slow
def test_a_patch_and_a_folder_with_a_blank_and_names_that_complete(editor: Editor, project: Path) -> None:
    patch = project / "x.patch"
    patch.write_text("--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n")
    editor.command("Workflow review x.patch")
    wait_focused(editor)
    editor.feed("gA")
    editor.feed("g<CR>")
    assert editor.wait("_G.ended") == "TideateWorkflowCompleted "
    assert (project / "a.py").read_text() == FIRST.replace("one", "ONE")
    patch.unlink()
    (project / "sub dir/new.txt").write_text("new\n")
    editor.lua("_G.ended = nil")
    editor.command(r"Workflow review HEAD sub\ dir")
    wait_focused(editor)
    assert editor.lines() == ["new"]
    editor.feed("gr")
    editor.feed("g<CR>")
    assert editor.wait("_G.ended") == "TideateWorkflowCompleted "
    assert list((project / "sub dir").iterdir()) == []
    editor.lua("_G.ended = nil")
    editor.command("Workflow review sub dir")
    assert editor.wait("_G.ended") == "TideateWorkflowCompleted "
    editor.lua("require('tideate.review_changes').refresh(function() _G.known = true end)")
    editor.wait("_G.known")
    found = editor.lua("return vim.fn.getcompletion('Workflow review ', 'cmdline')")
    assert found == ["HEAD", "main", "topic", "a.py", "sub dir/"]
    assert editor.lua("return vim.fn.getcompletion('Workflow review to', 'cmdline')") == ["topic"]
    editor.command("Workflow review one two three")
    assert "at most two things are given" in editor.messages()
