"""The panel of runs in a test's Neovim: its lines, and how to reach them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.harness.runs import configure, result, start

if TYPE_CHECKING:
    from tests.harness.editor import Editor
    from tests.harness.model_server import ModelServer

__all__ = [
    "FOCUSED",
    "PANEL",
    "ask_with_a_call",
    "go_to",
    "open_panel",
    "opens",
    "panel",
    "unfold",
    "wait_line",
    "wait_no_line",
]

FOCUSED = "vim.bo.filetype == 'tideate-panel'"
PANEL = "vim.fn.bufnr('tideate://runs')"
READ = f"{FOCUSED} and not vim.wo.winbar:find('reading') and vim.fn.search('the runs are read', 'nw') == 0"
GO_TO = f"""
local line, win = ..., vim.fn.bufwinid({PANEL})
vim.api.nvim_set_current_win(win)
for row, there in ipairs(vim.api.nvim_buf_get_lines(0, 0, -1, true)) do
  if there == line then
    vim.api.nvim_win_set_cursor(0, {{ row, 0 }})
    return true
  end
end
return false
"""


def panel(editor: Editor) -> list[str]:
    return editor.lines(int(editor.lua(f"return {PANEL}")))


def wait_line(editor: Editor, pattern: str) -> str:
    """Wait until a line of the panel matches, and return it."""

    def look() -> str | None:
        return next((line for line in panel(editor) if re.search(pattern, line)), None)

    return str(editor.wait_for(look, f"{pattern} in the panel"))


def wait_no_line(editor: Editor, pattern: str) -> None:
    editor.wait_for(
        lambda: not any(re.search(pattern, line) for line in panel(editor)), f"no {pattern} in the panel"
    )


def open_panel(editor: Editor, command: str = "Workflow status") -> None:
    editor.command(command)
    editor.wait(READ)


def go_to(editor: Editor, pattern: str) -> None:
    """Put the cursor of the focused panel on a line."""
    # a line may be drawn anew between the two looks at it
    editor.wait_for(lambda: editor.lua(GO_TO, wait_line(editor, pattern)), f"the cursor on {pattern}")


def ask_with_a_call(editor: Editor, server: ModelServer) -> str:
    configure(editor, server, tools=True)
    (editor.cwd / "b.py").write_text("VALUE_OF_B = 41\n")
    server.calls("what is in b", "read_file", {"path": "b.py"}, times=1)
    server.answers("VALUE_OF_B", "It is 41.")
    identity = start(editor, "ask", "what is in b?")
    assert result(editor)["response"] == "It is 41."
    return identity


def unfold(editor: Editor) -> None:
    go_to(editor, "✓ ask")
    editor.feed("zo")
    go_to(editor, "✓ query")
    editor.feed("zo")
    wait_line(editor, "✓ read_file b.py")


def opens(editor: Editor, pattern: str, *texts: str) -> None:
    """Press <CR> on a line: a window with these texts opens, and `q` leads back."""
    go_to(editor, pattern)
    editor.feed("<CR>")
    for text in texts:
        editor.wait(
            "vim.fn.search('\\\\V' .. ..., 'nw') > 0 and vim.bo.filetype ~= 'tideate-panel'", 30, text
        )
    editor.feed("q")
    editor.wait(FOCUSED)
