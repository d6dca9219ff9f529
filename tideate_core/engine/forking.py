"""Forks of ended runs at a step: what is reused, what is run anew, and the reasons that there can be none."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from tideate_core.engine.continuation import ON_A_FILE
from tideate_core.engine.driver_hooks import driver_hooks
from tideate_core.engine.inputs import check_inputs, refuse_unknown, typed_inputs
from tideate_core.engine.memory import CONVERSATION, EARLIER
from tideate_core.engine.recording import now_ms
from tideate_core.engine.reopening import copy_drafts, declined_question
from tideate_core.engine.repeated_steps import split_steps
from tideate_core.engine.reused_writes import SHORT, check_reused_writes, listed, writers_of
from tideate_core.engine.run import RunRequest
from tideate_core.engine.selected_text import Subject
from tideate_core.engine.stored_definition import changed_since, definition_for
from tideate_core.engine.turns import cut_at_turn
from tideate_core.engine.written_runs import rolled_back_runs
from tideate_core.errors import InvalidInput, RunEnded, StoreError, did_you_mean
from tideate_core.store import Fork
from tideate_core.workflows import WorkflowDefinition
from tideate_core.workspace import Hunk, rebase

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from pydantic import JsonValue

    from tideate_core.engine.confirmation import FrontEnd
    from tideate_core.engine.live_run import RunDependencies
    from tideate_core.engine.repeated_steps import SplitRun
    from tideate_core.engine.stored_definition import Changed, Workflows
    from tideate_core.engine.turns import TurnCut
    from tideate_core.store import Definition, Reader, RunRow, StepRow, Store
    from tideate_core.workflows import MachineWorkflow, Registration
    from tideate_core.workspace import Workspace

__all__ = [
    "ForkPlan",
    "RunEdits",
    "begin_fork",
    "plan_fork",
    "plan_reopening",
    "split_run_step",
]


@dataclass(frozen=True, slots=True)
class RunEdits:
    """Edits of what a fork is started with; what is None or missing is as it was."""

    prompt: str | None = None
    inputs: Mapping[str, JsonValue] = field(default_factory=dict)
    adapter: str | None = None
    results: Mapping[str, JsonValue] = field(default_factory=dict)
    """Of steps before it, by step; the value has to be of the type that it was of."""
    execution_id: str | None = None
    """The fork's; None: a new one."""
    turn: int | None = None
    """Of the step's model, from 1: those before it are reused with their tool results, it is taken anew."""
    say: str = ""
    """The words of the person that the model is told before that turn."""


@dataclass(frozen=True, slots=True)
class ForkPlan:
    """A fork that can be made."""

    source: RunRow
    step: str
    """From which on it runs anew."""
    whole: bool
    """No step was named and none failed: all of it is run anew."""
    reused: tuple[StepRow, ...]
    """Steps that had ended, in their order: their results are the fork's."""
    repeated_files: tuple[str, ...]
    """Files that the source wrote in steps that are run anew, each once."""
    request: RunRequest
    definition: Definition
    fork: Fork
    turn: int | None = None
    """Of the step, from which on it is taken anew."""
    hears: bool = False
    """The model can be told something before that turn."""
    reopens: bool = False
    """It begins at a question that was declined."""


def split_run_step(wanted: str) -> tuple[str, str | None]:
    """Return the run and the step that `RUN.STEP` or `RUN` names."""
    run, _, step = wanted.partition(".")
    return run, step or None


def plan_fork(
    reader: Reader, wanted: str, step: str | None, edits: RunEdits, *, or_whole: bool = False
) -> ForkPlan:
    """Return the fork of an ended run at a step; blocking.

    Of a graph every result is reused that does not depend on the step; of a machine those of the visits
    before it.

    With a turn the step begins with all that it had done when that one was asked for.

    :param wanted: the run's id, or the beginning of it.
    :param step: None: the first that failed.
    :param or_whole: where none failed, all of the run is run anew.
    :raises RunNotFound: no run has this id.
    :raises InvalidInput: it cannot be forked there; says why.
    :raises StoreError: the store cannot be read.
    """
    source = reader.run(wanted)
    definition = reader.definition(source.id)
    _check_source(source, definition)
    rows = reader.steps(source.id)
    split = split_steps(source, definition, rows, step, or_whole=or_whole)
    _check_results(edits.results, split.reused, rows)
    edited = edits.prompt is not None or bool(edits.inputs or edits.results)
    at = None if split.whole else split.step
    cut = cut_at_turn(reader, source, at, edits.turn, edits.say, edited=edited)
    request = _edited(reader.request(source.id), edits)
    return ForkPlan(
        source,
        split.step,
        split.whole,
        split.reused,
        tuple(dict.fromkeys(path for row in split.repeated for path in row.files)),
        request,
        definition,
        _fork_of(source, split, request, edits, cut),
        edits.turn,
        hears=bool(cut and cut.hears),
    )


