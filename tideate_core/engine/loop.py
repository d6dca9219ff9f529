"""Execution of a run's steps: queue, start, retry, pause, skip; replay of recorded ones."""

from __future__ import annotations

import asyncio
import heapq
import time
from typing import TYPE_CHECKING, Any

from tideate_core.engine.context.context import Context
from tideate_core.engine.driver import Settled
from tideate_core.engine.events import ConfirmationRequest, EventName, error_fields, failure_fields
from tideate_core.engine.past import RecordedFailure
from tideate_core.engine.step import FATAL, accept, check_result, confirmed, wait_before, wanted
from tideate_core.errors import EditConflict, OutputMismatch, StoreError, WorkflowError
from tideate_core.machines import ExecutionEvent, ExecutionState
from tideate_core.workflows import MOST_CONCURRENT, Confirm, Declined, WorkflowDefinition, persons_time

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tideate_core.config import LimitsConfig
    from tideate_core.engine.driver import Work
    from tideate_core.engine.past import RecordedRun
    from tideate_core.engine.run import Run
    from tideate_core.workflows import MachineWorkflow


class TaskQueue:
    """Queue of pending work items, ordered by priority, with a limit on running items.

    An exclusive item starts when nothing else runs, and nothing starts beside it; no item overtakes an
    exclusive one that is first in line.

    :param concurrency: the number of items that run at once, at least 1.
    """

    def __init__(self, concurrency: int) -> None:
        if concurrency < 1:
            raise ValueError(f"concurrency is {concurrency}; at least 1 work must be able to start")
        self._concurrency = concurrency
        self._heap: list[tuple[float, int, Work]] = []
        self._count = 0
        self._running: set[str] = set()
        self._alone = False

    def __len__(self) -> int:
        """Return the number of pending items."""
        return len(self._heap)

    @property
    def running(self) -> int:
        """The number of running steps."""
        return len(self._running)

    @property
    def first(self) -> Work | None:
        """The item that starts next; None if none is pending."""
        return self._heap[0][2] if self._heap else None

    def put(self, work: Work) -> None:
        """Add an item; of equal priorities, the first added goes first."""
        heapq.heappush(self._heap, (-work.priority, self._count, work))
        self._count += 1

    def drain(self) -> list[Work]:
        """Remove and return the pending items, in order."""
        works = [work for _, _, work in sorted(self._heap)]
        self._heap.clear()
        return works

    def take(self) -> Work | None:
        """Start the next item that may run now and return it; None if none may."""
        if not self._heap or self._alone or len(self._running) >= self._concurrency:
            return None
        work = self._heap[0][2]
        if work.exclusive and self._running:
            return None
        heapq.heappop(self._heap)
        self._running.add(work.step)
        self._alone = work.exclusive
        return work

    def done(self, work: Work) -> None:
        """Free the place of a finished item; ignored for an item that has none."""
        if work.step in self._running:
            self._running.remove(work.step)
            self._alone = False


