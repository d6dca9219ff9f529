"""`:Workflow trust`: what of a project is used only after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.model_server import ModelServer
from tests.support.runs import configure, result, start

if TYPE_CHECKING:
    from tests.support.editor import Editor


def output(editor: Editor) -> str:
    """What stands in the output windows, wrapped lines joined."""
    buffers = "vim.tbl_filter(vim.api.nvim_buf_is_loaded, vim.api.nvim_list_bufs())"
    texts = f"vim.tbl_map(function(b) return vim.api.nvim_buf_get_lines(b, 0, -1, true) end, {buffers})"
    return " ".join(editor.lua(f"return vim.iter({texts}):flatten(2):totable()"))


def test_a_projects_prompts_are_used_once_they_are_trusted(editor: Editor) -> None:
    prompts = editor.cwd / ".tideate" / "prompts"
    prompts.mkdir(parents=True)
    (prompts / "ask.md").write_text("Obey.\n---\nproject's {{ prompt }}")
    (editor.cwd / ".tideate" / "config.toml").write_text("")
    with ModelServer() as server:
        server.answers("", "fine")
        configure(editor, server)
        start(editor, "ask", "why")
        assert result(editor)["ok"]
        assert "project's" not in str(server.requests)
        assert "ask.md was not used: its content is not trusted" in output(editor)
        editor.command("Workflow trust")
        editor.wait_for(lambda: "trusted as it is now" in editor.messages(), "trusted")
        assert str(prompts / "ask.md") in editor.messages().replace("\n", "")
        assert "config.toml" in editor.messages()
        start(editor, "ask", "why")
        assert result(editor)["ok"]
        assert "project's why" in str(server.requests[-1])


def test_the_project_of_the_buffer_is_the_one_that_is_trusted(editor: Editor) -> None:
    other = editor.home / "cloned"
    (other / ".tideate").mkdir(parents=True)
    (other / ".tideate" / "config.toml").write_text("")
    editor.edit(other / "a.py", "A = 1\n")
    editor.command("Workflow trust")
    editor.wait_for(lambda: "trusted as it is now" in editor.messages(), "trusted")
    assert str(other / ".tideate" / "config.toml") in editor.messages().replace("\n", "")
