"""Preparation of a run: parse and validate its workflow, order its steps, or record why it cannot start."""

from __future__ import annotations

import time
import uuid
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from tideate_core.engine.events import Event, EventName, error_fields, failure_fields, identity
from tideate_core.engine.lifecycle import write_run_documents
from tideate_core.engine.recording import now_ms
from tideate_core.engine.result import WorkflowResult
from tideate_core.engine.run import RunMachine
from tideate_core.engine.run_store import summary_place
from tideate_core.engine.stored_definition import WORKFLOW_IDS, stored_definition
from tideate_core.errors import (
    InvalidDefinition,
    InvalidDefinitionFile,
    InvalidWorkflowFile,
    StoreError,
    TideateError,
)
from tideate_core.machines import ExecutionEvent
from tideate_core.store import Definition, Ending, NewRun
from tideate_core.workflows import WorkflowDefinition

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping

    from tideate_core.engine.driver import Driver
    from tideate_core.engine.run import RunRequest
    from tideate_core.errors import ReadingStage
    from tideate_core.store import Store
    from tideate_core.workflows import Registration

__all__ = ["Preparation", "record_refused_run"]

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
"""Events by the part of the work on a text that found its first mistake: a text is read in one go."""


class Preparation:
    """Brings a new run's machine from its text to its graph, or a resumed one's back to its steps.

    :param resumed: the run began in an earlier process, so its workflow was valid.
    :param machine: of an engine that runs one workflow after the other; it is idle.
    """

    def __init__(
        self, request: RunRequest, *, resumed: bool = False, machine: RunMachine | None = None
    ) -> None:
        self.machine = machine or RunMachine()
        self._request = request
        self._registration: Registration | None = None
        self._resumed = resumed
        self._begun = time.monotonic()
        event = ExecutionEvent.RESTORE_CHECKPOINT if resumed else ExecutionEvent.INITIATE_WORKFLOW
        self.machine.require(event)

    def parse(self, read: Callable[[], Registration]) -> Registration:
        """Return the workflow that a text or a registry has.

        :raises TideateError: as `read`.
        """
        with self._state(ExecutionEvent.PARSE_WORKFLOW, ExecutionEvent.WORKFLOW_PARSED, None):
            self._registration = read()
        return self._registration

    def validate(self, make_driver: Callable[[], Driver]) -> Driver:
        """Return what drives the run, once the request fits the workflow.

        :raises TideateError: as `make_driver`.
        """
        begun, done = ExecutionEvent.VALIDATE_WORKFLOW, ExecutionEvent.WORKFLOW_VALID
        with self._state(begun, done, ExecutionEvent.WORKFLOW_INVALID):
            self.machine.driver = driver = make_driver()
        return driver

    def build_graph(self, driver: Driver) -> None:
        """Put the steps in order.

        :raises InvalidDefinition: they have none.
        """
        begun, done = ExecutionEvent.BUILD_GRAPH, ExecutionEvent.GRAPH_BUILT
        with self._state(begun, done, ExecutionEvent.GRAPH_INVALID):
            driver.prepare()

    @contextmanager
    def _state(
        self, begun: ExecutionEvent, done: ExecutionEvent, failed: ExecutionEvent | None
    ) -> Iterator[None]:
        """Follow `begun`, then `done`, or `failed` at an error; None: as the error of a text says."""
        if not self._resumed:
            self.machine.require(begun)
        try:
            yield
        except TideateError as error:
            if not self._resumed:
                for event in (failed,) if failed else _failures(error):
                    self.machine.require(event)
            raise
        if not self._resumed:
            self.machine.require(done)

    async def refuse(
        self,
        error: TideateError,
        store: Callable[[], Awaitable[Store]],
        tell: Callable[[Event], None],
        *,
        nested: bool = False,
    ) -> WorkflowResult:
        """Tell that the run cannot start; one whose workflow is broken is in the history then.

        :param store: opens the runs' database.
        :param tell: takes the events.
        :param nested: it is a step of another run, in whose history its failure stands.
        """
        if not self.machine.is_terminal():  # refused for another reason than its workflow
            self.machine.require(ExecutionEvent.WORKFLOW_FAILED)
        request, known = self._request, self._registration
        duration, words = round((time.monotonic() - self._begun) * 1000), error_fields(error)
        name = known.definition.name if known else request.name
        data = {**identity(request.execution_id, name), "name": name, **failure_fields(error)}
        data["duration_ms"] = duration
        sequence, at = None, now_ms()
        if not nested and (definition := self._broken(error)):
            data["failed_in"] = self.machine.get_history()[-1].from_state.value
            try:
                sequence = await self._record(await store(), definition, at, data)
            except StoreError as failure:
                message = f"this run is not in the history: {failure}"
                notice = {"step": None, "message": message, "level": "warn"}
                tell(Event(EventName.NOTICE, request.execution_id, notice))
        if not nested:
            await self._write_summary(name, Ending("failed", at, duration), store)
        tell(Event(EventName.WORKFLOW_FAILED, request.execution_id, data, at, sequence))
        return WorkflowResult(request.execution_id, name, ok=False, **words, duration_ms=duration)

    async def _write_summary(self, name: str, ending: Ending, store: Callable[[], Awaitable[Store]]) -> None:
        if (documents := await summary_place(store)) is None:
            return
        known = self._registration.definition if self._registration else None
        total = len(known.steps) if isinstance(known, WorkflowDefinition) else 0
        await write_run_documents(self._request.execution_id, ending, documents, name=name, total_steps=total)

    def _broken(self, error: TideateError) -> Definition | None:
        """Return the definition that is broken; None where the request is what is wrong."""
        if isinstance(error, InvalidDefinitionFile | InvalidWorkflowFile):
            return _broken_definition(error, self._request.name)
        if self._registration is None or not isinstance(error, InvalidDefinition):
            return None
        return stored_definition(self._registration)

    async def _record(self, store: Store, definition: Definition, at: int, data: dict[str, Any]) -> int:
        """Write the refused run down, with its end; return the number of its event."""
        request, duration = self._request, data["duration_ms"]
        begun = NewRun(
            request.execution_id,
            definition,
            request.model_dump(mode="json"),
            0,
            at - duration,
            status="failed",
        )
        ending = Ending("failed", at, duration, error=data["error"], error_code=data["error_code"])
        return await store.add_refused(begun, ending, (EventName.WORKFLOW_FAILED.value, at, data))


