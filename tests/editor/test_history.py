"""Stored runs in the panel: pages, filters, and exactly the actions that the host allows."""

from __future__ import annotations

import re
import secrets
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

from tests.editor.test_run_views import kill, second, stored
from tests.editor.test_trust import trust
from tests.harness.dialogs import say_yes
from tests.harness.runs import accept_all, result, start

if TYPE_CHECKING:
    from tests.harness.editor import Editor, EditorFactory
    from tests.harness.model_server import ModelServer

pytestmark = pytest.mark.slow

WRITES = """
steps:
  - id: inner
    workflow: {name: refactor, prompt: tidy}
  - id: last
    task: say that it is done
    dependencies: [inner]
"""
SEARCH = """_G.found = nil
require('tideate.client').request('history', ..., function(result) _G.found = result end)"""


@pytest.fixture
def nvim(pair: Editor) -> Editor:
    pair.write(".tideate/workflows/both.yaml", WRITES)
    return pair


def can(editor: Editor) -> set[str]:
    """Return the actions that the host allows for the first listed run."""
    found = editor.lua(
        """
        _G.found = nil
        local params = { folder = vim.fn.getcwd(), limit = 1 }
        require('tideate.client').request('history', params, function(result)
          _G.found = result.runs[1].can
        end)
        vim.wait(30000, function() return _G.found end)
        return _G.found
        """
    )
    return set(found) - {"checkpoint"}


def open_list(editor: Editor, words: str = "") -> None:
    editor.command(f"Workflow history {words}")
    editor.wait("vim.bo.filetype == 'tideate-panel' and not vim.wo.winbar:find('reading')")


def one_run(editor: Editor, server: ModelServer) -> str:
    server.answers("say one", "FIRST")
    server.answers("say two", "SECOND")
    identity = start(editor, "pair", "go")
    assert result(editor)["ok"]
    return identity


def multiply(editor: Editor, identity: str, count: int, **change: Any) -> None:
    """Add older copies of a run with a change."""
    with sqlite3.connect(editor.state / "tideate.db") as database:
        names = [row[1] for row in database.execute("PRAGMA table_info(workflow_executions)")]
        for number in range(1, count + 1):
            own = {"id": f"'{secrets.token_hex(16)}'", "started_at": f"started_at - {number}000"}
            own |= {name: f"'{value}'" for name, value in change.items()}
            values = ", ".join(own.get(name, name) for name in names)
            database.execute(
                f"INSERT INTO workflow_executions SELECT {values} FROM workflow_executions WHERE id = ?",
                [identity],
            )
    database.close()


# -- pages and filters --------------------------------------------------------------------------------


def test_the_next_page_is_read_where_the_list_ends(nvim: Editor, server: ModelServer) -> None:
    identity = one_run(nvim, server)
    multiply(nvim, identity, 230)
    open_list(nvim)
    assert len(nvim.lines()) == 101
    assert nvim.lines()[-1] == "  more …"
    for count in (201, 231):
        nvim.feed("G")
        nvim.wait(f"vim.api.nvim_buf_line_count(0) == {count}")
    lines = nvim.lines()
    assert len(set(re.findall(r" ([0-9a-f]{8})  ", "\n".join(lines)))) == 231
    assert "more" not in lines[-1]
    assert nvim.lua("return vim.api.nvim_win_get_cursor(0)[1]") == 201  # where it was
    nvim.lua("require('tideate.ui.panel').refresh()")
    nvim.wait("not require('tideate.client').busy()")
    assert nvim.lines() == lines
    assert nvim.lua("return vim.api.nvim_win_get_cursor(0)[1]") == 201


def test_a_run_that_begins_is_added_above_and_the_cursor_stays_on_its_run(
    nvim: Editor, server: ModelServer
) -> None:
    identity = one_run(nvim, server)
    multiply(nvim, identity, 150)
    open_list(nvim)
    nvim.feed("G")
    nvim.wait("vim.api.nvim_buf_line_count(0) == 151")
    nvim.feed("gg120G")
    line = str(nvim.lua("return vim.api.nvim_get_current_line()"))
    one_run(nvim, server)
    # two steps are seen below it
    nvim.wait("vim.api.nvim_buf_line_count(0) == 154 and vim.fn.getline(1):find('✓ pair') ~= nil")
    assert nvim.lua("return vim.api.nvim_get_current_line()") == line
    assert nvim.lua("return vim.api.nvim_win_get_cursor(0)[1]") == 123


def test_the_list_is_filtered_by_name_and_state(nvim: Editor, server: ModelServer) -> None:
    identity = one_run(nvim, server)
    multiply(nvim, identity, 3, status="failed")
    multiply(nvim, identity, 2, status="cancelled", reason="declined")
    open_list(nvim)
    assert len(nvim.lines()) == 6
    nvim.lua("vim.ui.input = function(opts, give) _G.before = opts.default give(_G.filter) end")
    for words, count in (("failed", 3), ("declined PA", 2), ("pair", 6), ("", 6)):
        nvim.lua("_G.filter = ...", words)
        nvim.feed("F")
        nvim.wait(f"not require('tideate.client').busy() and vim.api.nvim_buf_line_count(0) == {count}")
    nvim.lua("_G.filter = 'failed nothing'")
    nvim.feed("F")
    nvim.wait("vim.fn.getline(1):find('no runs match') ~= nil")
    nvim.lua("_G.filter = nil")
    nvim.feed("F")
    assert nvim.lua("return _G.before") == "failed nothing"
    nvim.feed("q")
    open_list(nvim, "failed")
    assert len(nvim.lines()) == 3
    nvim.wait_screen("runs: failed")


