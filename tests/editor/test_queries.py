"""Tools of the editor with a scripted language server: silent, dead, wrong or hostile."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from tests.harness import language_server
from tests.harness.editor_tools import EditorTools
from tideate_core.agents.tools import editor_queries
from tideate_core.errors import ToolError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.editor import Editor

START = """
local name, command, root = ...
vim.api.nvim_create_autocmd('FileType', { pattern = 'lua', callback = function(event)
  vim.lsp.start({ name = name, cmd = command, root_dir = root }, { bufnr = event.buf })
end })
"""
ALL = {
    "positionEncoding": "utf-16",
    "textDocumentSync": 1,
    **{
        f"{name}Provider": True
        for name in ("hover", "definition", "references", "implementation", "documentSymbol", "rename")
    },
    "workspaceSymbolProvider": True,
    "codeActionProvider": {"resolveProvider": True},
}
FILES = {"a.lua": "local one = 1\nprint(one)\n", "b.lua": "local two = 2\n"}


def span(line: int, start: int, end: int) -> dict[str, Any]:
    return {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}


def uri_of(editor: Editor, name: str) -> str:
    return (editor.cwd.resolve() / name).as_uri()


class Serving(Protocol):
    def __call__(self, name: str = ..., **script: Any) -> Server: ...


class Server:
    """A scripted server in a project, with its received messages."""

    def __init__(self, tools: EditorTools, name: str, script: dict[str, Any]) -> None:
        self.tools, self.editor, self.root = tools, tools.editor, tools.root
        self._log = tools.editor.home / f"{name}.log"
        self._log.touch()
        file = tools.editor.home / f"{name}.json"
        file.write_text(json.dumps({"capabilities": ALL, **script}))
        command = [sys.executable, language_server.__file__, str(file), str(self._log)]
        tools.editor.lua(START, name, command, str(tools.root))

    def _messages(self) -> list[dict[str, Any]]:
        whole = self._log.read_text().rpartition("\n")[0]  # the last line may be half written
        return [json.loads(line) for line in whole.splitlines()]

    def heard(self, method: str) -> list[dict[str, Any]]:
        return [one for one in self._messages() if one.get("method") == method]

    def answered(self, number: int) -> Any:
        """Return the answer to a request of the server."""
        return next(
            (one["result"] for one in self._messages() if one.get("id") == number and "result" in one), None
        )

    def call(self, name: str, **arguments: Any) -> str:
        return self.tools.call(name, **arguments)


@pytest.fixture
def serving(editor: Editor) -> Serving:
    tools = EditorTools(editor, FILES)
    editor.lua("require('tideate.queries.hidden_buffers').limits.linger = 1")
    editor.lua("require('tideate.queries.diagnostics').patience = { fresh = 400, open = 100 }")

    def start(name: str = "server", **script: Any) -> Server:
        return Server(tools, name, script)

    return start


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A short time limit."""
    monkeypatch.setattr(editor_queries.ask, "__kwdefaults__", {"limit": 0.8})


AT_ONE = {"path": "a.lua", "line": 2, "symbol": "one"}


# -- servers that fail ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_without_a_server_for_the_file_the_tool_says_so(serving: Serving) -> None:
    server = serving()
    (server.root / "c.txt").write_text("one")
    with pytest.raises(ToolError, match=r"no language server runs for c\.txt"):
        server.call("lsp_definition", path="c.txt", line=1, symbol="one")
    with pytest.raises(ToolError, match="no language server that lists symbols"):
        server.call("lsp_workspace_symbols", query="one")


def test_a_server_that_cannot_do_it_is_not_asked(serving: Serving) -> None:
    server = serving(capabilities={"hoverProvider": True})
    with pytest.raises(ToolError, match=r"can do this \(textDocument/definition\)"):
        server.call("lsp_definition", **AT_ONE)


@pytest.mark.slow
@pytest.mark.usefixtures("impatient")
def test_a_server_that_never_answers_is_given_up_and_told_so(serving: Serving) -> None:
    server = serving(silent=["textDocument/definition"])
    server.editor.edit("a.lua")
    with pytest.raises(ToolError, match=r"textDocument/definition of server: no answer within 0\.8 s"):
        server.call("lsp_definition", **AT_ONE)
    (asked,) = server.heard("textDocument/definition")
    server.editor.wait_for(lambda: server.heard("$/cancelRequest"), "the request is cancelled")
    assert server.heard("$/cancelRequest")[0]["params"] == {"id": asked["id"]}


