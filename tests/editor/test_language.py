"""`.workflow` buffers in a real Neovim: highlights, folds, diagnostics, language client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.harness.editor import Editor, EditorFactory

pytestmark = pytest.mark.slow

TEXT = """\
# A small machine
* to idle

: The ünïcödé user wants to continue
idle to working:
  # Do the work
  See https://example.com/a:b and **hurry**.

  Then go back to idle.

: Done
working to idle
working to *
"""


@pytest.fixture
def workflow(editor: Editor) -> Editor:
    """An editor with TEXT as a machine, checked, with the language client attached."""
    editor.edit("small.workflow", TEXT)
    served(editor)
    return editor


def served(editor: Editor) -> None:
    editor.wait("#vim.lsp.get_clients({ bufnr = 0, name = 'tideate' }) == 1")
    checked(editor)


def checked(editor: Editor) -> None:
    """Wait for all answers of the host."""
    editor.wait("not require('tideate.client').busy()")


def diagnostics(editor: Editor) -> list[tuple[int, int, int, str]]:
    """Return the line, the columns in bytes and the code of each diagnostic, from 0."""
    found = editor.lua("return vim.diagnostic.get(0)")
    return [(each["lnum"], each["col"], each["end_col"], each["code"]) for each in found]


def request(editor: Editor, method: str, line: int, column: int, **more: Any) -> Any:
    """Send a request of Neovim's client about a line and a column, from 0."""
    return editor.lua(
        """
        local method, line, column, more = ...
        local params = vim.tbl_extend('force', {
          textDocument = vim.lsp.util.make_text_document_params(0),
          position = { line = line, character = column },
        }, more)
        local client = vim.lsp.get_clients({ bufnr = 0, name = 'tideate' })[1]
        local answer
        local function done(err, result) answer = { err = err and err.message, result = result } end
        if vim.fn.has('nvim-0.11') == 1 then client:request(method, params, done, 0)
        else client.request(method, params, done, 0) end
        assert(vim.wait(60000, function() return answer ~= nil end, 5), 'no answer to ' .. method)
        return answer.err and { err = answer.err } or answer.result
        """,
        f"textDocument/{method}",
        line,
        column,
        more or {"none": True},
    )


# -- the filetype -------------------------------------------------------------------------------------


def test_a_machine_file_gets_its_filetype(editor: Editor) -> None:
    for name in ("a.workflow", "PLANNER", "deep/er/PLANNER"):
        editor.edit(name, TEXT)
        assert editor.lua("return { vim.bo.filetype, vim.bo.commentstring }") == ["workflow", "# %s"]


def test_other_files_are_left_alone(editor: Editor) -> None:
    editor.edit("PLANNER.md", TEXT)
    assert editor.lua("return vim.bo.filetype") == "markdown"
    assert editor.lua("return package.loaded['tideate.language'] == nil")
    assert editor.lua("return package.loaded['tideate.host'] == nil")


GROUPS = [
    (1, "A small", "workflowComment"),
    (2, "*", "workflowBoundary"),
    (2, "to", "workflowTo"),
    (2, "idle", "workflowState"),
    (4, ":", "workflowColon"),
    (4, "user", "workflowWhen"),
    (5, "working", "workflowState"),
    (6, "# Do", "workflowHeading"),
    (7, "https", "workflowUrl"),
    (7, "a:b", "workflowUrl"),
    (7, "hurry", "workflowBold"),
    (9, "Then", "workflowGuidance"),
    (12, "to", "workflowTo"),
    (13, "*", "workflowBoundary"),
]


def group_at(editor: Editor, line: int, word: str) -> str:
    found = editor.lua(
        """
        local line, word = ...
        local column = assert(vim.fn.getline(line):find(word, 1, true), word)
        local stack = vim.fn.synstack(line, column)
        return #stack > 0 and vim.fn.synIDattr(stack[#stack], 'name') or ''
        """,
        line,
        word,
    )
    return str(found)


def test_syntax_and_folds_of_guidance_which_are_open_at_first(editor: Editor) -> None:
    editor.edit("small.workflow", TEXT)
    assert [(line, word, group_at(editor, line, word)) for line, word, _ in GROUPS] == GROUPS
    levels = editor.lua("return vim.tbl_map(vim.fn.foldlevel, vim.fn.range(1, 13))")
    assert levels == [0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0]
    assert editor.lua("return vim.fn.foldclosed(6)") == -1
    editor.command("normal! 7Gzc")
    assert editor.lua("return { vim.fn.foldclosed(7), vim.fn.foldclosedend(7) }") == [5, 9]


