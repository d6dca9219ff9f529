"""Checkpoints in the editor: create, list, show, restore."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.editor.test_run_views import stored
from tests.harness.dialogs import say_yes
from tests.harness.runs import result, start
from tideate_core.store.reader import Reader

if TYPE_CHECKING:
    from tests.harness.editor import Editor
    from tests.harness.model_server import ModelServer
    from tideate_core.store import CheckpointRow

pytestmark = pytest.mark.slow


@pytest.fixture
def server(server: ModelServer) -> ModelServer:
    server.answers("say one", "FIRST")
    return server


def points(editor: Editor, identity: str) -> list[CheckpointRow]:
    return Reader(editor.state).checkpoints(identity)


def test_a_checkpoint_of_the_running_run_is_made_and_told(pair: Editor, server: ModelServer) -> None:
    gate = server.holds("say two", text="SECOND")
    identity = start(pair, "pair", "go")
    gate.wait_started()
    pair.lua("""vim.api.nvim_create_autocmd('User', { pattern = 'TideateCheckpointCreated',
      callback = function(args) _G.made = args.data end })""")
    pair.command("Workflow checkpoint")
    pair.wait_screen("of pair, after one")
    made = pair.wait("_G.made")
    (wanted,) = [point for point in points(pair, identity) if point.manual]
    assert (made["checkpoint_id"], made["manual"], made["step"]) == (wanted.id, True, "one")
    assert pair.lua("return vim.fn.getcompletion('Workflow checkpoint ', 'cmdline')") == [identity[:8]]
    gate.release()
    assert result(pair)["ok"]


def test_where_nothing_runs_a_checkpoint_is_of_the_run_that_is_named(
    pair: Editor, server: ModelServer
) -> None:
    server.answers("say two", "SECOND")
    identity = start(pair, "pair", "go")
    assert result(pair)["ok"]
    pair.command("Workflow checkpoint")
    pair.wait_screen("nothing is running")
    pair.command(f"Workflow checkpoint {identity[:8]}")
    pair.wait_screen("of pair, after two")
    assert [point.manual for point in points(pair, identity)].count(True) == 1
    pair.command("Workflow checkpoint zzzz")
    pair.wait_screen("zzzz")


def test_a_checkpoint_is_looked_at_and_a_new_run_goes_on_from_it(pair: Editor, server: ModelServer) -> None:
    server.answers("say two", "SECOND")
    old = start(pair, "pair", "go")
    assert result(pair)["ok"]
    asked = len(server.requests)
    pair.feed("q")
    pair.command("Workflow show")
    pair.wait("vim.bo.filetype == 'tideate-runs'")
    pair.feed("C")
    pair.wait("vim.api.nvim_buf_line_count(0) == 2")
    assert ["after two" in line or "after one" in line for line in pair.lines()] == [True, True]
    pair.feed("a")
    pair.wait("vim.api.nvim_buf_line_count(0) == 3")
    assert "after two  wanted" in "\n".join(pair.lines())
    assert len(points(pair, old)) == 3
    pair.feed("<CR>")
    pair.wait("vim.fn.search('made', 'nw') > 0")
    pair.feed("q")
    pair.wait("vim.fn.search('after two  wanted', 'nw') > 0")
    pair.feed("q")
    pair.wait("vim.fn.search('3 checkpoints', 'nw') > 0")
    pair.feed("C")
    pair.wait("vim.api.nvim_buf_line_count(0) == 3")
    pair.feed("G<CR>")
    pair.wait("vim.fn.search('to do', 'nw') > 0")
    text = "\n".join(pair.lines())
    assert "after     one" in text
    assert "to do     two" in text
    for key in "pRCcae":  # nothing that they do elsewhere
        pair.feed(key)
    pair.wait("not require('tideate.client').busy()")
    assert "\n".join(pair.lines()) == text
    pair.feed("r")
    pair.wait("vim.bo.filetype == 'tideate-panel' and vim.fn.getline('.'):find('paused') ~= nil")
    new = Reader(pair.state).runs()[0]
    assert new.id[:8] in pair.lua("return vim.api.nvim_get_current_line()")
    assert (new.status, new.completed_steps, new.id != old) == ("paused", 1, True)
    pair.feed("p")
    say_yes(pair)
    pair.wait(f"(require('tideate').get_status('{new.id}') or {{}}).state == 'completed'")
    assert len(server.requests) == asked + 1  # only the second step
    assert stored(pair, old).status == "completed"
