"""What a person does in Neovim: opens files of each kind, and runs every subcommand of `:Workflow`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.editor import Editor

__all__ = ["Action", "actions"]

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
"""Bytes: of a larger file it is Neovim itself that takes the time."""
LEFT_OUT: Final = frozenset({"install"})
"""`:Workflow install` is asked to start the package manager, and looks at no project."""
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
"""It imports what is installed, and looks at little of the project."""
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
    """Something done in Neovim: a file is opened, or Lua is run."""

    text: str
    opens: str = ""
    lua: str = ""
    argument: str = ""

    def applies(self, project: Path) -> bool:
        """Tell whether it is tideate that the action tries: a pipe keeps Neovim itself waiting."""
        if not self.opens:
            return True
        path = project / self.opens
        try:
            found = path.stat()
        except OSError:
            return not path.is_symlink()
        return path.is_file() and found.st_size <= LARGEST_OPENED

    def code(self) -> str:
        """Return Lua that takes the argument and does it."""
        return self.lua or "vim.cmd.edit(vim.fn.fnameescape(...))"


def actions(editor: Editor, turn: int) -> list[Action]:
    """Return what is done at one turn: all files are opened, and every other one of the rest is done.

    :param turn: which tree it is; two in a row have all that do not take long.
    """
    every = _every(editor)
    return [
        action
        for at, action in enumerate(every)
        if action.opens or (turn % RARELY == 0 if action.argument in SLOW else (at + turn) % 2 == 0)
    ]


def _every(editor: Editor) -> list[Action]:
    """Return every action, with the subcommands that this Neovim has."""
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
