"""Runner: starts, resumes, cancels and pauses runs, nests one in another, and always reports an end."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from tideate_core.engine.continuation import continued_request
from tideate_core.engine.driver_hooks import driver_hooks
from tideate_core.engine.drivers import driver_for
from tideate_core.engine.inputs import (
    check_inputs,
    gives_prompt,
    refuse_unknown,
    refuse_unread_prompt,
    typed_inputs,
)
from tideate_core.engine.lifecycle import CannotGoOn
from tideate_core.engine.live_run import LiveRun, RunDependencies, asks_person
from tideate_core.engine.preparation import Preparation
from tideate_core.engine.preview import preview_prompt
from tideate_core.engine.recorded_run import find_run, load_recorded_run, recorder_of
from tideate_core.engine.recovery import (
    rebind_buffer,
    roll_back_unfinished_steps,
    store_chosen_definition,
)
from tideate_core.engine.run import TAKE_OVER_AFTER, Execution, RunRequest
from tideate_core.engine.run_controls import RunControls
from tideate_core.engine.run_store import LazyStore, release_lease, summary_place
from tideate_core.engine.step_services import Services
from tideate_core.engine.stored_definition import definition_for, stored_definition
from tideate_core.engine.tools.calls import Offering
from tideate_core.errors import TideateError
from tideate_core.util.uncancelled import wait_uncancelled

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable

    from tideate_core.adapters import AdapterPool
    from tideate_core.config import Config
    from tideate_core.engine.checkpoints import CheckpointRestoreDTO
    from tideate_core.engine.confirmation import FrontEnd
    from tideate_core.engine.driver import Driver
    from tideate_core.engine.events import WorkflowHooks
    from tideate_core.engine.forking import RunEdits
    from tideate_core.engine.live_run import ParentStep
    from tideate_core.engine.preview import PromptPreview
    from tideate_core.engine.recorded_run import RecordedRun
    from tideate_core.engine.result import WorkflowResult
    from tideate_core.engine.run import RunMachine
    from tideate_core.engine.step_services import ToolCaller
    from tideate_core.engine.stored_definition import Changed, Workflows
    from tideate_core.engine.task_components import TaskComponents
    from tideate_core.store import Store
    from tideate_core.workflows import PromptLibrary, Registration, TextFormat
    from tideate_core.workspace import Workspace

__all__ = ["WorkflowRunner"]


class WorkflowRunner(RunControls):
    """Several runs at once, each with its own lifecycle, task and result.

    :param workspace: called once for a run.
    :param store: opens the runs' database; called in a thread, when the first run begins.
    :param tools: calls tools of MCP servers, None where there are none.
    :param task: components of its tasks; None: tideate's own.
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
        task: TaskComponents | None = None,
    ) -> None:
        super().__init__(LazyStore(store))
        self.registry = registry
        self._front = front
        self._dependencies = RunDependencies(adapters, config, front, workspace, prompts, hooks)
        self._tool_caller = tools
        self._task = task

    async def store(self) -> Store:
        """Return the runs' database, opened if it was not.

        :raises StoreError: it cannot be used; says why.
        """
        return await self._store.get()

    async def run(
        self, request: RunRequest, *, hooks: WorkflowHooks | None = None, front: FrontEnd | None = None
    ) -> WorkflowResult:
        """Run a workflow to its end. Failures are results, not exceptions.

        :param hooks: of this run, in place of the runner's; so is `front`.
        :raises asyncio.CancelledError: the caller was cancelled; the run is, too.
        """
        return await self._run(request, None, hooks, front=front)

    async def run_step(
        self, request: RunRequest, step: str, *, hooks: WorkflowHooks | None = None
    ) -> WorkflowResult:
        """Run one step, after those that it depends on; its result is the response. See `run`."""
        return await self.run(request.model_copy(update={"step": step}), hooks=hooks)

    async def run_text(
        self,
        request: RunRequest,
        text: str,
        format: TextFormat,  # noqa: A002 what everybody calls it
        *,
        machine: RunMachine | None = None,
    ) -> WorkflowResult:
        """Run a workflow that is given as text. Failures are results, not exceptions.

        :param request: its name is the workflow's.
        :param machine: an idle one that follows the run.
        :raises asyncio.CancelledError: the caller was cancelled; the run is, too.
        """
        read = partial(self.registry.parse, text, format, request.name)
        return await self._run(request, None, read=read, machine=machine)

    async def resume_run(
        self,
        execution_id: str,
        *,
        takeover_after: float = TAKE_OVER_AFTER,
        changed: Changed = "ask",
        machine: RunMachine | None = None,
        front: FrontEnd | None = None,
    ) -> WorkflowResult:
        """Continue a run where its last commit left it, to its end.

        Completed steps are not run again; steps that were running start again.

        :param takeover_after: seconds without a heartbeat after which a run of another machine is taken over.
        :param changed: what counts where the workflow's file is another one than the run began with.
        :param machine: an idle one that follows the run.
        :param front: in place of the runner's.
        :raises RunNotFound: no run has this id.
        :raises RunIsOwned: a living process is running it.
        :raises RunEnded: there is nothing left to do.
        :raises DefinitionChanged: the person has to say which definition counts.
        :raises TideateError: it cannot go on as it was; says why.
        :raises asyncio.CancelledError: the caller was cancelled; the run is, too.
        """
        return await self._resume(execution_id, None, takeover_after, changed, machine, front=front)

    async def fork_run(
        self,
        execution_id: str,
        step: str | None,
        edits: RunEdits,
        *,
        changed: Changed = "stored",
        or_whole: bool = False,
    ) -> WorkflowResult:
        """Run an ended run anew from a step on, as a new run that reuses what it does not depend on.

        The old run stays as it is, and what it wrote, too.

        :param step: None: the first that failed.
        :param changed: what counts where the workflow's file is another one than the run began with.
        :param or_whole: where no step is named and none failed, all of the run is run anew.
        :raises RunNotFound: no run has this id.
        :raises RunEnded: it has not ended.
        :raises InvalidInput: it cannot be forked there, or what the step needs was rolled back; says why.
        :raises TideateError: it cannot go on as it was; says why.
        :raises asyncio.CancelledError: the caller was cancelled; the run is, too.
        """
        from tideate_core.engine.forking import begin_fork, plan_fork

        store = await self._store.get()
        reader = store.reader()
        plan = await asyncio.to_thread(plan_fork, reader, execution_id, step, edits, or_whole=or_whole)
        notices = await begin_fork(store, plan, self.registry, self._front, self._dependencies, changed)
        return await self._resume(plan.request.execution_id, None, TAKE_OVER_AFTER, changed, notices=notices)

    async def check_fork(
        self,
        execution_id: str,
        step: str | None,
        edits: RunEdits,
        *,
        changed: Changed = "stored",
        or_whole: bool = False,
    ) -> None:
        """Refuse what `fork_run` would refuse, and a model without a key; nothing is begun.

        :raises TideateError: it could not begin, or its model not be asked; says why.
        """
        from tideate_core.engine.forking import check_fork, check_model, plan_fork

        store = await self._store.get()
        plan = await asyncio.to_thread(
            plan_fork, store.reader(), execution_id, step, edits, or_whole=or_whole
        )
        dependencies = self._dependencies
        *_, registration = await check_fork(store, plan, self.registry, self._front, dependencies, changed)
        await check_model(plan, registration, dependencies)

    async def review_again(self, execution_id: str, new_id: str | None = None) -> WorkflowResult:
        """Ask the declined question of an ended run again, as a new run that has what the model had made.

        The old run stays as it is.

        :param new_id: of the new run; None: any.
        :raises RunNotFound: no run has this id.
        :raises RunEnded: it has not ended.
        :raises InvalidInput: no question of it was declined; says why.
        :raises TideateError: it cannot go on as it was; says why.
        :raises asyncio.CancelledError: the caller was cancelled; the run is, too.
        """
        from tideate_core.engine.forking import RunEdits, begin_fork, plan_reopening

        store = await self._store.get()
        edits = RunEdits(execution_id=new_id)
        plan = await asyncio.to_thread(plan_reopening, store.reader(), execution_id, edits)
        notices = await begin_fork(store, plan, self.registry, self._front, self._dependencies, "stored")
        return await self._resume(plan.request.execution_id, None, TAKE_OVER_AFTER, "stored", notices=notices)

    def check_adapter(self, name: str) -> None:
        """Look for an adapter; nothing is asked or started.

        :raises UnknownAdapter: there is none of this name.
        """
        self._dependencies.adapters.get(name)

    async def preview(self, request: RunRequest) -> PromptPreview:
        """Return the first prompt of a run that is not begun; see `preview_prompt`."""
        return await preview_prompt(request, self.registry, self._prepare)

    async def restore_checkpoint(self, checkpoint_id: str) -> CheckpointRestoreDTO:
        """Make a new run that stands where the checkpoint was made; the old run stays as it is.

        :raises CheckpointNotFound: no checkpoint has this id, nor one that begins so.
        :raises StoreError: it cannot be written.
        """
        from tideate_core.engine.checkpoints import CheckpointManager

        return await CheckpointManager(await self._store.get()).restore(checkpoint_id)

    async def aclose(self) -> None:
        """Close the store; no run may be under way."""
        await self._store.close()

    async def _run(
        self,
        request: RunRequest,
        parent: ParentStep,
        hooks: WorkflowHooks | None = None,
        *,
        read: Callable[[], Registration] | None = None,
        machine: RunMachine | None = None,
        front: FrontEnd | None = None,
    ) -> WorkflowResult:
        preparation = Preparation(request, machine=machine)
        try:
            read = read or partial(self.registry.get, request.name, obfuscate=request.obfuscate)
            registration = preparation.parse(read)
            request = await continued_request(request, registration, self.store, self._dependencies.workspace)
            live = self._prepare(request, registration, parent, preparation, hooks=hooks, front=front)
        except TideateError as error:
            tell, nested = (front or self._front).emit, parent is not None
            return await preparation.refuse(error, self.store, tell, nested=nested)

        async def begin_and_drive() -> None:
            live.adapter  # noqa: B018 a run that nobody can answer is not begun
            store = await self._store.get()
            await live.open_in(store, stored_definition(registration))
            await live.drive()

        return await self._supervise(live, begin_and_drive())

    async def _resume(
        self,
        execution_id: str,
        parent: ParentStep,
        takeover_after: float,
        changed: Changed,
        machine: RunMachine | None = None,
        *,
        notices: Iterable[dict[str, Any]] = (),
        front: FrontEnd | None = None,
    ) -> WorkflowResult:
        self._refuse_twice(execution_id)
        store = await self._store.get()
        log = await store.adopt(execution_id, takeover_after=takeover_after)
        try:
            request, stored, recorded = await load_recorded_run(store, execution_id)
            preparation = Preparation(request, resumed=True, machine=machine)
            hide, asked = request.obfuscate, front or self._front
            registration = await definition_for(
                execution_id, stored, self.registry, changed=changed, front=asked, obfuscate=hide
            )
            workspace = self._dependencies.workspace(request)
            request = await rebind_buffer(request, workspace)
            live = self._prepare(request, registration, parent, preparation, recorded, front=front)
            live.execution.takeover_after = takeover_after
            live.adapter  # noqa: B018 a run that nobody can answer stays as it is
            await store_chosen_definition(store, stored, registration, live.execution)
            rolled_back: list[dict[str, Any]] = []
            if recorded.pending_end is None:  # else all of it is rolled back
                definition = registration.definition
                rolled_back = await roll_back_unfinished_steps(workspace, execution_id, recorded, definition)
        except BaseException:
            await release_lease(log)
            raise
        live.attach(log, store)
        return await self._supervise(live, live.drive((*notices, *rolled_back)))

    async def _run_nested(self, parent_id: str, step: str, request: RunRequest) -> WorkflowResult:
        """Run a workflow as a step of another: begin it, resume it, or return how it ended before.

        What it takes counts to its parent, too; what the request leaves open is as in the parent.

        :raises CannotGoOn: it has not ended, but does not go on now.
        """
        parent = self._running[parent_id]
        # it ends by itself when its parent is stopped, and so that its end is recorded
        with parent.task_group.unlimited_grace(step.partition("[")[0]):
            result = await self._begin_or_resume_nested(parent, step, request)
            parent.add_usage(step, result)
            return result

    async def _begin_or_resume_nested(
        self, parent: LiveRun, step: str, request: RunRequest
    ) -> WorkflowResult:
        store = await self._store.get()
        known = await find_run(store, request.execution_id) if parent.was_resumed else None
        if known is None:
            return await self._run(request.inheriting(parent.execution.request), (parent, step))
        if known.ended:
            return await parent.ended_within(store.reader(), known)
        try:
            return await self._resume(known.id, (parent, step), parent.execution.takeover_after, "stored")
        except TideateError as error:
            raise CannotGoOn(str(error), error.code) from error

    async def _supervise(self, live: LiveRun, drive: Coroutine[Any, Any, None]) -> WorkflowResult:
        """Drive a run in a task of its own, and record its end however the caller is cancelled."""
        execution = live.execution
        task = asyncio.create_task(drive, name=f"run {execution.id}")
        execution.drive_with(task)
        self._running[execution.id] = live
        cancelled = await wait_uncancelled(task, live.cancel_with_caller)
        try:
            await execution.close()
        finally:
            del self._running[execution.id]
            ending = asyncio.create_task(
                live.finish(task, partial(summary_place, self._store.get)), name=f"end {execution.id}"
            )
            cancelled = await wait_uncancelled(ending) or cancelled
            live.cancellation_notice.withdraw()
            live.over.set()
        if cancelled:
            raise asyncio.CancelledError
        result = ending.result()
        if live.parent and (execution.left or execution.stopped_by) and not result.cancelled:
            raise CannotGoOn(str(result.error), result.error_code)
        return result

    def _prepare(
        self,
        request: RunRequest,
        registration: Registration,
        parent: ParentStep,
        preparation: Preparation,
        recorded: RecordedRun | None = None,
        *,
        hooks: WorkflowHooks | None = None,
        front: FrontEnd | None = None,
    ) -> LiveRun:
        """Return a run that can start, as far as can be told before it does.

        :raises TideateError: it cannot; says why.
        """
        self._refuse_twice(request.execution_id)
        definition, dependencies = registration.definition, self._dependencies
        if front is not None:
            dependencies = replace(dependencies, front=front)
        recorder = recorder_of(
            request.execution_id, dependencies.front, hooks or dependencies.hooks, recorded
        )
        own_hooks = driver_hooks(definition.name, registration.kind, registration.source)
        services = Services(
            definition.name,
            recorder.event,
            partial(self._run_nested, request.execution_id),
            self.registry,
            self._tool_caller,
            asks_person(request, definition, dependencies.config),
            self._store.get,
            self._task,
            partial(gives_prompt, definition, request.prompt),
        )

        def make_driver() -> Driver:
            check_inputs(definition, request, dependencies.config.limits)
            if recorded is None:
                refuse_unknown(definition, request.inputs)
            if recorded is None and parent is None:
                refuse_unread_prompt(definition, request.prompt, takes_prompt=own_hooks.takes_prompt)
            return driver_for(registration, request, dependencies.config, services)

        driver = preparation.validate(make_driver)
        inputs = typed_inputs(definition, request.inputs)
        preparation.build_graph(driver)
        around = parent[0].execution if parent else None
        return LiveRun(
            Execution(request, definition, driver, inputs, around, preparation.machine),
            dependencies,
            recorder,
            gated=services.gated,
            hooks=own_hooks,
            offer=Offering(services),
            recorded=recorded,
            parent=parent,
        )
