"""Read stored runs to resume or inspect them: steps, results, and the definition they ran with."""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tideate_core.adapters import Usage
from tideate_core.engine.context.memory import (
    CONTEXT,
    FAILED,
    ITEM_DONE,
    LANDED,
    OWN,
    PENDING_END,
    RUN,
    spent_on,
)
from tideate_core.engine.driver import NO_HOOKS, Settled, driver_hooks
from tideate_core.engine.events import ConfirmationRequest, EventName
from tideate_core.engine.request import RunRequest, WorkflowResult
from tideate_core.errors import (
    DefinitionChanged,
    InvalidDefinition,
    InvalidWorkflowFile,
    RunLost,
    RunNotFound,
    StoreError,
    UnknownAdapter,
    UnknownWorkflow,
    WorkflowError,
)
from tideate_core.store import Definition
from tideate_core.util.escaping import label
from tideate_core.workflows import MachineWorkflow, Registration, WorkflowDefinition

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tideate_core.adapters import Adapter, AdapterPool
    from tideate_core.engine.events import FrontEnd
    from tideate_core.store import Reader, RunLog, RunRow, StepRow, Store, Tokens
    from tideate_core.workflows import Source, TextFormat


logger = logging.getLogger(__name__)

Changed = Literal["ask", "stored", "file"]
"""The definition to use if a workflow's file changed: ask the person, the stored one, or the file's."""

WORKFLOW_IDS: Final = uuid.UUID("5b0d6f0e-8a53-5d0f-9a6b-3a4c1f6f2d11")
"""Namespace of the ids of workflows, from their source and place."""
_REGISTERED: Final = {
    "builtin": "with tideate itself; this version has it no more",
    "package": "by a package; install it and resume again",
    "editor": "in the editor; open Neovim with the configuration that registers it and resume there",
}
"""How a workflow without a file is registered, by source."""


class Workflows(Protocol):
    """Lookup of workflows by name: a `WorkflowRegistry` or a `Catalog`."""

    def get(self, name: str, *, obfuscate: bool = False) -> Registration: ...

    def parse(self, text: str, format: TextFormat, name: str) -> Registration: ...  # noqa: A002

    def kept(
        self, definition: WorkflowDefinition, source: Source, path: Path | None, *, opened: bool = False
    ) -> Registration: ...


class StoredStep(BaseModel):
    """The fields of a stored step that ended runs are read for; any version may have written it."""

    model_config = ConfigDict(extra="ignore", defer_build=True)

    id: str
    idempotent: bool = True
    continue_on_error: bool = Field(default=False, alias="continueOnError")
    workflow: Any = None
    machine: Any = None

    @property
    def is_run(self) -> bool:
        """The step is a nested run."""
        return bool(self.workflow or self.machine)


class StoredGraph(BaseModel):
    """The fields of a stored workflow that ended runs are read for."""

    model_config = ConfigDict(extra="ignore", defer_build=True)

    steps: tuple[StoredStep, ...] = ()
    context: dict[str, Any] = Field(default_factory=dict)


def stored_graph(definition: Definition) -> StoredGraph:
    """Return the steps and the context of a stored definition; a machine has none.

    :raises StoreError: the stored text is not a definition.
    """
    if definition.kind != "graph":
        return StoredGraph()
    try:
        return StoredGraph.model_validate_json(definition.text)
    except ValidationError as error:
        words = error.errors(include_url=False)[0]["msg"]
        raise StoreError(f"the stored definition of {definition.name!r} cannot be read ({words})") from error


def stored_definition(registration: Registration) -> Definition:
    """Return a definition as the store keeps it; an obfuscated machine keeps its tokens."""
    definition = registration.definition
    path = registration.path
    if isinstance(definition, MachineWorkflow):
        known, version, path = None, "1.0.0", definition.path
    else:
        known, version = definition.id, definition.version
    return Definition(
        str(known or uuid.uuid5(WORKFLOW_IDS, f"{registration.source}\0{path or definition.name}")),
        definition.name,
        registration.kind,
        _text_of(registration),
        definition.description,
        version,
        registration.source,
        str(path) if path else None,
    )


