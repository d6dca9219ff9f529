"""`:Workflow snapshot` in the editor: list, compare, restore after a preview, create, delete."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.harness.dialogs import answers, focused, gate, wait_focused
from tests.harness.runs import accept_all, configure, result, start
from tideate_core.snapshots import SnapshotManager
from tideate_core.snapshots.restore import Restorer

if TYPE_CHECKING:
    from tests.harness.editor import Editor
    from tests.harness.model_server import ModelServer

pytestmark = pytest.mark.slow

FOCUSED = "vim.api.nvim_buf_get_name(0) == '' and vim.bo.filetype == 'tideate-runs'"


@pytest.fixture
def nvim(small_editor: Editor) -> Editor:
    """A small screen in a project with two files."""
    (small_editor.cwd / ".tideate").mkdir()
    small_editor.write("src/a.py", "A = 1\nB = 2\n")
    small_editor.write("gone.txt", "here\n")
    return small_editor


def made(editor: Editor, name: str = "before it") -> None:
    editor.command(f"Workflow snapshot {name}")
    editor.wait_screen(f"“{name}”: 2 files")


def changed(editor: Editor) -> None:
    editor.write("src/a.py", "A = 1\nB = 3\n")
    (editor.cwd / "gone.txt").unlink()
    editor.write("new.txt", "new\n")


def listed(editor: Editor) -> list[str]:
    """Open the list and wait for it; an open list takes the focus again."""
    editor.command("Workflow snapshot")
    editor.wait(f"{FOCUSED} and not require('tideate.client').busy()")
    return editor.lines()


def names(editor: Editor) -> list[str]:
    return [one.name for one in asyncio.run(SnapshotManager(editor.cwd, private=editor.state).list())]


def test_without_any_the_list_says_how_to_make_one(nvim: Editor) -> None:
    assert listed(nvim) == [" none yet: c makes one of the files as they are now"]
    nvim.feed("c")
    nvim.feed("by key<CR>")
    nvim.wait_screen("“by key”: 2 files")
    nvim.wait_for(lambda: "by key" in nvim.lines()[0], "the list shows it")
    assert names(nvim) == ["by key"]


def test_the_files_that_differ_are_shown_with_their_lines(nvim: Editor) -> None:
    made(nvim)
    changed(nvim)
    assert "before it" in listed(nvim)[0]
    nvim.wait_screen("<CR> diff  r restore  c create  x delete  q close")
    nvim.feed("<CR>")
    nvim.wait_screen("since snapshot")
    lines = nvim.lines()
    assert [line for line in lines if line.startswith((" -", " +", " ~"))] == [
        " - gone.txt",
        " + new.txt",
        " ~ src/a.py",
    ]
    assert "   -B = 2" in lines
    assert "   +B = 3" in lines
    row = lines.index(" ~ src/a.py") + 2
    assert nvim.lua("return vim.fn.foldclosed(...)", row) == row
    nvim.feed(f"{row}G<CR>")
    nvim.wait_screen("   +B = 3")
    added = lines.index("   +B = 3")
    groups = nvim.lua(
        """
        local row = ...
        return vim.tbl_map(function(mark) return mark[4].hl_group end,
          vim.api.nvim_buf_get_extmarks(0, -1, { row, 0 }, { row, -1 }, { details = true }))
        """,
        added,
    )
    assert groups == ["TideateAddSign"]
    nvim.feed("q")
    nvim.wait_screen("x delete")
    nvim.feed("q")
    assert nvim.lua("return vim.bo.filetype") == ""


def test_a_restore_shows_first_what_it_changes(nvim: Editor) -> None:
    made(nvim)
    changed(nvim)
    listed(nvim)
    nvim.feed("r")
    wait_focused(nvim)
    screen = " ".join(line.strip(" │~") for line in nvim.wait_screen("snapshot · restore"))
    assert "1 file written, 1 file restored, 1 file left, made since" in screen
    assert "write `src/a.py`" in screen
    assert "new.txt" not in screen
    nvim.feed("n")
    assert (nvim.cwd / "src" / "a.py").read_text() == "A = 1\nB = 3\n"
    nvim.lua("vim.cmd('Workflow snapshot')")
    nvim.wait(FOCUSED)
    nvim.feed("r")
    wait_focused(nvim)
    nvim.feed("y")
    nvim.wait_screen("2 files restored")
    assert (nvim.cwd / "src" / "a.py").read_text() == "A = 1\nB = 2\n"
    assert (nvim.cwd / "gone.txt").read_text() == "here\n"
    assert (nvim.cwd / "new.txt").exists()
    assert names(nvim) == ["before it", "before the restore of before it"]


def test_a_key_typed_while_the_list_is_read_again_is_the_lists(nvim: Editor) -> None:
    made(nvim)
    listed(nvim)
    nvim.lua(
        """
        local stored = require('tideate.stored_runs')
        local request = stored.request
        stored.request = function(method, params, take)
          return request(method, params, function(result)
            vim.api.nvim_feedkeys('g?', 't', false)
            take(result)
          end)
        end
        """
    )
    nvim.command("Workflow snapshot")
    nvim.wait_screen("restore the changed files")


HOLD = """
local stored = require('tideate.stored_runs')
local request = stored.request
stored.request = function(method, params, take)
  return request(method, params, function(result)
    stored.request = request
    _G.come = function() take(result) end
  end)