def plan_reopening(reader: Reader, wanted: str, edits: RunEdits) -> ForkPlan:
    """Return the fork of an ended run at the question that was declined; blocking.

    :param wanted: the run's id, or the beginning of it.
    :param edits: only the new run's id counts.
    :raises RunNotFound: no run has this id.
    :raises RunEnded: it has not ended.
    :raises InvalidInput: it has no such question; says why.
    :raises StoreError: the store cannot be read.
    """
    source, question = declined_question(reader, wanted)
    step = str(question.data["step"]).partition("[")[0]
    plan = plan_fork(reader, source.id, step, edits)
    reopening = replace(plan.fork, until=question.sequence)
    return replace(plan, fork=reopening, reopens=True)


def _fork_of(
    source: RunRow, split: SplitRun, request: RunRequest, edits: RunEdits, cut: TurnCut | None
) -> Fork:
    again = tuple(row.step for row in split.repeated)
    kept = (row.step for row in split.reused if row.step not in edits.results)
    return Fork(
        source.id,
        request.execution_id,
        now_ms(),
        split.cursor,
        again=again,
        step=split.step,
        memos_before=split.memos_before,
        # a conversation that led to another result is none of this run
        memos=(EARLIER, *(f"{CONVERSATION}{name}" for name in kept)),
        no_memos=tuple(f"{CONVERSATION}{name}" for name in (*again, *edits.results)),
        request=request.model_dump(mode="json"),
        results=edits.results,
        until=cut.until if cut else None,
        step_memos=cut.memos if cut else {},
    )


async def begin_fork(
    store: Store,
    plan: ForkPlan,
    catalog: Workflows,
    front: FrontEnd,
    dependencies: RunDependencies,
    changed: Changed,
) -> list[dict[str, Any]]:
    """Write the new run, which can then be resumed; returns the notices of what it begins with.

    :param changed: what counts where the workflow's file is another one than the source began with.
    :raises TideateError: as `check_fork`.
    """
    happened, stands, _ = await check_fork(store, plan, catalog, front, dependencies, changed)
    if plan.reopens:
        await copy_drafts(store.private, plan.source.id, plan.request.execution_id)
    await store.fork_at_step(plan.fork)
    return _notices(plan, happened if changed == "stored" else "", stands=stands)


async def check_fork(
    store: Store,
    plan: ForkPlan,
    catalog: Workflows,
    front: FrontEnd,
    dependencies: RunDependencies,
    changed: Changed,
) -> tuple[str, bool, Registration]:
    """Refuse what cannot begin; nothing is written or sent.

    Returns how the workflow was changed since, whether what the source wrote in the repeated steps is still
    there, and the workflow that counts.

    :param changed: what counts where the workflow's file is another one than the source began with.
    :raises InvalidInput: an input is missing, unknown or of another type, what a reused step wrote was
        rolled back, the source wrote in the lines that the new run is about, or a turn is to be taken anew
        with another definition.
    :raises UnknownAdapter: nobody could answer its prompts.
    :raises TideateError: it cannot go on as it was; says why.
    """
    request, hide = plan.request, plan.request.obfuscate
    registration = await definition_for(
        plan.source.id, plan.definition, catalog, changed=changed, front=front, obfuscate=hide
    )
    happened = changed_since(plan.definition, catalog, obfuscate=hide)
    if happened and changed == "file" and plan.turn is not None:
        raise InvalidInput(
            f"{happened}, and the turns before it were taken with the definition as it was; fork the step "
            "without --turn, or with --definition=stored"
        )
    _check_request(request, registration.definition, dependencies)
    workspace = dependencies.workspace(request)
    await asyncio.to_thread(
        check_reused_writes, store.reader(), plan.source, plan.reused, workspace.root, store.private
    )
    stands = bool(plan.repeated_files) and not await asyncio.to_thread(
        _is_rolled_back, store.reader(), plan.source, workspace.root, store.private
    )
    await _check_text(plan, registration.definition, workspace, stands=stands)
    return happened, stands, registration


async def check_model(plan: ForkPlan, registration: Registration, dependencies: RunDependencies) -> None:
    """Look for the key of the model that a fork asks, before a person is asked; nothing is sent.

    :raises TideateError: there is none, or its library is missing; says which.
    """
    definition = registration.definition
    tools_only = isinstance(definition, WorkflowDefinition) and all(
        step.kind in ("tool", "workflow") for step in definition.steps
    )
    hooks = driver_hooks(definition.name, registration.kind, registration.source)
    if hooks.asks_model and not tools_only:
        name = plan.request.adapter or dependencies.config.adapter_for(definition.name)
        await dependencies.adapters.get(name).check_key()


def _check_request(
    request: RunRequest, definition: WorkflowDefinition | MachineWorkflow, dependencies: RunDependencies
) -> None:
    """Refuse what cannot run before there is a run of it."""
    config = dependencies.config
    check_inputs(definition, request, config.limits)
    refuse_unknown(definition, request.inputs)
    typed_inputs(definition, request.inputs)
    dependencies.adapters.get(request.adapter or config.adapter_for(definition.name))