async def definition_for(
    run_id: str,
    stored: Definition,
    catalog: Workflows,
    *,
    changed: Changed = "ask",
    front: FrontEnd,
    obfuscate: bool = False,
    opened: bool = False,
) -> Registration:
    """Return the definition of a resumed run: the stored one, or the file's if the person chooses that.

    :param changed: the definition to use if they differ.
    :param obfuscate: the run was started with obfuscation.
    :param opened: the run came in a bundle.
    :raises DefinitionChanged: they differ and no person can be asked, or the person chose neither; or the
        stored one lacks its handlers, or its file is no longer trusted.
    :raises UnknownWorkflow: the file is to be used but missing.
    :raises InvalidDefinition: the file is to be used but has mistakes.
    """
    if stored.source == "text":
        return _rebuilt(run_id, stored, None, "", catalog, obfuscate, opened=opened)
    if changed == "file":
        return catalog.get(_name_now(stored), obfuscate=obfuscate)
    now, happened = _look_up(stored, catalog, obfuscate)
    if now is not None and not happened:
        return now
    rebuilt = _rebuilt(run_id, stored, now, happened, catalog, obfuscate, opened=opened)
    # afterwards: agreeing to a definition does not imply trusting it
    if changed == "ask":
        await _ask(run_id, stored, now, happened, front)
    return rebuilt


def changed_since(stored: Definition, catalog: Workflows, *, obfuscate: bool = False) -> str:
    """Return how the catalog's workflow differs from a run's stored one; empty if it does not.

    A missing or broken workflow counts as the same, because only the stored one can be used.
    """
    if stored.source == "text":
        return ""
    now, happened = _look_up(stored, catalog, obfuscate)
    return happened if now is not None else ""


def _name_now(stored: Definition) -> str:
    return stored.path if stored.source == "file" and stored.path else stored.name


def _look_up(stored: Definition, catalog: Workflows, obfuscate: bool) -> tuple[Registration | None, str]:
    """Return the catalog's workflow, and how it differs from the stored one; empty if it does not."""
    what = stored.path or f"the workflow {stored.name!r}"
    try:
        now = catalog.get(_name_now(stored), obfuscate=obfuscate)
    except (InvalidDefinition, InvalidWorkflowFile, UnknownWorkflow) as error:
        return None, f"{what} cannot be used now ({error})"
    # a file never equals a built-in workflow
    hooks = driver_hooks(now.definition.name, now.kind, now.source)
    has_same_driver = hooks is driver_hooks(stored.name, stored.kind, stored.source)
    same = has_same_driver and now.kind == stored.kind and _text_of(now) == stored.text
    return now, "" if same else f"{what} was changed since this run began"


async def _ask(
    run_id: str, stored: Definition, now: Registration | None, happened: str, front: FrontEnd
) -> None:
    question = f"{happened}. Continue with the definition that the run began with?"
    details = _difference(stored, now) if now is not None else ""
    decision = await front.confirm(
        ConfirmationRequest(run_id, stored.name, "", "gate", question, details=details)
    )
    if not decision.accepted:
        raise DefinitionChanged(
            f"{happened}, and it was not confirmed to continue with the definition that the run began with; "
            f"`tideate resume {run_id} --definition=file` continues with the current one, "
            f"`tideate resume {run_id} --definition=stored` with the run's own"
        )