def test_a_state_may_be_called_to_and_an_indented_move_is_none(editor: Editor) -> None:
    editor.edit("odd.workflow", "to to to\n\n  a to b\nb to c: inline\n\n  # text\n# comment\n")
    groups = [
        editor.lua("return vim.fn.synIDattr(vim.fn.synID(1, ..., 1), 'name')", column) for column in (1, 4, 7)
    ]
    assert groups == ["workflowState", "workflowTo", "workflowState"]
    assert group_at(editor, 3, "to") == ""
    assert group_at(editor, 6, "text") == "workflowHeading"
    assert group_at(editor, 7, "comment") == "workflowComment"


def test_a_new_line_below_a_move_with_a_colon_is_indented(editor: Editor) -> None:
    editor.edit("new.workflow", "* to a:\n")
    editor.feed("oFirst.<CR>Second.<Esc>")
    assert editor.lines() == ["* to a:", "  First.", "  Second."]


# -- diagnostics --------------------------------------------------------------------------------------


def test_mistakes_appear_while_one_types_and_go_when_they_are_mended(workflow: Editor) -> None:
    assert diagnostics(workflow) == []
    workflow.feed("Goidle too *<Esc>")
    workflow.wait("#vim.diagnostic.get(0) == 1")
    ((line, first, last, _),) = diagnostics(workflow)
    assert line == 13
    assert "idle too *"[first:last] == "too"
    workflow.feed("u")
    workflow.wait("#vim.diagnostic.get(0) == 0")
    workflow.feed("Golost to idle<Esc>")
    workflow.wait("#vim.diagnostic.get(0) == 1")
    assert workflow.lua("return vim.diagnostic.get(0)[1].severity == vim.diagnostic.severity.WARN")
    workflow.command("setfiletype text | set filetype=text")
    assert workflow.lua("return vim.bo.formatexpr") == ""
    assert diagnostics(workflow) == []
    workflow.wait("#vim.lsp.get_clients({ bufnr = 0, name = 'tideate' }) == 0")


def test_columns_are_bytes_behind_characters_of_several(editor: Editor) -> None:
    editor.edit("wide.workflow", "* to a\na to *\na to ünï b\n")
    served(editor)
    line = "a to ünï b"
    found = [each for each in diagnostics(editor) if each[0] == 2]
    assert found
    shown = [line.encode()[first:last].decode() for _, first, last, _ in found]
    told = editor.lua("return vim.diagnostic.get(0, { lnum = 2 })[1].message")
    assert any("ü" in piece for piece in shown), (shown, told)


def test_an_answer_about_an_older_text_is_dropped(workflow: Editor) -> None:
    """The text changes between a request and its answer; only an answer about the newest text counts."""
    sets = workflow.lua(
        """
        local check = require('tideate.language.check')
        local client, request = require('tideate.client'), require('tideate.client').request
        local set, sets = vim.diagnostic.set, {}
        vim.diagnostic.set = function(ns, buf, found, ...)
          table.insert(sets, #found)
          return set(ns, buf, found, ...)
        end
        local answered = 0
        client.request = function(method, params, callback)
          return request(method, params, function(result)
            callback(result)
            answered = answered + 1
          end)
        end
        vim.api.nvim_buf_set_lines(0, 0, -1, true, { 'one mistake' })
        check.run(0 + vim.api.nvim_get_current_buf())
        vim.api.nvim_buf_set_lines(0, 0, -1, true, { '* to a', 'a to *' })
        assert(vim.wait(60000, function() return answered == 2 end, 5))
        vim.diagnostic.set, client.request = set, request
        return sets
        """
    )
    assert sets == [0]


def test_a_line_that_is_no_utf8_is_told_without_the_host(editor: Editor) -> None:
    editor.edit("bytes.workflow", TEXT)
    served(editor)
    editor.lua("vim.api.nvim_buf_set_lines(0, 2, 3, true, { '# \\xff' })")
    editor.wait("#vim.diagnostic.get(0) == 1")
    assert "UTF-8" in editor.lua("return vim.diagnostic.get(0)[1].message")


def test_a_buffer_that_goes_takes_its_diagnostics_along(workflow: Editor) -> None:
    workflow.set_lines(["nonsense"])
    workflow.wait("#vim.diagnostic.get(0) > 0")
    workflow.command("bwipeout!")
    assert workflow.lua("return #vim.diagnostic.get()") == 0
    assert workflow.messages() == ""


# -- states -------------------------------------------------------------------------------------------


def labels(editor: Editor, line: str) -> list[str]:
    """Return the completion items at the end of a new last line."""
    editor.set_lines([*TEXT.splitlines(), line])
    answer = request(editor, "completion", 13, len(line))
    return [item["label"] for item in answer["items"]]


