"""Actions in Neovim: opening files of each kind, and every subcommand of `:Workflow`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.editor import Editor

OPENED: Final = (
    "src/app.py",
    ".tideate/workflows/loop.workflow",
    ".tideate/workflows/review.yaml",
    ".tideate/workflows/review.json",
    ".tideate/config.toml",
    ".tideate/context.json",
    ".tideate/agents/planner.md",
)
LARGEST_OPENED: Final = 8 * 1024 * 1024
"""Bytes; larger files slow down Neovim itself."""
LEFT_OUT: Final = frozenset({"install"})
"""`:Workflow install` starts the package manager and reads no project."""
MORE: Final = (
    "Workflow",
    "Workflow ask hello",
    "Workflow ask see @Doc @tree",
    "Workflow review",
    "Workflow task hello",
    "Workflow handoff",
    "Workflow .tideate/workflows/loop.workflow go",
    "Workflow .tideate/workflows/review.yaml",
    "Workflow graph review",
    "Workflow graph .tideate/workflows/loop.workflow",
    "Workflow snapshot by hand",
    "Workflow trust .tideate/config.toml",
    "Workflow show f00df00d",
    "Workflow rollback f00df00d",
    "Workflow resume f00df00d",
)
SLOW: Final = frozenset({"Workflow health"})
"""It imports installed packages and reads little of the project."""
RARELY: Final = 8
COMPLETED: Final = (
    "",
    "ask @",
    "run ",
    "trust .tideate/",
    "graph ",
    "history ",
    ".tideate/workflows/",
    "show ",
)


@dataclass(frozen=True, slots=True)
class Action:
    """Action in Neovim: opening a file, or running Lua."""

    text: str
    opens: str = ""
    lua: str = ""
    argument: str = ""

    def applies(self, project: Path) -> bool:
        """Return whether the action tests tideate: a pipe blocks Neovim itself."""
        if not self.opens:
            return True
        path = project / self.opens
        try:
            found = path.stat()
        except OSError:
            return not path.is_symlink()
        return path.is_file() and found.st_size <= LARGEST_OPENED

    def code(self) -> str:
        """Return Lua code that takes the argument and performs the action."""
        return self.lua or "vim.cmd.edit(vim.fn.fnameescape(...))"


def actions(editor: Editor, turn: int) -> list[Action]:
    """Return the actions of one turn: all files, and half of the others.

    :param turn: number of the tree; two consecutive turns cover all fast actions.
    """
    every = _every(editor)
    return [
        action
        for at, action in enumerate(every)
        if action.opens or (turn % RARELY == 0 if action.argument in SLOW else (at + turn) % 2 == 0)
    ]


def _every(editor: Editor) -> list[Action]:
    """Return every action, with this Neovim's subcommands."""
    names: list[str] = editor.lua(
        "return vim.tbl_map(function(one) return one.name end, require('tideate.subcommands'))"
    )
    lines = [f"Workflow {name}" for name in names if name not in LEFT_OUT]
    return [
        *(Action(f":edit {name}", opens=name, argument=name) for name in OPENED),
        *(Action(f":{line}", lua="vim.cmd(...)", argument=line) for line in (*lines, *MORE)),
        *(
            Action(
                f":Workflow {lead}<Tab>",
                lua="vim.fn.getcompletion(..., 'cmdline')",
                argument=f"Workflow {lead}",
            )
            for lead in COMPLETED
        ),
    ]
