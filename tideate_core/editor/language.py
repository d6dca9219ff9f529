"""The `.workflow` language for the editor: diagnostics, outline, format, graph of unfinished text."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any, Final

from tideate_core.editor import definitions
from tideate_core.errors import InvalidInput
from tideate_core.machines.language import BOUNDARY, format_text, parse
from tideate_core.workflows import MachineWorkflow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tideate_core.machines.language import (
        Diagnostic,
        MachineDefinition,
        Parsed,
        Position,
        State,
        Transition,
    )
    from tideate_core.workflows import Catalog

__all__ = ["check", "diagnostic_json", "format_machine", "graph", "outline"]

WIDTH: Final = 80
"""Columns of a drawing if Lua does not say."""

_MOVE: Final = re.compile(r"[ \t]+(\*|[A-Za-z_]\w*)[ \t]+to[ \t]+(\*|[A-Za-z_]\w*)[ \t]*:?[ \t]*", re.ASCII)


async def check(params: dict[str, Any]) -> dict[str, Any]:
    """Return the mistakes of a text; columns are of characters, from 1, the end excluded."""
    return await asyncio.to_thread(_check, _text(params), str(params.get("name") or "workflow"))


async def outline(params: dict[str, Any]) -> dict[str, Any]:
    """Return the states of a text with every mention of them, and its transitions."""
    return await asyncio.to_thread(_outline, _text(params))


async def format_machine(params: dict[str, Any]) -> dict[str, Any]:
    """Return a text as it would be formatted."""
    return {"ok": True, "text": await asyncio.to_thread(format_text, _text(params))}


async def graph(params: dict[str, Any], catalog: Callable[[], Catalog]) -> dict[str, Any]:
    """Return a drawing of a text, else of the workflow of a name or path: its states, or its steps.

    :param catalog: gives the project's; not asked for a machine's text.
    :raises InvalidInput: there is no such format.
    :raises TideateError: there is no such workflow, or it has no drawing.
    """
    # here, because few texts are drawn
    from tideate_core.machines.diagrams import FORMATS

    style = params.get("format") or "text"
    if style not in FORMATS:
        raise InvalidInput(f"there is no format {style!r}; there are {', '.join(FORMATS)}")
    return await asyncio.to_thread(_graph, params, style, catalog)


def diagnostic_json(found: Diagnostic) -> dict[str, Any]:
    """Return a diagnostic for Lua."""
    return {
        **_place(found.position),
        "end_column": found.position.column + found.length,
        "severity": found.severity,
        "code": found.code,
        "message": found.message,
    }


def _check(text: str, name: str) -> dict[str, Any]:
    parsed = parse(text, name)
    return {"ok": True, "diagnostics": [*map(diagnostic_json, parsed.diagnostics), *_indented_moves(parsed)]}


def _indented_moves(parsed: Parsed) -> Iterator[dict[str, Any]]:
    """Find guidance that is a transition in the wrong column: it begins anew, and both states are known."""
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
        # the text before a transition may stand between it and the empty line
        anew = not words or (anew and words.startswith(":"))


def _graph(params: dict[str, Any], style: Any, catalog: Callable[[], Catalog]) -> dict[str, Any]:
    from tideate_core.machines.language import draw

    width = int(params.get("width") or WIDTH)
    if params.get("text") is None or params.get("path") is not None:
        steps = definitions.named(params, catalog())
        if steps is not None:
            return definitions.draw(steps[0], style, width, params.get("current"), steps[1])
    if params.get("text") is not None:
        parsed = parse(_text(params), str(params.get("name") or "workflow"))
        machine, mistakes = parsed.definition, len(parsed.errors)
    else:
        machine, mistakes = _machine(params, catalog()), 0
    drawn = draw(machine, style, width=width, current=params.get("current"))
    return {
        "ok": True,
        "kind": "machine",
        "text": drawn,
        "name": machine.name,
        "mistakes": mistakes,
        "states": [{"name": state.name, "guidance": state.guidance} for state in machine.states.values()],
        "transitions": [_transition(each) for each in machine.transitions],
    }


def _machine(params: dict[str, Any], catalog: Catalog) -> MachineDefinition:
    name = str(params["name"])
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
        _state(state, guided.get(state.name, state.position), references[state.name])
        for state in machine.states.values()
    ]
    return {"ok": True, "states": states, "transitions": [_transition(each) for each in machine.transitions]}


def _state(state: State, at: Position, references: list[dict[str, Any]]) -> dict[str, Any]:
    """Describe a state; it is defined where it is given its guidance, else where it is first named."""
    return {"name": state.name, **_place(at), "guidance": state.guidance, "references": references}


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
