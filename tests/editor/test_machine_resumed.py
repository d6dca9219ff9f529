"""A machine continued in another Neovim shows its whole path."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.editor.test_machine_runs import TEXT, graph, marked
from tests.editor.test_run_views import RESUME, kill, second
from tests.harness.runs import configure, result, start

if TYPE_CHECKING:
    from tests.harness.editor import Editor, EditorFactory
    from tests.harness.model_server import ModelServer

pytestmark = pytest.mark.slow

PATH = "return vim.tbl_map(function(move) return move.to end, require('tideate').get_status(...).path)"


@pytest.fixture
def server(server: ModelServer) -> ModelServer:
    server.answers("Write a short draft", "the DRAFT")
    server.answers("Which one is next", {"reason": "no ending", "next": "draft"}, times=1)
    server.answers("Which one is next", {"reason": "all there", "next": "end"})
    return server


def in_project(start_editor: EditorFactory, server: ModelServer) -> Editor:
    """An editor in a project with the machine `essay`."""
    editor = start_editor(ui=(80, 24))
    configure(editor, server)
    editor.write(".tideate/workflows/essay.workflow", TEXT)
    return editor


def test_the_whole_path_of_a_resumed_machine_is_known_and_drawn(
    start_editor: EditorFactory, server: ModelServer
) -> None:
    first = in_project(start_editor, server)
    server.answers("Look for what is missing", "the CHECK", times=1)
    gate = server.holds("Look for what is missing", text="half", times=1)
    identity = start(first, "essay", "about tea")
    gate.wait_started()  # the second time
    first.wait("#require('tideate').get_status(...).path == 4", 10, identity)
    kill(first)
    gate.wait_disconnected()

    again = server.holds("Look for what is missing", text="the CHECK", times=1)
    editor = second(start_editor, first, server)
    editor.lua(RESUME, identity)
    again.wait_started()
    editor.wait("#(require('tideate').get_status(...).path or {}) == 4", 10, identity)
    assert editor.lua(PATH, identity) == ["draft", "check", "draft", "check"]
    editor.command("Workflow graph essay")
    editor.wait_for(lambda: "path: draft → check → draft → check" in graph(editor), "the path")
    assert "check" in marked(editor)
    editor.feed("y")
    assert "path: " not in editor.lua("return vim.fn.getreg('\"')"), "only the drawing is yanked"
    again.release()
    assert result(editor)["ok"]
    editor.wait_for(lambda: "path: draft → check → draft → check → end" in graph(editor), "the end")
    assert editor.lua(PATH, identity) == ["draft", "check", "draft", "check", "*"]