def _rebuilt(
    run_id: str,
    stored: Definition,
    now: Registration | None,
    happened: str,
    catalog: Workflows,
    obfuscate: bool,
    *,
    opened: bool,
) -> Registration:
    """Rebuild a run's stored definition with the handlers registered now.

    :param now: the catalog's workflow of this name.
    :param happened: how it differs.
    :raises DefinitionChanged: handlers or files that it needs are missing.
    """
    if now is None and stored.source in _REGISTERED:
        raise DefinitionChanged(
            f"the workflow {stored.name!r} is not registered now; it was {_REGISTERED[stored.source]}"
        )
    source, path = cast("Source", stored.source), Path(stored.path) if stored.path else None
    if stored.kind == "machine":  # its driver depends on its source
        if opened and driver_hooks(stored.name, stored.kind, stored.source) is not NO_HOOKS:
            raise DefinitionChanged(
                f"{happened}, and came in a bundle; the gates of {stored.name} are only in its own definition"
            )
        return Registration(_machine(stored, now, obfuscate), {}, source, path)
    try:
        source = now.source if now is not None else source
        return catalog.kept(_definition_of(stored), source, path, opened=opened)
    except InvalidDefinition as error:
        registered = _REGISTERED.get(stored.source)
        hint = f"; it was registered {registered}" if registered else ""
        raise DefinitionChanged(
            f"{happened or stored.name}, and the definition that the run began with {error}{hint}. "
            f"`tideate resume {run_id} --definition=file` continues with the current file"
        ) from error


def _definition_of(stored: Definition) -> WorkflowDefinition:
    try:
        return WorkflowDefinition.model_validate_json(stored.text)
    except ValidationError as error:
        words = error.errors(include_url=False)[0]["msg"]
        raise InvalidDefinition(f"is one that this version cannot read ({words})") from error


def _machine(stored: Definition, now: Registration | None, obfuscate: bool) -> MachineWorkflow:
    # imported here: few runs need the language
    from tideate_core.machines.language import parse

    machine = parse(stored.text, stored.name).require(stored.name)
    if now is not None and isinstance(now.definition, MachineWorkflow):
        confirm = now.definition.confirm & machine.states.keys()
        return replace(now.definition, machine=machine, confirm=confirm)
    if obfuscate:
        raise DefinitionChanged(
            f"{stored.path or stored.name} is gone, and without it the names of its states cannot be hidden; "
            "bring it back and resume again"
        )
    path = Path(stored.path) if stored.path else None
    return MachineWorkflow(stored.name, machine, description=stored.description, path=path)


def _text_of(registration: Registration) -> str:
    """Return the normalized text of a definition, without comments and order of keys."""
    definition = registration.definition
    if isinstance(definition, MachineWorkflow):
        # imported here: few runs need the language
        from tideate_core.machines.language import write_definition

        return write_definition(definition.machine)
    return definition.as_text()


def _difference(stored: Definition, now: Registration) -> str:
    """Return the difference between two definitions as Markdown."""
    from difflib import unified_diff

    from tideate_core.edits import fence_for

    texts = ((stored.text, stored.kind), (_text_of(now), now.kind))
    before, after = (
        json.dumps(json.loads(text), indent=2, ensure_ascii=False) if kind == "graph" else text
        for text, kind in texts
    )
    lines = unified_diff(
        before.splitlines(), after.splitlines(), "the run's definition", "as it is now", lineterm=""
    )
    text = "\n".join(lines)
    fence = fence_for(text)
    return f"{fence}diff\n{text}\n{fence}"


_ALL: Final = 1_000_000
"""Maximum number of a run's checkpoints that are read."""
_ENDED: Final = ("completed", "failed", "skipped")


class RecordedFailure(WorkflowError):
    """The failure of a step in an earlier process.

    :param settled: the store's record of the step.
    """

    def __init__(self, settled: Settled) -> None:
        super().__init__(settled.error or f"the step {settled.step!r} failed")
        self.step = settled.step
        self._code = settled.error_code

    @property
    def code(self) -> str:
        return self._code or super().code