end
"""


@pytest.mark.parametrize("shown", [False, True])
def test_an_answer_that_comes_late_leaves_the_focus_to_a_question_that_came_since(
    nvim: Editor, shown: bool
) -> None:
    made(nvim)
    if shown:
        listed(nvim)
    nvim.lua(HOLD)
    nvim.command("Workflow snapshot")
    nvim.wait("_G.come ~= nil")
    gate(nvim)
    wait_focused(nvim)
    nvim.lua("_G.come()")
    nvim.wait_screen("MiB  before it")
    assert focused(nvim)
    nvim.feed("y")
    assert [one["accepted"] for one in answers(nvim)] == [True]


def test_the_list_that_is_asked_for_in_a_question_has_the_focus(nvim: Editor) -> None:
    made(nvim)
    gate(nvim)
    wait_focused(nvim)
    assert "before it" in listed(nvim)[0]
    assert not focused(nvim)


def test_what_was_made_since_is_deleted_only_with_the_other_key(nvim: Editor) -> None:
    made(nvim)
    changed(nvim)
    listed(nvim)
    nvim.feed("Ry")
    nvim.wait_screen(
        "waits for you"
    )  # half a command was typed since: the next key is not meant for the question
    nvim.feed("<Esc>")
    wait_focused(nvim)
    nvim.wait_screen("delete `new.txt`")
    nvim.feed("y")
    nvim.wait_screen("2 files restored")
    assert not (nvim.cwd / "new.txt").exists()


def test_where_nothing_differs_nothing_is_asked(nvim: Editor) -> None:
    made(nvim)
    listed(nvim)
    nvim.feed("r")
    nvim.wait_screen("every file is as it was then")
    assert nvim.lua("return require('tideate.ui').pending()") == []


def test_unsaved_buffers_are_kept_and_loaded_ones_follow(nvim: Editor) -> None:
    made(nvim)
    changed(nvim)
    buffer = nvim.edit("src/a.py")
    nvim.lua("vim.api.nvim_buf_set_lines(0, 0, 0, true, { '# mine' })")
    listed(nvim)
    nvim.feed("r")
    wait_focused(nvim)
    nvim.feed("y")
    nvim.wait_screen("unsaved in the editor, so nothing was restored")
    assert nvim.lines(buffer)[0] == "# mine"
    assert not (nvim.cwd / "gone.txt").exists()
    nvim.lua("vim.api.nvim_buf_call(..., function() vim.cmd('edit!') end)", buffer)
    listed(nvim)
    nvim.feed("r")
    wait_focused(nvim)
    nvim.feed("y")
    nvim.wait_screen("2 files restored")
    nvim.wait_for(lambda: nvim.lines(buffer) == ["A = 1", "B = 2"], "the buffer follows its file")


def test_one_is_deleted_after_a_question_that_return_declines(nvim: Editor) -> None:
    made(nvim)
    listed(nvim)
    nvim.feed("x")
    wait_focused(nvim)
    nvim.feed("<CR>")
    assert names(nvim) == ["before it"]
    listed(nvim)
    nvim.feed("x")
    wait_focused(nvim)
    nvim.feed("y")
    nvim.wait_screen("deleted: ")
    assert names(nvim) == []


def test_outside_any_project_it_says_so(editor: Editor) -> None:
    editor.command("Workflow snapshot")
    editor.wait_for(lambda: "this folder is in no project" in editor.messages(), "it is said")


@pytest.fixture
def half_restored(editor: Editor, server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> Editor:
    """A project with an interrupted restore."""
    server.answers("question", "answer")
    configure(editor, server)
    (editor.cwd / ".tideate").mkdir()
    half_restore(editor, monkeypatch)
    return editor


def half_restore(editor: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave a project like a restore of `one` killed after it wrote `a.py`."""
    editor.write("a.py", "then\n")
    editor.write("b.py", "then\n")
    # the journal is believed because it is in the private state of this editor's person
    monkeypatch.setenv("XDG_STATE_HOME", str(editor.home / "state"))

    async def killed() -> None:
        manager = SnapshotManager(editor.cwd)
        snapshot = await manager.create("one")
        editor.write("a.py", "now\n")
        # as if killed before the end
        monkeypatch.setattr(Restorer, "_close_journal", lambda _self, _run: None)
        await manager.restore(snapshot)

    asyncio.run(killed())
    assert (editor.cwd / "a.py").read_text() == "then\n"
    assert is_interrupted(editor)


