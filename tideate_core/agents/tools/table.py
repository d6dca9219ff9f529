"""Table of all tools of the work loop, by name and by group."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import InvalidInput, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tideate_core.agents.tools.tool import WorkTool

__all__ = ["GROUPS", "tools_named"]

GROUPS: Final = ("files", "search", "symbols", "git", "editor", "skills", "edits", "checks")
"""Groups of tools; each is a module of this package with a table `TOOLS`."""


def tools_named(names: Iterable[str], *, editor: bool) -> list[WorkTool[Any]]:
    """Return tools by their names and the names of groups, each once, in the order of the table.

    :param editor: there is a running Neovim; without one its tools are left out.
    :raises InvalidInput: a name is of neither a tool nor a group; says the nearest one.
    """
    tables = {group: _table(group) for group in GROUPS}
    every = [tool for table in tables.values() for tool in table]
    wanted: set[str] = set()
    known = [*GROUPS, *(tool.name for tool in every)]
    for name in names:
        if name not in known:
            raise InvalidInput(
                f"there is no tool or group of tools {name!r}{did_you_mean(name, known)} "
                f"(groups: {', '.join(GROUPS)})"
            )
        wanted.update([tool.name for tool in tables[name]] if name in tables else [name])
    return [tool for tool in every if tool.name in wanted and (editor or not tool.needs_editor)]


def _table(group: str) -> tuple[WorkTool[Any], ...]:
    # by name: a step without tools loads none of them
    tools: tuple[WorkTool[Any], ...] = import_module(f"tideate_core.agents.tools.{group}").TOOLS
    return tools
