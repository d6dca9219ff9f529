"""Keys in a `.workflow` buffer: Neovim's own keys without a match, typing, jumps, wrapping."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.editor.test_language import TEXT, checked, served

if TYPE_CHECKING:
    from tests.harness.editor import Editor, EditorFactory

pytestmark = [pytest.mark.bulk, pytest.mark.slow]

METHODS = [
    "completion",
    "definition",
    "references",
    "hover",
    "documentSymbol",
    "documentHighlight",
    "prepareRename",
    "rename",
    "formatting",
]
CALLS = [
    "vim.lsp.buf.hover()",
    "vim.lsp.buf.references()",
    "vim.lsp.buf.definition()",
    "vim.lsp.buf.document_highlight()",
    "vim.lsp.buf.document_symbol()",
    "vim.lsp.buf.rename('fresh')",
    "vim.lsp.buf.format({ timeout_ms = 60000 })",
    "vim.lsp.buf.rename()",
]


@pytest.fixture
def workflow(editor: Editor) -> Editor:
    editor.edit("small.workflow", TEXT)
    served(editor)
    return editor


def settled(editor: Editor) -> None:
    """Wait until all answers are shown."""
    checked(editor)
    editor.lua(
        """
        local client = vim.lsp.get_clients({ name = 'tideate' })[1]
        assert(vim.wait(60000, function()
          return not client or vim.tbl_isempty(vim.tbl_filter(function(each)
            return each.type == 'pending'
          end, client.requests))
        end, 5))
        vim.wait(20)
        """
    )


# -- where there is nothing ---------------------------------------------------------------------------


@pytest.mark.parametrize("text", [TEXT, "\n", ""])
def test_no_request_fails_where_no_state_is(editor: Editor, text: str) -> None:
    editor.edit("small.workflow", text)
    served(editor)
    for call in CALLS:
        editor.command("normal! gg$")
        editor.lua(call)
        settled(editor)
    told = editor.messages()
    for word in ("Error", "E5108", "stack traceback", "-32"):
        assert word not in told


def test_no_request_fails_in_a_buffer_without_a_name(editor: Editor) -> None:
    unnamed(editor)
    buffers = len(editor.nvim.buffers)
    for call in CALLS[:-1]:
        editor.command("normal! 5G0")
        editor.lua(call)
        settled(editor)
    told = editor.messages()
    for word in ("Error", "E5108", "stack traceback", "-32", "E21", "E484"):
        assert word not in told
    assert editor.lua("return vim.fn.bufnr('^/$')") == -1
    assert len(editor.nvim.buffers) <= buffers + 2  # the float of K, a list


def test_a_state_is_renamed_in_a_buffer_without_a_name(editor: Editor) -> None:
    unnamed(editor)
    editor.command("normal! 5G0")
    editor.lua("vim.lsp.buf.rename('fresh')")
    editor.wait("vim.fn.getline(5):find('^fresh to working')")
    assert [line for line in editor.lines() if "idle" in line] == ["  Then go back to idle."]
    editor.feed("u")
    assert editor.lines() == TEXT.splitlines()


@pytest.mark.parametrize("call", ["references", "definition"])
def test_what_needs_a_name_says_so(editor: Editor, call: str) -> None:
    unnamed(editor)
    editor.command("normal! 5G0")
    editor.lua(f"vim.lsp.buf.{call}()")
    editor.wait("vim.api.nvim_exec2('messages', { output = true }).output:find('buffer has no name')")


def unnamed(editor: Editor) -> None:
    editor.command("setfiletype workflow")
    editor.set_lines(TEXT.splitlines())
    served(editor)


def test_no_key_fails_where_no_state_is(workflow: Editor) -> None:
    for keys in ("gd", "<C-]>", "i<C-x><C-o><Esc>", "K"):
        workflow.command("normal! gg$")
        workflow.feed(keys)
        settled(workflow)
    assert "Error" not in workflow.messages()
    assert "E4" not in workflow.messages()
    assert workflow.lua("return vim.fn.line('.')") == 1


@pytest.mark.parametrize("text", [TEXT, ""])
def test_no_answer_is_a_null_of_the_protocol(editor: Editor, text: str) -> None:
    """A null of the protocol becomes nil, also without a server process in between."""
    editor.edit("small.workflow", text)
    served(editor)
    kinds = editor.lua(
        """
        local client, kinds = vim.lsp.get_clients({ bufnr = 0, name = 'tideate' })[1], {}
        local params = {
          textDocument = vim.lsp.util.make_text_document_params(0),
          position = { line = 0, character = 3 },
          newName = 'fresh',
        }
        for number, method in ipairs(...) do
          client.rpc.request('textDocument/' .. method, params, function(_, result)
            kinds[number] = type(result)
          end)
        end
        assert(vim.wait(60000, function() return #kinds == #... end, 5))
        return kinds
        """.replace("#...", str(len(METHODS))),
        METHODS,
    )
    assert set(kinds) <= {"nil", "table"}


def test_an_empty_buffer_is_not_told_anything(editor: Editor) -> None:
    editor.edit("new.workflow")
    served(editor)
    assert editor.lua("return vim.diagnostic.get(0)") == []
    editor.feed("i<CR><CR>x<Esc>")
    editor.wait("#vim.diagnostic.get(0) > 0")
    editor.feed("x")
    editor.wait("#vim.diagnostic.get(0) == 0")
    editor.feed("gggqG")
    checked(editor)
    assert "mistakes" not in editor.messages()


def test_a_refused_name_is_told_without_a_number(workflow: Editor) -> None:
    workflow.command("normal! 2G$")
    workflow.lua("vim.lsp.buf.rename('working')")
    workflow.wait("vim.api.nvim_exec2('messages', { output = true }).output:find('two would become one')")
    assert "-32803" not in workflow.messages()


def test_a_rename_without_a_state_is_told_in_a_plain_sentence(workflow: Editor) -> None:
    workflow.command("normal! gg$")
    workflow.lua("vim.lsp.buf.rename('fresh')")
    workflow.wait("vim.api.nvim_exec2('messages', { output = true }).output:find('othing to rename')")
    assert "Error" not in workflow.messages()


def test_the_error_of_a_line_wins_over_its_warning(editor: Editor) -> None:
    editor.edit("both.workflow", TEXT + "working to idle: a\x01\n")
    served(editor)
    signs = editor.lua(
        """
        local marks = vim.api.nvim_buf_get_extmarks(0, -1, { 13, 0 }, { 13, -1 }, { details = true })
        local signs = vim.tbl_filter(function(mark) return mark[4].sign_hl_group ~= nil end, marks)
        table.sort(signs, function(a, b) return a[4].priority > b[4].priority end)
        return vim.tbl_map(function(mark) return mark[4].sign_hl_group .. mark[4].priority end, signs)
        """
    )
    assert [sign.rstrip("0123456789") for sign in signs] == ["DiagnosticSignError", "DiagnosticSignWarn"]
    assert len(set(signs)) == 2
    assert signs[0][-2:] > signs[1][-2:]
    assert not editor.lua("return vim.diagnostic.config().severity_sort")


def test_an_order_of_the_persons_own_is_kept(editor: Editor) -> None:
    editor.lua("vim.diagnostic.config({ severity_sort = { reverse = true } })")
    editor.edit("small.workflow", TEXT)
    served(editor)
    assert not editor.lua("return vim.diagnostic.config(nil, ...).severity_sort", namespace(editor))


def namespace(editor: Editor) -> int:
    return int(editor.lua("return require('tideate.language.check').namespace"))


# -- typing -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "lines"),
    [
        (
            "Write it.<CR><CR>: The draft is written<CR>draft to check:<CR>Check it.",
            ["  Write it.", "", ": The draft is written", "draft to check:", "  Check it."],
        ),
        ("Do it.<CR><CR>draft to check<CR>check to *", ["  Do it.", "", "draft to check", "check to *"]),
        ("One.<CR><CR><Tab>Two: and<CR>more.", ["  One.", "", "  Two: and", "  more."]),
        ("Note: a to b:<CR>: this", ["  Note: a to b:", "  : this"]),
        ("<C-u>a to b:<CR>x", ["a to b:", "  x"]),
    ],
)
def test_a_transition_below_an_empty_line_is_no_guidance(editor: Editor, keys: str, lines: list[str]) -> None:
    editor.edit("new.workflow", "* to draft:\n")
    editor.feed(f"o{keys}<Esc>")
    assert editor.lines() == ["* to draft:", *lines]


@pytest.mark.parametrize(
    ("keys", "lines"),
    [
        (": Done<CR>a to b:", [": Done", "a to b:"]),
        ("a to b:", ["a to b:"]),
        ("a to b<CR>b to c", ["a to b", "b to c"]),
        ("Two, a to b:", ["  Two, a to b:"]),
    ],
)
def test_a_transition_behind_blanks_moves_to_the_first_column(
    editor: Editor, keys: str, lines: list[str]
) -> None:
    before = ["* to draft:", "  One.", ""]
    editor.edit("new.workflow", "\n".join([*before, "  "]))
    editor.feed(f"GA{keys}<Esc>")
    assert editor.lines() == [*before, *lines]


def test_indenting_the_whole_text_again_changes_no_meaning(workflow: Editor) -> None:
    text = "* to a:\n  Go.\n\n  : no when\n  a to b:\n\n    deep\na to b:\nb to *"
    workflow.set_lines(text.splitlines())
    workflow.command("normal! gg=G")
    assert workflow.lines() == text.splitlines()


# -- jumping ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("keys", "named"), [("gd", True), ("<C-]>", False)])
def test_a_state_of_a_buffer_without_a_file_is_found(editor: Editor, keys: str, named: bool) -> None:
    if named:
        editor.edit("never/written.workflow")
    else:
        editor.command("setfiletype workflow")
    editor.set_lines(TEXT.splitlines())
    served(editor)
    buffers = len(editor.nvim.buffers)
    editor.command("normal! 13G0")
    editor.feed(keys)
    editor.wait("vim.fn.line('.') == 5")
    assert editor.lua("return vim.fn.col('.')") == 9
    editor.feed("<C-t>")
    assert editor.lua("return vim.fn.line('.')") == 13
    editor.feed("K")
    settled(editor)
    assert len(set(editor.nvim.buffers)) <= buffers + 1  # the float of K
    assert "E4" not in editor.messages()


def test_keys_of_the_persons_own_stay(start_editor: EditorFactory) -> None:
    editor = start_editor(args=("--cmd", "nnoremap gd <Cmd>let g:own = 1<CR>"))
    editor.edit("small.workflow", TEXT)
    editor.feed("gd")
    assert editor.lua("return vim.g.own") == 1
    assert mapped(editor) == ["<C-]>"]


@pytest.mark.parametrize("switch", ["no_plugin_maps", "no_workflow_maps"])
def test_the_keys_can_be_switched_off(start_editor: EditorFactory, switch: str) -> None:
    editor = start_editor(args=("--cmd", f"let g:{switch} = 1"))
    editor.edit("small.workflow", TEXT)
    assert mapped(editor) == []


def test_another_filetype_has_the_keys_no_more(workflow: Editor) -> None:
    assert mapped(workflow) == ["<C-]>", "gd"]
    workflow.command("set filetype=text")
    assert mapped(workflow) == []


def mapped(editor: Editor) -> list[str]:
    keys = editor.lua(
        """
        local keys = {}
        for _, each in ipairs(vim.api.nvim_buf_get_keymap(0, 'n')) do
          if each.lhs == 'gd' or each.lhs == '<C-]>' then table.insert(keys, each.lhs) end
        end
        return keys
        """
    )
    return sorted(keys)


# -- wrapping and folding -----------------------------------------------------------------------------

LONG = "word " * 20


@pytest.mark.parametrize("first", [4, 6, 8])
def test_wrapping_a_part_never_joins_a_transition(editor: Editor, first: int) -> None:
    guidance = "  " + LONG
    lines = [f"# {LONG}", "* to a", "", ": When one", ": and two", "a to b:", guidance, guidance, "b to *"]
    editor.edit("long.workflow", "\n".join(lines) + "\n")
    editor.command("set textwidth=60")
    editor.feed(f"{first}Ggqip")
    after = editor.lines()
    assert after[:6] == lines[:6]
    assert after[-1] == "b to *"
    assert all(line.startswith("  word") and len(line) <= 60 for line in after[6:-1])
    assert " ".join(after[6:-1]).split() == (LONG * 2).split()
    assert len(after) == 11
    assert editor.lua("return vim.bo.formatexpr ~= '' and vim.wo.foldenable")
    editor.feed("u")
    assert editor.lines() == lines


def test_wrapping_a_comment_keeps_its_sign(editor: Editor) -> None:
    editor.edit("long.workflow", f"# {LONG}\n* to a\na to *\n")
    editor.command("set textwidth=60")
    editor.feed("gggqq")
    after = editor.lines()
    assert [line[:2] for line in after] == ["# ", "# ", "* ", "a "]


def test_a_large_file_is_folded_without_asking_about_every_line(editor: Editor) -> None:
    moves = "".join(f"s{at} to s{at + 1}:\n  Do it.\n\n" for at in range(3000))
    editor.write("large.workflow", "* to s0\n" + moves)
    asked = editor.lua(
        """
        local blocks = require('tideate.language.blocks')
        local fold, asked = blocks.fold, 0
        blocks.fold = function() asked = asked + 1 return fold() end
        vim.cmd.edit('large.workflow')
        vim.fn.foldlevel(1)
        return asked
        """
    )
    assert asked == 0
    assert editor.lua("return { vim.fn.foldlevel(3), vim.fn.foldlevel(5) }") == [1, 0]
