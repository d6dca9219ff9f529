"""`:Workflow retry` and the requests `retry` and `fork`: repeat an ended run from a step on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.interrupted import count_requests as times
from tests.harness.dialogs import say_yes
from tests.harness.runs import PAIR, configure, result, start
from tideate_core.store.reader import Reader

if TYPE_CHECKING:
    from tests.harness.editor import Editor
    from tests.harness.model_server import ModelServer

pytestmark = pytest.mark.slow

COMPLETE = "return vim.fn.getcompletion('Workflow retry %s', 'cmdline')"
FORK = """_G.fork = {}
require('tideate.run').fork_stored(..., function(result) _G.fork.result = result end)"""

DIFF = "require('tideate.client').request('diff', ..., function(result) _G.diff = result end)"


@pytest.fixture
def server(server: ModelServer) -> ModelServer:
    server.answers("say one", "FIRST")
    return server


def test_a_failed_run_is_retried_from_its_failed_step(pair: Editor, server: ModelServer) -> None:
    server.fails("say two", status=400)
    failed = start(pair, "pair", "go")
    assert not result(pair)["ok"]
    server.forgets("say two")
    server.answers("say two", "SECOND")
    assert pair.lua(COMPLETE % "") == [failed[:8]]
    assert pair.lua(COMPLETE % f"{failed[:8]}.") == [f"{failed[:8]}.one", f"{failed[:8]}.two"]
    pair.command("Workflow retry")
    words = f"Rerun pair {failed[:8]} (go) from the step two? 1 result before it is reused"
    assert words in say_yes(pair)
    pair.wait_screen("SECOND")
    pair.wait("#require('tideate.state').runs() == 2 and not require('tideate').is_running()")
    newest, oldest = Reader(pair.state).runs()
    assert (newest.status, newest.forked_from, newest.forked_step) == ("completed", failed, "two")
    assert oldest.status == "failed"
    assert times(server, "say one") == 1


def test_a_fork_has_another_prompt_and_what_cannot_be_is_told(pair: Editor, server: ModelServer) -> None:
    server.answers("say two", "SECOND")
    done = start(pair, "pair", "go")
    assert result(pair)["ok"]
    pair.command(f"Workflow retry {done[:8]}")
    pair.wait_screen("no step of run")
    pair.command("Workflow retry")
    pair.wait_screen("no run of this project failed")
    pair.lua(FORK, {"execution_id": done[:8], "step": "two", "prompt": "go on"})
    forked = pair.wait("_G.fork.result")
    assert (forked["ok"], forked["results"]) == (True, {"one": "FIRST", "two": "SECOND"})
    assert Reader(pair.state).run(forked["execution_id"]).prompt == "go on"
    assert times(server, "say one") == 1
    pair.lua(DIFF, {"execution_id": done[:8], "other": forked["execution_id"]})
    shape = pair.wait("_G.diff")
    assert (shape["ok"], shape["inputs"]) == (True, [{"name": "prompt", "values": ["go", "go on"]}])
    assert [end["reused"] for end in shape["steps"][0]["ends"]] == [False, True]


def test_a_fork_and_a_comparison_are_opened_by_commands(pair: Editor, server: ModelServer) -> None:
    server.answers("say two", "SECOND")
    first = start(pair, "pair", "go")
    assert result(pair)["ok"]
    pair.command("Workflow fork one two")
    pair.wait_screen("name only a run and a step")
    pair.command(f"Workflow fork {first[:8]}.two")
    pair.wait("vim.bo.filetype == 'tideate-fork'")
    assert pair.lines()[:3] == ["▍▍ anew from the step two on", "▍ prompt", "go"]
    pair.feed(":close!<CR>")
    pair.command("Workflow fork")  # the only run
    pair.wait("vim.bo.filetype == 'tideate-fork'")
    pair.feed(":3s/go/on<CR>:w<CR>")
    newest = pair.wait(
        "#require('tideate.state').runs() == 2 and require('tideate.state').runs()[1].execution_id"
    )
    pair.wait("not require('tideate').is_running()")
    for command in (f"diff {first[:8]} {newest[:8]}", f"diff {first[:8]}", "diff last"):
        pair.command(f"Workflow {command}")
        pair.wait_screen("x swap")
        pair.feed("q")
        pair.wait_screen_without("x swap")


def test_a_retry_says_that_the_workflow_was_changed_and_uses_the_file_where_that_is_wanted(
    pair: Editor, server: ModelServer
) -> None:
    server.answers("say two", "SECOND")
    server.answers("say three", "THIRD")
    done = start(pair, "pair", "go")
    assert result(pair)["ok"]
    pair.write(
        ".tideate/workflows/pair.yaml",
        f"{PAIR}  - id: three\n    task: say three\n    dependencies: [two]\n",
    )
    pair.lua(FORK, {"execution_id": done[:8], "step": "two"})
    own = pair.wait("_G.fork.result")
    assert own["results"] == {"one": "FIRST", "two": "SECOND"}
    command = f"`:Workflow retry {own['execution_id'][:8]}.two --definition=file` uses the current one"
    assert command in pair.lua("""
        return vim.iter(vim.api.nvim_list_bufs()):map(function(buf)
          return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), '\\n')
        end):join('\\n')
    """)
    assert pair.lua(COMPLETE % f"{done[:8]}.two --d") == ["--definition=file"]
    pair.command(f"Workflow retry {done[:8]}.two --definition=file")
    say_yes(pair)
    pair.wait("#require('tideate.state').runs() == 3 and not require('tideate').is_running()")
    reader = Reader(pair.state)
    newest = reader.runs()[0]
    assert newest.status == "completed"
    assert [step.step for step in reader.steps(newest.id)] == ["one", "two", "three"]


def test_a_model_without_a_key_is_told_before_the_question(pair: Editor, server: ModelServer) -> None:
    configure(pair, server, api_key_env="KEY_OF_NOBODY")
    failed = start(pair, "pair", "go")
    assert "KEY_OF_NOBODY" in result(pair)["error"]
    pair.command("messages clear")
    pair.command(f"Workflow retry {failed[:8]}")
    pair.wait(
        "vim.api.nvim_exec2('messages', {output = true}).output:find('KEY_OF_NOBODY is not set', 1, true)"
    )
    assert pair.lua("return #require('tideate.ui').pending()") == 0
    assert len(Reader(pair.state).runs()) == 1