def test_a_filter_that_is_none_leaves_the_list_as_it_was(nvim: Editor, server: ModelServer) -> None:
    one_run(nvim, server)
    open_list(nvim)
    before = nvim.lines()
    nvim.lua("vim.ui.input = function(_, give) give('paused failed') end")
    nvim.feed("F")
    nvim.wait_screen("paused and failed; give one")
    assert nvim.lines() == before


def test_runs_are_found_by_what_was_said(nvim: Editor, server: ModelServer) -> None:
    identity = one_run(nvim, server)
    for words, ids in (("sec*", [identity]), ("nobody said", [])):
        nvim.lua(SEARCH, {"filter": words})
        found = nvim.wait("_G.found")["runs"]
        assert [(run["execution_id"], run["match"]) for run in found] == [(one, "SECOND") for one in ids]
    nvim.command("Workflow history second")
    nvim.wait_screen("runs: second")
    nvim.wait_screen("    SECOND")
    assert "pair" in nvim.lines()[0]
    nvim.feed("j<CR>")
    nvim.wait("vim.bo.filetype ~= 'tideate-panel'")
    nvim.feed("q")
    for words, count in (
        ("workflow:pair since:1d second", 2),
        ("file:a.py second", 1),
        ("since:2999-01-01", 1),
    ):
        nvim.command(f"Workflow history {words}")
        nvim.wait(f"not require('tideate.client').busy() and vim.api.nvim_buf_line_count(0) == {count}")
        assert ("pair" in nvim.lines()[0]) == (count == 2)
    nvim.command("Workflow history nobody said")
    nvim.wait_screen("no runs match")


def test_states_and_names_of_a_filter_are_completed(nvim: Editor) -> None:
    assert nvim.lua("return vim.fn.getcompletion('Workflow history inter', 'cmdline')") == ["interrupted"]
    found = nvim.lua("return require('tideate.ui.panel.list').complete('failed refa')")
    assert found == ["failed refactor"]
    (nvim.cwd / "src").mkdir()
    (nvim.cwd / "src" / "a.py").touch()
    complete = "return require('tideate.ui.panel.list').complete(...)"
    for lead, whole in (
        ("x work", ["x workflow:"]),
        ("workflow:refa", ["workflow:refactor"]),
        ("file:sr", ["file:src/"]),
        ("failed file:src/", ["failed file:src/a.py"]),
        ("since:7", ["since:7d"]),
    ):
        assert nvim.lua(complete, lead) == whole
    assert nvim.lua("return vim.fn.getcompletion('Workflow history file:src/', 'cmdline')") == [
        "file:src/a.py"
    ]


# -- what is offered ----------------------------------------------------------------------------------


def test_nothing_can_be_done_to_a_completed_run_that_changed_no_file(
    nvim: Editor, server: ModelServer
) -> None:
    one_run(nvim, server)
    open_list(nvim)
    assert can(nvim) == set()
    for key, why in (("p", "has ended"), ("c", "has ended"), ("R", "changed no file")):
        nvim.feed(key)
        nvim.wait_screen(why)
        nvim.lua("require('tideate.ui.notify').close()")


def test_an_interrupted_run_that_wrote_can_be_rolled_back_as_well_as_resumed(
    nvim: Editor, server: ModelServer, start_editor: EditorFactory
) -> None:
    path = nvim.cwd / "a.py"
    trust(nvim, ".tideate/workflows/both.yaml")
    nvim.edit("a.py", "def f():\n    return  1\n")
    server.answers("what must not change", "ANALYSIS")
    server.answers("ANALYSIS", "```python\ndef f():\n    return 1\n```")
    gate = server.holds("say that it is done", text="half", times=1)
    accept_all(nvim)
    identity = start(nvim, "both", "go")
    gate.wait_started()
    nvim.command("silent wall")
    assert "return 1" in path.read_text()
    kill(nvim)
    gate.wait_disconnected()
    server.answers("say that it is done", "DONE")

    editor = second(start_editor, nvim, server)
    open_list(editor)
    assert can(editor) == {"resume", "rollback", "cancel"}
    accept_all(editor)
    editor.feed("R")
    editor.wait_screen("both is cancelled, as its own changes are gone")
    assert "return  1" in path.read_text()
    assert stored(nvim, identity).status == "cancelled"
    editor.wait("vim.fn.getline(1):find('rolled back') ~= nil")
    assert can(editor) == set()  # nothing is left to roll back
    editor.lua("require('tideate.ui.notify').close()")
    editor.feed("R")
    editor.wait_screen("both is rolled back already")


def test_a_run_of_another_neovim_can_be_paused_resumed_and_cancelled_there(
    nvim: Editor, server: ModelServer, start_editor: EditorFactory
) -> None:
    gate = server.holds("say one", text="FIRST", times=1)
    server.answers("say two", "SECOND")
    start(nvim, "pair", "go")
    gate.wait_started()
    editor = second(start_editor, nvim, server)
    open_list(editor)
    assert can(editor) == {"pause", "cancel"}
    editor.feed("R")
    editor.wait_screen("has not ended: cancel it first (c)")
    editor.feed("p")
    editor.wait_screen("pair pauses before its next step")
    nvim.wait_screen("pauses before the next step")
    gate.release()
    nvim.wait("require('tideate').get_status().state == 'paused'")
    open_list(editor)
    editor.wait("vim.fn.getline(1):find('paused') ~= nil")
    assert can(editor) == {"resume", "cancel"}
    editor.feed("p")
    say_yes(editor)
    editor.wait_screen("is running in process")
    assert result(nvim)["ok"]
