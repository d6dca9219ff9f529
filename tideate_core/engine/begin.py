"""Begin of a run: read its workflow, check its inputs, order its steps, or record why it cannot start."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any, Final

from tideate_core.engine.driver import driver_hooks
from tideate_core.engine.drivers import driver_for
from tideate_core.engine.events import Event, EventName
from tideate_core.engine.past import WORKFLOW_IDS, stored_definition
from tideate_core.errors import (
    InvalidDefinition,
    InvalidDefinitionFile,
    InvalidInput,
    InvalidWorkflowFile,
    NotText,
    StoreError,
    did_you_mean,
)
from tideate_core.machines import ExecutionEvent, ExecutionState
from tideate_core.store import Definition, NewRun
from tideate_core.workflows import WorkflowDefinition

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from tideate_core.config import LimitsConfig
    from tideate_core.engine.ending import RunEnd
    from tideate_core.engine.request import RunRequest, WorkflowResult
    from tideate_core.engine.run import Run
    from tideate_core.errors import ReadingStage, TideateError
    from tideate_core.store import Ending
    from tideate_core.workflows import BufferContext, InputDefinition, MachineWorkflow, Registration


_BEFORE: Final[Mapping[ReadingStage, tuple[ExecutionEvent, ...]]] = {
    "parsing": (),
    "validation": (ExecutionEvent.WORKFLOW_PARSED, ExecutionEvent.VALIDATE_WORKFLOW),
    "graph": (
        ExecutionEvent.WORKFLOW_PARSED,
        ExecutionEvent.VALIDATE_WORKFLOW,
        ExecutionEvent.WORKFLOW_VALID,
        ExecutionEvent.BUILD_GRAPH,
    ),
}
"""Events before the failure of a text, by the stage that found its first mistake: a text is read at once."""
_FAILURES: Final = {
    ExecutionState.PARSING: ExecutionEvent.PARSE_FAILED,
    ExecutionState.VALIDATING_WORKFLOW: ExecutionEvent.WORKFLOW_INVALID,
    ExecutionState.BUILDING_DEPENDENCY_GRAPH: ExecutionEvent.GRAPH_INVALID,
}


def read_workflow(run: Run, read: Callable[[], Registration]) -> None:
    """Give a new run its workflow.

    :raises TideateError: as `read`.
    """
    run.machine.require(ExecutionEvent.INITIATE_WORKFLOW)
    run.machine.require(ExecutionEvent.PARSE_WORKFLOW)
    _keep_workflow(run, read())
    run.machine.require(ExecutionEvent.WORKFLOW_PARSED)


def restore_workflow(run: Run, registration: Registration) -> None:
    """Give a resumed run the workflow that it continues with."""
    run.machine.require(ExecutionEvent.RESTORE_CHECKPOINT)
    _keep_workflow(run, registration)


def _keep_workflow(run: Run, registration: Registration) -> None:
    definition = registration.definition
    run.registration, run.definition, run.name = registration, definition, definition.name
    run.total_steps = len(definition.steps) if isinstance(definition, WorkflowDefinition) else 0
    run.driver_hooks = driver_hooks(definition.name, registration.kind, registration.source)


def prepare(run: Run) -> None:
    """Check the request against the workflow, and order the steps; nothing is asked or stored.

    :raises TideateError: the run cannot start; says why.
    """
    definition, request = run.definition, run.request
    is_new = run.recorded is None

    def reach(event: ExecutionEvent) -> None:
        if is_new:  # the workflow of a resumed run was valid
            run.machine.require(event)

    reach(ExecutionEvent.VALIDATE_WORKFLOW)
    check_inputs(definition, request, run.runner.config.limits)
    if is_new:
        refuse_unknown(definition, request.inputs)
    if is_new and run.parent is None:
        refuse_unread_prompt(definition, request.prompt, takes_prompt=run.driver_hooks.takes_prompt)
    run.driver = driver_for(run)
    run.inputs = typed_inputs(definition, request.inputs)
    reach(ExecutionEvent.WORKFLOW_VALID)
    reach(ExecutionEvent.BUILD_GRAPH)
    run.driver.prepare()
    reach(ExecutionEvent.GRAPH_BUILT)


async def refuse(run: Run, error: TideateError) -> WorkflowResult:
    """Report that a run cannot start; if its workflow is broken, record it in the history."""
    from tideate_core.engine.ending import end_of_refused, write_documents

    if isinstance(error, InvalidDefinitionFile | InvalidWorkflowFile):
        for event in _BEFORE[error.failed_in]:
            run.machine.require(event)
    failed_in = run.machine.state
    run.machine.require(_FAILURES.get(failed_in, ExecutionEvent.WORKFLOW_FAILED))
    end, row = end_of_refused(run, error)
    sequence = None
    if run.parent is None:  # otherwise a failure of its step, recorded with the run around it
        if definition := _broken_definition(run, error):
            end.data["failed_in"] = failed_in.value
            sequence = await _record_refused(run, definition, end, row)
        await write_documents(run, row)
    run.front.emit(Event(end.name, run.id, end.data, row.completed_at, sequence))
    return end.result


async def _record_refused(run: Run, definition: Definition, end: RunEnd, row: Ending) -> int | None:
    """Add a refused run to the history; return the sequence number of its only event."""
    shape = run.request.model_dump(mode="json")
    begun = NewRun(run.id, definition, shape, 0, row.completed_at - row.duration_ms, status="failed")
    try:
        store = await run.runner.store()
        return await store.add_refused(begun, row, (end.name.value, row.completed_at, end.data))
    except StoreError as failure:
        message = f"this run is not in the history: {failure}"
        notice = {"step": None, "message": message, "level": "warn"}
        run.front.emit(Event(EventName.NOTICE, run.id, notice))
        return None


def _broken_definition(run: Run, error: TideateError) -> Definition | None:
    """Return the broken definition as the history keeps it; None if the request is the mistake."""
    if isinstance(error, InvalidDefinitionFile | InvalidWorkflowFile):
        path, name = (str(error.path), error.path.stem) if error.path else (None, run.request.name)
        identity = str(uuid.uuid5(WORKFLOW_IDS, f"{error.source}\0{path or name}"))
        if isinstance(error, InvalidWorkflowFile):
            return Definition(identity, name, "machine", "", source=error.source, path=path)
        return Definition(identity, name, "graph", "{}", source=error.source, path=path)
    if not hasattr(run, "registration") or not isinstance(error, InvalidDefinition):
        return None
    return stored_definition(run.registration)


# -- checks of the inputs --------------------------------------------------------------------------------

USES_TEXT = frozenset({"text", "lines", "place"})
"""Needs of workflows that show a model part of the buffer even without a selection."""


def check_inputs(
    definition: WorkflowDefinition | MachineWorkflow, request: RunRequest, limits: LimitsConfig
) -> None:
    """Refuse a run that cannot succeed before anything is asked or changed.

    :raises InvalidInput: a prompt, text or selection is missing, the text is too large or cannot be changed.
    :raises NotText: the text is binary, or not UTF-8.
    """
    if "prompt" in definition.needs and not request.prompt.strip():
        raise InvalidInput(f"{definition.name} needs a prompt: add the prompt after the name")
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
        how = "in Neovim: 'readonly' or 'nomodifiable'; in a shell: stdin"
        raise InvalidInput(f"{where} is read-only ({how}); nothing was asked")


def typed_inputs(
    definition: WorkflowDefinition | MachineWorkflow, given: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Return a run's inputs with the declared types, and defaults for missing ones.

    A workflow of steps that declares no inputs gets all that are given.

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
    """Refuse inputs that a machine does not take. A resumed run keeps its inputs.

    :raises InvalidInput: names each of them, with the nearest known name.
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
    """Refuse a prompt that no step reads.

    :raises InvalidInput: the prompt would be ignored.
    """
    if not prompt.strip() or not isinstance(definition, WorkflowDefinition):
        return
    # imported here: a run without a prompt needs no Jinja for it
    from tideate_core.workflows import use_of_prompt

    if not takes_prompt or use_of_prompt(definition) == "unread":
        inputs = f"; its inputs are: {', '.join(definition.inputs)}" if definition.inputs else ""
        raise InvalidInput(
            f"{definition.name} uses neither a prompt nor text from stdin; run it without{inputs}"
        )


def _unknown(workflow: str, given: Iterable[str], known: Collection[str]) -> list[str]:
    return [
        f"{workflow} has no input {name!r}{did_you_mean(name, known)}" for name in given if name not in known
    ]


def read_input(workflow: str, name: str, about: InputDefinition, given: Any) -> tuple[Any, str]:
    """Return an input's value and the mistake in it (empty: none).

    A text is converted to the declared type, because the shell and the command line give only text.
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
