"""Step loop of a run: replay recorded steps, start ready ones by priority, pause and skip."""

from __future__ import annotations

import asyncio
import heapq
from typing import TYPE_CHECKING

from tideate_core.engine.context.context import Context
from tideate_core.engine.events import EventName
from tideate_core.engine.past import RecordedFailure
from tideate_core.engine.step import TaskExecutor
from tideate_core.errors import StoreError, WorkflowError
from tideate_core.machines import ExecutionEvent, ExecutionState
from tideate_core.workflows import MOST_CONCURRENT, Declined, WorkflowDefinition

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tideate_core.config import LimitsConfig
    from tideate_core.engine.driver import Settled, Work
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


class StepLoop:
    """Executes the steps of one run."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._driver = run.driver
        self._recorder = run.recorder
        self._task_group = run.task_group
        self._executor = TaskExecutor(run)
        self._queue = TaskQueue(concurrency_of(run.definition, run.runner.config.limits))
        self._impossible: list[Work] = []

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
        while driver.has_more:  # false at once if earlier processes did everything
            if not self._queue and not self._impossible:
                raise WorkflowError(
                    f"{run.definition.name}: no step can start, though not all of them have ended"
                )
            run.on_resume = self._start_after_pause
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
            finally:
                run.on_resume = None
            if driver.has_more:
                run.move(ExecutionEvent.BATCH_COMPLETED)
                await self._pause()
                run.move(ExecutionEvent.EXECUTE_STEP_BATCH)
        run.move(ExecutionEvent.ALL_STEPS_COMPLETED)

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
                settled, error, context = await self._executor.execute(work)
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
        await self._execute(await self._settle(work, self._executor.skip(work, work.impossible)))

    async def _settle(
        self, work: Work, settled: Settled, error: Exception | None = None, context: Context | None = None
    ) -> Work | None:
        """Record the end of a step, then start the steps that waited for it; return one for this task.

        :param error: of a failed step.
        :param context: of its last attempt.
        """
        run, driver = self._run, self._driver
        try:
            await self._recorder.settled(work, settled)
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
        skipped = [(work, self._executor.skip(work, reason)) for work in works]
        await asyncio.gather(*(self._recorder.settled(work, settled) for work, settled in skipped))
        for _, settled in skipped:
            self._run.settle(settled)


def concurrency_of(definition: WorkflowDefinition | MachineWorkflow, limits: LimitsConfig) -> int:
    """Return how many steps of a run may run at once: as the workflow says, else as configured.

    Without either, workflows of handlers alone have the limit of definitions: they wait more than they work.
    """
    if not isinstance(definition, WorkflowDefinition):
        return limits.concurrency
    default = "concurrency" not in limits.model_fields_set
    handlers = all(step.kind == "handler" for step in definition.steps)
    return definition.concurrency or (MOST_CONCURRENT if default and handlers else limits.concurrency)
