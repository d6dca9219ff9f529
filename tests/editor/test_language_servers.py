"""Tools of the editor with a real language server: ty on a small Python project."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.agents.stage import write_files
from tests.harness.editor_tools import EditorTools
from tests.harness.model_server import ModelServer
from tests.harness.runs import configure, result, start
from tideate_core.agents.tools.editor import hover, locations
from tideate_core.agents.tools.editor_queries import AtSymbol
from tideate_core.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.harness.editor import Editor

pytestmark = pytest.mark.slow

TY = Path(sys.executable).with_name("ty")
PRICES = '''\
"""Prices."""


def total(items: list[int]) -> int:
    """Add up."""
    return sum(items)


class Base:
    def go(self) -> int:
        return 1


class Sub(Base):
    def go(self) -> int:
        return 2
'''
TILL = """\
from shop.prices import total


def pay() -> str:
    return total([1, 2])


NAMES = "ä😀漢", total([3])
"""
FILES = {
    "pyproject.toml": '[project]\nname = "shop"\nversion = "1"\n',
    "shop/__init__.py": "",
    "shop/prices.py": PRICES,
    "shop/till.py": TILL,
    "other.py": "from shop import prices\n\nprint(prices.total([4]))\n",
}
START = """
local command, root = ...
vim.api.nvim_create_autocmd('FileType', { pattern = 'python', callback = function(event)
  vim.lsp.start({ name = 'ty', cmd = { command, 'server' }, root_dir = root, on_init = function(client)
    -- Neovim asks for the colours some time later, and they are marks in the buffer
    client.server_capabilities.semanticTokensProvider = nil
  end }, { bufnr = event.buf })
end })
"""
USES = [
    "other.py:3: print(prices.total([4]))",
    "shop/prices.py:4: def total(items: list[int]) -> int:",
    "shop/till.py:1: from shop.prices import total",
    "shop/till.py:5: return total([1, 2])",
    'shop/till.py:8: NAMES = "ä😀漢", total([3])',
]


@pytest.fixture
def tools(editor: Editor) -> EditorTools:
    """A project without open files; the editor's configuration starts ty for Python."""
    tools = EditorTools(editor, FILES)
    editor.lua(START, str(TY), str(tools.root))
    return tools


def is_ready(editor: Editor) -> None:
    editor.wait("vim.lsp.get_clients({ bufnr = 0 })[1] ~= nil")


def test_diagnostics_of_a_file_that_is_not_open(tools: EditorTools) -> None:
    place, message = tools.call("diagnostics", path="shop/till.py").splitlines()
    assert place == "shop/till.py:5: return total([1, 2])"
    assert message.startswith("  error: Return type does not match")
    assert "[ty " in message
    assert tools.call("diagnostics", path="other.py") == "other.py has no diagnostics (ty)"


def test_diagnostics_of_an_unsaved_buffer_and_of_the_project(tools: EditorTools) -> None:
    tools.editor.edit("other.py")
    is_ready(tools.editor)
    assert tools.call("diagnostics", path="other.py") == "other.py has no diagnostics (ty)"
    tools.editor.set_lines(["print(unknown)"])
    tools.editor.wait("#vim.diagnostic.get(0) > 0")
    assert tools.call("diagnostics").splitlines()[0] == "other.py:1: print(unknown)"


def test_definition_references_and_implementations(tools: EditorTools) -> None:
    at = {"path": "shop/till.py", "line": 8, "symbol": "total"}
    assert tools.call("lsp_definition", **at) == "shop/prices.py:4: def total(items: list[int]) -> int:"
    assert tools.call("lsp_references", **at).splitlines() == USES
    found = tools.call("lsp_implementations", path="shop/prices.py", line=10, symbol="go")
    assert "shop/prices.py:15: def go(self) -> int:" in found.splitlines()


def test_a_definition_outside_of_the_project_is_named_without_its_text(tools: EditorTools) -> None:
    answer = tools.call("lsp_definition", path="shop/prices.py", line=6, symbol="sum")
    assert answer.startswith("outside of the project, not shown: /")
    assert "builtins.pyi:" in answer
    assert "def sum" not in answer


