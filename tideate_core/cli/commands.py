"""`tideate list`: every workflow there is."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tideate_core.cli.output import fail, messages, print_json, visible
from tideate_core.cli.runs import hint
from tideate_core.cli.wiring import build_catalog, locate
from tideate_core.errors import TideateError
from tideate_core.workflows import MachineWorkflow

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tideate_core.workflows import Registration

__all__ = ["list_workflows", "outline"]

WHOSE: Mapping[str, str] = {"user": "yours", "project": "this project's", "package": "a package's"}
"""Where a machine comes from, in words."""


def list_workflows(root: str | None, *, as_json: bool) -> int:
    """Print every workflow with its steps; returns the exit status."""
    try:
        found = locate(root)
    except TideateError as error:
        fail(error, as_json=as_json)
        return 2
    catalog = build_catalog(found)
    known = catalog.list()
    for notice in catalog.notices:
        messages().print(Text(visible(notice)), style="yellow", soft_wrap=True)
    if as_json:
        print_json({"ok": True, "workflows": [_listed(one) for one in known]})
        return 0
    table = Table("name", "steps", "what it does", box=None, header_style="dim", padding=(0, 2, 0, 0))
    for one in known:
        table.add_row(one.definition.name, outline(one), Text(visible(one.definition.description)))
    # nothing to wrap for where no person reads
    Console(width=None if sys.stdout.isatty() else 200, highlight=False).print(table)
    hint(found)
    return 0


def outline(known: Registration) -> str:
    """Return the steps of a graph; of a machine how many states it has, and where it comes from."""
    names = known.definition.step_names
    if known.kind == "graph":
        return " → ".join(names)
    source = "" if known.source == "builtin" else f" ({WHOSE.get(known.source, known.source)})"
    return f"machine, {len(names)} state{'' if len(names) == 1 else 's'}{source}"


def _listed(known: Registration) -> dict[str, object]:
    definition = known.definition
    shape: dict[str, object] = {
        "name": definition.name,
        "description": definition.description,
        "kind": known.kind,
        "needs": list(definition.needs),
        "source": known.source,
    }
    if not isinstance(definition, MachineWorkflow):
        return {**shape, "steps": list(definition.step_names)}
    path = str(definition.path) if definition.path else None
    return {**shape, "steps": [], "states": list(definition.step_names), "path": path}
