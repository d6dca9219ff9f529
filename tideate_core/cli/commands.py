"""The short commands: list, trust."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tideate_core.cli.output import fail, messages, print_json, visible
from tideate_core.cli.runs import hint
from tideate_core.cli.wiring import build_catalog, locate
from tideate_core.errors import ConfigError, TideateError
from tideate_core.project import Trust, needs_trust, private_place
from tideate_core.store.database import FILE
from tideate_core.workflows import MachineWorkflow

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tideate_core.workflows import Registration

__all__ = ["list_workflows", "outline", "trust"]

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
    hint(private_place(found))
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


def trust(file: str | None, root: str | None, *, revoke: bool) -> int:
    """Trust a file's content, or a project's files and commands; returns the exit status."""
    try:
        lines = _revoke(file, root) if revoke else _trust(file, root)
    except TideateError as error:
        fail(error)
        return 2
    for line in lines:
        messages().print(line, markup=False, soft_wrap=True)
    return 0


def _trust(file: str | None, root: str | None) -> list[str]:
    if file is None:
        from tideate_core.gates.trusting import trust_all

        return [f"trusted as it is now: {what}" for what in trust_all(_project_root(root))]
    path = Path(file).expanduser()
    if path.name == FILE:
        # here, because most files are none
        from tideate_core.cli.database_trust import trust_database

        return trust_database(path)
    Trust().trust(path)
    return [f"trusted as it is now: {path}"]


def _revoke(file: str | None, root: str | None) -> list[str]:
    trust = Trust()
    commands = False
    if file is not None:
        paths = [Path(file).expanduser()]
        if paths[0].name == FILE:
            from tideate_core.cli.database_trust import revoke_database

            return [revoke_database(paths[0])]
    else:
        from tideate_core.gates.trusting import revoke_commands

        found = _project_root(root)
        # also files that are gone: their content could come back
        gone = [path for path in trust.paths() if path.is_relative_to((found / ".tideate").resolve())]
        paths = list(dict.fromkeys([*(path.resolve() for path in needs_trust(found)), *gone]))
        commands = revoke_commands(found)
    lines = [
        f"no longer trusted: {path}" if trust.revoke(path) else f"was not trusted: {path}" for path in paths
    ]
    if commands:
        lines.append("no longer trusted: the commands that verify this project")
    return lines or ["nothing of this project was trusted"]


def _project_root(root: str | None) -> Path:
    found = locate(root)
    if found is None:
        raise ConfigError("there is no project here; name the file to trust, or the project with --root")
    return found
