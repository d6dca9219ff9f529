"""Handlers of Lua's requests about a workflow's text: mistakes, outline, formatted text, drawing."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from tideate_core.errors import InvalidInput
from tideate_core.machines.language import BOUNDARY, format_text, parse
from tideate_core.workflows import MachineWorkflow, WorkflowDefinition

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tideate_core.editor.projects import Projects
    from tideate_core.machines.diagrams import Format
    from tideate_core.machines.language import (
        Diagnostic,
        MachineDefinition,
        Parsed,
        Position,
        Transition,
    )
    from tideate_core.workflows import FileMistake, ParsedWorkflow

WIDTH: Final = 80
"""Default width of a drawing, in columns."""

_MOVE: Final = re.compile(r"[ \t]+(\*|[A-Za-z_]\w*)[ \t]+to[ \t]+(\*|[A-Za-z_]\w*)[ \t]*:?[ \t]*", re.ASCII)


async def check(params: dict[str, Any]) -> dict[str, Any]:
    """Return the mistakes in the text of a machine, with columns in characters, from 1, end excluded."""
    return await asyncio.to_thread(_check, _text(params), str(params.get("name") or "workflow"))


async def outline(params: dict[str, Any]) -> dict[str, Any]:
    """Return the states in a text with all references to them, and the transitions."""
    return await asyncio.to_thread(_outline, _text(params))


async def format_machine(params: dict[str, Any]) -> dict[str, Any]:
    """Return the formatted text of a machine."""
    return {"text": await asyncio.to_thread(format_text, _text(params))}


async def check_definition(projects: Projects, params: dict[str, Any]) -> dict[str, Any]:
    """Return the mistakes in the text of a YAML or JSON definition, as `check` does."""
    parsed = await asyncio.to_thread(_parse_definition, projects, params)
    return {"diagnostics": [_mistake(mistake) for mistake in parsed.mistakes]}


async def graph(projects: Projects, params: dict[str, Any]) -> dict[str, Any]:
    """Return a drawing of the states or steps in a text, else of a workflow by its name or path.

    :raises InvalidInput: the format is unknown.
    """
    # imported here, as drawings are rare
    from tideate_core.machines.diagrams import FORMATS

    style = params.get("format") or "text"
    if style not in FORMATS:
        raise InvalidInput(f"there is no format {style!r}; there are {', '.join(FORMATS)}")
    return await asyncio.to_thread(_graph, projects, params, style)


def _diagnostic(found: Diagnostic) -> dict[str, Any]:
    """Return a diagnostic as the editor expects it."""
    return {
        **_place(found.position),
        "end_column": found.position.column + found.length,
        "severity": found.severity,
        "code": found.code,
        "message": found.message,
    }


def _check(text: str, name: str) -> dict[str, Any]:
    parsed = parse(text, name)
    return {"diagnostics": [*map(_diagnostic, parsed.diagnostics), *_indented_moves(parsed)]}


def _indented_moves(parsed: Parsed) -> Iterator[dict[str, Any]]:
    """Yield a hint for each indented transition: guidance that starts a paragraph and names two states."""
    guided = {each.line: each for each in parsed.definition.transitions if each.guidance}
    names = {BOUNDARY, *parsed.definition.states}
    if not guided:
        return
    owner: Transition | None = None
    anew = False
    for number, line in enumerate(parsed.text.replace("\r\n", "\n").split("\n"), 1):
        words = line.strip()
        if words and not line[0].isspace():
            owner, anew = guided.get(number), False
            continue
        move = _MOVE.fullmatch(line) if owner and anew else None
        if owner and move and names.issuperset(move.groups()):
            message = f"looks like a transition but is indented: it is guidance of {owner.target!r}"
            yield {
                "line": number,
                "column": line.index(words) + 1,
                "end_column": line.index(words) + len(words) + 1,
                "severity": "hint",
                "code": "indented-transition",
                "message": message,
            }
        # the comment before a transition may follow the empty line
        anew = not words or (anew and words.startswith(":"))


def _graph(projects: Projects, params: dict[str, Any], style: Any) -> dict[str, Any]:
    from tideate_core.machines.language import draw

    width = int(params.get("width") or WIDTH)
    if params.get("text") is None or params.get("path") is not None:
        steps = _steps(projects, params)
        if steps is not None:
            return _draw_steps(steps[0], style, width, params.get("current"), steps[1])
    if params.get("text") is not None:
        parsed = parse(_text(params), str(params.get("name") or "workflow"))
        machine, mistakes = parsed.definition, len(parsed.errors)
    else:
        machine, mistakes = _machine(projects, params), 0
    drawn = draw(machine, style, width=width, current=params.get("current"))
    return {
        "kind": "machine",
        "text": drawn,
        "name": machine.name,
        "mistakes": mistakes,
        "states": [{"name": state.name, "guidance": state.guidance} for state in machine.states.values()],
        "transitions": [_transition(each) for each in machine.transitions],
    }


def _machine(projects: Projects, params: dict[str, Any]) -> MachineDefinition:
    name, catalog = str(params["name"]), projects.catalog(params.get("folder"))
    found = catalog.get(name, obfuscate=bool(params.get("obfuscate"))).definition
    if not isinstance(found, MachineWorkflow):
        raise InvalidInput(f"workflow {name!r} has neither steps nor states that can be drawn")
    return found.machine


def _outline(text: str) -> dict[str, Any]:
    machine = parse(text).definition
    references: dict[str, list[dict[str, Any]]] = {name: [] for name in machine.states}
    guided: dict[str, Position] = {}
    for transition in machine.transitions:
        if transition.source in references:
            references[transition.source].append({**_place(transition.source_at), "kind": "source"})
        if transition.target in references:
            references[transition.target].append({**_place(transition.target_at), "kind": "target"})
            if transition.guidance:
                guided.setdefault(transition.target, transition.target_at)
    states = [
        {
            "name": state.name,
            # its definition is the place of its guidance, else of its first mention
            **_place(guided.get(state.name, state.position)),
            "guidance": state.guidance,
            "references": references[state.name],
        }
        for state in machine.states.values()
    ]
    return {"states": states, "transitions": [_transition(each) for each in machine.transitions]}


def _transition(transition: Transition) -> dict[str, Any]:
    return {
        "source": transition.source,
        "target": transition.target,
        "when": transition.when,
        "line": transition.source_at.line,
    }


def _place(position: Position) -> dict[str, int]:
    return {"line": position.line, "column": position.column}


def _text(params: dict[str, Any]) -> str:
    return str(params["text"])


def _steps(projects: Projects, params: dict[str, Any]) -> tuple[WorkflowDefinition, int] | None:
    """Return the workflow to draw and the number of its mistakes; None for a machine."""
    if params.get("text") is not None:
        parsed = _parse_definition(projects, params)
        return parsed.require(), len(parsed.mistakes)
    # looking at a workflow needs no trust
    found = projects.catalog(params.get("folder")).look_at(str(params["name"])).definition
    return (found, 0) if isinstance(found, WorkflowDefinition) else None


def _draw_steps(
    definition: WorkflowDefinition, style: str, width: int, current: str | None, mistakes: int
) -> dict[str, Any]:
    """Return a drawing of a workflow's steps, with the task and the dependants of each."""
    from tideate_core.workflows import draw_steps, step_summary

    steps = definition.steps
    return {
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


def _parse_definition(projects: Projects, params: dict[str, Any]) -> ParsedWorkflow:
    from tideate_core.workflows import parse_definition

    path, catalog = Path(str(params["path"])), projects.catalog(params.get("folder"))
    return parse_definition(path, str(params["text"]), catalog.known_names(path))


def _mistake(mistake: FileMistake) -> dict[str, Any]:
    words = f"{mistake.message}; {mistake.hint}" if mistake.hint else mistake.message
    return {
        "line": mistake.line,
        "column": mistake.column,
        "end_line": mistake.end_line,
        "end_column": mistake.end_column,
        "severity": mistake.severity,
        "message": words,
    }
