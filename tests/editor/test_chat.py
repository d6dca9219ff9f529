"""Chats in a real Neovim: shown, sent, forked, kept, and their code blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.runs import accept_all, configure, result, start

if TYPE_CHECKING:
    from tests.harness.editor import Editor
    from tests.harness.model_server import ModelServer

HISTORY = "return require('tideate.ui.chat').of().stream.buf"
IDLE = """(function() local chat = require("tideate.ui.chat").of()
  return chat and not chat.loading and not chat.running and not require("tideate").is_running() end)()"""
TOLD = "_G.told = {} vim.notify = function(message) table.insert(_G.told, message) end"


@pytest.fixture
def nvim(screen_editor: Editor, server: ModelServer) -> Editor:
    """An editor with the model server as default adapter."""
    configure(screen_editor, server)
    screen_editor.write("pyproject.toml")
    screen_editor.lua(TOLD)
    return screen_editor


def history(editor: Editor) -> list[str]:
    return editor.lines(int(editor.lua(HISTORY)))


def send(editor: Editor, text: str) -> None:
    """Type a message in the current window, send it, and wait for the answer."""
    editor.feed(f"{text}<C-s>")
    editor.wait(IDLE, 60)


def test_a_conversation_stays_in_one_window(nvim: Editor, server: ModelServer) -> None:
    server.answers("say one", "It is ONE.", times=1)
    server.answers("say two", "It is TWO.", times=1)
    nvim.command("Workflow chat")
    send(nvim, "say one")
    send(nvim, "say two")
    assert history(nvim) == [
        *("# You", "", "say one", "", "# fake", "", "It is ONE.", ""),
        *("# You", "", "say two", "", "# fake", "", "It is TWO."),
    ]
    roles = [message["role"] for message in server.requests[-1]["messages"]]
    assert roles == ["system", "user", "assistant", "user"]
    assert nvim.lua("return vim.api.nvim_get_current_buf() == require('tideate.ui.chat').of().input")
    assert nvim.lines() == [""]
