"""Runs workflows: starts them, takes them up again, cancels and pauses, and always reports an end."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tideate_core.engine.children import Children
from tideate_core.engine.driver_hooks import driver_hooks
from tideate_core.engine.drivers import driver_for
from tideate_core.engine.events import Event, EventName
from tideate_core.engine.inputs import check_inputs, refuse_unknown, typed_inputs
from tideate_core.engine.lifecycle import CannotGoOn, words_of
from tideate_core.engine.live_run import LiveRun, Slow
from tideate_core.engine.recorded_run import found_again, keep_definition, load_past, put_back, still_there
from tideate_core.engine.recording import now_ms
from tideate_core.engine.run import TAKE_OVER_AFTER, Execution, RunRequest, WorkflowResult
from tideate_core.engine.run_store import LazyStore, Tools, let_go, outlast
from tideate_core.engine.step_services import Services
from tideate_core.engine.stored_definition import definition_for, stored_definition
from tideate_core.engine.tools.offering import offering
from tideate_core.errors import InvalidInput, RunNotFound, TideateError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from tideate_core.adapters import AdapterPool, Reply
    from tideate_core.config import Config
    from tideate_core.engine.confirmation import FrontEnd
    from tideate_core.engine.events import WorkflowHooks
    from tideate_core.engine.live_run import Within
    from tideate_core.engine.recorded_run import Past
    from tideate_core.engine.step_services import ToolCaller
    from tideate_core.engine.stored_definition import Changed, Workflows
    from tideate_core.store import CheckpointRow, Store
    from tideate_core.workflows import PromptLibrary, Registration
    from tideate_core.workspace import Workspace

__all__ = ["WorkflowRunner"]


class WorkflowRunner:
    """Several runs at once, each with its own lifecycle, task and result.

    :param workspace: called once for a run.
    :param store: opens the runs' database; called in a thread, when the first run begins.
    :param tools: calls tools of MCP servers, None where there are none.
    """

    def __init__(
        self,
        registry: Workflows,
        adapters: AdapterPool,
        config: Config,
        front: FrontEnd,
        workspace: Callable[[RunRequest], Workspace],
        prompts: PromptLibrary,
        store: Callable[[], Store],
        *,
        hooks: WorkflowHooks | None = None,
        tools: ToolCaller | None = None,
    ) -> None:
        self.registry = registry
        self._front = front
        self._tools = Tools(adapters, config, front, workspace, prompts, hooks)
        self._tool_caller = tools
        self._store = LazyStore(store)
        self._children = Children(self._store, self._run, self._resume)
        self._running: dict[str, LiveRun] = {}

    @property
    def running(self) -> list[Execution]:
        """The runs under way, newest first."""
        return [live.execution for live in reversed(self._running.values())]

    async def store(self) -> Store:
        """Return the runs' database, opened if it was not.

        :raises StoreError: it cannot be used; says why.
        """
        return await self._store.get()

    async def run(self, request: RunRequest, *, hooks: WorkflowHooks | None = None) -> WorkflowResult:
        """Run a workflow to its end. Failures are results, not exceptions.

        :param hooks: of this run, in place of the runner's.
        :raises asyncio.CancelledError: the caller was cancelled; the run is, too.
        """
        return await self._run(request, None, hooks)

    async def resume_run(
        self, execution_id: str, *, takeover_after: float = TAKE_OVER_AFTER, changed: Changed = "ask"
    ) -> WorkflowResult:
        """Continue a run where its last commit left it, to its end.

        Completed steps are not run again; steps that were running start again.

        :param takeover_after: seconds without a heartbeat after which a run of another process is taken over.
        :param changed: what counts where the workflow's file is another one than the run began with.
        :raises RunNotFound: no run has this id.
        :raises RunIsOwned: a living process is running it.
        :raises RunEnded: there is nothing left to do.
        :raises DefinitionChanged: the person has to say which definition counts.
        :raises TideateError: it cannot go on as it was; says why.
        :raises asyncio.CancelledError: the caller was cancelled; the run is, too.
        """
        return await self._resume(execution_id, None, takeover_after, changed)

    def cancel(self, execution_id: str | None = None) -> list[str]:
        """Cancel a run, or all of them; returns the ids.

        :raises RunNotFound: nothing of this id is running.
        """
        runs = [self._get(execution_id)] if execution_id else list(self._running.values())
        for live in runs:
            live.cancel()
        return [live.execution.id for live in runs]

    def pause(self, execution_id: str) -> None:
        """Stop a run before its next step.

        :raises RunNotFound: nothing of this id is running.
        """
        self._get(execution_id).pause()

    def resume(self, execution_id: str) -> None:
        """Let a paused run go on.

        :raises RunNotFound: nothing of this id is running.
        """
        self._get(execution_id).execution.resume()

    def leave(self) -> list[str]:
        """Stop all runs without ending them, so that another process can resume them; returns the ids."""
        for live in self._running.values():
            live.leave()
        return list(self._running)

    async def checkpoint(self, execution_id: str) -> CheckpointRow:
        """Make a checkpoint of a run where it stands.

        :raises RunNotFound: nothing of this id is running.
        :raises StoreError: it cannot be written.
        """
        live = self._get(execution_id)
        store = await self._store.get()
        row = await store.checkpoint(execution_id, at=now_ms())
        live.checkpointed(row)
        return row

    async def ask(self, execution_id: str, step: str, prompt: str, system: str = "") -> Reply:
        """Ask a run's adapter for a handler that lives in the front end.

        :raises RunNotFound: nothing of this id is running.
        """
        from tideate_core.adapters import Prompt

        live = self._get(execution_id)
        return await live.execution.own(live.context_beside(step).ask(Prompt(prompt, system)))

    async def aclose(self) -> None:
        """Close the store; no run may be under way."""
        await self._store.close()

    async def _run(
        self, request: RunRequest, within: Within, hooks: WorkflowHooks | None = None
    ) -> WorkflowResult:
        begun, name = time.monotonic(), request.name
        try:
            registration = self.registry.get(name, obfuscate=request.obfuscate)
            name = registration.definition.name
            live = self._prepared(request, registration, within, hooks=hooks)
        except TideateError as error:
            return self._refused(request, name, error, begun)

        async def drive() -> None:
            live.adapter  # noqa: B018 a run that nobody can answer is not begun
            store = await self._store.get()
            await live.begin(store, stored_definition(registration))
            await live.drive()

        return await self._live(live, drive())

    async def _resume(
        self, execution_id: str, within: Within, takeover_after: float, changed: Changed
    ) -> WorkflowResult:
        self._refuse_twice(execution_id)
        store = await self._store.get()
        log = await store.adopt(execution_id, takeover_after=takeover_after)
        try:
            request, stored, past = await load_past(store, execution_id)
            request = request.model_copy(update={"execution_id": execution_id})
            hide, front = request.obfuscate, self._front
            registration = await definition_for(
                execution_id, stored, self.registry, changed=changed, front=front, obfuscate=hide
            )
            workspace = self._tools.workspace(request)
            request = await found_again(request, workspace)
            live = self._prepared(request, registration, within, past)
            live.execution.takeover_after = takeover_after
            live.adapter  # noqa: B018 a run that nobody can answer stays as it is
            await keep_definition(store, stored, registration, live.execution)
            left: list[str] = []
            if past.broken_off is None:  # else all of it is taken back
                left = await put_back(workspace, execution_id, past, registration.definition)
        except BaseException:
            await let_go(log)
            raise
        live.attach(log, store)
        for name in left:
            live.emit(EventName.NOTICE, still_there(name))
        return await self._live(live, live.drive())

    async def _live(self, live: LiveRun, drive: Coroutine[Any, Any, None]) -> WorkflowResult:
        execution = live.execution
        task = asyncio.create_task(drive, name=f"run {execution.id}")
        execution.begin(task)
        execution.on_cancel = slow = Slow(live, self._front)
        self._running[execution.id] = live
        cancelled = await outlast(task, live.cancel_with_caller)
        try:
            await execution.close()
        finally:
            del self._running[execution.id]
            ending = asyncio.create_task(live.finish(task), name=f"end {execution.id}")
            cancelled = await outlast(ending) or cancelled
            slow.over()
        if cancelled:
            raise asyncio.CancelledError
        result = ending.result()
        if live.parent and (execution.left or execution.stopped_by) and not result.cancelled:
            raise CannotGoOn(str(result.error), result.error_code)
        return result

    def _prepared(
        self,
        request: RunRequest,
        registration: Registration,
        within: Within,
        past: Past | None = None,
        *,
        hooks: WorkflowHooks | None = None,
    ) -> LiveRun:
        """Return a run that can start, as far as can be told before it does.

        :raises TideateError: it cannot; says why.
        """
        live: LiveRun
        self._refuse_twice(request.execution_id)
        definition, config = registration.definition, self._tools.config
        check_inputs(definition, request, config.limits)
        if past is None:
            refuse_unknown(definition, request.inputs)
        inputs = typed_inputs(definition, request.inputs)

        def emit(name: EventName, data: dict[str, Any]) -> None:
            if past is None or not past.has_told(name, data):
                live.emit(name, data)

        services = Services(
            definition.name,
            emit,
            lambda step, child: self._children.run(live, step, child),
            self.registry,
            self._tool_caller,
            lambda: live.gated,
            self._store.get,
        )
        driver = driver_for(registration, request, config, services)
        driver.prepare()
        around = within[0].execution if within else None
        hooks_of = driver_hooks(definition.name, registration.kind, registration.source)
        execution = Execution(request, definition, driver, inputs, around, hooks_of)
        tools = replace(self._tools, hooks=hooks) if hooks is not None else self._tools
        live = LiveRun(execution, tools, past, within)
        live.offer = offering(services)
        return live

    def _refuse_twice(self, execution_id: str) -> None:
        if execution_id in self._running:
            raise InvalidInput(f"a run with the id {execution_id!r} is under way")

    def _get(self, execution_id: str) -> LiveRun:
        try:
            return self._running[execution_id]
        except KeyError:
            raise RunNotFound(execution_id) from None

    def _refused(self, request: RunRequest, name: str, error: TideateError, begun: float) -> WorkflowResult:
        duration = round((time.monotonic() - begun) * 1000)
        data = {"name": name, **words_of(error), "duration_ms": duration}
        self._front.emit(Event(EventName.WORKFLOW_FAILED, request.execution_id, data))
        return WorkflowResult(request.execution_id, name, ok=False, **words_of(error), duration_ms=duration)