async def _check_text(
    plan: ForkPlan,
    definition: WorkflowDefinition | MachineWorkflow,
    workspace: Workspace,
    *,
    stands: bool,
) -> None:
    """Refuse a run about lines that are others now: its edit would be, once a model was asked for it.

    :param stands: what the source wrote was not rolled back.
    """
    subject = Subject.of(plan.request.context)
    if subject is None or not ON_A_FILE.intersection(definition.needs):
        return
    if subject.path not in plan.repeated_files:
        return
    now = await workspace.read(subject.path)
    lines = tuple(subject.lines[subject.start : subject.end])
    if rebase([Hunk(subject.start, lines, ())], subject.buffer.text, now.text) is not None:
        return
    source = plan.source.id[:SHORT]
    changed = f"the lines of {subject.path} that run {source} was about are others now"
    way = f"roll it back first (`tideate rollback {source}`)" if stands else "run the workflow anew on them"
    raise InvalidInput(f"{changed}; {way}")


def _is_rolled_back(reader: Reader, source: RunRow, root: Path | None, private: Path) -> bool:
    """Tell whether nothing is left of what a run wrote; what it reused is another one's."""
    writers = writers_of(reader, source, reader.steps(source.id))
    own = [run for run, steps in writers.items() if steps is None]
    return bool(rolled_back_runs(root, private, {source.id: own}))


def _notices(plan: ForkPlan, happened: str, *, stands: bool) -> list[dict[str, Any]]:
    """Return the notices of what a fork begins with.

    :param happened: to the workflow's file, whose definition is not used; empty: nothing.
    :param stands: what the steps wrote that are run anew was not rolled back.
    """
    source, count = plan.source.id[:SHORT], len(plan.reused)
    reused = (
        f"{count} result{'' if count == 1 else 's'} of run {source} {'is' if count == 1 else 'are'} reused"
    )
    what = f"all of run {source} anew" if plan.whole else f"{reused}; anew from {_place_of(plan)} on"
    if plan.reopens:
        what = f"the question that ended run {source} is open again, with what was decided"
    words = [(what, "info")]
    if stands:
        files = listed(plan.repeated_files)
        words.append(
            (f"what run {source} wrote in the steps that are run anew is left as it is: {files}", "warn")
        )
    if happened:
        # of this run, which has what was edited
        new = f"{plan.request.execution_id[:SHORT]}.{plan.step}"
        words.append(
            (
                f"{happened}; the definition that run {source} began with is used, "
                f"`tideate retry {new} --definition=file` uses the current one",
                "warn",
            )
        )
    return [{"step": "", "message": message, "level": level} for message, level in words]


def _place_of(plan: ForkPlan) -> str:
    step = f"the step {plan.step!r}"
    return step if plan.turn is None else f"turn {plan.turn} of {step}"


def _check_source(source: RunRow, definition: Definition) -> None:
    short = source.id[:SHORT]
    if not source.ended:
        raise RunEnded(f"run {short} has not ended, and goes on by itself; resume it, or cancel it first")
    if definition.text in {"", "{}"}:
        raise InvalidInput(f"run {short} was refused, its workflow has mistakes; start it anew")


def _check_results(
    results: Mapping[str, JsonValue], reused: Sequence[StepRow], rows: Iterable[StepRow]
) -> None:
    """Refuse other results that nothing would read, or that what reads them could not.

    :raises InvalidInput: a step has none that is reused, or its result is of another type.
    """
    known, every = {row.step: row for row in reused}, {row.step for row in rows}
    for step, result in results.items():
        if step not in every:
            raise InvalidInput(f"there is no step {step!r}{did_you_mean(step, known)}")
        if step not in known:
            raise InvalidInput(f"the step {step!r} is run anew, its result cannot be given")
        before = known[step].result
        if _type_of(result) != _type_of(before):
            raise InvalidInput(f"the result of {step!r} is {_type_of(before)}, not {_type_of(result)}")


def _type_of(value: JsonValue) -> str:
    names = {str: "a text", bool: "true or false", dict: "an object", list: "a list", type(None): "nothing"}
    return names.get(type(value), "a number")


def _edited(stored: dict[str, Any], edits: RunEdits) -> RunRequest:
    """Return the request of a fork.

    :raises StoreError: what the source was started with cannot be read.
    """
    try:
        request = RunRequest.model_validate(
            {**stored, "execution_id": edits.execution_id or uuid.uuid4().hex}
        )
    except ValidationError as error:
        words = error.errors(include_url=False)[0]["msg"]
        raise StoreError(f"what the run was started with cannot be read ({words})") from error
    change: dict[str, Any] = {"inputs": {**request.inputs, **edits.inputs}, "compared": {}}
    if edits.prompt is not None:
        change["prompt"] = edits.prompt
    if edits.adapter is not None:
        change["adapter"] = edits.adapter
    return request.model_copy(update=change)
