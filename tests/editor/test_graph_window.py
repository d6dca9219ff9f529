"""Graph window: updates during a run, keys, and closed or changed windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.editor.test_machine_runs import TEXT, draw_machine, graph, machine_file

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.editor import Editor, EditorFactory

pytestmark = pytest.mark.slow


@pytest.fixture
def nvim(start_editor: EditorFactory) -> Editor:
    return start_editor(ui=(100, 30))


def drawn(editor: Editor) -> str:
    """Open the drawing of the current buffer and enter it."""
    editor.command("Workflow graph")
    return str(editor.wait_for(lambda: "check" in graph(editor) and graph(editor), "a drawing"))


def own_buffer(editor: Editor, path: Path) -> int:
    return int(editor.lua("return vim.fn.bufnr(...)", str(path)))


def no_traceback(editor: Editor) -> None:
    told = editor.messages()
    for word in ("traceback", "E5108", "Error executing", "Invalid buffer", "Invalid window"):
        assert word not in told, told


def project(folder: Path, text: str) -> Path:
    (folder / ".tideate" / "workflows").mkdir(parents=True)
    (folder / ".tideate" / "workflows" / "essay.workflow").write_text(text)
    (folder / "notes.txt").write_text("notes\n")
    return folder / "notes.txt"


def test_a_redraw_is_of_the_project_that_was_drawn(nvim: Editor) -> None:
    first = project(nvim.home / "first", TEXT)
    second = project(nvim.home / "second", TEXT.replace("check", "other"))
    nvim.edit(first)
    nvim.command("Workflow graph essay")
    nvim.wait_for(lambda: "check" in graph(nvim), "a drawing")
    drawing = graph(nvim)
    nvim.command("wincmd p")
    nvim.edit(second)
    nvim.command("wincmd p")
    nvim.feed("m")
    nvim.wait_for(lambda: "stateDiagram" in graph(nvim), "Mermaid")
    assert "check" in graph(nvim)
    assert "other" not in graph(nvim)
    nvim.feed("m")
    nvim.wait_for(lambda: graph(nvim) == drawing, "the drawing of the first project")


@pytest.mark.parametrize("command", ["edit! foo.txt", "buffer! 1", "enew!"])
def test_another_buffer_in_the_window_of_the_drawing_stays(nvim: Editor, command: str) -> None:
    path = machine_file(nvim)
    nvim.edit(path)
    drawn(nvim)
    nvim.command(command)
    shown = nvim.lua("return { vim.api.nvim_get_current_win(), vim.api.nvim_get_current_buf() }")
    nvim.lua("vim.api.nvim_buf_set_lines(...)", own_buffer(nvim, path), -1, -1, True, ["# changed"])
    nvim.lua("require('tideate.ui.graph').draw()")
    nvim.command("vertical resize 40")
    nvim.wait("not require('tideate.client').busy()")
    nvim.lua("vim.wait(0)")
    assert nvim.lua("return { vim.api.nvim_get_current_win(), vim.api.nvim_get_current_buf() }") == shown
    assert nvim.lua("return require('tideate.ui.graph').is_visible()") is False
    assert nvim.lua("return { vim.wo.winfixbuf, vim.wo.winbar }") == [False, ""]
    no_traceback(nvim)
    nvim.command("buffer! " + str(own_buffer(nvim, path)))
    drawn(nvim)
    no_traceback(nvim)


def test_an_answer_for_a_window_that_shows_something_else_is_dropped(nvim: Editor) -> None:
    draw_machine(nvim)
    nvim.lua("require('tideate.ui.graph').draw() vim.cmd('edit! foo.txt')")
    nvim.wait("not require('tideate.client').busy()")
    assert nvim.lua("return vim.fn.bufname('%')") == "foo.txt"
    assert nvim.lines() == [""]
    no_traceback(nvim)


def test_the_keys_of_a_split_drawing_do_not_fail_when_its_first_window_is_closed(nvim: Editor) -> None:
    draw_machine(nvim)
    nvim.command("set nowinfixbuf | split")
    nvim.feed("q")
    nvim.wait("not require('tideate.ui.graph').is_visible()")
    for key in ("m", "r", "K", "y"):
        nvim.feed(key)
    no_traceback(nvim)


def test_a_format_that_could_not_be_drawn_is_not_the_shown_one(nvim: Editor) -> None:
    drawing = draw_machine(nvim)
    nvim.lua(
        """
        local client = require('tideate.client')
        local request = client.request
        client.request = function(method, params, callback)
          if method ~= 'graph' then return request(method, params, callback) end
          client.request, _G.asked = request, params.format
          vim.schedule(function()
            callback({ ok = false, error = 'no such luck', error_code = 'HostLost' })
            _G.refused = true
          end)
        end
        """
    )
    nvim.feed("m")
    nvim.wait("_G.refused")
    assert nvim.lua("return _G.asked") == "mermaid"
    assert graph(nvim) == drawing
    keys = "vim.tbl_map(function(key) return key.word end, require('tideate.ui.graph').keys())"
    assert "mermaid" in nvim.lua(f"return {keys}")
    nvim.command("call search('│ check')")
    nvim.feed("K")
    assert "there is no state" not in nvim.messages()
    assert nvim.lua("return vim.api.nvim_win_get_config(0).relative") == "editor"
    nvim.feed("q")
    nvim.feed("m")
    nvim.wait_for(lambda: "stateDiagram" in graph(nvim), "Mermaid")


def test_the_drawing_follows_a_text_that_is_read_again(nvim: Editor) -> None:
    path = machine_file(nvim)
    nvim.edit(path)
    drawn(nvim)
    nvim.command("wincmd p")
    path.write_text(TEXT + "check to later\nlater to *\n")
    nvim.command("edit!")
    nvim.wait_for(lambda: "later" in graph(nvim), "the new state")
    nvim.feed("Gocheck to more<CR>more to *<Esc>")
    nvim.wait_for(lambda: "more" in graph(nvim), "the typed state")
    assert "its buffer is closed" not in "\n".join(nvim.screen())


def test_the_drawing_follows_a_text_that_is_opened_again(nvim: Editor) -> None:
    path = machine_file(nvim)
    nvim.edit(path)
    drawn(nvim)
    nvim.command("bdelete! own.workflow")
    nvim.wait_screen("its buffer is closed")
    nvim.feed("r")
    assert "the buffer of this drawing is closed" in nvim.messages()
    assert "check" in graph(nvim)
    nvim.command("split")
    nvim.command("set nowinfixbuf")
    nvim.edit(path, TEXT + "check to later\nlater to *\n")
    nvim.wait_for(lambda: "later" in graph(nvim), "the new state")
    nvim.lua("vim.api.nvim_buf_set_lines(...)", 0, -1, -1, True, ["check to more", "more to *"])
    nvim.wait_for(lambda: "more" in graph(nvim), "the typed state")


def test_a_text_that_grew_too_large_leaves_its_drawing(nvim: Editor) -> None:
    path = machine_file(nvim)
    nvim.edit(path)
    drawing = drawn(nvim)
    buf = own_buffer(nvim, path)
    nvim.lua("vim.api.nvim_buf_set_lines(..., -1, -1, true, { '# ' .. ('x'):rep(1024 * 1024) })", buf)
    nvim.wait_screen("larger than 1 MiB")
    nvim.feed("m")
    assert graph(nvim) == drawing
    nvim.lua("vim.api.nvim_buf_set_lines(..., -2, -1, true, { 'check to later', 'later to *' })", buf)
    nvim.wait_for(lambda: "later" in graph(nvim), "the new state")
    assert "stateDiagram" not in graph(nvim)
    assert nvim.lua("return vim.wo.winbar").find("larger than") == -1

    nvim.command("wincmd p")
    nvim.lua("vim.api.nvim_buf_set_lines(0, -1, -1, true, { '# ' .. ('x'):rep(1024 * 1024) })")
    nvim.command("Workflow graph")
    nvim.wait(
        "vim.api.nvim_exec2('messages', { output = true }).output:find('not drawn: its text is larger')"
    )
