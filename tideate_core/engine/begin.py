"""Begin of a run: read its workflow, check its inputs, order its steps, or record why it cannot start."""

from __future__ import annotations

import json
import time
import uuid
from contextlib import contextmanager
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
    TideateError,
    did_you_mean,
)
from tideate_core.machines import ExecutionEvent, ExecutionMachine
from tideate_core.store import Definition, NewRun
from tideate_core.workflows import WorkflowDefinition

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping

    from tideate_core.config import LimitsConfig
    from tideate_core.engine.request import RunRequest, WorkflowResult
    from tideate_core.engine.run import Run
    from tideate_core.errors import ReadingStage
    from tideate_core.store import Store
    from tideate_core.workflows import BufferContext, InputDefinition, MachineWorkflow, Registration


GUARDS: Final = ("has_steps", "has_graph", "has_more_batches", "has_fatal_failure", "all_settled")
"""Names of the guards of a run's state machine."""
_FAILURES: Final[Mapping[ReadingStage, tuple[ExecutionEvent, ...]]] = {
    "parsing": (ExecutionEvent.PARSE_FAILED,),
    "validation": (
        ExecutionEvent.WORKFLOW_PARSED,
        ExecutionEvent.VALIDATE_WORKFLOW,
        ExecutionEvent.WORKFLOW_INVALID,
    ),
    "graph": (
        ExecutionEvent.WORKFLOW_PARSED,
        ExecutionEvent.VALIDATE_WORKFLOW,
        ExecutionEvent.WORKFLOW_VALID,
        ExecutionEvent.BUILD_GRAPH,
        ExecutionEvent.GRAPH_INVALID,
    ),
}
"""Events of a text with mistakes, by the stage that found the first one: a text is read at once."""

# -- from text to ordered steps --------------------------------------------------------------------------


def read_workflow(run: Run, read: Callable[[], Registration]) -> None:
    """Give a new run its workflow.

    :raises TideateError: as `read`.
    """
    run.machine.require(ExecutionEvent.INITIATE_WORKFLOW)
    with _stage(run.machine, ExecutionEvent.PARSE_WORKFLOW, ExecutionEvent.WORKFLOW_PARSED, None):
        _keep_workflow(run, read())


def restore_workflow(run: Run, registration: Registration) -> None:
    """Give a resumed run the workflow that it continues with."""
    run.machine.require(ExecutionEvent.RESTORE_CHECKPOINT)
    _keep_workflow(run, registration)


def _keep_workflow(run: Run, registration: Registration) -> None:
    run.registration, run.definition = registration, registration.definition
    run.driver_hooks = driver_hooks(run.definition.name, registration.kind, registration.source)


def prepare(run: Run) -> None:
    """Check the request against the workflow, and order the steps; nothing is asked or stored.

    :raises TideateError: the run cannot start; says why.
    """
    definition, request = run.definition, run.request
    is_new = run.recorded is None
    machine = run.machine if is_new else None  # the workflow of a resumed run was valid
    valid, invalid = ExecutionEvent.WORKFLOW_VALID, ExecutionEvent.WORKFLOW_INVALID
    with _stage(machine, ExecutionEvent.VALIDATE_WORKFLOW, valid, invalid):
        check_inputs(definition, request, run.runner.config.limits)
        if is_new:
            refuse_unknown(definition, request.inputs)
        if is_new and run.parent is None:
            refuse_unread_prompt(definition, request.prompt, takes_prompt=run.driver_hooks.takes_prompt)
        run.driver = driver_for(run)
    run.inputs = typed_inputs(definition, request.inputs)
    built, broken = ExecutionEvent.GRAPH_BUILT, ExecutionEvent.GRAPH_INVALID
    with _stage(machine, ExecutionEvent.BUILD_GRAPH, built, broken):
        run.driver.prepare()


@contextmanager
def _stage(
    machine: ExecutionMachine | None,
    begun: ExecutionEvent,
    done: ExecutionEvent,
    failed: ExecutionEvent | None,
) -> Iterator[None]:
    """Follow `begun`, then `done`, or `failed` after an error; None: the events depend on the error."""
    if machine is not None:
        machine.require(begun)
    try:
        yield
    except TideateError as error:
        if machine is not None:
            for event in (failed,) if failed else _failures(error):
                machine.require(event)
        raise
    if machine is not None:
        machine.require(done)


# -- runs that cannot start ------------------------------------------------------------------------------


