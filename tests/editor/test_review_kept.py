"""Reviews opened again in another Neovim, with their decisions and comments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.editor.test_review_rounds import FIRST, LINES, answer
from tests.editor.test_run_views import kill, second, stored
from tests.harness.dialogs import wait_focused
from tests.harness.model_rules import text_of
from tests.harness.review import bar, drawn
from tests.harness.runs import configure, start

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.harness.editor import Editor, EditorFactory
    from tests.harness.model_server import ModelServer

pytestmark = pytest.mark.slow


@pytest.fixture
def nvim(start_editor: EditorFactory, server: ModelServer) -> Editor:
    """An editor with an open review of a refactoring with three hunks."""
    return reviewing(start_editor(ui=(120, 30)), server)


def reviewing(editor: Editor, server: ModelServer, folder: str = "") -> Editor:
    """Refactor a file of a folder, the editor's working directory."""
    (editor.cwd / ".tideate").mkdir()
    (editor.cwd / folder).mkdir(exist_ok=True)
    editor.command(f"cd ./{folder}")
    configure(editor, server)
    server.answers("what must not change", "Nothing.", times=1)
    server.answers("in one fenced block", answer("FIRST", "LAST"))
    server.answers(FIRST, answer("ERSTER", "LAST"))
    editor.edit(f"{folder}/a.txt".lstrip("/"), "\n".join(LINES) + "\n")
    start(editor, "refactor", "shout", require_confirmation=False)
    editor.wait("vim.wo.winbar:find('3 open', 1, true)")
    wait_focused(editor)
    return editor


def run_of(editor: Editor) -> str:
    return str(editor.lua("return require('tideate.state').runs()[1].execution_id"))


def reopened(start_editor: EditorFactory, first: Editor, server: ModelServer) -> Editor:
    """A second Neovim with the review opened again."""
    editor = second(start_editor, first, server)
    editor.lua("vim.o.columns = 120")
    editor.command("Workflow review")
    editor.wait("vim.wo.winbar:find(' review ', 1, true)")
    wait_focused(editor)
    return editor


def ended(editor: Editor, run: str) -> Any:
    editor.wait("require('tideate.state').ended(...)", 60, run)
    return editor.lua("return require('tideate').get_status(...)", run)


def written(editor: Editor) -> list[str]:
    return (editor.cwd / "a.txt").read_text().splitlines()


def leave(editor: Editor) -> None:
    editor.quit()


LEAVING: dict[str, Callable[[Editor], None]] = {"killed": kill, "qall": leave}


@pytest.mark.parametrize("way", LEAVING)
def test_decisions_and_comments_are_there_in_the_next_neovim(
    nvim: Editor, server: ModelServer, start_editor: EditorFactory, way: str
) -> None:
    run, requests = run_of(nvim), len(server.requests)
    nvim.feed("ga")
    nvim.feed("gbno<CR>")
    nvim.feed("ga")
    nvim.feed("gu")
    nvim.feed("gSiall of it<Esc>:w<CR>")
    LEAVING[way](nvim)
    assert not stored(nvim, run).ended
    editor = reopened(start_editor, nvim, server)
    assert len(server.requests) == requests, "the model is not asked again"
    assert "1 accepted, 1 rejected, 1 open · 2 comments" in bar(editor)
    assert editor.lua("return vim.fn.line('.')") == 30
    editor.feed("[c")
    assert "» no" in drawn(editor)
    editor.feed("gu")
    editor.feed("gUgu")
    editor.feed("gu")
    assert "1 accepted, 2 open" in bar(editor), "what was decided there is undone here"
    editor.feed("gAg<CR>")
    assert ended(editor, run)["state"] == "completed"
    assert written(editor) == ["FIRST", *LINES[1:14], "MIDDLE", *LINES[15:29], "LAST"]
    assert not list(nvim.state.glob("reviews/*")), "nothing is left of the draft"


@pytest.mark.parametrize("again", ["", "part"])
def test_a_review_that_was_begun_below_the_root_goes_on_from_there_or_the_root(
    server: ModelServer, start_editor: EditorFactory, again: str
) -> None:
    first = reviewing(start_editor(ui=(120, 30)), server, "part")
    run, requests = run_of(first), len(server.requests)
    assert any("part/a.txt" in text_of(request) for request in server.requests)
    first.feed("gagr")
    kill(first)
    editor = second(start_editor, first, server)
    editor.lua("vim.o.columns = 120")
    editor.command(f"cd ./{again}")
    editor.command("Workflow review")
    editor.wait("vim.wo.winbar:find(' review ', 1, true)")
    wait_focused(editor)
    assert len(server.requests) == requests, "the model is not asked again"
    assert "1 accepted, 1 rejected, 1 open" in bar(editor)
    editor.feed("gag<CR>")
    assert ended(editor, run)["state"] == "completed"
    assert (editor.cwd / "part/a.txt").read_text().splitlines() == ["FIRST", *LINES[1:29], "LAST"]