@pytest.mark.slow
@pytest.mark.usefixtures("impatient")
def test_a_server_that_never_starts_is_given_up(serving: Serving) -> None:
    server = serving(silent=["initialize"])
    with pytest.raises(ToolError, match=r"the language server of a\.lua: no answer within"):
        server.call("lsp_hover", **AT_ONE)


@pytest.mark.slow
@pytest.mark.usefixtures("impatient")
def test_one_silent_server_does_not_keep_the_answer_of_another_back(serving: Serving) -> None:
    place = {"uri": "file:///elsewhere.lua", "range": span(4, 0, 1)}
    server = serving("quick", answers={"textDocument/definition": place})
    serving("slow", silent=["textDocument/definition"])
    answer = server.call("lsp_definition", **AT_ONE)
    assert answer == "outside of the project, not shown: /elsewhere.lua:5\n[slow: no answer in time]"


def test_a_server_that_dies_when_it_is_asked_is_told_of_at_once(serving: Serving) -> None:
    server = serving(dies=["textDocument/references"])
    with pytest.raises(ToolError, match="server: the server has ended"):
        server.call("lsp_references", **AT_ONE)


@pytest.mark.slow
def test_a_servers_error_is_told_with_its_name(serving: Serving) -> None:
    server = serving(errors={"textDocument/rename": "cannot rename a number"})
    with pytest.raises(ToolError, match="server: cannot rename a number"):
        server.call("lsp_rename", **AT_ONE, new_name="x")


@pytest.mark.parametrize("wrong", ["text", [1], [{"uri": 3, "range": span(0, 0, 1)}]])
def test_an_answer_that_makes_no_sense_is_refused(serving: Serving, wrong: Any) -> None:
    server = serving(answers={"textDocument/definition": wrong})
    with pytest.raises(ToolError, match=r"makes no sense|the editor failed"):
        server.call("lsp_definition", **AT_ONE)
    assert "Error" not in server.editor.messages()


def test_a_question_that_is_withdrawn_leaves_nothing_behind(serving: Serving) -> None:
    server = serving(silent=["textDocument/hover"])
    editor = server.editor
    message = {"name": "hover", "arguments": {"path": str(server.root / "a.lua"), "line": 2, "symbol": "one"}}
    asked = {"type": "ask", "id": "9", "method": "query", "params": message}
    editor.lua("require('tideate.events').receive({ ... })", asked)
    editor.wait_for(lambda: server.heard("textDocument/hover"), "the server is asked")
    editor.lua("require('tideate.events').receive({ ... })", {"type": "withdraw", "id": "9"})
    editor.wait_for(lambda: server.heard("$/cancelRequest"), "the request is cancelled")
    editor.wait("#vim.api.nvim_list_bufs() == 1")
    assert editor.lua("return _G.answers") == []


# -- places ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("encoding", "character"), [("utf-8", 12), ("utf-16", 9), ("utf-32", 8)])
def test_a_column_is_counted_as_the_server_counts(serving: Serving, encoding: str, character: int) -> None:
    server = serving(capabilities={**ALL, "positionEncoding": encoding})
    (server.root / "a.lua").write_text("f('ä😀', old)\n")
    server.call("lsp_hover", path="a.lua", line=1, symbol="old")
    (asked,) = server.heard("textDocument/hover")
    assert asked["params"]["position"] == {"line": 0, "character": character}


def test_a_symbol_is_found_as_a_word_of_its_own(serving: Serving) -> None:
    server = serving()
    places = {"onetwo = one": ("one", 9), "x = a.one": ("a.one", 6), "one": ("one", 0), "größe = ö": ("ö", 8)}
    (server.root / "a.lua").write_text("\n".join(places) + "\n")
    for line, (symbol, _) in enumerate(places.values(), 1):
        server.call("lsp_hover", path="a.lua", line=line, symbol=symbol)
    asked = [one["params"]["position"]["character"] for one in server.heard("textDocument/hover")]
    assert asked == [character for _, character in places.values()]


