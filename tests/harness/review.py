"""Reviews in a test's Neovim: files to review, and what is shown and answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.harness.dialogs import answers, ask, wait_focused

if TYPE_CHECKING:
    from tests.harness.editor import Editor

__all__ = [
    "FILES",
    "HUNKS",
    "LINES",
    "NOTHING",
    "accepted",
    "bar",
    "drawn",
    "labels",
    "left_overs",
    "opened",
    "review",
    "value",
]

LINES = [f"line {number:02}" for number in range(1, 61)]
HUNKS = [
    {"start": 0, "old": [], "new": ["first"]},
    {"start": 9, "old": ["line 10", "line 11"], "new": ["ten", "eleven", "more"]},
    {"start": 29, "old": ["line 30"], "new": []},
    {"start": 60, "old": [], "new": ["last"]},
]
FILES: list[dict[str, Any]] = [
    {"path": "on_disk.txt", "action": "modify", "before": "a\nb", "filetype": "text"}
    | {"hunks": [{"start": 1, "old": ["b"], "new": ["B"]}]},
    {
        "path": "new.lua",
        "action": "create",
        "filetype": "lua",
        "hunks": [{"start": 0, "old": [], "new": ["return 1"]}],
    },
    {
        "path": "old.txt",
        "action": "delete",
        "before": "gone",
        "filetype": "",
        "hunks": [{"start": 0, "old": ["gone"], "new": []}],
    },
    {
        "path": "from.txt",
        "action": "move",
        "move_to": "to.txt",
        "before": "same",
        "filetype": "",
        "hunks": [],
    },
]
NOTHING = {"marks": 0, "maps": 0, "bars": 0, "autocmds": 0, "wins": 1, "bufs": 1}


def review(editor: Editor, *files: dict[str, Any], demonstration: bool = False, focus: bool = True) -> str:
    """Ask for a review, by default of the file of `opened`; wait for its focus."""
    payload = {"files": list(files) or [opened(editor)], "demonstration": demonstration}
    identity = ask(editor, "review", payload=payload)
    if focus:
        wait_focused(editor)
    return identity


def opened(editor: Editor, hunks: list[dict[str, Any]] = HUNKS) -> dict[str, Any]:
    """A file in the current window, with a change for it."""
    number = editor.edit("a.txt", "\n".join(LINES) + "\n")
    return {
        "path": "a.txt",
        "action": "modify",
        "buffer": number,
        "before": "\n".join(LINES),
        "filetype": "",
        "hunks": hunks,
    }


def accepted(editor: Editor) -> list[list[int]]:
    (answer,) = answers(editor)
    return [file["accepted"] for file in answer["value"]["files"]]


def value(editor: Editor) -> dict[str, Any]:
    (answer,) = answers(editor)
    return dict(answer["value"])


def left_overs(editor: Editor) -> dict[str, Any]:
    return dict(
        editor.lua("""
          local marks = 0
          for name, ns in pairs(vim.api.nvim_get_namespaces()) do
            if name:find('^tideate%.review') then
              for _, buf in ipairs(vim.api.nvim_list_bufs()) do
                marks = marks + #vim.api.nvim_buf_get_extmarks(buf, ns, 0, -1, {})
              end
            end
          end
          return {
            marks = marks,
            maps = #vim.api.nvim_buf_get_keymap(0, 'n'),
            bars = #vim.tbl_filter(function(w) return vim.wo[w].winbar ~= '' end, vim.api.nvim_list_wins()),
            autocmds = #vim.tbl_filter(function(a) return (a.group_name or ''):find('^tideate') ~= nil end,
              vim.api.nvim_get_autocmds({})),
            wins = #vim.api.nvim_list_wins(),
            bufs = #vim.api.nvim_list_bufs(),
          }
        """)
    )


def bar(editor: Editor) -> str:
    return str(editor.lua("return vim.api.nvim_eval_statusline(vim.wo.winbar, {use_winbar = true}).str"))


def drawn(editor: Editor) -> str:
    """Return all virtual lines of the review."""
    return str(
        editor.lua("""
          local ns, lines = vim.api.nvim_get_namespaces()['tideate.review'], {}
          for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, ns, 0, -1, { details = true })) do
            for _, line in ipairs(mark[4].virt_lines or {}) do
              table.insert(lines, table.concat(vim.tbl_map(function(chunk) return chunk[1] end, line)))
            end
          end
          return table.concat(lines, '\\n')
        """)
    )


def labels(editor: Editor) -> str:
    """Return the virtual text after lines."""
    return str(
        editor.lua("""
          local ns, found = vim.api.nvim_get_namespaces()['tideate.review'], {}
          for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, ns, 0, -1, { details = true })) do
            for _, chunk in ipairs(mark[4].virt_text or {}) do
              table.insert(found, ('%d%s'):format(mark[2] + 1, chunk[1]))
            end
          end
          return table.concat(found, '\\n')
        """)
    )