async def refuse(run: Run, error: TideateError) -> WorkflowResult:
    """Report that a run cannot start; if its workflow is broken, record it in the history."""
    from tideate_core.engine.ending import end_of_refused

    registration = getattr(run, "registration", None)
    tell, open_store = run.front.emit, run.runner.store
    if run.parent is not None:  # a failure of its step, recorded with the run around it
        end, row = end_of_refused(run.request, _name(run.request, registration), error, run.elapsed_ms)
        tell(Event(end.name, run.id, end.data, row.completed_at))
        return end.result
    return await _refuse(run.request, registration, run.machine, error, run.elapsed_ms, open_store, tell)


async def record_refused_run(
    request: RunRequest,
    error: TideateError,
    store: Callable[[], Awaitable[Store]],
    tell: Callable[[Event], None],
) -> WorkflowResult:
    """Record a refused run: the caller found its workflow broken.

    :param error: the mistake in the workflow.
    :param store: opens the runs' database.
    :param tell: receives the events.
    """
    begun = time.monotonic()
    machine = ExecutionMachine(dict.fromkeys(GUARDS, lambda: True))
    machine.require(ExecutionEvent.INITIATE_WORKFLOW)
    machine.require(ExecutionEvent.PARSE_WORKFLOW)
    for event in _failures(error):
        machine.require(event)
    duration = round((time.monotonic() - begun) * 1000)
    return await _refuse(request, None, machine, error, duration, store, tell)


async def _refuse(
    request: RunRequest,
    registration: Registration | None,
    machine: ExecutionMachine,
    error: TideateError,
    duration: int,
    open_store: Callable[[], Awaitable[Store]],
    tell: Callable[[Event], None],
) -> WorkflowResult:
    from tideate_core.engine.ending import documents_of, end_of_refused, write_run_documents

    if not machine.is_terminal():  # its workflow is not the reason
        machine.require(ExecutionEvent.WORKFLOW_FAILED)
    name = _name(request, registration)
    end, row = end_of_refused(request, name, error, duration)
    sequence = None
    if definition := _broken(request, registration, error):
        end.data["failed_in"] = machine.get_history()[-1].from_state.value
        shape = request.model_dump(mode="json")
        begun = NewRun(
            request.execution_id, definition, shape, 0, row.completed_at - duration, status="failed"
        )
        try:
            store = await open_store()
            sequence = await store.add_refused(begun, row, (end.name.value, row.completed_at, end.data))
        except StoreError as failure:
            message = f"this run is not in the history: {failure}"
            notice = {"step": None, "message": message, "level": "warn"}
            tell(Event(EventName.NOTICE, request.execution_id, notice))
    if (documents := await documents_of(open_store)) is not None:
        known = registration.definition if registration else None
        total = len(known.steps) if isinstance(known, WorkflowDefinition) else 0
        await write_run_documents(request.execution_id, row, documents, name=name, total_steps=total)
    tell(Event(end.name, request.execution_id, end.data, row.completed_at, sequence))
    return end.result


def _name(request: RunRequest, registration: Registration | None) -> str:
    return registration.definition.name if registration else request.name


def _broken(request: RunRequest, registration: Registration | None, error: TideateError) -> Definition | None:
    """Return the broken definition as the history keeps it; None if the request is the mistake."""
    if isinstance(error, InvalidDefinitionFile | InvalidWorkflowFile):
        return _broken_definition(error, request.name)
    if registration is None or not isinstance(error, InvalidDefinition):
        return None
    return stored_definition(registration)


def _failures(error: TideateError) -> tuple[ExecutionEvent, ...]:
    if isinstance(error, InvalidDefinitionFile | InvalidWorkflowFile):
        return _FAILURES[error.failed_in]
    return (ExecutionEvent.PARSE_FAILED,)


def _broken_definition(error: InvalidDefinitionFile | InvalidWorkflowFile, name: str) -> Definition:
    """Return the stored definition of a text with mistakes: its name and path, without steps."""
    path, name = (str(error.path), error.path.stem) if error.path else (None, name)
    identity = str(uuid.uuid5(WORKFLOW_IDS, f"{error.source}\0{path or name}"))
    if isinstance(error, InvalidWorkflowFile):
        return Definition(identity, name, "machine", "", source=error.source, path=path)
    return Definition(identity, name, "graph", "{}", source=error.source, path=path)


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