@dataclass(frozen=True)
class RecordedRun:
    """Part of a run that earlier processes did."""

    settled: Mapping[str, Settled]
    """Ends of steps, in order."""
    attempts: Mapping[str, int]
    """Failed attempts of steps that have not ended."""
    running: frozenset[str]
    """Steps that started and did not end."""
    memos: Mapping[str, Mapping[str, Any]]
    """Memory of the steps, by step and key."""
    usage: Usage
    """Usage of models, including unfinished steps."""
    files: tuple[str, ...]
    """Files that the run changed, in order; those of reused steps are left out."""
    executed: Mapping[str, dict[str, str]]
    """Changed files that other tools execute by themselves, by path."""
    elapsed_ms: int
    """Milliseconds in which steps ran, without the time between processes."""
    agents: tuple[str, ...]
    """Agents of the steps, in order of their first step."""
    checkpoints: tuple[str, ...]
    """Ids, the oldest first."""
    forked: bool = False
    """The run was forked and has not begun yet."""
    moves: int = 0
    """Number of the last machine move among the events."""
    adapter: str | None = None
    """The adapter that the run had last; None for a fork that has not begun."""

    @property
    def finished(self) -> frozenset[str]:
        """Ended steps, and parts of unfinished ones: completed items, and landings of an agent's turns."""
        parts = (
            f"{step}[{key.removeprefix(ITEM_DONE)}]"
            for step, kept in self.memos.items()
            for key in kept
            if key.startswith(ITEM_DONE) or (key.startswith(OWN) and LANDED in key)
        )
        return frozenset(self.settled).union(parts)

    @property
    def results(self) -> dict[str, Any]:
        """Results of the completed steps."""
        return {step: one.value for step, one in self.settled.items() if one.status == "completed"}

    @property
    def context(self) -> dict[str, Any]:
        """Context values that steps have set."""
        kept = self.memos.get(RUN, {})
        return {key.removeprefix(CONTEXT): value for key, value in kept.items() if key.startswith(CONTEXT)}

    @property
    def pending_end(self) -> dict[str, Any] | None:
        """The end that the run was about to have when its rollback began; None: it continues."""
        kept: dict[str, Any] | None = self.memos.get(RUN, {}).get(PENDING_END)
        return kept


def kept_adapter(adapters: AdapterPool, run: str, name: str) -> Adapter:
    """Return the adapter with which a run continues.

    :raises UnknownAdapter: this machine has none of this name; says what to do.
    """
    try:
        return adapters.get(name)
    except UnknownAdapter as error:
        raise UnknownAdapter(
            f"run {run[:8]} works with the model {label(name)}, which this machine does not have; add it, or "
            f"continue with another one: `tideate resume … --adapter NAME` ({error})"
        ) from error


async def load_recorded_run(store: Store, run_id: str) -> tuple[RunRequest, Definition, RecordedRun]:
    """Read the request, definition and progress of a stored run.

    :raises RunNotFound: no run has this id.
    :raises StoreError: the store cannot be read.
    """
    return await asyncio.to_thread(_load, store, run_id)


async def find_run(store: Store, run_id: str) -> RunRow | None:
    """Return a stored run; None if it never began.

    :raises StoreError: the store cannot be read.
    """
    try:
        return await asyncio.to_thread(store.reader().run, run_id)
    except RunNotFound:
        return None


def recorded_result(reader: Reader, run: RunRow) -> WorkflowResult:
    """Return the result of a run that ended in an earlier process; blocking.

    :raises StoreError: it cannot be read.
    """
    tokens = run.tokens
    results = {row.step: row.result for row in reader.steps(run.id) if row.status == "completed"}
    hooks = driver_hooks(run.name, run.kind, run.source)
    summary = hooks.summary(results)
    back = reader.last_event(run.id, EventName.ROLLED_BACK.value) if hooks.is_reversible else None
    is_back = back is not None and back.data["error"] is None and not back.data["left"]
    return WorkflowResult(
        run.id,
        run.name,
        ok=run.status == "completed",
        response=reader.response(run.id),
        results=results,
        error=run.error,
        error_code=run.error_code,
        cancelled=run.status == "cancelled",
        reason=run.reason,
        files=list(run.files),
        executed=[one for one in recorded_executed(reader, run.id).values() if one["path"] in run.files],
        usage=_usage_of(tokens),
        duration_ms=run.duration_ms or 0,
        rollback_performed=is_back if hooks.is_reversible else None,
        attempts=summary.attempts,
        result=summary.result,
        task=str(reader.request(run.id).get("prompt", "")) if hooks.is_reversible else None,
    )