def test_completion_offers_what_can_stand_there(workflow: Editor) -> None:
    assert labels(workflow, "") == ["idle", "working", "*"]
    assert labels(workflow, "idle ") == ["to"]
    assert labels(workflow, "idle t") == ["to"]
    assert labels(workflow, "idle to ") == ["idle", "working", "*"]
    assert labels(workflow, "idle to unfin") == ["idle", "working", "*"]
    assert labels(workflow, "  go on with ") == ["idle", "working"]


def test_omni_completion_completes(workflow: Editor) -> None:
    workflow.feed("Goidle to wo")
    workflow.feed("<C-x><C-o>")
    workflow.wait("vim.fn.getline('$') == 'idle to working'")


def test_the_client_answers_about_states(workflow: Editor) -> None:
    in_guidance = request(workflow, "definition", 8, 20)
    assert in_guidance["range"]["start"] == {"line": 1, "character": 5}
    references = request(workflow, "references", 1, 6, context={"includeDeclaration": True})
    places = [(each["range"]["start"]["line"], each["range"]["start"]["character"]) for each in references]
    assert places == [(1, 5), (4, 0), (11, 11)]
    hover = request(workflow, "hover", 12, 2)["contents"]["value"]
    for words in (
        "https://example.com/a:b",
        "- from `idle`: The ünïcödé user wants to continue",
        "- to `idle`: Done",
        "- to `*`",
    ):
        assert words in hover
    assert request(workflow, "hover", 0, 4) is None
    assert request(workflow, "definition", 2, 0) is None
    symbols = request(workflow, "documentSymbol", 0, 0)
    assert [(symbol["name"], symbol["detail"]) for symbol in symbols] == [
        ("idle", "to working"),
        ("working", "to idle, *"),
    ]
    highlights = request(workflow, "documentHighlight", 4, 0)
    kinds = [(each["range"]["start"]["line"], each["kind"]) for each in highlights]
    assert kinds == [(1, 3), (4, 2), (11, 3)], "sources are told from targets"
    for name in ("working", "two words", "1st", "*"):
        assert "state" in request(workflow, "rename", 1, 6, newName=name)["err"]
    assert "\n".join(workflow.lines()) + "\n" == TEXT
    workflow.command("normal! 13G0")
    workflow.lua("vim.lsp.buf.definition()")
    workflow.wait("vim.fn.line('.') == 5")
    assert workflow.lua("return vim.fn.col('.')") == 9


def test_renaming_changes_the_moves_and_not_the_prose(workflow: Editor) -> None:
    workflow.command("normal! 2G$")
    workflow.lua("vim.lsp.buf.rename('ready')")
    workflow.wait("vim.fn.getline(2) == '* to ready'")
    lines = workflow.lines()
    assert lines[4] == "ready to working:"
    assert lines[8] == "  Then go back to idle."
    assert lines[11] == "working to ready"
    workflow.feed("u")
    assert "\n".join(workflow.lines()) + "\n" == TEXT


def test_an_answer_about_a_text_that_changed_meanwhile_is_an_error(workflow: Editor) -> None:
    answer = workflow.lua(
        """
        local params = {
          textDocument = vim.lsp.util.make_text_document_params(0),
          position = { line = 1, character = 6 },
          newName = 'ready',
        }
        local requests = require('tideate.language.requests')
        local ask = requests.ask
        requests.ask = function(method, ...)
          ask(method, ...)
          if method == 'machine_outline' then
            requests.ask = ask
            vim.api.nvim_buf_set_lines(0, 0, 0, true, { '# typed meanwhile' })
          end
        end
        local client = vim.lsp.get_clients({ bufnr = 0, name = 'tideate' })[1]
        local answer
        local function done(err, result) answer = err and err.message or vim.inspect(result) end
        if vim.fn.has('nvim-0.11') == 1 then client:request('textDocument/rename', params, done, 0)
        else client.request('textDocument/rename', params, done, 0) end
        assert(vim.wait(60000, function() return answer ~= nil end, 5))
        return answer
        """
    )
    assert "changed meanwhile" in answer


def test_a_new_state_is_known_at_once(workflow: Editor) -> None:
    assert len(request(workflow, "references", 1, 6, context={"includeDeclaration": True})) == 3
    workflow.set_lines([*TEXT.splitlines(), "working to fresh", "fresh to idle"])
    assert len(request(workflow, "references", 1, 6, context={"includeDeclaration": True})) == 4
    assert len(request(workflow, "references", 13, 11, context={"includeDeclaration": True})) == 2


# -- formatting ---------------------------------------------------------------------------------------

UGLY = "*   to idle\nidle   to   working:\n      Be quick — ünïcödé.\n\n\n\nworking to *\n"


