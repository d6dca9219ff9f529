"""YAML and JSON definitions in the editor: diagnostics while typing, drawings of steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.harness.runs import configure, result, start
from tideate_core.store import Reader

if TYPE_CHECKING:
    from tests.harness.editor import Editor
    from tests.harness.model_server import ModelServer

pytestmark = pytest.mark.slow

WIDE = """\
description: two at the same time
steps:
  - id: left
    task: say left
  - id: right
    task: say right
  - id: last
    task: say last
    dependencies: [left, right]
"""


def kept(editor: Editor, text: str, name: str = "wide.yaml") -> None:
    """Open a definition of the project."""
    editor.edit(f".tideate/workflows/{name}", text)


def test_mistakes_are_diagnostics_and_go_when_they_are_mended(editor: Editor) -> None:
    kept(editor, WIDE.replace("[left, right]", "[left, rihgt]"))
    editor.wait("#vim.diagnostic.get(0) == 1", 60)
    (found,) = editor.lua("return vim.diagnostic.get(0)")
    line = editor.lines()[found["lnum"]]
    assert line[found["col"] : found["end_col"]] == "rihgt"
    assert found["severity"] == 1
    assert "right" in found["message"]
    editor.set_lines(WIDE.splitlines())
    editor.wait("#vim.diagnostic.get(0) == 0")


def test_a_json_definition_is_checked_and_other_json_is_not(editor: Editor) -> None:
    kept(editor, '{"steps": [{"id": "a", "tusk": "say"}]}', "one.json")
    editor.wait("#vim.diagnostic.get(0) > 0", 60)
    editor.edit("package.json", '{"steps": [{"id": "a", "tusk": "say"}]}')
    assert (
        editor.lua("return require('tideate.language.definitions').is_kept(vim.api.nvim_buf_get_name(0))")
        is False
    )
    assert editor.lua("return #vim.diagnostic.get(0)") == 0


def test_the_graph_of_a_definition_follows_its_text(screen_editor: Editor) -> None:
    kept(screen_editor, WIDE)
    screen_editor.command("Workflow graph")
    screen = "\n".join(screen_editor.wait_screen("3 steps in 2 batches"))
    assert "← left, right" in screen
    screen_editor.command("wincmd p")
    buffer = screen_editor.lua("return vim.fn.bufnr('wide.yaml')")
    screen_editor.set_lines([*WIDE.splitlines(), "  - id: more", "    task: say more"], buffer)
    screen_editor.wait_screen("4 steps")


def test_a_running_workflows_steps_are_marked_in_its_graph(
    screen_editor: Editor, server: ModelServer
) -> None:
    editor = screen_editor
    configure(editor, server)
    kept(editor, WIDE)
    left, right = server.holds("say left"), server.holds("say right")
    server.answers("say last", "END")
    start(editor, "wide", "go")
    left.wait_started()
    right.wait_started()
    editor.command("Workflow graph wide")
    marked = (
        "(function() local n, out = vim.api.nvim_create_namespace('tideate.graph'), {}"
        " for _, b in ipairs(vim.api.nvim_list_bufs()) do"
        " for _, m in ipairs(vim.api.nvim_buf_get_extmarks(b, n, 0, -1, {})) do"
        " local line = vim.api.nvim_buf_get_lines(b, m[2], m[2] + 1, true)[1]"
        " table.insert(out, line:match('(%a+)%s+assistant')) end end"
        " return table.concat(out, ' ') end)()"
    )
    editor.wait(f"{marked} == 'left right'")
    left.release()
    editor.wait(f"{marked} == 'right'")
    right.release()
    assert result(editor)["response"] == "END"
    editor.wait(f"{marked} == ''")


def test_a_run_of_a_broken_definition_is_told_once_and_is_in_the_history(editor: Editor) -> None:
    kept(editor, "steps:\n  - {id: a, tusk: say}\n")
    editor.command("Workflow wide hello")
    editor.wait_for(lambda: "unknown key 'tusk'" in editor.messages(), "the mistake is told", 60)
    assert editor.messages().count("unknown key 'tusk'") == 1
    (database,) = editor.state.rglob("tideate.db")
    (run,) = Reader(database.parent).runs()
    assert (run.name, run.status, run.prompt) == ("wide", "failed", "hello")
