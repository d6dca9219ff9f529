"""Validation of a run's inputs, text and selection before it starts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tideate_core.errors import InvalidInput, NotText, did_you_mean
from tideate_core.workflows import WorkflowDefinition

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from tideate_core.config import LimitsConfig
    from tideate_core.engine.run import RunRequest
    from tideate_core.workflows import BufferContext, InputDefinition, MachineWorkflow

__all__ = [
    "check_inputs",
    "gives_prompt",
    "read_input",
    "refuse_unknown",
    "refuse_unread_prompt",
    "typed_inputs",
]

USES_TEXT = frozenset({"text", "lines", "place"})
"""Needs of workflows that show a model something of the buffer also where nothing is selected."""


def check_inputs(
    definition: WorkflowDefinition | MachineWorkflow, request: RunRequest, limits: LimitsConfig
) -> None:
    """Refuse a run that cannot succeed, before anything is asked or changed.

    :raises InvalidInput: a prompt, text or selection is missing, the text is too large or cannot be changed.
    :raises NotText: the text is binary, or not UTF-8.
    """
    if "prompt" in definition.needs and not request.prompt.strip():
        raise InvalidInput(f"{definition.name} needs a prompt: say what you want after the name")
    buffer = request.context.buffer
    if buffer is not None:
        _check_text(buffer)
        _check_selection(request, buffer)
        if request.context.selection or not USES_TEXT.isdisjoint(definition.needs):
            _check_size(buffer, limits)
    if "text" in definition.needs or "lines" in definition.needs:
        if buffer is None:
            raise InvalidInput(f"{definition.name} needs a text: open a file, or name one with --file")
        if not _chosen(request, buffer).strip():
            raise InvalidInput(f"{definition.name} needs a text, but the selection or buffer is empty")
    if "lines" in definition.needs and buffer is not None and not buffer.modifiable:
        where = buffer.path or "the buffer"
        how = "in Neovim: 'readonly' or 'nomodifiable'"
        raise InvalidInput(f"{where} is read-only ({how}); nothing was asked")


def typed_inputs(
    definition: WorkflowDefinition | MachineWorkflow, given: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Return a run's inputs as the workflow declares them: of their types, with the defaults of the rest.

    A workflow of steps that declares none is given what it is given.

    :raises InvalidInput: with every mistake: an input is missing, unknown, or of another type.
    """
    if not isinstance(definition, WorkflowDefinition) or not definition.inputs:
        return given
    declared = definition.inputs
    mistakes = _unknown(definition.name, given, declared)
    values = {}
    for name, about in declared.items():
        if name not in given:
            values[name] = about.default
            if about.required:
                mistakes.append(f"{definition.name} needs the input {name!r}{_what_for(about)}")
            continue
        values[name], problem = read_input(definition.name, name, about, given[name])
        if problem:
            mistakes.append(problem)
    if mistakes:
        raise InvalidInput("\n".join(mistakes))
    return values


def refuse_unknown(definition: WorkflowDefinition | MachineWorkflow, given: Iterable[str]) -> None:
    """Refuse inputs of a machine that nothing would come of. A resumed run has what it has.

    :raises InvalidInput: with each of them, and the nearest that there is.
    """
    if isinstance(definition, WorkflowDefinition):
        return
    mistakes = _unknown(definition.name, given, definition.takes)
    if mistakes:
        known = ", ".join(definition.takes)
        raise InvalidInput("\n".join([*mistakes, f"{definition.name} takes only: {known}"]))


def refuse_unread_prompt(
    definition: WorkflowDefinition | MachineWorkflow, prompt: str, *, takes_prompt: bool
) -> None:
    """Refuse a prompt that no step would read.

    :raises InvalidInput: there is one.
    """
    if not prompt.strip() or not isinstance(definition, WorkflowDefinition):
        return
    if not takes_prompt or _use_of_prompt(definition) == "unread":
        inputs = f"; its inputs are: {', '.join(definition.inputs)}" if definition.inputs else ""
        raise InvalidInput(
            f"{definition.name} uses neither a prompt nor text from stdin; run it without{inputs}"
        )


def gives_prompt(definition: WorkflowDefinition | MachineWorkflow, prompt: str) -> bool:
    """Tell whether agents are given the prompt as material, because nothing else reads it."""
    if not prompt.strip() or not isinstance(definition, WorkflowDefinition):
        return False
    return _use_of_prompt(definition) == "given"


def _use_of_prompt(definition: WorkflowDefinition) -> str:
    # here, because a run without a prompt needs no Jinja for it
    from tideate_core.workflows import use_of_prompt

    return use_of_prompt(definition)


def _unknown(workflow: str, given: Iterable[str], known: Collection[str]) -> list[str]:
    return [
        f"{workflow} has no input {name!r}{did_you_mean(name, known)}" for name in given if name not in known
    ]


def read_input(workflow: str, name: str, about: InputDefinition, given: Any) -> tuple[Any, str]:
    """Return the value that is meant by what is given, and what is wrong with it: empty if it fits.

    A text means a value of the declared type: a shell and a command line know nothing but texts.
    """
    value = _value(about, given)
    if value is None and not about.required:
        return None, ""
    problem = about.problem_with(value)
    return value, f"{workflow}: the input {name!r} {problem}{_what_for(about)}" if problem else ""


def _value(about: InputDefinition, given: Any) -> Any:
    if about.type == "string" or not isinstance(given, str):
        return given
    try:
        return json.loads(given)
    except ValueError:
        return given


def _what_for(about: InputDefinition) -> str:
    return f" ({about.description})" if about.description else ""


def _check_text(buffer: BufferContext) -> None:
    where = buffer.path or "the buffer"
    if buffer.binary:
        raise NotText(f"{where} is binary or not valid UTF-8; only text can be worked on")
    try:
        buffer.text.encode("utf-8")
    except UnicodeEncodeError as error:
        line = buffer.text.count("\n", 0, error.start) + 1
        hint = "reopen it with the right encoding (`:e ++enc=…`)"
        raise NotText(f"{where}:{line}: not valid UTF-8; {hint}") from None


def _check_size(buffer: BufferContext, limits: LimitsConfig) -> None:
    size = len(buffer.text.encode("utf-8"))
    if size > limits.max_file_kib * 1024:
        where = buffer.path or "the buffer"
        raise InvalidInput(
            f"{where} has {size // 1024} KiB, and files of more than {limits.max_file_kib} KiB are not sent "
            "to a model (limits.max_file_kib); nothing was asked"
        )


def _check_selection(request: RunRequest, buffer: BufferContext) -> None:
    selection = request.context.selection
    count = buffer.text.count("\n") + 1
    if selection and not selection.start <= selection.end <= count:
        raise InvalidInput(f"lines {selection.start} to {selection.end} do not exist: the text has {count}")


def _chosen(request: RunRequest, buffer: BufferContext) -> str:
    selection = request.context.selection
    if selection is None:
        return buffer.text
    return "\n".join(buffer.text.split("\n")[selection.start - 1 : selection.end])