class TaskExecutor:
    """Executes the steps of one run and reports them; the driver decides which may start."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._driver = run.driver
        self._recorder = run.recorder
        self._task_group = run.task_group
        self._queue = TaskQueue(concurrency_of(run.definition, run.runner.config.limits))
        self._impossible: list[Work] = []
        self._attempts = run.recorded.attempts if run.recorded else {}
        """Failed attempts of earlier processes, by step."""
        self._interrupted = run.recorded.running if run.recorded else frozenset[str]()
        """Steps that were running when an earlier process ended."""
        self._begun: dict[str, float] = {}
        """Time at which running steps began, of the monotonic clock."""

    async def execute_steps(self) -> None:
        """Execute the steps that are left.

        :raises Declined: the person declined.
        :raises Exception: the error of a step.
        """
        run, driver = self._run, self._driver
        if run.recorded is None:
            self._admit(driver.ready_steps())
        else:
            await self._replay(run.recorded)
        await self._pause()
        run.move(ExecutionEvent.EXECUTE_STEP_BATCH)
        run.on_resume = self._start_after_pause
        while driver.has_more:  # false at once if earlier processes did everything
            if not self._queue and not self._impossible:
                raise WorkflowError(
                    f"{run.definition.name}: no step can start, though not all of them have ended"
                )
            try:
                self._start_ready()
                await self._task_group.wait()
            except Exception as error:
                if run.cancel_wanted:  # even if a step turned its cancellation into an error
                    raise asyncio.CancelledError from error
                if run.failed:
                    await self._skip_the_rest({})
                    run.move(ExecutionEvent.ALL_STEPS_COMPLETED)
                raise
            if driver.has_more:
                run.move(ExecutionEvent.BATCH_COMPLETED)
                await self._pause()
                run.move(ExecutionEvent.EXECUTE_STEP_BATCH)
        run.move(ExecutionEvent.ALL_STEPS_COMPLETED)

    # -- one step ---------------------------------------------------------------------------------------

    async def execute(self, work: Work) -> tuple[Settled, Exception | None, Context]:
        """Execute a step; return how it ended, its error if it failed, and the context of its last attempt.

        :raises Declined: the person declined.
        :raises StoreError: it cannot be recorded.
        :raises Exception: a machine's state could not even begin.
        """
        # the questions before a step belong to its first attempt, so that a later one does not ask again
        context = Context(self._run, work.step, 1, work.step_definition)
        try:
            if (skipped := await self._enter(work, context)) is not None:
                return skipped, None, context
            attempt = self._attempts.get(work.step, 0) + 1
            while True:
                if attempt > 1:
                    files = context.files
                    context = Context(self._run, work.step, attempt, work.step_definition)
                    context.files = files
                await self._recorder.started(work, attempt)
                try:
                    value = await self._attempt(work, context)
                except Exception as error:  # noqa: BLE001 raised again if there is no next attempt
                    await self._before_next(work, attempt, error)
                    attempt += 1
                else:
                    return self._completed(work, value, context), None, context
        except Declined:
            self._report_time(work, success=False, declined=True)
            raise
        except StoreError:
            raise  # a step that cannot be recorded has not failed
        except Exception as error:
            # a state is not entered only to fail in it
            if work.step not in self._begun and work.step_definition is None:
                raise
            return self._failed(work, error, context), error, context

    async def _enter(self, work: Work, context: Context) -> Settled | None:
        """Begin a step that is wanted and permitted; return the end of one that is skipped."""
        interrupted, step = work.step in self._interrupted, work.step_definition
        if interrupted and not work.idempotent:
            await self._confirm_second_run(work)
        if step is not None and not wanted(step, context):
            return self._skip(work, f"its condition does not hold: {step.when}")
        if self._run.gated:
            await self._permit(work, context)
        self._begin(work, interrupted=interrupted)
        return None

    def _skip(self, work: Work, reason: str) -> Settled:
        self._recorder.event(EventName.STEP_SKIPPED, {**work.event_data, "reason": reason})
        return Settled(work.step, "skipped")

    async def _permit(self, work: Work, context: Context) -> None:
        """Ask the person before the step starts, if the driver or the definition wants that."""
        question, step = work.question, work.step_definition
        if question is not None:
            details, payload = question.details, question.payload
            accept(await context.confirm("gate", question.message, details=details, payload=payload))
        if step is not None and step.confirm is not None:
            # imported here: templates are slow to load and rarely needed
            from tideate_core.workflows import render_task

            accept(await context.confirm("gate", render_task(step.confirm, context.values())))

    def _begin(self, work: Work, *, interrupted: bool = False) -> None:
        run = self._run
        with self._recorder.silenced(interrupted):  # the driver reported it in an earlier process
            run.driver.begin_step(work)
        run.begun.add(work.step)
        self._recorder.status(run.machine.state, work.step)
        self._recorder.event(EventName.STEP_STARTED, work.event_data)
        self._begun[work.step] = time.monotonic()

    async def _attempt(self, work: Work, context: Context) -> Any:
        step = work.step_definition
        timeout = step.timeout if step is not None else None
        outcome = await self._task_group.handle(work.step, work.handler(context), timeout, context.abandon)
        value = check_result(work, outcome.value if isinstance(outcome, Confirm) else outcome)
        return await confirmed(context, outcome, value, gated=self._run.gated)

    async def _before_next(self, work: Work, attempt: int, error: Exception) -> None:
        """Wait until the next attempt is due.

        :raises Exception: the error, if there is no next attempt.
        """
        step = work.step_definition
        if step is None or attempt > step.retries or isinstance(error, FATAL):
            raise error
        wait = wait_before(step, attempt, error)
        data = {**work.event_data, "attempt": attempt, "wait_ms": wait, **failure_fields(error)}
        self._run.memory.failed(work.step, attempt, str(error) if isinstance(error, OutputMismatch) else "")
        self._recorder.event(EventName.STEP_RETRYING, data)
        await asyncio.sleep(wait / 1000)

    def _completed(self, work: Work, value: Any, context: Context) -> Settled:
        duration = self._elapsed(work)
        self._run.move(ExecutionEvent.STEP_COMPLETED)
        data = {**work.event_data, "duration_ms": duration, "result": value}
        self._recorder.event(EventName.STEP_COMPLETED, data)
        self._report_time(work, success=True)
        return Settled(
            work.step,
            "completed",
            value,
            duration_ms=duration,
            usage=context.usage,
            files=tuple(context.files),
        )

    def _failed(self, work: Work, error: Exception, context: Context) -> Settled:
        if work.step not in self._begun:
            self._begin(work)
        self._run.move(ExecutionEvent.STEP_FAILED)
        self._recorder.event(
            EventName.STEP_FAILED, {**work.event_data, **failure_fields(error), **_refused_at(error)}
        )
        duration = self._elapsed(work)
        self._report_time(work, success=False, declined=False)
        return Settled(
            work.step,
            "failed",
            **error_fields(error),
            duration_ms=duration,
            usage=context.usage,
            files=tuple(context.files),
        )

    def _elapsed(self, work: Work) -> int:
        """Return the milliseconds since the step began."""
        return round((time.monotonic() - self._begun[work.step]) * 1000)

    def _report_time(self, work: Work, **end: bool) -> None:
        """Report how long the step took, if it began; it runs no longer."""
        if work.step in self._begun:
            data = {"step": work.step, "duration_ms": self._elapsed(work), **end}
            del self._begun[work.step]
            self._recorder.event(EventName.STEP_EXECUTED, data)

    async def _confirm_second_run(self, work: Work) -> None:
        """Ask whether to repeat a step that must not run twice; each crash is a question of its own.

        :raises Declined: the person declined.
        """
        from tideate_core.engine.recovery import roll_back_unfinished_steps

        run, name = self._run, self._run.definition.name
        message = (
            f"{name}: the process ended while the step {work.step!r} was running. It may have done its work, "
            "and says of itself that it must not be done twice. Run it again?"
        )
        request = ConfirmationRequest(run.id, name, work.step, "gate", message, work.task, None)
        place = {"step": work.step, "kind": "gate"}
        self._recorder.event(EventName.CONFIRMATION_REQUIRED, {**place, "message": message})
        with persons_time():
            decision = await run.front.confirm(request)
        self._recorder.event(EventName.CONFIRMATION_ANSWERED, {**place, "accepted": decision.accepted})
        accept(decision)
        assert run.recorded is not None  # noqa: S101 the step was interrupted in an earlier process
        for notice in await roll_back_unfinished_steps(
            run.workspace, run.id, run.recorded.finished, only=work.step
        ):
            self._recorder.event(EventName.NOTICE, notice)

    # -- replay -----------------------------------------------------------------------------------------

    async def _replay(self, recorded: RecordedRun) -> None:
        """Tell the driver how recorded steps ended; they are neither executed nor reported again.

        :raises RecordedFailure: a step failed without which the run does not continue.
        """
        left = len(recorded.settled)
        failure: RecordedFailure | None = None
        while works := self._driver.ready_steps():
            for work in works:
                settled = recorded.settled.get(work.step)
                if settled is None:
                    self._admit([work])
                    continue
                left -= 1
                try:
                    # a choice after the last of them was perhaps never made
                    await self._replay_step(work, settled, silent=left > 0 or bool(recorded.running))
                except RecordedFailure as error:
                    failure = failure or error
        if failure is not None:  # skip the other ready steps, unless that was done before the crash
            self._run.step = failure.step
            await self._skip_the_rest(recorded.settled)
            raise failure

    async def _replay_step(self, work: Work, settled: Settled, *, silent: bool) -> None:
        """Tell the driver how one recorded step ended.

        :param silent: its consequences were reported, too.
        """
        self._run.step = work.step
        self._run.settle(settled)
        if settled.status != "skipped":
            with self._recorder.silenced():
                self._driver.begin_step(work)
        with self._recorder.silenced(silent):
            await self._advance_driver(work, settled)

    # -- order ------------------------------------------------------------------------------------------

    def _admit(self, works: list[Work]) -> None:
        for work in works:
            if work.impossible:
                self._impossible.append(work)
            else:
                self._queue.put(work)

    async def _pause(self) -> None:
        run, first = self._run, self._queue.first
        if first is None or not run.pause_wanted:
            return
        run.move(ExecutionEvent.PAUSE_WORKFLOW)
        await self._recorder.durable_event(EventName.WORKFLOW_PAUSED, {"step": first.step})
        await run.resumed()
        run.move(ExecutionEvent.RESUME_WORKFLOW)
        await self._recorder.flush()
        self._recorder.event(EventName.WORKFLOW_RESUMED, {"step": first.step})

    def _start_after_pause(self) -> None:
        """Start the steps that a pause held back, if others are still running."""
        if len(self._task_group) and not self._run.cancel_wanted:
            self._start_ready()

    def _start_ready(self) -> None:
        """Start the steps that may start now."""
        while work := self._next():
            self._task_group.start(self._execute(work))

    def _next(self) -> Work | None:
        """Return the next step that may start now; skip the impossible ones."""
        if not self._task_group.accepts:
            return None
        while self._impossible:
            self._task_group.start(self._skip_impossible(self._impossible.pop()))
        work = None if self._run.pause_wanted else self._queue.take()
        if work is not None:
            self._run.step = work.step
        return work

    async def _execute(self, work: Work | None) -> None:
        """Execute a step, and after it, in the same task, one of the steps that waited for it."""
        while work is not None:
            try:
                settled, error, context = await self.execute(work)
            except Declined:
                self._run.step = work.step
                raise
            except StoreError:
                self._run.left = True
                raise
            finally:
                self._queue.done(work)
            self._start_ready()  # a step that waits for a place need not wait for the disk
            work = await self._settle(work, settled, error, context)

    async def _skip_impossible(self, work: Work) -> None:
        await self._execute(await self._settle(work, self._skip(work, work.impossible)))

    async def _settle(
        self, work: Work, settled: Settled, error: Exception | None = None, context: Context | None = None
    ) -> Work | None:
        """Record the end of a step, then start the steps that waited for it; return one for this task.

        :param error: of a failed step.
        :param context: of its last attempt.
        """
        run, driver = self._run, self._driver
        try:
            await self._recorder.settled(settled)
        except StoreError:
            run.left = True  # the step has not ended, nor have the runs within it
            raise
        except asyncio.CancelledError:
            run.settle(settled)  # a recorded end counts, even if the run was cancelled meanwhile
            raise
        run.settle(settled)
        batch = driver.batches_done
        await self._advance_driver(work, settled, error, context)
        next_batch = driver.batches_done > batch and self._may_begin_batch()
        if next_batch:
            run.machine.require(ExecutionEvent.BATCH_COMPLETED)  # not stored: the run never rests in between
        self._admit(driver.ready_steps())
        following = self._next()
        self._start_ready()
        if next_batch:
            run.machine.require(ExecutionEvent.EXECUTE_STEP_BATCH)
        await run.pause_if_still()
        return following

    def _may_begin_batch(self) -> bool:
        """Tell whether steps of the next batch start now; otherwise a pause or the run ends the batch."""
        run = self._run
        awaiting = run.state_without_checkpoint is ExecutionState.AWAITING_COMPLETION
        return awaiting and self._task_group.accepts and not run.pause_wanted and self._driver.has_more

    async def _advance_driver(
        self, work: Work, settled: Settled, error: Exception | None = None, context: Context | None = None
    ) -> None:
        """Tell the driver how a step ended.

        :raises Exception: the step failed, and the run does not continue without it.
        """
        run, driver = self._run, self._driver
        if settled.status == "skipped":
            driver.skip_step(work)
        elif settled.status == "completed":
            context = context or Context(run, work.step, 1, work.step_definition)
            await driver.complete_step(work, settled.value, context)
        elif await driver.fail_step(work, settled):
            run.continue_without(settled)
        else:
            run.step = work.step
            run.failed.add(work.step)
            raise error or RecordedFailure(settled)
        run.memory.release(work.step)

    async def _skip_the_rest(self, ended: Mapping[str, Settled]) -> None:
        """Skip the steps that can never run because the run failed.

        :param ended: the steps that had ended in an earlier process.
        """
        rest = [*self._impossible, *self._queue.drain(), *self._driver.unstarted_steps()]
        works = [work for work in rest if work.step not in ended]
        for work in rest:
            if work.step in ended:
                self._run.settle(ended[work.step])
        reason = f"the run failed in the step {self._run.step!r}"
        skipped = [self._skip(work, reason) for work in works]
        await asyncio.gather(*map(self._recorder.settled, skipped))
        for settled in skipped:
            self._run.settle(settled)


def _refused_at(error: Exception) -> dict[str, Any]:
    """Return the place of a refused edit as a quickfix entry."""
    if not isinstance(error, EditConflict) or not error.path:
        return {}
    from tideate_core.toolchain import Failure

    return {"entries": [Failure(error.path, error.line, None, str(error), tool="edit").as_json()]}


def concurrency_of(definition: WorkflowDefinition | MachineWorkflow, limits: LimitsConfig) -> int:
    """Return how many steps of a run may run at once: as the workflow says, else as configured.

    Without either, workflows of handlers alone have the limit of definitions: they wait more than they work.
    """
    if not isinstance(definition, WorkflowDefinition):
        return limits.concurrency
    default = "concurrency" not in limits.model_fields_set
    handlers = all(step.kind == "handler" for step in definition.steps)
    return definition.concurrency or (MOST_CONCURRENT if default and handlers else limits.concurrency)
