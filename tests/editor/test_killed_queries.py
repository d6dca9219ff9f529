"""Host killed during a language server request: the editor is unchanged, edits are staged once."""

from __future__ import annotations

import os
import signal
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.editor.test_faults import host_pid
from tests.editor.test_queries import Server, span
from tests.editor.test_run_views import RESUME
from tests.harness.editor_tools import EditorTools
from tests.harness.runs import accept_all, configure, result, start

if TYPE_CHECKING:
    from tests.harness.editor import Editor
    from tests.harness.model_server import ModelServer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

WORDS = "Rename it everywhere"
FLOW = f"steps: [{{id: work, task: {WORDS}, tools: [look, edits, editor], retries: 0}}]\n"
FILES = {"a.lua": "local one = 1\nprint(one)\n", "b.lua": "local two = 2\n"}
AT_ONE = {"path": "a.lua", "line": 1, "symbol": "one"}
ASKED = {
    "lsp_hover": "textDocument/hover",
    "lsp_rename": "textDocument/rename",
    "lsp_apply_code_action": "textDocument/codeAction",
}


def kill_host(editor: Editor) -> None:
    """Kill the host and wait for the end of its run."""
    os.kill(host_pid(editor), signal.SIGKILL)
    assert result(editor)["error_code"] == "HostDied"


def test_killed_inside_a_query_it_is_asked_again_and_its_edits_are_staged_once(
    editor: Editor, server: ModelServer
) -> None:
    tools = EditorTools(editor, FILES)
    editor.lua("package.loaded['tideate.client'] = nil")
    flow = editor.home / "config" / "tideate" / "workflows" / "flow.yaml"
    flow.parent.mkdir(parents=True)
    flow.write_text(FLOW)
    configure(editor, server, tools=True)
    accept_all(editor)
    uri, other = ((tools.root / name).as_uri() for name in FILES)
    renamed = {"changes": {uri: [{"range": span(0, 6, 9), "newText": "new"}]}}
    action = {"title": "Use 3", "edit": {"changes": {other: [{"range": span(0, 12, 13), "newText": "3"}]}}}
    answers = {
        "textDocument/hover": {"contents": "a number"},
        "textDocument/rename": renamed,
        "textDocument/codeAction": [action],
    }
    serving = Server(tools, "server", {"answers": answers, "silent_once": list(ASKED.values())})
    calls = {
        "lsp_hover": AT_ONE,
        "lsp_rename": {**AT_ONE, "new_name": "new"},
        "lsp_apply_code_action": {"path": "b.lua", "line": 1, "title": "Use 3"},
    }
    for tool, arguments in calls.items():
        server.calls(WORDS, tool, arguments, times=1)
    gate = server.holds(WORDS, text="half", before_first=True, times=1)
    buffer = editor.edit("a.lua")

    identity = start(editor, "flow")
    for method in ASKED.values():
        editor.wait_for(partial(serving.heard, method), f"{method} is asked", 60)
        kill_host(editor)
        editor.lua(RESUME, identity)
    gate.wait_started(60)  # all three results are recorded
    kill_host(editor)
    gate.wait_disconnected()
    assert editor.lines(buffer) == ["local one = 1", "print(one)"]
    assert not editor.lua("return vim.bo[...].modified", buffer)

    server.answers(WORDS, "renamed")
    editor.lua(RESUME, identity)
    done = result(editor, 60)
    assert done["ok"], (done, server.unmatched)
    assert {tool: len(serving.heard(method)) for tool, method in ASKED.items()} == dict.fromkeys(ASKED, 2)
    assert len(server.requests) == len(calls) + 2, "only the turn that was cut off is asked for again"
    hover, rename, apply = [
        one["content"] for one in server.requests[-1]["messages"] if one["role"] == "tool"
    ]
    assert hover == "a number"
    assert rename.startswith("staged by server: a.lua")
    assert apply.startswith("staged by server: b.lua")
    assert editor.lua("return _G.kinds") == ["review"]
    assert editor.lines(buffer) == ["local new = 1", "print(one)"]
    assert (tools.root / "b.lua").read_text() == "local two = 3\n"
    assert serving.heard("workspace/executeCommand") == []