def test_a_symbol_that_is_not_on_the_line_is_told_with_the_lines_where_it_is(serving: Serving) -> None:
    server = serving()
    server.editor.edit("a.lua", "local one\none()\n\n")
    with pytest.raises(ToolError, match="'one' is not on line 3 in the editor; it stands on line 1, 2"):
        server.call("lsp_hover", path="a.lua", line=3, symbol="one")
    with pytest.raises(ToolError, match="there is no line 9"):
        server.call("lsp_hover", path="a.lua", line=9, symbol="one")


@pytest.mark.slow
def test_many_places_are_cut_and_counted(editor: Editor, serving: Serving) -> None:
    places = [{"uri": uri_of(editor, "b.lua"), "range": span(line, 0, 1)} for line in range(5000)]
    server = serving(answers={"textDocument/references": places})
    lines = server.call("lsp_references", **AT_ONE).splitlines()
    assert lines[0] == "b.lua:1: local two = 2"
    assert lines[-1].startswith("[about 4900 more places are left out")
    assert len(lines) == 101


def test_nested_symbols_are_indented(serving: Serving) -> None:
    inner = {"name": "go", "kind": 6, "range": span(1, 0, 1), "selectionRange": span(1, 0, 1)}
    outer = {**inner, "name": "Base", "kind": 5, "selectionRange": span(0, 0, 1), "children": [inner]}
    server = serving(answers={"textDocument/documentSymbol": [outer]})
    assert server.call("lsp_symbols", path="a.lua") == "1: class Base\n  2: method go"


# -- files ----------------------------------------------------------------------------------------------


def test_a_file_that_is_not_open_is_loaded_out_of_sight_and_removed(serving: Serving) -> None:
    server = serving()
    editor = server.editor
    editor.command("let g:read = 0 | autocmd BufReadPost,BufWinEnter,BufEnter * let g:read += 1")
    before = editor.lua("return vim.api.nvim_list_wins()")
    server.call("lsp_hover", **AT_ONE)
    assert [one["params"]["textDocument"]["uri"] for one in server.heard("textDocument/didOpen")] == [
        uri_of(server.editor, "a.lua")
    ]
    editor.wait("#vim.api.nvim_list_bufs() == 1")
    editor.wait_for(lambda: server.heard("textDocument/didClose"), "the server hears that it is closed")
    assert editor.lua("return vim.api.nvim_list_wins()") == before
    assert editor.lua("return vim.g.read") == 0
    assert editor.lua("return vim.o.eventignore") == ""


def test_a_running_server_is_given_the_file_without_events_of_filetypes(serving: Serving) -> None:
    server = serving()
    server.editor.edit("b.lua")
    server.editor.wait("vim.lsp.get_clients({ bufnr = 0 })[1] ~= nil")
    server.editor.command("let g:types = 0 | autocmd FileType * let g:types += 1")
    server.call("lsp_hover", **AT_ONE)
    assert server.editor.lua("return vim.g.types") == 0
    assert len(server.heard("initialize")) == 1


@pytest.mark.slow
def test_a_file_that_a_person_opens_meanwhile_is_theirs(serving: Serving) -> None:
    server = serving()
    editor = server.editor
    editor.lua("require('tideate.queries.hidden_buffers').limits.linger = 200")
    server.call("lsp_hover", **AT_ONE)
    editor.command("let g:read = 0 | autocmd BufReadPost * let g:read += 1")
    buf = editor.edit("a.lua")
    editor.wait("vim.g.read == 1")
    assert editor.lua("return { vim.bo.filetype, vim.bo.buflisted, vim.bo.bufhidden }") == ["lua", True, ""]
    editor.command("enew")
    server.call("lsp_hover", path="b.lua", line=1, symbol="two")
    editor.wait("vim.fn.bufexists('b.lua') == 0")
    assert editor.lua("return vim.api.nvim_buf_is_loaded(...)", buf)


def test_a_hidden_file_is_no_open_buffer_for_anyone_else(serving: Serving) -> None:
    server = serving()
    server.editor.lua("require('tideate.queries.hidden_buffers').limits.linger = 10000")
    server.call("lsp_hover", **AT_ONE)
    path = str(server.root / "a.lua")
    assert server.editor.lua("return require('tideate.edit').find(...)", path) is None
    assert "a.lua" not in server.call("editor_buffers")