def test_gq_formats_the_whole_text_as_one_change(editor: Editor) -> None:
    editor.edit("ugly.workflow", UGLY)
    served(editor)
    editor.command("normal! 3G02wmx")
    editor.feed("gg")
    editor.feed("gqG")
    editor.wait("vim.fn.getline(1) == '* to idle'")
    lines = editor.lines()
    assert "  Be quick — ünïcödé." in lines
    assert "idle to working:" in lines
    assert editor.lua("local m = vim.api.nvim_buf_get_mark(0, 'x') return vim.fn.getline(m[1])").endswith(
        "ünïcödé."
    )
    editor.feed("u")
    assert "\n".join(editor.lines()) + "\n" == UGLY
    editor.lua("vim.lsp.buf.format({ timeout_ms = 60000 })")
    assert editor.lines() == lines, "the client's formatting gives the same"


def test_a_text_that_changed_meanwhile_or_has_mistakes_is_not_formatted(editor: Editor) -> None:
    editor.edit("ugly.workflow", UGLY)
    served(editor)
    editor.lua(
        """
        vim.cmd('normal! gggqG')
        vim.api.nvim_buf_set_lines(0, 0, 0, true, { '# typed meanwhile' })
        """
    )
    editor.wait("vim.api.nvim_exec2('messages', { output = true }).output:find('changed meanwhile')")
    assert editor.lines() == ["# typed meanwhile", *UGLY.splitlines()]
    wrong = [*UGLY.splitlines(), "what is this"]
    editor.set_lines(wrong)
    editor.feed("gggqG")
    editor.wait("vim.api.nvim_exec2('messages', { output = true }).output:find('with mistakes')")
    assert editor.lines() == wrong


def test_gq_of_a_paragraph_wraps_prose(workflow: Editor) -> None:
    workflow.command("setlocal textwidth=20")
    workflow.feed("7Ggqq")
    assert workflow.lines()[6:9] == ["  See", "  https://example.com/a:b", "  and **hurry**."]


# -- without a host -----------------------------------------------------------------------------------


def test_without_a_host_one_notice_and_the_looks_stay(start_editor: EditorFactory) -> None:
    editor = start_editor(env={"TIDEATE_PYTHON": "/nonexistent/python"})
    editor.edit("small.workflow", TEXT)
    editor.wait("vim.api.nvim_exec2('messages', { output = true }).output:find('cannot be started')")
    before = editor.messages().strip()
    assert "without checks and completion" in before
    editor.feed("Gonew to idle<Esc>")
    editor.edit("second.workflow", TEXT)
    checked(editor)
    editor.lua("return vim.wait(300)")
    assert editor.messages().strip() == before
    assert group_at(editor, 2, "idle") == "workflowState"
    assert editor.lua("return vim.fn.foldlevel(6)") == 1


def test_opening_a_file_does_not_wait_for_the_host(editor: Editor) -> None:
    editor.write("small.workflow", TEXT)
    state = editor.lua(
        "vim.cmd.edit('small.workflow') return package.loaded['tideate.host'] and 'host' or 'no host'"
    )
    assert state == "no host"
    served(editor)
    editor.wait("require('tideate.host').state() == 'ready'")


def test_the_host_that_was_killed_comes_back_with_the_next_change(workflow: Editor) -> None:
    workflow.lua("vim.uv.kill(require('tideate.host').info().pid, 'sigkill')")
    workflow.wait("require('tideate.host').state() == 'stopped'")
    workflow.feed("Gononsense<Esc>")
    workflow.wait("#vim.diagnostic.get(0) > 0")


def test_a_text_that_grew_too_large_is_not_sent_to_the_host(workflow: Editor) -> None:
    workflow.lua(
        """
        _G.asked = {}
        local client = require('tideate.client')
        local request = client.request
        client.request = function(method, params, callback)
          table.insert(_G.asked, method)
          return request(method, params, callback)
        end
        """
    )
    workflow.lua("vim.api.nvim_buf_set_lines(0, -1, -1, true, { '# ' .. ('x'):rep(1024 * 1024) })")
    large = "vim.iter(vim.diagnostic.get(0)):any(function(each) return each.message:find('1 MiB') ~= nil end)"
    workflow.wait(large)
    assert request(workflow, "hover", 4, 0) is None
    assert "1 MiB" in request(workflow, "formatting", 0, 0)["err"]
    assert workflow.lua("return _G.asked") == []
    workflow.lua("vim.api.nvim_buf_set_lines(0, -2, -1, true, {})")
    workflow.wait(f"not {large}")
    assert workflow.lua("return _G.asked") == ["machine_check"]
    assert request(workflow, "hover", 4, 0)["contents"]