def is_interrupted(editor: Editor) -> bool:
    return any((editor.state / "snapshots" / "journal").iterdir())


def told(editor: Editor) -> str:
    """Return all messages in one line."""
    return " ".join(editor.messages().split())


def test_looking_at_a_project_puts_no_interrupted_restore_back(half_restored: Editor) -> None:
    half_restored.edit("a.py")
    half_restored.edit("step.workflow", "* to a\n  Go.\na to *\n  End.\n")
    half_restored.command("Workflow list")
    half_restored.wait("require('tideate.host').state() == 'ready'")
    half_restored.wait("vim.bo.filetype == 'tideate-runs'")
    half_restored.feed("q")
    half_restored.command("Workflow history")
    half_restored.wait("vim.bo.filetype == 'tideate-panel'")
    half_restored.feed("q")
    assert "one" in " ".join(listed(half_restored))
    half_restored.feed("<CR>")
    half_restored.wait("vim.fn.search('a.py', 'nw') > 0 or vim.fn.search('nothing', 'nw') > 0")
    half_restored.wait("not require('tideate.client').busy()")
    assert "interrupted" not in told(half_restored)
    half_restored.quit()  # what the host had begun would be over then
    assert (half_restored.cwd / "a.py").read_text() == "then\n"
    assert is_interrupted(half_restored)


def test_a_run_puts_an_interrupted_restore_back_and_says_so_before(half_restored: Editor) -> None:
    buffer = half_restored.edit("a.py")
    start(half_restored, "ask", "question")
    assert result(half_restored)["response"] == "answer"
    words = told(half_restored)
    before = words.find("these files go back to what they were before it: a.py")
    assert 0 <= before < words.find("the interrupted restore was rolled back: a.py")
    assert (half_restored.cwd / "a.py").read_text() == "now\n"
    half_restored.wait_for(lambda: half_restored.lines(buffer) == ["now"], "the buffer follows its file")
    assert not is_interrupted(half_restored)


def test_another_restore_puts_the_interrupted_one_back_first(half_restored: Editor) -> None:
    buffer = half_restored.edit("a.py")
    half_restored.set_lines(["mine"])
    half_restored.write("b.py", "now\n")
    listed(half_restored)
    half_restored.feed("Gr")
    wait_focused(half_restored)
    assert "these files go back to what they were before it: a.py" in told(half_restored)
    assert (half_restored.cwd / "a.py").read_text() == "now\n", "so that all that will change is shown"
    assert half_restored.lines(buffer) == ["mine"], "an unsaved buffer keeps its text"
    half_restored.lua("vim.api.nvim_buf_call(..., function() vim.cmd('edit!') end)", buffer)
    half_restored.feed("y")
    half_restored.wait_for(lambda: "files restored" in told(half_restored), "restored")
    assert [(half_restored.cwd / name).read_text() for name in ("a.py", "b.py")] == ["then\n", "then\n"]
    assert not is_interrupted(half_restored)


def test_a_rollback_puts_an_interrupted_restore_back_first(
    half_restored: Editor, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    half_restored.edit("c.py", "C  =  1\n")
    server.answers("what must not change", "ANALYSIS")
    server.answers("ANALYSIS", "```python\nC = 1\n```")
    accept_all(half_restored)
    start(half_restored, "refactor", "tidy")
    assert result(half_restored)["ok"]
    half_restored.command("silent wall")
    monkeypatch.undo()
    half_restore(half_restored, monkeypatch)
    half_restored.command("messages clear")
    half_restored.command("Workflow rollback")
    half_restored.wait_for(lambda: "rolled back: c.py" in told(half_restored), "rolled back")
    words = told(half_restored)
    before = words.find("these files go back to what they were before it: a.py")
    assert 0 <= before < words.find("rolled back: c.py")
    assert (half_restored.cwd / "a.py").read_text() == "now\n"
