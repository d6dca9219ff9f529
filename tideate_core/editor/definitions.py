"""YAML and JSON definitions for the editor: mistakes in unfinished text, graphs."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tideate_core.workflows import WorkflowDefinition

if TYPE_CHECKING:
    from collections.abc import Callable

    from tideate_core.machines.diagrams import Format
    from tideate_core.workflows import Catalog, FileMistake, ParsedWorkflow

__all__ = ["check", "draw", "named"]


async def check(params: dict[str, Any], catalog: Callable[[], Catalog]) -> dict[str, Any]:
    """Return the mistakes of a text; columns are of characters, from 1, the end excluded.

    :param catalog: gives the project's, which knows what steps may name.
    """

    def parse() -> ParsedWorkflow:
        return _parse(params, catalog())

    parsed = await asyncio.to_thread(parse)
    return {"ok": True, "diagnostics": [_diagnostic(mistake) for mistake in parsed.mistakes]}


def named(params: dict[str, Any], catalog: Catalog) -> tuple[WorkflowDefinition, int] | None:
    """Return what is to be drawn, and how many mistakes it has; None of what has states and no steps.

    :raises TideateError: there is no such workflow, or its text has errors.
    """
    if params.get("text") is not None:
        parsed = _parse(params, catalog)
        return parsed.require(), len(parsed.mistakes)
    # to be looked at it need not be trusted
    found = catalog.look_at(str(params["name"])).definition
    return (found, 0) if isinstance(found, WorkflowDefinition) else None


def draw(
    definition: WorkflowDefinition, style: str, width: int, current: str | None, mistakes: int
) -> dict[str, Any]:
    """Return a drawing of a workflow's steps, each with what it is told and what waits for it.

    :raises TideateError: it cannot be drawn so.
    """
    from tideate_core.workflows import draw_steps, step_summary

    steps = definition.steps
    return {
        "ok": True,
        "kind": "graph",
        "text": draw_steps(definition, cast("Format", style), width=width, current=current),
        "name": definition.name,
        "mistakes": mistakes,
        "states": [{"name": step.id, "guidance": step.task or step_summary(step)} for step in steps],
        "transitions": [
            {"source": dependency, "target": step.id, "when": step.when or "", "line": 0}
            for step in steps
            for dependency in step.dependencies
        ],
    }


def _parse(params: dict[str, Any], catalog: Catalog) -> ParsedWorkflow:
    from tideate_core.workflows import parse_definition

    path = Path(str(params["path"]))
    return parse_definition(path, str(params["text"]), catalog.known_names(path))


def _diagnostic(mistake: FileMistake) -> dict[str, Any]:
    words = f"{mistake.message}; {mistake.hint}" if mistake.hint else mistake.message
    return {
        "line": mistake.line,
        "column": mistake.column,
        "end_line": mistake.end_line,
        "end_column": mistake.end_column,
        "severity": mistake.severity,
        "message": words,
    }
