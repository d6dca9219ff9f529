"""Plan, check and store a fork: repeat part of an ended run or ask a declined question again."""

from __future__ import annotations

import asyncio
import shutil
import uuid
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from tideate_core.engine.begin import check_inputs, refuse_unknown, typed_inputs
from tideate_core.engine.context.continuation import ON_A_FILE
from tideate_core.engine.context.memory import CONVERSATION, EARLIER
from tideate_core.engine.driver import driver_hooks
from tideate_core.engine.events import EventName
from tideate_core.engine.families import rolled_back_runs
from tideate_core.engine.fork.reuse import (
    SHORT,
    check_reused_writes,
    cut_at_turn,
    listed,
    split_steps,
    writers_of,
)
from tideate_core.engine.past import changed_since, definition_for
from tideate_core.engine.recorder import now_ms
from tideate_core.engine.request import RunRequest, Subject
from tideate_core.engine.review.drafts import draft_folder
from tideate_core.errors import InvalidInput, RunEnded, StoreError, did_you_mean
from tideate_core.store import Fork
from tideate_core.workflows import WorkflowDefinition
from tideate_core.workspace import Hunk, rebase

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from pydantic import JsonValue

    from tideate_core.engine.fork.reuse import SplitRun, TurnCut
    from tideate_core.engine.past import Changed
    from tideate_core.engine.runner import WorkflowRunner
    from tideate_core.store import Definition, EventRow, Reader, RunRow, StepRow, Store
    from tideate_core.workflows import MachineWorkflow, Registration
    from tideate_core.workspace import Workspace


REOPENED: Final = frozenset({"review", "plan", "document", "override"})
"""Kinds of questions that can be asked again."""


def declined_question(reader: Reader, wanted: str) -> tuple[RunRow, EventRow]:
    """Return an ended run and the event of the declined question; blocking.

    :param wanted: the run's id or its prefix.
    :raises RunNotFound: no run has this id.
    :raises RunEnded: the run has not ended.
    :raises InvalidInput: no question was declined; says what to do.
    """
    run = reader.run(wanted)
    short = run.id[:SHORT]
    if not run.ended:
        raise RunEnded(f"run {short} has not ended; `tideate resume {short}` continues it")
    if (question := _last_question(reader, run)) is not None:
        return run, question
    for child in reader.within(run.id):
        if _last_question(reader, child) is not None:
            raise InvalidInput(
                f"the review was that of run {child.id[:SHORT]}, a step of run {short}; "
                f"`tideate review {child.id[:SHORT]}` opens it as a run of its own"
            )
    raise InvalidInput(f"run {short} is {run.status}; no review of it was declined or left open")


def _last_question(reader: Reader, run: RunRow) -> EventRow | None:
    """Return the event of the question at which a run ended; None if it cannot be asked again."""
    if run.status != "cancelled":
        return None
    asked = reader.last_event(run.id, EventName.CONFIRMATION_REQUIRED.value)
    answered = reader.last_event(run.id, EventName.CONFIRMATION_ANSWERED.value)
    if asked is None or asked.data.get("kind") not in REOPENED:
        return None
    is_accepted = answered is not None and answered.sequence > asked.sequence and answered.data["accepted"]
    return None if is_accepted else asked


async def copy_drafts(private: Path, source: str, run: str) -> None:
    """Copy the review drafts of one run to another.

    :raises OSError: they cannot be copied.
    """
    folder = draft_folder(private, source)
    if await asyncio.to_thread(folder.is_dir):
        await asyncio.to_thread(shutil.copytree, folder, draft_folder(private, run))


@dataclass(frozen=True, slots=True)
class RunEdits:
    """Edits to the request and results of a fork; None or missing: unchanged."""

    prompt: str | None = None
    inputs: Mapping[str, JsonValue] = field(default_factory=dict)
    adapter: str | None = None
    results: Mapping[str, JsonValue] = field(default_factory=dict)
    """Results of reused steps, by step; each must have the type of the old one."""
    execution_id: str | None = None
    """Id of the fork; None: a random one."""
    turn: int | None = None
    """Turn of the step's model to repeat, from 1; earlier turns are reused with their tool results."""
    say: str = ""
    """Message of the person to the model before that turn."""


