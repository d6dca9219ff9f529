"""`:Workflow trust`: what of a project is used only after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.editor.test_stored_runs import THREE
from tests.support.dialogs import wait_focused
from tests.support.model_server import ModelServer
from tests.support.runs import configure, result, start

if TYPE_CHECKING:
    from pathlib import Path

    from tests.editor.conftest import EditorFactory
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


def interrupted(start_editor: EditorFactory, server: ModelServer) -> Path:
    """The database of an unfinished run that another person's tideate made."""
    first = start_editor()
    (first.cwd / ".tideate" / "workflows").mkdir(parents=True)
    (first.cwd / ".tideate" / "workflows" / "pair.yaml").write_text(THREE)
    server.answers("say one", "FIRST")
    gate = server.holds("say two", text="SECOND")
    configure(first, server)
    start(first, "pair", "shorten it")
    gate.wait_started()
    first.process.kill()
    first.process.wait()
    assert first.brood.gone(5)
    gate.release()
    return first.cwd / ".tideate" / "tideate.db"


def test_a_database_from_elsewhere_is_trusted_only_after_a_look_at_what_it_holds(
    start_editor: EditorFactory,
) -> None:
    with ModelServer() as server:
        database = interrupted(start_editor, server)
        editor = start_editor(cwd=database.parents[1], ui=(80, 40))
        configure(editor, server)
        editor.command(f"Workflow trust {database}")
        wait_focused(editor)
        screen = " ".join(line.strip(" │~") for line in editor.wait_screen("trust · tideate.db"))
        assert "came from elsewhere. It holds the runs of" in screen
        assert "1 interrupted." in screen
        assert "pair, interrupted, steps done: 1/2, answers kept: 0, “shorten it”" in screen
        editor.feed("<CR>")
        assert "trusted:" not in editor.messages()
        editor.command("Workflow resume")
        editor.wait_for(lambda: "tideate trust" in editor.messages(), "the run is not gone on with")
        editor.command(f"Workflow trust {database}")
        wait_focused(editor)
        editor.feed("y")
        editor.wait_for(lambda: ":Workflow resume goes on with its runs" in editor.messages(), "trusted")
        asked = len(server.requests)
        editor.command("Workflow resume")
        editor.wait_for(lambda: len(server.requests) > asked, "the run goes on")
        editor.command(f"Workflow trust {database}")
        editor.wait_for(lambda: "trusted as it is now" in editor.messages(), "nothing is asked any more")
        assert editor.lua("return require('tideate.ui').pending()") == []
