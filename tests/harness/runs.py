"""Runs in a test's Neovim: started from Lua, watched from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.harness.editor import Editor
    from tests.harness.model_server import ModelServer

__all__ = ["PAIR", "accept_all", "configure", "result", "start"]

PAIR = """
steps:
  - id: one
    task: say one
  - id: two
    task: say two after {{ steps.one.result }}
    dependencies: [one]
"""

RUN = """
local name, opts = ...
_G.done, _G.calls, _G.seen = nil, 0, {}
opts.on_event = function(event) table.insert(_G.seen, event.name) end
return require('tideate').run(name, opts, function(result) _G.calls = _G.calls + 1; _G.done = result end)
"""

ACCEPT = """
local but = {...}
_G.kinds = {}
require('tideate.ui').confirm = function(_, params, respond)
  table.insert(_G.kinds, params.kind)
  respond({ accepted = not vim.tbl_contains(but, params.kind) })
end
"""


def configure(editor: Editor, server: ModelServer, **server_options: Any) -> None:
    """Make the model server the default adapter."""
    adapter = {"base_url": server.base_url, "model": "scripted", "tools": False, **server_options}
    editor.lua("require('tideate').setup(...)", {"adapter": "fake", "adapters": {"fake": adapter}})


def start(editor: Editor, name: str, prompt: str = "", **opts: Any) -> str:
    """Start a workflow on the current buffer; returns the execution's id."""
    return str(editor.lua(RUN, name, {"prompt": prompt, **opts}))


def result(editor: Editor, timeout: float = 60) -> dict[str, Any]:
    """Wait for the end of the run; its callback was called exactly once and nothing runs any more."""
    done: dict[str, Any] = editor.wait("_G.done", timeout)
    assert editor.lua("return _G.calls") == 1
    assert editor.lua("return require('tideate').get_status() == nil")
    assert not editor.lua("return require('tideate').is_running()")
    return done


def accept_all(editor: Editor, *but: str) -> None:
    """Answer every question with yes, except the kinds in `but`; `_G.kinds` lists the kinds."""
    editor.lua(ACCEPT, *but)