@dataclass(frozen=True, slots=True)
class ForkPlan:
    """Plan of a fork."""

    source: RunRow
    step: str
    """The first repeated step."""
    whole: bool
    """No step was named and none failed: the whole run is repeated."""
    reused: tuple[StepRow, ...]
    """Ended steps with reused results, in order."""
    repeated_files: tuple[str, ...]
    """Files that the source changed in repeated steps."""
    request: RunRequest
    definition: Definition
    fork: Fork
    turn: int | None = None
    """The first repeated turn of the step."""
    hears: bool = False
    """A message can be given to the model before that turn."""
    reopens: bool = False
    """The fork begins at a declined question."""


def split_run_step(wanted: str) -> tuple[str, str | None]:
    """Split `RUN.STEP` or `RUN` into run and step."""
    run, _, step = wanted.partition(".")
    return run, step or None


def plan_fork(
    reader: Reader, wanted: str, step: str | None, edits: RunEdits, *, or_whole: bool = False
) -> ForkPlan:
    """Plan the fork of an ended run at a step; blocking.

    A graph reuses every result that does not depend on the step, a machine the results of earlier visits.
    With a turn, the step begins with everything that it had done before that turn.

    :param wanted: the run's id or its prefix.
    :param step: None: the first that failed.
    :param or_whole: if none failed, rerun the whole run.
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
    """Plan the fork of an ended run at its declined question; blocking.

    :param wanted: the run's id or its prefix.
    :param edits: only the new run's id is used.
    :raises RunNotFound: no run has this id.
    :raises RunEnded: the run has not ended.
    :raises InvalidInput: no question was declined; says why.
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
        # a conversation that led to another result does not belong to this run
        memos=(EARLIER, *(f"{CONVERSATION}{name}" for name in kept)),
        no_memos=tuple(f"{CONVERSATION}{name}" for name in (*again, *edits.results)),
        request=request.model_dump(mode="json"),
        results=edits.results,
        until=cut.until if cut else None,
        step_memos=cut.memos if cut else {},
    )


async def begin_fork(
    runner: WorkflowRunner, store: Store, plan: ForkPlan, changed: Changed
) -> list[dict[str, Any]]:
    """Store the new run, to be resumed; return the notices about its beginning.

    :param changed: the definition to use if the workflow's file changed since the source began.
    :raises TideateError: as `check_fork`.
    """
    happened, stands, _ = await check_fork(runner, store, plan, changed)
    if plan.reopens:
        await copy_drafts(store.private, plan.source.id, plan.request.execution_id)
    await store.fork_at_step(plan.fork)
    return _notices(plan, happened if changed == "stored" else "", stands=stands)


async def check_fork(
    runner: WorkflowRunner, store: Store, plan: ForkPlan, changed: Changed
) -> tuple[str, bool, Registration]:
    """Check whether a fork can begin; nothing is written or sent.

    Returns how the workflow changed since, whether the source's changes of the repeated steps still exist,
    and the workflow to use.

    :param changed: the definition to use if the workflow's file changed since the source began.
    :raises InvalidInput: an input is missing, unknown or of another type; changes of a reused step were
        rolled back; the source changed the lines that the new run is about; or a turn is to be repeated
        with another definition.
    :raises UnknownAdapter: the model is unknown.
    :raises TideateError: it cannot begin; says why.
    """
    request, hide = plan.request, plan.request.obfuscate
    registration = await definition_for(
        plan.source.id,
        plan.definition,
        runner.registry,
        changed=changed,
        front=runner.front,
        obfuscate=hide,
        opened=request.opened,
    )
    happened = changed_since(plan.definition, runner.registry, obfuscate=hide)
    if happened and changed == "file" and plan.turn is not None:
        raise InvalidInput(
            f"{happened}, and the turns before it were taken with the definition as it was; fork the step "
            "without --turn, or with --definition=stored"
        )
    _check_request(runner, request, registration.definition)
    workspace = runner.workspace(request)
    await asyncio.to_thread(
        check_reused_writes, store.reader(), plan.source, plan.reused, workspace.root, store.private
    )
    stands = bool(plan.repeated_files) and not await asyncio.to_thread(
        _is_rolled_back, store.reader(), plan.source, workspace.root, store.private
    )
    await _check_text(plan, registration.definition, workspace, stands=stands)
    return happened, stands, registration


