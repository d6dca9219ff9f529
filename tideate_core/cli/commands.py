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
from tideate_core.project import Trust, needs_trust, trust_project

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
    """Trust a file's content, or a project's configuration and prompts; returns the exit status."""
    try:
        lines = _revoke(file, root) if revoke else [f"trusted as it is now: {p}" for p in _trust(file, root)]
    except TideateError as error:
        fail(error)
        return 2
    for line in lines:
        messages().print(line, markup=False, soft_wrap=True)
    return 0


def _trust(file: str | None, root: str | None) -> list[Path]:
    if file is None:
        return trust_project(_project_root(root))
    path = Path(file).expanduser()
    Trust().trust(path)
    return [path]


def _revoke(file: str | None, root: str | None) -> list[str]:
    trust = Trust()
    if file is not None:
        paths = [Path(file).expanduser()]
    else:
        found = _project_root(root)
        # also files that are gone: their content could come back
        gone = [path for path in trust.paths() if path.is_relative_to((found / ".tideate").resolve())]
        paths = list(dict.fromkeys([*(path.resolve() for path in needs_trust(found)), *gone]))
    return [
        f"no longer trusted: {path}" if trust.revoke(path) else f"was not trusted: {path}" for path in paths
    ] or ["nothing of this project was trusted"]


def _project_root(root: str | None) -> Path:
    found = locate(root)
    if found is None:
        raise ConfigError("there is no project here; name the file to trust, or the project with --root")
    return found


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