def test_a_file_that_was_written_since_its_last_query_is_read_again(serving: Serving) -> None:
    server = serving()
    server.editor.lua("require('tideate.queries.hidden_buffers').limits.linger = 10000")
    server.call("lsp_hover", **AT_ONE)
    (server.root / "a.lua").write_text("\n\n\nlocal later = 1\n")
    server.call("lsp_hover", path="a.lua", line=4, symbol="later")
    assert server.heard("textDocument/hover")[-1]["params"]["position"] == {"line": 3, "character": 6}


def test_a_file_that_is_too_large_is_not_loaded(serving: Serving) -> None:
    server = serving()
    server.editor.lua("require('tideate.queries.hidden_buffers').limits.bytes = 1024")
    (server.root / "a.lua").write_text("one = 1\n" * 140)
    with pytest.raises(ToolError, match="files over 1 KiB are not loaded for language servers"):
        server.call("lsp_hover", path="a.lua", line=1, symbol="one")


def test_lines_are_those_of_the_unsaved_buffer(editor: Editor, serving: Serving) -> None:
    place = {"uri": uri_of(editor, "a.lua"), "range": span(0, 0, 1)}
    server = serving(answers={"textDocument/definition": place})
    server.editor.edit("a.lua")
    server.editor.set_lines(["local unsaved = 2", "print(unsaved)"])
    answer = server.call("lsp_definition", path="a.lua", line=2, symbol="unsaved")
    assert answer == "a.lua:1: local unsaved = 2"


# -- edits ----------------------------------------------------------------------------------------------


def actions(*found: dict[str, Any]) -> dict[str, Any]:
    return {"textDocument/codeAction": list(found)}


@pytest.mark.slow
def test_a_code_action_is_completed_by_the_server_and_staged(editor: Editor, serving: Serving) -> None:
    uri = uri_of(editor, "a.lua")
    edit = {"documentChanges": None, "changes": {uri: [{"range": span(0, 12, 13), "newText": "2"}]}}
    nothing = {"edit": None, "command": None, "disabled": None, "diagnostics": None}
    lazy = {"title": "Use 2", "kind": "quickfix", "isPreferred": True, "data": 5, **nothing}
    whole = {**lazy, "edit": edit}
    server = serving(answers={**actions(lazy), "codeAction/resolve": whole})
    assert server.call("lsp_code_actions", path="a.lua", line=1) == "Use 2 [quickfix, preferred, server]"
    answer = server.call("lsp_apply_code_action", path="a.lua", line=1, title="Use 2")
    assert "+local one = 2" in answer
    assert server.heard("codeAction/resolve")[0]["params"]["data"] == 5
    assert server.tools.staged.text("a.lua") == "local one = 2\nprint(one)"
    server.editor.edit("a.lua")
    assert server.editor.lines() == ["local one = 1", "print(one)"]


@pytest.mark.slow
def test_a_code_action_that_is_a_command_is_not_run(serving: Serving) -> None:
    command = {"title": "Tidy", "command": {"title": "Tidy", "command": "server.tidy"}}
    server = serving(answers=actions(command))
    with pytest.raises(ToolError, match='no code action there has the title "Clean"; there are "Tidy"'):
        server.call("lsp_apply_code_action", path="a.lua", line=1, title="Clean")
    listed = server.call("lsp_code_actions", path="a.lua", line=1)
    assert "a command of the server, which is not run" in listed
    with pytest.raises(ToolError, match=r"runs the server's command server\.tidy"):
        server.call("lsp_apply_code_action", path="a.lua", line=1, title="Tidy")
    assert server.heard("workspace/executeCommand") == []


def test_a_server_that_wants_to_change_a_buffer_when_it_is_asked_is_refused(
    editor: Editor, serving: Serving
) -> None:
    edit = {"changes": {uri_of(editor, "a.lua"): [{"range": span(0, 0, 5), "newText": "global"}]}}
    applying = {"id": 77, "method": "workspace/applyEdit", "params": {"edit": edit}}
    server = serving(answers={"textDocument/rename": edit}, first={"textDocument/rename": [applying]})
    editor.edit("a.lua")
    server.call("lsp_rename", **AT_ONE, new_name="two")
    editor.wait_for(lambda: server.answered(77), "the server is answered")
    assert server.answered(77)["applied"] is False
    assert editor.lines() == ["local one = 1", "print(one)"]
    assert editor.lua("return vim.lsp.get_clients()[1].handlers['workspace/applyEdit']") is None


