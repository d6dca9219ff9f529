"""Runner: start, resume, fork, nest, control and supervise runs; every run is reported to its end."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from tideate_core.engine.begin import prepare, read_workflow, refuse, restore_workflow
from tideate_core.engine.context.context import Context
from tideate_core.engine.context.memory import Ledger
from tideate_core.engine.past import (
    definition_for,
    find_run,
    load_recorded_run,
    recorded_result,
    release_lease,
)
from tideate_core.engine.recorder import now_ms
from tideate_core.engine.run import Run
from tideate_core.errors import InvalidInput, RunNotFound, StoreError, TideateError
from tideate_core.store import TAKEOVER_AFTER
from tideate_core.util.uncancelled import wait_uncancelled

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Sequence

    from tideate_core.adapters import AdapterPool, OfferedTool, Reply
    from tideate_core.config import Config
    from tideate_core.engine.events import Event, FrontEnd, WorkflowHooks
    from tideate_core.engine.fork.checkpoints import CheckpointRestoreDTO
    from tideate_core.engine.fork.forking import RunEdits
    from tideate_core.engine.orchestrator import TaskComponents
    from tideate_core.engine.past import Changed, Workflows
    from tideate_core.engine.preview import PromptPreview
    from tideate_core.engine.request import RunRequest, WorkflowResult
    from tideate_core.mcp.client import MCPClient
    from tideate_core.store import CheckpointRow, Store
    from tideate_core.workflows import PromptLibrary, Registration, TextFormat
    from tideate_core.workspace import Workspace


class CannotGoOn(StoreError):
    """A nested run cannot continue now; it and the run around it have not ended and can be resumed.

    :param code: the code of the error that is in its way.
    """

    def __init__(self, message: str, code: str | None) -> None:
        super().__init__(message)
        self._code = code

    @property
    def code(self) -> str:
        return self._code or super().code


class WorkflowRunner:
    """Executes workflows concurrently, and controls the runs that are active.

    :param workspace: called once for a run.
    :param store: opens the runs' database; called in a thread when the first run begins.
    :param tools: calls tools of MCP servers; None: there are no servers.
    :param task: the components of tasks; None: the built-in ones.
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
        tools: MCPClient | None = None,
        task: TaskComponents | None = None,
    ) -> None:
        self.registry = registry
        self.adapters = adapters
        self.config = config
        self.front = front
        self.workspace = workspace
        self.prompts = prompts
        self.hooks = hooks
        self.tools = tools
        self.task = task
        self._store = LazyStore(store)
        self._active: dict[str, Run] = {}

    async def store(self) -> Store:
        """Return the runs' database, opened on demand.

        :raises StoreError: it cannot be used; says why.
        """
        return await self._store.get()

    async def aclose(self) -> None:
        """Close the store; no run may be active."""
        await self._store.close()

    # -- starting and resuming --------------------------------------------------------------------------

    async def run(
        self, request: RunRequest, *, hooks: WorkflowHooks | None = None, front: FrontEnd | None = None
    ) -> WorkflowResult:
        """Run a workflow to its end. Failures are results, not exceptions.

        :param hooks: for this run, instead of the runner's; so is `front`.
        :raises asyncio.CancelledError: the caller was cancelled, and so was the run.
        """
        run = Run(self, request, hooks=hooks, front=front)
        return await self._refused(run) or await self._supervise(run, run.execute())

    async def run_step(
        self, request: RunRequest, step: str, *, hooks: WorkflowHooks | None = None
    ) -> WorkflowResult:
        """Run one step and the steps that it depends on; its result is the response. See `run`."""
        return await self.run(request.model_copy(update={"step": step}), hooks=hooks)

    async def run_text(
        self,
        request: RunRequest,
        text: str,
        format: TextFormat,  # noqa: A002 the usual name
        *,
        on_run: Callable[[Run], None] = lambda _run: None,
    ) -> WorkflowResult:
        """Run a workflow that is given as text. Failures are results, not exceptions.

        :param request: names the workflow.
        :param on_run: called with the run before it starts.
        :raises asyncio.CancelledError: the caller was cancelled, and so was the run.
        """
        run = Run(self, request)
        on_run(run)
        read = partial(self.registry.parse, text, format, request.name)
        return await self._refused(run, read) or await self._supervise(run, run.execute())

    async def resume_run(
        self,
        execution_id: str,
        *,
        takeover_after: float = TAKEOVER_AFTER,
        changed: Changed = "ask",
        adapter: str | None = None,
        front: FrontEnd | None = None,
        parent: Run | None = None,
        parent_step: str = "",
        notices: Iterable[dict[str, Any]] = (),
        on_run: Callable[[Run], None] = lambda _run: None,
    ) -> WorkflowResult:
        """Continue a run where its last commit left it, to its end.

        Completed steps are not run again; steps that were running start again.

        :param takeover_after: seconds without a heartbeat after which another machine's run is taken over.
        :param changed: the definition that counts if the workflow's file changed since the run began.
        :param adapter: for the rest of the run; None: the one that it had.
        :param front: instead of the runner's.
        :param parent: the run whose step `parent_step` it is.
        :param notices: shown first.
        :param on_run: called with the run before it continues.
        :raises RunNotFound: no run has this id.
        :raises RunIsOwned: a living process is running it.
        :raises RunEnded: there is nothing left to do.
        :raises DefinitionChanged: the person has to say which definition counts.
        :raises TideateError: it cannot continue; says why.
        :raises asyncio.CancelledError: the caller was cancelled, and so was the run.
        """
        from tideate_core.engine.recovery import (
            rebind_buffer,
            roll_back_unfinished_steps,
            steps_once,
            store_chosen_definition,
        )

        self._refuse_active(execution_id)
        store = await self._store.get()
        log = await store.adopt(execution_id, takeover_after=takeover_after)
        try:
            request, stored, recorded = await load_recorded_run(store, execution_id)
            registration = await definition_for(
                execution_id,
                stored,
                self.registry,
                changed=changed,
                front=front or self.front,
                obfuscate=request.obfuscate,
                opened=request.opened,
            )
            workspace = self.workspace(request)
            request = await rebind_buffer(request, workspace)
            run = Run(self, request, front=front, recorded=recorded, parent=parent, parent_step=parent_step)
            if parent is None or (parent.recorded and parent.recorded.adapter == recorded.adapter):
                run.chosen_adapter = adapter
            on_run(run)
            run.takeover_after = takeover_after
            restore_workflow(run, registration)
            self._refuse_active(execution_id)
            prepare(run)
            run.adapter  # noqa: B018 without an adapter the stored run stays as it is
            await store_chosen_definition(store, stored, run)
            rolled_back: list[dict[str, Any]] = []
            if recorded.pending_end is None:  # otherwise all of it is rolled back
                finished = recorded.finished | steps_once(registration.definition)
                rolled_back = await roll_back_unfinished_steps(workspace, execution_id, finished)
        except BaseException:
            await release_lease(log)
            raise
        run.attach(log, store)
        return await self._supervise(run, run.execute((*notices, *rolled_back)))

    async def fork_run(
        self,
        execution_id: str,
        step: str | None,
        edits: RunEdits,
        *,
        changed: Changed = "stored",
        or_whole: bool = False,
    ) -> WorkflowResult:
        """Rerun an ended run from a step on, as a new run that reuses the results before it.

        The old run and its changes stay.

        :param step: None: the first that failed.
        :param changed: the definition that counts if the workflow's file changed since.
        :param or_whole: rerun the whole run if no step is named and none failed.
        :raises RunNotFound: no run has this id.
        :raises RunEnded: the run has not ended.
        :raises InvalidInput: it cannot be forked there, or a change that the step needs was rolled back.
        :raises TideateError: it cannot continue; says why.
        :raises asyncio.CancelledError: the caller was cancelled; the run is, too.
        """
        from tideate_core.engine.fork.forking import begin_fork, plan_fork

        store = await self._store.get()
        plan = await asyncio.to_thread(
            plan_fork, store.reader(), execution_id, step, edits, or_whole=or_whole
        )
        notices = await begin_fork(self, store, plan, changed)
        return await self.resume_run(plan.request.execution_id, changed=changed, notices=notices)

    async def check_fork(
        self,
        execution_id: str,
        step: str | None,
        edits: RunEdits,
        *,
        changed: Changed = "stored",
        or_whole: bool = False,
    ) -> None:
        """Check whether `fork_run` could begin and its model has a key; nothing is begun.

        :raises TideateError: it could not; says why.
        """
        from tideate_core.engine.fork.forking import check_fork, check_model, plan_fork

        store = await self._store.get()
        plan = await asyncio.to_thread(
            plan_fork, store.reader(), execution_id, step, edits, or_whole=or_whole
        )
        *_, registration = await check_fork(self, store, plan, changed)
        await check_model(self, plan, registration)

    async def review_again(self, execution_id: str, new_id: str | None = None) -> WorkflowResult:
        """Ask the declined question of an ended run again, as a new run with the model's work.

        The old run stays.

        :param new_id: the id of the new run; None: a random one.
        :raises RunNotFound: no run has this id.
        :raises RunEnded: the run has not ended.
        :raises InvalidInput: none of its questions was declined.
        :raises TideateError: it cannot continue; says why.
        :raises asyncio.CancelledError: the caller was cancelled; the run is, too.
        """
        from tideate_core.engine.fork.forking import RunEdits, begin_fork, plan_reopening

        store = await self._store.get()
        edits = RunEdits(execution_id=new_id)
        plan = await asyncio.to_thread(plan_reopening, store.reader(), execution_id, edits)
        notices = await begin_fork(self, store, plan, "stored")
        return await self.resume_run(plan.request.execution_id, changed="stored", notices=notices)

    async def run_nested(self, parent: Run, step: str, request: RunRequest) -> WorkflowResult:
        """Begin a nested run, resume it, or return how it ended in an earlier process; see `Run.nest`.

        :raises CannotGoOn: it has not ended, but cannot continue now.
        """
        store = await self._store.get()
        known = await find_run(store, request.execution_id) if parent.recorded is not None else None
        if known is None:
            own, request = request.adapter, request.inheriting(parent.request)
            if parent.recorded is not None and own is None:
                kept = parent.chosen_adapter or request.adapter or parent.adapter_elsewhere
                request = request.model_copy(update={"adapter": kept})
            run = Run(self, request, parent=parent, parent_step=step)
            return await self._refused(run) or await self._supervise(run, run.execute())
        if known.ended:
            reader = store.reader()
            memos = await asyncio.to_thread(reader.memos, known.id)
            parent.memory.ledger.open_within(known.id, Ledger(memos))
            return await asyncio.to_thread(recorded_result, reader, known)
        try:
            return await self.resume_run(
                known.id,
                parent=parent,
                parent_step=step,
                adapter=parent.chosen_adapter,
                takeover_after=parent.takeover_after,
                changed="stored",
            )
        except TideateError as error:
            raise CannotGoOn(str(error), error.code) from error

    async def offered_tools(self, step: Context, names: Sequence[str]) -> list[OfferedTool]:
        """Return tools of MCP servers for a step's model; see `ServerCalls.offer`."""
        from tideate_core.engine.tools import ServerCalls

        return await ServerCalls(step, f"the tools {', '.join(names)}").offer(names)

    async def preview(self, request: RunRequest) -> PromptPreview:
        """Return the first prompt of a run that is not begun; see `preview_prompt`."""
        from tideate_core.engine.preview import preview_prompt

        return await preview_prompt(self, request)

    async def restore_checkpoint(self, checkpoint_id: str) -> CheckpointRestoreDTO:
        """Make a new run that stands at the checkpoint; the old run stays.

        :raises CheckpointNotFound: no checkpoint has this id or prefix.
        :raises StoreError: it cannot be written.
        """
        from tideate_core.engine.fork.checkpoints import CheckpointManager

        return await CheckpointManager(await self._store.get()).restore(checkpoint_id)

    async def record_refused(
        self, request: RunRequest, error: TideateError, tell: Callable[[Event], None] | None = None
    ) -> None:
        """Record the refused run of a broken workflow in the history.

        :param error: the mistake in the workflow.
        :param tell: receives the events.
        """
        from tideate_core.engine.policy import PolicyFrontEnd

        def read() -> Registration:
            raise error

        await self._refused(Run(self, request, front=PolicyFrontEnd(accept=None, sink=tell)), read)

    async def _refused(
        self, run: Run, read: Callable[[], Registration] | None = None
    ) -> WorkflowResult | None:
        """Prepare a new run; return its result if it cannot start.

        :param read: reads the workflow; None: the registry looks it up by name.
        """
        request = run.request
        try:
            read_workflow(run, read or partial(self.registry.get, request.name, obfuscate=request.obfuscate))
            if request.continues is not None:
                from tideate_core.engine.context.continuation import continued_request

                run.request = await continued_request(request, run.registration, self.store, self.workspace)
            self._refuse_active(run.id)
            prepare(run)
        except TideateError as error:
            return await refuse(run, error)
        return None

    async def _supervise(self, run: Run, execution: Coroutine[Any, Any, None]) -> WorkflowResult:
        """Execute a run in a task of its own, and record its end even if the caller is cancelled."""
        task = asyncio.create_task(execution, name=f"run {run.id}")
        run.drive_with(task)
        self._active[run.id] = run
        cancelled = await wait_uncancelled(task, run.cancel_with_caller)
        # imported here: nothing of it is needed before the first end
        from tideate_core.engine.ending import finish

        try:
            await run.close()
        finally:
            del self._active[run.id]
            ending = asyncio.create_task(finish(run, task), name=f"end {run.id}")
            cancelled = await wait_uncancelled(ending) or cancelled
            run.forget_delay()
            run.over.set()
        if cancelled:
            raise asyncio.CancelledError
        result = ending.result()
        if run.parent is not None and (run.left or run.stopped_by) and not result.cancelled:
            raise CannotGoOn(str(result.error), result.error_code)
        return result

    # -- controls of active runs ------------------------------------------------------------------------

    @property
    def running(self) -> list[Run]:
        """The active runs, newest first."""
        return list(reversed(self._active.values()))

    def execution(self, execution_id: str) -> Run:
        """Return an active run.

        :raises RunNotFound: no active run has this id.
        """
        if execution_id not in self._active:
            raise RunNotFound(execution_id)
        return self._active[execution_id]

    def cancel(self, execution_id: str | None = None) -> list[str]:
        """Cancel an active run, or all of them; return the ids.

        :raises RunNotFound: no active run has this id.
        """
        runs = [self.execution(execution_id)] if execution_id else list(self._active.values())
        for run in runs:
            run.cancel()
        return [run.id for run in runs]

    def pause(self, execution_id: str) -> None:
        """Stop a run before its next step.

        :raises RunNotFound: no active run has this id.
        """
        self.execution(execution_id).pause()

    def resume(self, execution_id: str) -> None:
        """Continue a paused run.

        :raises RunNotFound: no active run has this id.
        """
        self.execution(execution_id).resume()

    async def say(self, execution_id: str | None, text: str) -> str:
        """Tell a run's model something, see `Run.send`; return the run's id.

        :param execution_id: None: the newest run that is not nested.
        :raises RunNotFound: no active run has this id.
        """
        newest = (run.id for run in self.running if run.parent is None)
        run = self.execution(execution_id or next(newest, ""))
        await run.send(text)
        return run.id

    def leave(self, execution_id: str | None = None) -> list[str]:
        """Stop a run, or all, without an end, so that they can be resumed; return the ids.

        :param execution_id: the run that contains it, and those compared with that one, are left.
        :raises RunNotFound: no active run has this id.
        """
        left = list(self._active)
        if execution_id is not None:
            outermost = self.execution(execution_id).outermost
            left = [run for run in outermost.request.compared if run in self._active] or [outermost.id]
        for run in left:
            self.execution(run).leave()
        return left

    async def wait_until_over(self, runs: Iterable[str]) -> None:
        """Wait until runs are inactive and the store has their ends."""
        for run in [self._active[run] for run in runs if run in self._active]:
            await run.over.wait()

    async def persist_checkpoint(self, execution_id: str) -> CheckpointRow:
        """Make a checkpoint of an active run.

        :raises RunNotFound: no active run has this id.
        :raises StoreError: it cannot be written.
        """
        run = self.execution(execution_id)
        store = await self._store.get()
        row = await run.checkpoint(store.checkpoint(execution_id, at=now_ms()))
        run.report_checkpoint(row)
        return row

    async def ask(self, execution_id: str, step: str, prompt: str, system: str = "") -> Reply:
        """Ask a run's adapter on behalf of a handler that lives in the front end.

        :raises RunNotFound: no active run has this id.
        """
        from tideate_core.adapters import Prompt

        run = self.execution(execution_id)
        return await run.run_owned(Context(run, step).ask(Prompt(prompt, system)))

    def _refuse_active(self, execution_id: str) -> None:
        if execution_id in self._active:
            raise InvalidInput(f"a run with the id {execution_id!r} is under way")


class LazyStore:
    """Store that is opened in a thread on demand, and again after a failure or if its file was replaced.

    :param open_store: blocking.
    """

    def __init__(self, open_store: Callable[[], Store]) -> None:
        self._open = open_store
        self._opening: asyncio.Task[Store] | None = None

    async def get(self) -> Store:
        """Return the store.

        :raises StoreError: it cannot be opened.
        """
        opening = self._opening
        if opening is None or (opening.done() and (opening.cancelled() or opening.exception())):
            opening = self._opening = asyncio.create_task(
                asyncio.to_thread(self._open), name="open the store"
            )
        elif opening.done():
            store = opening.result()
            if not store.is_gone:
                return store
            opening = self._opening = asyncio.create_task(
                asyncio.to_thread(self._reopen, store), name="reopen the store"
            )
        # shielded: other callers wait for it, and a store that no caller gets would never be closed
        return await asyncio.shield(opening)

    async def close(self) -> None:
        """Close the store if it was opened."""
        opening, self._opening = self._opening, None
        if opening is None:
            return
        await asyncio.wait({opening})
        if not opening.cancelled() and opening.exception() is None:
            await asyncio.to_thread(opening.result().close)

    def _reopen(self, gone: Store) -> Store:
        gone.close()
        return self._open()
