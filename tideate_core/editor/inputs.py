"""Handlers of Lua's requests about the declared inputs of a workflow: list, parse, check."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from tideate_core.engine import read_input
from tideate_core.errors import InvalidInput, did_you_mean
from tideate_core.workflows import WORDS, WorkflowDefinition

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tideate_core.editor.projects import Projects
    from tideate_core.workflows import InputDefinition, MachineWorkflow

_NAME: Final = re.compile(r"([^\W\d]\w*)=")
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*)"(?=\s|$)', re.DOTALL)
_WORD: Final = re.compile(r"(?:\\\s|\S)*")
_END: Final = re.compile(r"--(?=\s|$)")
"""Separator before the prompt, for a prompt that starts like an input."""


@dataclass(slots=True)
class Line:
    """Parsed command line after the name of a workflow."""

    prompt: str
    given: dict[str, str] = field(default_factory=dict)
    mistakes: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)


def split_line(workflow: str, text: str, declared: Mapping[str, InputDefinition]) -> Line:
    r"""Split a line into the inputs at its start and the prompt after them.

    Forms of an input: `name=word`, `name="two words"` (with `\"` and `\\`), `name=two\ words`, and
    `name=[1, 2]` for a list or a mapping. Only declared names count: a prompt may contain `=`.
    """
    line = Line(text)
    if not declared:
        return line
    while (found := _NAME.match(line.prompt)) and found[1] in declared:
        name = found[1]
        value, rest = _value(declared[name], line.prompt[found.end() :])
        if value is None:
            line.mistakes.append(f"{workflow}: the value of the input {name!r} has no closing quote")
            return line
        if name in line.given:
            line.mistakes.append(f"{workflow}: the input {name!r} is given twice")
        line.given[name] = value
        line.prompt = rest.lstrip()
    if ended := _END.match(line.prompt):
        line.prompt = line.prompt[ended.end() :].lstrip()
    elif found and (hint := did_you_mean(found[1], declared)):
        words = f"{found[0]!r} is part of the prompt: {workflow} has no input {found[1]!r}{hint}"
        line.notices.append(words)
    return line


def _value(about: InputDefinition, text: str) -> tuple[str | None, str]:
    """Return the value at the start of a text, None without a closing quote, and the rest of the text."""
    if text.startswith('"'):
        quoted = _QUOTED.match(text)
        return (re.sub(r'\\(["\\])', r"\1", quoted[1]), text[quoted.end() :]) if quoted else (None, text)
    if about.type in ("array", "object"):
        try:
            _, end = json.JSONDecoder().raw_decode(text)
        except ValueError:
            pass  # reported later, with the expected type
        else:
            return text[:end], text[end:]
    word = _WORD.match(text)
    assert word is not None  # noqa: S101 it also matches the empty text
    return re.sub(r"\\(\s)", r"\1", word[0]), text[word.end() :]


def described(definition: WorkflowDefinition | MachineWorkflow) -> list[dict[str, Any]]:
    """Return the descriptions of a workflow's inputs; values are texts, as on a command line."""
    return [_described(name, about) for name, about in _declared(definition).items()]


async def look(projects: Projects, params: dict[str, Any]) -> dict[str, Any]:
    """Return the inputs of a workflow, with the values, the prompt and the mistakes in a command line."""

    def looked() -> dict[str, Any]:
        definition = _named(projects, params)
        declared = _declared(definition)
        line = split_line(definition.name, str(params.get("words") or ""), declared)
        problems = (
            read_input(definition.name, name, declared[name], given)[1] for name, given in line.given.items()
        )
        missing = [name for name, about in declared.items() if about.required and name not in line.given]
        return {
            "inputs": described(definition),
            "prompt": line.prompt,
            "given": line.given,
            "missing": missing,
            "mistakes": [*line.mistakes, *filter(None, problems)],
            "notices": line.notices,
        }

    return await asyncio.to_thread(looked)


async def check(projects: Projects, params: dict[str, Any]) -> dict[str, Any]:
    """Return the problem with the value of one input, empty if the value is valid."""

    def checked() -> dict[str, Any]:
        definition = _named(projects, params)
        name, declared = str(params["input"]), _declared(definition)
        if name not in declared:
            message = (
                f"workflow {definition.name} changed and no longer has the input {name!r}; start it again"
            )
            raise InvalidInput(message)
        return {"problem": read_input(definition.name, name, declared[name], str(params["value"]))[1]}

    return await asyncio.to_thread(checked)


def _named(projects: Projects, params: dict[str, Any]) -> WorkflowDefinition | MachineWorkflow:
    return projects.catalog(params.get("folder")).look_at(str(params["name"])).definition


def _declared(definition: WorkflowDefinition | MachineWorkflow) -> Mapping[str, InputDefinition]:
    return definition.inputs if isinstance(definition, WorkflowDefinition) else {}


def _described(name: str, about: InputDefinition) -> dict[str, Any]:
    shape: dict[str, Any] = {
        "name": name,
        "type": about.type,
        "words": WORDS[about.type],
        "description": about.description,
        "required": about.required,
    }
    if about.default is not None:
        shape["default"] = _text(about.default)
    if about.enum is not None:
        shape["choices"] = [_text(value) for value in about.enum]
    elif about.type == "boolean":
        shape["choices"] = ["true", "false"]
    return shape


def _text(value: Any) -> str:
    """Return a value as the text that `read_input` parses back."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
