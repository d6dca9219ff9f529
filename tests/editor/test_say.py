"""Messages of a person to a working model: by command, by key, from another terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.harness.runs import configure, result, start

if TYPE_CHECKING:
    from tests.harness.editor import Editor
    from tests.harness.model_server import Gate, ModelServer


@pytest.fixture
def nvim(small_editor: Editor, server: ModelServer) -> Editor:
    """An editor of 80 columns and 24 rows with a model that uses tools."""
    configure(small_editor, server, tools=True)
    small_editor.write("b.py", "VALUE_OF_B = 41\n")
    return small_editor


def held_turn(nvim: Editor, server: ModelServer) -> Gate:
    """Start a question; the model has read a file and is about to answer."""
    server.calls("what is in b", "read_file", {"path": "b.py"}, times=1)
    gate = server.holds("VALUE_OF_B", text="It is 41.", before_first=True)
    start(nvim, "ask", "what is in b?")
    gate.wait_started()
    nvim.wait_screen("✓ `read_file b.py`")
    return gate


@pytest.mark.slow
def test_a_looking_model_shows_its_call_and_then_its_answer(nvim: Editor, server: ModelServer) -> None:
    held_turn(nvim, server).release()
    done = result(nvim)
    assert done["response"] == "It is 41."
    nvim.wait_screen("It is 41.")
    assert [line for line in nvim.lines() if line.startswith(("> ✓", "It is"))][1:] == ["It is 41."]


@pytest.mark.slow
@pytest.mark.parametrize("way", ["command with the id", "key", "lua"])
def test_what_is_said_is_told_at_once(nvim: Editor, server: ModelServer, way: str) -> None:
    gate = held_turn(nvim, server)
    run = str(nvim.lua("return require('tideate').get_status().execution_id"))
    if way == "command with the id":
        nvim.command(f"Workflow say {run[:6]} be short")
    elif way == "key":
        nvim.feed("s")
        nvim.wait_screen("Say:")
        nvim.feed("be short<CR>")
    else:
        assert nvim.lua("return require('tideate').say(nil, 'be short')")
    nvim.wait_screen("> you: be short")
    gate.release()
    assert result(nvim)["response"] == "It is 41."
    nvim.wait_screen("no model read your message: be short")


@pytest.mark.slow
def test_a_message_is_read_by_the_next_turn(nvim: Editor, server: ModelServer) -> None:
    gate = server.holds("what is in b", text="Let me look.", before_first=True, times=1)
    server.answers("be short", "41")
    start(nvim, "multi_file", "what is in b?")
    gate.wait_started()
    nvim.command("Workflow say be short")
    nvim.wait_screen("> you: be short")
    gate.release()
    server.wait_for_requests(2)
    assert server.requests[1]["messages"][-1]["content"] == "be short"
    nvim.wait_screen("the model reads your message: be short")
    nvim.lua("return require('tideate').cancel()")


@pytest.mark.slow
def test_after_the_end_nobody_reads_it(nvim: Editor, server: ModelServer) -> None:
    server.answers("what", "41")
    start(nvim, "ask", "what")
    assert result(nvim)["ok"]
    nvim.feed("s")
    nvim.wait_screen("no model reads it any more")
    nvim.command("Workflow say be short")
    nvim.wait_screen("there is no running workflow")
