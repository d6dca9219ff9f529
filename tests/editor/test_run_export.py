"""`:Workflow export` of a run as Markdown or JSON to a buffer or a file, with a fake host."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.harness.editor import Editor

RUN = "abcdef0123456789abcdef0123456789"
ANSWERS = """
_G.asked, _G.told = {}, {}
vim.notify = function(text) table.insert(_G.told, text) end
require('tideate.client').request = function(method, params, done)
  table.insert(_G.asked, { method, params })
  done(method == 'history' and { ok = true, runs = ... } or { ok = true, text = 'all of it\\nto the end\\n' })
end
"""


@pytest.fixture
def exporting(editor: Editor) -> Editor:
    editor.lua(ANSWERS.replace("...", f"{{ {{ execution_id = '{RUN}' }} }}"))
    return editor


@pytest.mark.parametrize(
    ("arguments", "asked", "run", "form", "name"),
    [
        ("", ["history", "export"], RUN, "markdown", "run-abcdef01.md"),
        ("json", ["history", "export"], RUN, "json", "run-abcdef01.json"),
        ("last json", ["history", "export"], RUN, "json", "run-abcdef01.json"),
        ("abcd", ["export"], "abcd", "markdown", "run-abcd.md"),
        ("abcd json", ["export"], "abcd", "json", "run-abcd.json"),
    ],
)
def test_a_run_is_exported_into_a_buffer_that_can_be_saved(
    exporting: Editor, arguments: str, asked: list[str], run: str, form: str, name: str
) -> None:
    exporting.command(f"Workflow export {arguments}")
    exporting.wait("vim.fn.expand('%') == ...", 60, name)
    assert exporting.lines() == ["all of it", "to the end"]
    assert exporting.lua("return { vim.bo.modified, vim.bo.filetype, vim.bo.buftype }") == [True, form, ""]
    assert [method for method, _ in exporting.lua("return _G.asked")] == asked
    params = exporting.lua("return _G.asked[#_G.asked][2]")
    assert (params["execution_ids"], params["format"]) == ([run], form)
    assert not (exporting.cwd / name).exists()


@pytest.mark.parametrize(
    ("arguments", "form"),
    [("abcd my run.json", "json"), ("abcd markdown my run.json", "markdown"), ("json my run.json", "json")],
)
def test_a_named_file_is_written_and_never_written_over(exporting: Editor, arguments: str, form: str) -> None:
    exporting.command(f"Workflow export {arguments}")
    exporting.wait("not vim.bo.modified and vim.fn.expand('%:t') == 'my run.json'")
    assert (exporting.cwd / "my run.json").read_text() == "all of it\nto the end\n"
    assert exporting.lua("return _G.asked[#_G.asked][2].format") == form
    exporting.write("my run.json", "mine\n")
    count = exporting.lua("return #_G.asked")
    exporting.command(f"Workflow export {arguments}")
    exporting.wait("_G.told[#_G.told]:find('exists already', 1, true)")
    assert (exporting.cwd / "my run.json").read_text() == "mine\n"
    assert exporting.lua("return #_G.asked") == count


def test_a_file_that_cannot_be_written_is_told_and_its_text_is_kept(exporting: Editor) -> None:
    exporting.command("Workflow export abcd nowhere/run.md")
    exporting.wait("_G.told[#_G.told]:find('not written', 1, true)")
    assert exporting.lines() == ["all of it", "to the end"]
    assert exporting.lua("return vim.bo.modified")


def test_a_mistyped_format_names_no_file(exporting: Editor) -> None:
    exporting.command("Workflow export abcd markdwon")
    exporting.wait("_G.told[1]")
    (told,) = exporting.lua("return _G.told")
    assert "there is no format 'markdwon'; did you mean 'markdown'?" in told
    assert exporting.lua("return _G.asked") == []
    assert exporting.lines() == [""]


def test_formats_and_files_are_completed(exporting: Editor) -> None:
    exporting.write("marked.md")
    found = exporting.lua("return vim.fn.getcompletion('Workflow export ma', 'cmdline')")
    assert found == ["markdown", "marked.md"]