def recorded_executed(reader: Reader, run_id: str) -> dict[str, dict[str, str]]:
    """Return files written in earlier processes that other tools execute, by path; blocking."""
    events = reader.events(run_id)
    notices = (event.data.get("executed") for event in events if event.name == EventName.NOTICE.value)
    return {one["path"]: one for one in notices if one}


def settled_of(row: StepRow) -> Settled:
    """Return the end of a stored step that has ended."""
    assert row.status in ("completed", "failed", "skipped")  # noqa: S101 only those are given
    return Settled(
        row.step,
        row.status,
        row.result,
        row.error,
        row.error_code,
        row.duration_ms or 0,
        _usage_of(row.tokens),
        row.files,
    )


def _load(store: Store, run_id: str) -> tuple[RunRequest, Definition, RecordedRun]:
    reader = store.reader()
    # a run forked from a checkpoint has the old run's id in its request
    request = RunRequest.model_validate({**reader.request(run_id), "execution_id": run_id})
    rows, run = reader.steps(run_id), reader.run(run_id)
    reused, forked = run.reused, run.forked_step is not None and not reader.events(run_id, limit=1)
    memos = reader.memos(run_id)
    ended = sorted((row for row in rows if row.status in _ENDED), key=lambda row: row.order or 0)
    running = [row for row in rows if row.status == "running"]
    settled = {row.step: settled_of(row) for row in ended}
    moved = reader.last_event(run_id, EventName.TRANSITION.value)
    begins = (EventName.WORKFLOW_RESTORED, EventName.WORKFLOW_STARTED)
    begun = next(filter(None, (reader.last_event(run_id, one.value) for one in begins)), None)
    recorded = RecordedRun(
        settled=settled,
        # also for a fork within a step, which has memos of later attempts
        attempts={
            row.step: failed
            for row in rows
            if row.status not in _ENDED and (failed := _failed_attempts(row, memos))
        },
        running=frozenset(row.step for row in running),
        memos=memos,
        usage=_usage(settled, memos),
        # changes of reused steps are rolled back with their own run
        files=tuple(dict.fromkeys(path for row in ended if (row.order or 0) > reused for path in row.files)),
        executed=recorded_executed(reader, run_id),
        elapsed_ms=_time_at_work([*ended, *running]),
        agents=tuple(dict.fromkeys(row.agent for row in ended if row.attempts)),
        checkpoints=tuple(
            row.id
            for row in sorted(
                reader.checkpoints(run_id, limit=_ALL), key=lambda row: (row.cursor, row.created_at)
            )
        ),
        forked=forked,
        moves=moved.data["move"] if moved else 0,
        adapter=begun.data["adapter"] if begun else None,
    )
    return request, reader.definition(run_id), recorded


def _failed_attempts(row: StepRow, memos: Mapping[str, Mapping[str, Any]]) -> int:
    """Count the failed attempts; the last one started may only have been interrupted."""
    kept = memos.get(row.step, {}).get(FAILED)
    return max(row.attempts - 1, kept["attempt"] if kept else 0, 0)


def _usage(settled: Mapping[str, Settled], memos: Mapping[str, Mapping[str, Any]]) -> Usage:
    recorded = [ended.usage for ended in settled.values()]
    beside = [spent_on(kept, late=step in settled) for step, kept in memos.items()]
    return sum([*recorded, *beside], Usage())


def _usage_of(tokens: Tokens) -> Usage:
    return Usage(tokens.input, tokens.output, tokens.cost, tokens.cached)


def _time_at_work(rows: Sequence[StepRow]) -> int:
    """Return the milliseconds in which at least one step was running."""
    spans = sorted((row.started_at, row.completed_at or row.started_at) for row in rows if row.started_at)
    total = until = 0
    for begun, done in spans:
        total += max(0, done - max(begun, until))
        until = max(until, done)
    return total


async def release_lease(run_log: RunLog) -> None:
    """Release a run after an error, without hiding that error; nothing if the run has ended."""
    try:
        await run_log.release()
    except RunLost:
        return  # another process has it
    except StoreError:
        # the store deletes its lease with the next commit that works
        logger.warning("run %s was left without a word to the store", run_log.run_id, exc_info=True)
