"""Tools of the editor beside a real language server: how long each call takes, and holds the editor up."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.figures import Figure
from tests.harness.editor_tools import EditorTools

if TYPE_CHECKING:
    from tests.harness.editor import Editor

FILES: Final = 20
FUNCTIONS: Final = 40
"""Functions of a file, each of which uses the symbol that is looked for."""
START = """
local command, root = ...
vim.api.nvim_create_autocmd('FileType', { pattern = 'python', callback = function(event)
  vim.lsp.start({ name = 'ty', cmd = { command, 'server' }, root_dir = root }, { bufnr = event.buf })
end })
"""
AT: Final = {"line": 5, "symbol": "total"}
CALLS: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("diagnostics", {"path": "shop/bad.py"}),
    ("diagnostics", {}),
    ("lsp_hover", {"path": "shop/m1.py", **AT}),
    ("lsp_definition", {"path": "shop/m2.py", **AT}),
    ("lsp_references", {"path": "shop/m3.py", **AT}),
    ("lsp_symbols", {"path": "shop/m4.py"}),
    ("lsp_workspace_symbols", {"query": "f1"}),
    ("lsp_code_actions", {"path": "shop/bad.py", "line": 3}),
    ("lsp_rename", {"path": "shop/m3.py", **AT, "new_name": "sum_up"}),
    ("editor_buffers", {}),
    ("editor_quickfix", {}),
)


def _project() -> dict[str, str]:
    uses = "".join(
        f"def f{number}(x: int) -> int:\n    return total([x, {number}])\n\n\n" for number in range(FUNCTIONS)
    )
    modules = {f"shop/m{number}.py": f"from shop.prices import total\n\n\n{uses}" for number in range(FILES)}
    wrong = "".join(f"x{number}: str = total([{number}])\n" for number in range(100))
    return {
        "pyproject.toml": '[project]\nname = "shop"\nversion = "1"\n',
        "shop/__init__.py": "",
        "shop/prices.py": "def total(items: list[int]) -> int:\n    return sum(items)\n",
        "shop/bad.py": f"from shop.prices import total\n\n{wrong}",
        **modules,
    }


def tool_figures(editor: Editor, rounds: int) -> list[Figure]:
    """Call each tool in turn beside ty, with one file open; the stop-watches are the Lua module `bench`."""
    tools = EditorTools(editor, _project())
    editor.lua(START, str(Path(sys.executable).with_name("ty")), str(tools.root))
    editor.edit("shop/m0.py")
    editor.wait("vim.lsp.get_clients({ bufnr = 0 })[1] ~= nil", 20)
    pauses: list[float] = []
    took: dict[str, list[float]] = {name: [] for name, _ in CALLS}
    for _ in range(rounds + 1):
        longest = 0.0
        for name, arguments in CALLS:
            milliseconds, pause = _call(tools, name, arguments)
            took[name].append(milliseconds)
            longest = max(longest, pause)
        pauses.append(longest)
    references = took["lsp_references"][1:]
    return [
        Figure(f"{len(CALLS)} tools with ty for the first time: longest pause", pauses[:1], "ms", 16),
        Figure("the same again: longest pause", pauses[1:], "ms", 16),
        Figure(f"{FILES * (FUNCTIONS + 1) + 2} references of a symbol", references, "ms"),
    ]


def _call(tools: EditorTools, name: str, arguments: dict[str, Any]) -> tuple[float, float]:
    """Return the duration of a call and the editor's longest pause meanwhile, in milliseconds."""
    tools.editor.lua("_G.stop = require('bench').watch()")
    begun = time.perf_counter()
    tools.call(name, **arguments)
    took = (time.perf_counter() - begun) * 1000
    pause = float(tools.editor.lua("return _G.stop()"))
    tools.forget_staged()
    return took, pause