def test_hover_and_symbols(tools: EditorTools) -> None:
    hover = tools.call("lsp_hover", path="other.py", line=3, symbol="prices.total")
    assert "def total(items: list[int]) -> int" in hover
    assert "Add up." in hover
    symbols = tools.call("lsp_symbols", path="shop/prices.py").splitlines()
    assert symbols[:3] == ["4: function total", "9: class Base", "  10: method go"]
    assert tools.call("lsp_workspace_symbols", query="tota") == "shop/prices.py:4: function total"


def test_a_rename_is_staged_in_open_unsaved_and_other_files_and_can_be_applied(tools: EditorTools) -> None:
    editor = tools.editor
    editor.edit("shop/till.py")
    is_ready(editor)
    editor.nvim.api.buf_set_lines(0, 0, 0, True, ["# größer 😀", "", "import os"])
    answer = tools.call("lsp_rename", path="shop/till.py", line=11, symbol="total", new_name="sum_up")
    assert '+NAMES = "ä😀漢", sum_up([3])' in answer.splitlines()
    assert set(tools.staged.changed_texts()) == {"other.py", "shop/prices.py", "shop/till.py"}
    assert "sum_up" not in "".join(editor.lines())
    assert (tools.root / "other.py").read_text() == FILES["other.py"]

    async def apply() -> None:
        await tools.step.workspace.apply(tools.staged.changes(), execution_id="1" * 32)

    tools.run(apply(), lambda: None)
    assert editor.lines()[0] == "# größer 😀"
    assert editor.lines()[-1] == 'NAMES = "ä😀漢", sum_up([3])'
    assert (tools.root / "other.py").read_text() == "from shop import prices\n\nprint(prices.sum_up([4]))\n"
    assert (tools.root / "shop/prices.py").read_text() == FILES["shop/prices.py"].replace("total", "sum_up")


def test_a_rename_over_a_staged_edit_is_refused(tools: EditorTools) -> None:
    tools.call("edit_file", path="other.py", edits=[{"search": "[4]", "replace": "[5]"}])
    with pytest.raises(ToolError, match=r"other\.py has staged edits"):
        tools.call("lsp_rename", path="shop/till.py", line=5, symbol="total", new_name="sum_up")
    assert tools.staged.text("other.py") == "from shop import prices\n\nprint(prices.total([5]))"


def test_a_quick_fix_is_staged(tools: EditorTools) -> None:
    listed = tools.call("lsp_code_actions", path="shop/till.py", line=5).splitlines()
    title = listed[0].partition(" [")[0]
    tools.call("lsp_apply_code_action", path="shop/till.py", line=5, title=title)
    text = tools.staged.text("shop/till.py")
    assert text is not None
    assert "ty: ignore" in text.splitlines()[4]


def test_two_calls_at_once_share_the_file_and_leave_nothing_behind(tools: EditorTools) -> None:
    editor = tools.editor
    editor.lua("require('tideate.queries.hidden_buffers').limits.linger = 1")
    at = AtSymbol(path="shop/till.py", line=5, symbol="total")

    async def both() -> list[str]:
        return list(
            await asyncio.gather(locations("definition", tools.context, at), hover(tools.context, at))
        )

    found = tools.run(both(), lambda: None)
    assert found[0].startswith("shop/prices.py:4")
    assert "def total" in found[1]
    editor.wait("#vim.api.nvim_list_bufs() == 1")
    assert editor.messages() == ""


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


def test_a_model_asks_the_language_server_in_a_run(editor: Editor, model: ModelServer) -> None:
    write_files(editor.cwd, FILES)
    editor.lua(START, str(TY), str(editor.cwd))
    configure(editor, model, tools=True)
    editor.edit("shop/till.py")
    is_ready(editor)
    at = {"path": "shop/till.py", "line": 5, "symbol": "total"}
    model.calls("where is total", "lsp_references", at, times=1)
    model.answers("other.py:3: print(prices.total([4]))", "It is used in other.py, too.")
    start(editor, "ask", "where is total used?")
    done = result(editor)
    assert done.get("response") == "It is used in other.py, too.", (
        done,
        model.unmatched,
        len(model.requests),
        editor.lua("return _G.seen"),
    )
    assert model.requests[-1]["messages"][-1]["content"].splitlines() == USES
