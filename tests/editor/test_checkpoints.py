"""Checkpoints in the editor: create, list, show, restore."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.editor.test_run_views import THREE, stored
from tests.support.dialogs import say_yes
from tests.support.model_server import ModelServer
from tests.support.runs import configure, result, start
from tideate_core.store.reader import Reader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.editor.conftest import EditorFactory
    from tests.support.editor import Editor
    from tideate_core.store import CheckpointRow

pytestmark = pytest.mark.slow


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        server.answers("say one", "FIRST")
        yield server


@pytest.fixture
def nvim(start_editor: EditorFactory, server: ModelServer) -> Editor:
    editor = start_editor(ui=(80, 24))
    (editor.cwd / ".tideate" / "workflows").mkdir(parents=True)
    (editor.cwd / ".tideate" / "workflows" / "pair.yaml").write_text(THREE)
    configure(editor, server)
    return editor


def points(editor: Editor, identity: str) -> list[CheckpointRow]:
    return Reader(editor.state).checkpoints(identity)


def test_a_checkpoint_of_the_running_run_is_made_and_told(nvim: Editor, server: ModelServer) -> None:
    gate = server.holds("say two", text="SECOND")
    identity = start(nvim, "pair", "go")
    gate.wait_started()
    nvim.lua("""vim.api.nvim_create_autocmd('User', { pattern = 'TideateCheckpointCreated',
      callback = function(args) _G.made = args.data end })""")
    nvim.command("Workflow checkpoint")
    nvim.wait_screen("of pair, after one")
    made = nvim.wait("_G.made")
    (wanted,) = [point for point in points(nvim, identity) if point.manual]
    assert (made["checkpoint_id"], made["manual"], made["step"]) == (wanted.id, True, "one")
    assert nvim.lua("return vim.fn.getcompletion('Workflow checkpoint ', 'cmdline')") == [identity[:8]]
    gate.release()
    assert result(nvim)["ok"]


def test_where_nothing_runs_a_checkpoint_is_of_the_run_that_is_named(
    nvim: Editor, server: ModelServer
) -> None:
    server.answers("say two", "SECOND")
    identity = start(nvim, "pair", "go")
    assert result(nvim)["ok"]
    nvim.command("Workflow checkpoint")
    nvim.wait_screen("nothing is running")
    nvim.command(f"Workflow checkpoint {identity[:8]}")
    nvim.wait_screen("of pair, after two")
    assert [point.manual for point in points(nvim, identity)].count(True) == 1
    nvim.command("Workflow checkpoint zzzz")
    nvim.wait_screen("zzzz")


def test_a_checkpoint_is_looked_at_and_a_new_run_goes_on_from_it(nvim: Editor, server: ModelServer) -> None:
    server.answers("say two", "SECOND")
    old = start(nvim, "pair", "go")
    assert result(nvim)["ok"]
    asked = len(server.requests)
    nvim.feed("q")
    nvim.command("Workflow show")
    nvim.wait("vim.bo.filetype == 'tideate-runs'")
    nvim.feed("C")
    nvim.wait("vim.api.nvim_buf_line_count(0) == 2")
    assert ["after two" in line or "after one" in line for line in nvim.lines()] == [True, True]
    nvim.feed("G<CR>")
    nvim.wait("vim.fn.search('to do', 'nw') > 0")
    text = "\n".join(nvim.lines())
    assert "after     one" in text
    assert "to do     two" in text
    for key in "pRCcae":  # nothing that they do elsewhere
        nvim.feed(key)
    nvim.wait("not require('tideate.client').busy()")
    assert "\n".join(nvim.lines()) == text
    nvim.feed("r")
    nvim.wait("vim.bo.filetype == 'tideate-panel' and vim.fn.getline('.'):find('paused') ~= nil")
    new = Reader(nvim.state).runs()[0]
    assert new.id[:8] in nvim.lua("return vim.api.nvim_get_current_line()")
    assert (new.status, new.completed_steps, new.id != old) == ("paused", 1, True)
    nvim.feed("p")
    say_yes(nvim)
    nvim.wait(f"(require('tideate').get_status('{new.id}') or {{}}).state == 'completed'")
    assert len(server.requests) == asked + 1  # only the second step
    assert stored(nvim, old).status == "completed"


def test_a_checkpoint_is_added_in_the_window_and_q_leads_back_step_by_step(
    nvim: Editor, server: ModelServer
) -> None:
    server.answers("say two", "SECOND")
    identity = start(nvim, "pair", "go")
    assert result(nvim)["ok"]
    nvim.feed("q")
    nvim.command("Workflow show")
    nvim.wait("vim.fn.search('2 checkpoints', 'nw') > 0")
    nvim.feed("C")
    nvim.wait("vim.api.nvim_buf_line_count(0) == 2 and vim.fn.getline(1):find('after two') ~= nil")
    nvim.feed("a")
    nvim.wait("vim.api.nvim_buf_line_count(0) == 3")
    assert "after two  wanted" in "\n".join(nvim.lines())
    assert len(points(nvim, identity)) == 3
    nvim.feed("<CR>")
    nvim.wait("vim.fn.search('made', 'nw') > 0")
    nvim.feed("q")
    nvim.wait("vim.fn.search('after two  wanted', 'nw') > 0")
    nvim.feed("q")
    nvim.wait("vim.fn.search('3 checkpoints', 'nw') > 0")
    nvim.feed("q")
    nvim.wait("vim.bo.filetype ~= 'tideate-runs'")