@pytest.mark.slow
def test_typing_while_the_server_works_refuses_its_edit(editor: Editor, serving: Serving) -> None:
    uri = uri_of(editor, "a.lua")
    edit = {"changes": {uri: [{"range": span(0, 6, 9), "newText": "new"}]}}
    server = serving(answers={"textDocument/rename": edit})
    server.editor.edit("a.lua")

    def type_on() -> None:
        server.editor.wait_for(lambda: server.heard("textDocument/rename"), "the server is asked")
        server.editor.set_lines(["local one = 1", "print(one) -- typed"])

    with pytest.raises(ToolError, match="changed in the editor while"):
        server.tools.call_while(type_on, "lsp_rename", **AT_ONE, new_name="new")
    assert server.tools.staged.changed_texts() == {}


# -- diagnostics and lists ------------------------------------------------------------------------------


@pytest.mark.slow
def test_diagnostics_of_a_file_that_is_not_open_are_waited_for(editor: Editor, serving: Serving) -> None:
    uri = uri_of(editor, "a.lua")
    one = {"range": span(1, 0, 5), "severity": 2, "message": "unused\nvalue", "source": "lint", "code": 7}
    worse = {"range": span(0, 0, 5), "severity": 1, "message": "wrong"}
    server = serving(published={uri: [one, worse]})
    assert server.call("diagnostics", path="a.lua").splitlines() == [
        "a.lua:1: local one = 1",
        "  error: wrong",
        "a.lua:2: print(one)",
        "  warning: unused value [lint 7]",
    ]
    assert "unused" not in server.call("diagnostics", path="a.lua", severity="error")


def test_the_projects_diagnostics_leave_out_those_of_other_files(serving: Serving, tmp_path: Path) -> None:
    server = serving()
    elsewhere = tmp_path / "elsewhere.lua"
    elsewhere.write_text("x")
    server.editor.lua(
        """for _, path in ipairs({ ... }) do
          local buf = vim.fn.bufadd(path)
          local one = { lnum = 0, col = 0, message = 'look at ' .. vim.fs.basename(path), severity = 1 }
          vim.diagnostic.set(vim.api.nvim_create_namespace('lint'), buf, { one })
        end""",
        str(server.root / "b.lua"),
        str(elsewhere),
    )
    assert server.call("diagnostics") == "b.lua:1: local two = 2\n  error: look at b.lua"


def test_open_buffers_are_listed_with_what_is_not_saved(serving: Serving, tmp_path: Path) -> None:
    server = serving()
    (tmp_path / "elsewhere.lua").write_text("secret")
    server.editor.edit(tmp_path / "elsewhere.lua")
    server.editor.edit("b.lua")
    server.editor.edit("a.lua")
    server.editor.set_lines(["local one = 3", "print(one)"])
    lines = server.call("editor_buffers").splitlines()
    assert lines[:2] == ["b.lua: 1 lines", "a.lua: 2 lines, current, unsaved changes"]
    assert "-local one = 1" in lines
    assert "+local one = 3" in lines
    assert "secret" not in "\n".join(lines)


def test_the_quickfix_list_is_shown_without_places_outside_of_the_project(
    serving: Serving, tmp_path: Path
) -> None:
    server = serving()
    items = [
        {"filename": str(server.root / "a.lua"), "lnum": 2, "text": "expected one"},
        {"filename": str(tmp_path / "elsewhere.lua"), "lnum": 1, "text": "private"},
        {"text": "make: stopped"},
    ]
    server.editor.lua("vim.fn.setqflist({}, ' ', { title = ':make', items = ... })", items)
    assert server.call("editor_quickfix").splitlines() == [
        ":make",
        "a.lua:2: expected one",
        "make: stopped",
        "[1 entries of files outside of the project are left out]",
    ]


def test_a_result_says_which_files_have_staged_edits(serving: Serving) -> None:
    server = serving(answers={"textDocument/hover": {"contents": "number"}})
    server.tools.context.staged.restore({"files": {"a.lua": {"before": FILES["a.lua"].rstrip(), "now": "x"}}})
    answer = server.call("lsp_hover", **AT_ONE)
    assert answer.splitlines()[1].startswith(
        "[a.lua: shown as in the editor; your staged edits are not in it"
    )