def test_a_host_that_dies_keeps_the_decisions(nvim: Editor) -> None:
    run = run_of(nvim)
    nvim.feed("gagr")
    host = nvim.lua("return require('tideate.host').info().pid")
    nvim.lua("vim.uv.kill(..., 9)", host)
    nvim.wait("_G.done")
    assert "review" not in bar(nvim)
    nvim.command("Workflow review")
    nvim.wait("vim.wo.winbar:find(' review ', 1, true)")
    wait_focused(nvim)
    assert "1 accepted, 1 rejected, 1 open" in bar(nvim)
    nvim.feed("gag<CR>")
    assert ended(nvim, run)["state"] == "completed"
    assert nvim.lines() == ["FIRST", *LINES[1:29], "LAST"]


def test_the_second_round_is_kept_as_the_first(
    nvim: Editor, server: ModelServer, start_editor: EditorFactory
) -> None:
    run = run_of(nvim)
    nvim.feed(f"gb{FIRST}<CR>")
    nvim.feed("gagag<CR>")
    nvim.wait("vim.wo.winbar:find('revision 2', 1, true)")
    wait_focused(nvim)
    nvim.feed("gA")
    kill(nvim)
    editor = reopened(start_editor, nvim, server)
    assert "revision 2" in bar(editor)
    assert "all is decided: g<CR> finishes, gu undoes" in editor.messages()
    editor.feed("g<CR>")
    assert ended(editor, run)["state"] == "completed"
    assert written(editor) == ["ERSTER", *LINES[1:14], "MIDDLE", *LINES[15:29], "LAST"]


def test_the_next_neovim_says_what_waits_and_one_beside_it_where(
    nvim: Editor, server: ModelServer, start_editor: EditorFactory
) -> None:
    beside = second(start_editor, nvim, server)
    beside.command("Workflow review")
    beside.wait("vim.api.nvim_exec2('messages', {output = true}).output:find('is open in process')")
    nvim.feed("ga")
    nvim.quit()
    editor = second(start_editor, nvim, server)
    editor.command("Workflow list")
    words = "waits for your answer to its review; :Workflow review"
    editor.wait(f"vim.api.nvim_exec2('messages', {{output = true}}).output:find('{words}', 1, true)")


def test_of_several_runs_it_is_said_what_each_waits_for(editor: Editor) -> None:
    runs = [
        {
            "execution_id": f"{at}" * 32,
            "workflow": "multi_file",
            "prompt": "move f",
            "total_steps": 3,
            "completed_steps": 1,
            "waiting": f"waits {at}",
        }
        for at in "12"
    ]
    editor.lua(
        """
        local runs = ...
        require('tideate.stored_runs').ask = function(_, _, done) done({ runs = runs, elsewhere = {} }) end
        require('tideate.ui').select = function(items, options)
          _G.items, _G.prompt = vim.tbl_map(options.format_item, items), options.prompt
        end
        require('tideate.stored_runs').review()
        """,
        runs,
    )
    assert editor.lua("return _G.prompt") == "Which run's question?"
    labels = editor.lua("return _G.items")
    assert labels == [f"{str(at) * 8} multi_file (1/3) waits {at}: move f" for at in (1, 2)]


def test_without_a_review_it_says_what_to_review(small_editor: Editor, server: ModelServer) -> None:
    configure(small_editor, server)
    small_editor.command("Workflow review")
    words = "no review is open or waiting; :Workflow review HEAD reviews uncommitted changes"
    small_editor.wait(f"vim.api.nvim_exec2('messages', {{output = true}}).output:find('{words}', 1, true)")


def test_comments_on_a_plan_are_there_in_the_next_neovim(
    start_editor: EditorFactory, server: ModelServer
) -> None:
    nvim = start_editor(ui=(120, 30))
    configure(nvim, server)
    first, revised = (
        {"files": [{"action": "create", "path": path, "why": "so"}]} for path in ("a.py", "b.py")
    )
    server.answers("Which files have to be", first, times=1)
    start(nvim, "multi_file", "rename A", require_confirmation=True)
    wait_focused(nvim)
    nvim.feed("gsas a constant<CR>")
    kill(nvim)
    editor = second(start_editor, nvim, server)
    editor.command("Workflow review")
    wait_focused(editor)
    assert "» as a constant" in "\n".join(editor.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, true)"))
    server.answers("as a constant", revised)
    editor.feed("g<CR>")
    editor.wait("(require('tideate.ui').pending()[1] or {message = ''}).message:find('Revision 2', 1, true)")
    wait_focused(editor)
    lines = "\n".join(editor.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, true)"))
    assert "b.py" in lines
    assert "»" not in lines, "it was answered"
