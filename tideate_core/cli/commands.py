"""The short commands: list, trust, rollback."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tideate_core.cli.output import fail, messages, print_json
from tideate_core.cli.wiring import build_registry, locate, open_project
from tideate_core.errors import (
    ConfigError,
    InvalidInput,
    RollbackConflict,
    RunNotFound,
    TideateError,
    WorkspaceError,
)
from tideate_core.project import Trust

__all__ = ["list_workflows", "rollback", "trust"]

RUN_ID = re.compile(r"[0-9a-f]{32}")


def list_workflows(*, as_json: bool) -> int:
    """Print every workflow with its steps."""
    registry = build_registry()
    known = registry.list()
    for notice in registry.notices:
        messages().print(notice, style="yellow", markup=False)
    if as_json:
        workflows = [
            {
                "name": one.definition.name,
                "description": one.definition.description,
                "steps": [step.id for step in one.definition.steps],
                "needs": list(one.definition.needs),
                "source": one.source,
            }
            for one in known
        ]
        print_json({"ok": True, "workflows": workflows})
        return 0
    table = Table("name", "steps", "what it does", box=None, header_style="dim", padding=(0, 2, 0, 0))
    for one in known:
        steps = " → ".join(step.id for step in one.definition.steps)
        table.add_row(one.definition.name, steps, one.definition.description)
    # nothing to wrap for where no person reads
    Console(width=None if sys.stdout.isatty() else 200).print(table)
    return 0


def trust(file: str | None, root: str | None, *, revoke: bool) -> int:
    """Trust a file's content, or no longer; returns the exit status."""
    try:
        path = _trusted_file(file, root)
        if not revoke:
            Trust().trust(path)
            words = f"trusted as it is now: {path}"
        elif Trust().revoke(path):
            words = f"no longer trusted: {path}"
        else:
            words = f"was not trusted: {path}"
    except TideateError as error:
        fail(error)
        return 2
    messages().print(words, markup=False, soft_wrap=True)
    return 0


def _trusted_file(file: str | None, root: str | None) -> Path:
    if file is not None:
        return Path(file).expanduser()
    found = locate(root)
    if found is None:
        raise ConfigError("there is no project here; name the file to trust, or the project with --root")
    return found / ".tideate" / "config.toml"


def rollback(execution_id: str, root: str | None) -> int:
    """Take back a run's changes; returns the exit status."""
    try:
        if not RUN_ID.fullmatch(execution_id):
            raise InvalidInput(f"{execution_id!r} is no run's id; a run that changes files prints its own")
        project = open_project(root)
        if not (project.private / "journal" / execution_id).is_dir():
            raise RunNotFound(execution_id)
        restored = asyncio.run(project.workspace.rollback(execution_id))
    except (RollbackConflict, WorkspaceError) as error:
        fail(error)
        return 1
    except TideateError as error:
        fail(error)
        return 2
    for path in restored:
        messages().print(f"restored: {path}", markup=False, soft_wrap=True)
    if not restored:
        messages().print("nothing to restore: everything is as it was before the run")
    return 0