async def check_model(runner: WorkflowRunner, plan: ForkPlan, registration: Registration) -> None:
    """Check for the key and library of the model that a fork asks; nothing is sent.

    :raises TideateError: one of them is missing; says which.
    """
    definition = registration.definition
    tools_only = isinstance(definition, WorkflowDefinition) and all(
        step.kind in ("tool", "workflow") for step in definition.steps
    )
    hooks = driver_hooks(definition.name, registration.kind, registration.source)
    if hooks.asks_model and not tools_only:
        name = plan.request.adapter or runner.config.adapter_for(definition.name)
        await runner.adapters.get(name).check_key()


def _check_request(
    runner: WorkflowRunner, request: RunRequest, definition: WorkflowDefinition | MachineWorkflow
) -> None:
    """Check the request of a fork before the fork is stored."""
    config = runner.config
    check_inputs(definition, request, config.limits)
    refuse_unknown(definition, request.inputs)
    typed_inputs(definition, request.inputs)
    runner.adapters.get(request.adapter or config.adapter_for(definition.name))


async def _check_text(
    plan: ForkPlan,
    definition: WorkflowDefinition | MachineWorkflow,
    workspace: Workspace,
    *,
    stands: bool,
) -> None:
    """Check that the lines that a fork is about are unchanged, because its edit would be refused otherwise.

    :param stands: the source's changes were not rolled back.
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
    changed = f"the lines of {subject.path} that run {source} was about have changed"
    way = f"roll it back first (`tideate rollback {source}`)" if stands else "run the workflow on them again"
    raise InvalidInput(f"{changed}; {way}")


def _is_rolled_back(reader: Reader, source: RunRow, root: Path | None, private: Path) -> bool:
    """Tell whether all changes of a run, without reused steps, were rolled back."""
    writers = writers_of(reader, source, reader.steps(source.id))
    own = [run for run, steps in writers.items() if steps is None]
    return bool(rolled_back_runs(root, private, {source.id: own}))


def _notices(plan: ForkPlan, happened: str, *, stands: bool) -> list[dict[str, Any]]:
    """Return the notices about the beginning of a fork.

    :param happened: how the unused file of the workflow changed; empty: unchanged.
    :param stands: changes of the repeated steps were not rolled back.
    """
    source, count = plan.source.id[:SHORT], len(plan.reused)
    reused = (
        f"{count} result{'' if count == 1 else 's'} of run {source} {'is' if count == 1 else 'are'} reused"
    )
    what = (
        f"all of run {source} is repeated" if plan.whole else f"{reused}; repeated from {_place_of(plan)} on"
    )
    if plan.reopens:
        what = f"the question that ended run {source} is open again, with your decisions"
    words = [(what, "info")]
    if stands:
        files = listed(plan.repeated_files)
        words.append((f"changes of run {source} in the repeated steps are left in place: {files}", "warn"))
    if happened:
        # names this run, which has the edits
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
        raise RunEnded(f"run {short} has not ended; resume it or cancel it first")
    if definition.text in {"", "{}"}:
        raise InvalidInput(
            f"run {short} was refused because its workflow has mistakes; fix it and start a new run"
        )


def _check_results(
    results: Mapping[str, JsonValue], reused: Sequence[StepRow], rows: Iterable[StepRow]
) -> None:
    """Check that edited results belong to reused steps and have the type of the old ones.

    :raises InvalidInput: a step is unknown or not reused, or the type differs.
    """
    known, every = {row.step: row for row in reused}, {row.step for row in rows}
    for step, result in results.items():
        if step not in every:
            raise InvalidInput(f"there is no step {step!r}{did_you_mean(step, known)}")
        if step not in known:
            raise InvalidInput(f"the step {step!r} is repeated, so its result cannot be given")
        before = known[step].result
        if _type_of(result) != _type_of(before):
            raise InvalidInput(f"the result of {step!r} is {_type_of(before)}, not {_type_of(result)}")


def _type_of(value: JsonValue) -> str:
    names = {str: "a text", bool: "true or false", dict: "an object", list: "a list", type(None): "nothing"}
    return names.get(type(value), "a number")


def _edited(stored: dict[str, Any], edits: RunEdits) -> RunRequest:
    """Return the request of a fork.

    :raises StoreError: the source's request cannot be read.
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
