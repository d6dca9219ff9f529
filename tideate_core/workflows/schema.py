"""JSON Schema of a definition file, for completion and checks in editors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pydantic import TypeAdapter
from pydantic.alias_generators import to_camel

from tideate_core.workflows.definitions import WorkflowDefinition
from tideate_core.workflows.shape import file_keys
from tideate_core.workflows.step_definition import (
    KNOWN_AGENTS,
    STEP_KINDS,
    ForEach,
    InputDefinition,
    NestedWorkflow,
    Part,
    ToolCall,
    WorkflowStep,
)

if TYPE_CHECKING:
    from collections.abc import Collection

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
PARTS: Final[tuple[type[Part], ...]] = (ForEach, InputDefinition, NestedWorkflow, ToolCall, WorkflowStep)


def definition_schema(agents: Collection[str] = KNOWN_AGENTS, tools: Collection[str] = ()) -> dict[str, Any]:
    """Return the schema of a definition file, draft 2020-12.

    Editors suggest keys in snake_case; camelCase spellings are also valid.

    :param agents: names that a step's agent may have.
    :param tools: tideate's own tools to suggest; other names are valid, since servers have their own.
    """
    definitions = {part.__name__: _part(part) for part in PARTS}
    # depends on the input's own default
    del definitions["InputDefinition"]["properties"]["required"]["default"]
    _short_forms(definitions["WorkflowStep"]["properties"], agents)
    if tools:
        items = definitions["WorkflowStep"]["properties"]["tools"]["items"]
        definitions["WorkflowStep"]["properties"]["tools"]["items"] = {"anyOf": [{"enum": [*tools]}, items]}
    definitions["WorkflowStep"] |= _one_kind()
    root = _part(WorkflowDefinition)
    root["properties"]["name"] = {
        "description": "Shown to people; by default the file's name.",
        "maxLength": 200,
        "type": "string",
    }
    root["properties"]["inputs"]["additionalProperties"] = False
    _spell(root)
    for part in definitions.values():
        _spell(part)
    return {
        "$schema": DIALECT,
        "title": "A tideate workflow",
        **root,
        "$defs": definitions,
    }


def _part(part: type[Part]) -> dict[str, Any]:
    """Return a model's schema with keys in snake_case."""
    full = TypeAdapter(part).json_schema(by_alias=False, ref_template="#/$defs/{model}")
    properties = {key: _plain(full["properties"][key]) for key in file_keys(part)}
    required = [key for key in full.get("required", ()) if part is not WorkflowDefinition or key != "name"]
    plain = {"type": "object", "properties": properties, "additionalProperties": False}
    if part is not WorkflowDefinition:
        plain["description"] = (part.__doc__ or "").split("\n\n")[0].replace("\n    ", " ")
    return plain | ({"required": required} if required else {})


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """Remove titles that pydantic derives from names, and empty defaults."""
    plain = {key: value for key, value in schema.items() if key != "title"}
    if plain.get("default", ...) in (None, "", []):
        del plain["default"]
    return plain


def _short_forms(properties: dict[str, Any], agents: Collection[str]) -> None:
    """Add the short forms of a step's keys, and the known agents."""
    named = {"enum": sorted(agents), "type": "string"}
    properties["agent"] = {**named, "description": properties["agent"]["description"]}
    for key, example in (("workflow", "name"), ("for_each", "items")):
        full = properties[key]["anyOf"][0]
        short = {"type": "string", "minLength": 1, "description": f"The `{example}` alone."}
        properties[key]["anyOf"] = [short, full, {"type": "null"}]


def _one_kind() -> dict[str, Any]:
    """Return the rules that a step has one kind and that an agent has a task."""
    others = [kind for kind in STEP_KINDS if kind != "agent"]
    return {
        "dependentRequired": {"agent": ["task"], "agentId": ["task"], "tools": ["task"]},
        "dependentSchemas": {
            kind: {
                "properties": dict.fromkeys(
                    (*(o for o in others if o != kind), "agent", "agentId", "task"), False
                )
            }
            for kind in others
        },
    }


def _spell(part: dict[str, Any]) -> None:
    """Allow camelCase spellings without suggesting them."""
    properties = part["properties"]
    for key in list(properties):
        other = "agentId" if key == "agent" else to_camel(key)
        if other != key:
            # `doNotSuggest` is yaml-language-server's
            properties[other] = {**properties[key], "doNotSuggest": True}