async def record_refused_run(
    request: RunRequest,
    error: TideateError,
    store: Callable[[], Awaitable[Store]],
    tell: Callable[[Event], None],
) -> WorkflowResult:
    """Have a run in the history whose workflow the caller found broken.

    :param error: with which it was refused.
    :param store: opens the runs' database.
    :param tell: takes the events.
    """
    preparation = Preparation(request)

    def read() -> Registration:
        raise error

    with suppress(type(error)):
        preparation.parse(read)
    return await preparation.refuse(error, store, tell)


def _failures(error: TideateError) -> tuple[ExecutionEvent, ...]:
    if isinstance(error, InvalidDefinitionFile | InvalidWorkflowFile):
        return _FAILURES[error.failed_in]
    return (ExecutionEvent.PARSE_FAILED,)


def _broken_definition(error: InvalidDefinitionFile | InvalidWorkflowFile, name: str) -> Definition:
    """Return what the history has of a text with mistakes: its name and place, and no steps."""
    path, name = (str(error.path), error.path.stem) if error.path else (None, name)
    identity = str(uuid.uuid5(WORKFLOW_IDS, f"{error.source}\0{path or name}"))
    if isinstance(error, InvalidWorkflowFile):
        return Definition(identity, name, "machine", "", source=error.source, path=path)
    return Definition(identity, name, "graph", "{}", source=error.source, path=path)
