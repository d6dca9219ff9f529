"""Scheduler of one run: replays its recorded steps, starts the others by priority, pauses, skips."""

from __future__ import annotations

import asyncio
import heapq
from typing import TYPE_CHECKING

from tideate_core.engine.events import EventName
from tideate_core.engine.lifecycle import RecordedFailure
from tideate_core.engine.step_context import StepRun
from tideate_core.engine.step_runner import StepEnd
from tideate_core.errors import StoreError, WorkflowError
from tideate_core.machines import ExecutionEvent, ExecutionState
from tideate_core.workflows import Declined

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tideate_core.engine.driver import Settled, Work
    from tideate_core.engine.recorded_run import RecordedRun
    from tideate_core.engine.step_context import StepEnvironment
    from tideate_core.engine.step_runner import StepRunner
    from tideate_core.engine.task_group import TaskGroup

__all__ = ["Scheduler", "TaskQueue"]


class TaskQueue:
    """Works in waiting, and how many are under way.

    An exclusive work starts when nothing else is under way, and nothing starts beside it; while the first in
    line is exclusive, nothing overtakes it.

    :param concurrency: how many works are under way at once, at least 1.
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
        """Return how many works wait."""
        return len(self._heap)

    @property
    def running(self) -> int:
        """The number of steps under way."""
        return len(self._running)

    @property
    def first(self) -> Work | None:
        """The work that starts next, None where none waits."""
        return self._heap[0][2] if self._heap else None

    def put(self, work: Work) -> None:
        """Add a work; of equal priority, the one that came first goes first."""
        heapq.heappush(self._heap, (-work.priority, self._count, work))
        self._count += 1

    def drain(self) -> list[Work]:
        """Return what waits, in order; nothing waits after that."""
        works = [work for _, _, work in sorted(self._heap)]
        self._heap.clear()
        return works

    def take(self) -> Work | None:
        """Return the next work that may start now, which is then under way; None where none may."""
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
        """Give a work's place to the next; of a work that has none, nothing."""
        if work.step in self._running:
            self._running.remove(work.step)
            self._alone = False


class Scheduler:
    """Brings one execution to the end of its steps.

    :param task_group: of its steps.
    :param concurrency: how many steps run at once.
    """

    def __init__(
        self,
        environment: StepEnvironment,
        step_runner: StepRunner,
        task_group: TaskGroup,
        *,
        concurrency: int,
    ) -> None:
        self._environment = environment
        self._execution = environment.execution
        self._driver = environment.execution.driver
        self._recorder = environment.recorder
        self._step_runner = step_runner
        self._task_group = task_group
        self._queue = TaskQueue(concurrency)
        self._impossible: list[Work] = []

    async def run_steps(self, recorded: RecordedRun | None = None) -> None:
        """Run the steps that are left.

        :param recorded: what earlier processes did of the run, None where it begins.
        :raises Declined: the person said no.
        :raises Exception: what a step failed with.
        """
        if recorded is None:
            self._admit(self._driver.ready_steps())
        else:
            await self._replay(recorded)
        move = self._execution.move
        await self._pause()
        move(ExecutionEvent.EXECUTE_STEP_BATCH)
        while self._driver.has_more:  # False at once where all was done in earlier processes
            await self._run_until_idle()
            if self._driver.has_more:
                move(ExecutionEvent.BATCH_COMPLETED)
                await self._pause()
                move(ExecutionEvent.EXECUTE_STEP_BATCH)
        move(ExecutionEvent.ALL_STEPS_COMPLETED)

    async def _replay(self, recorded: RecordedRun) -> None:
        """Give the driver back how steps ended, without running or reporting them.

        :raises RecordedFailure: of a step that the run does not go on without.
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
        if failure is not None:  # what else was ready is skipped, as far as it was not before the crash
            self._execution.step = failure.step
            await self._skip_the_rest(recorded.settled)
            raise failure

    async def _replay_step(self, work: Work, settled: Settled, *, silent: bool) -> None:
        """Give the driver back how one step ended.

        :param silent: what follows from it was reported, too.
        """
        self._execution.step = work.step
        self._execution.settle(settled)
        if settled.status != "skipped":
            with self._recorder.silenced():
                self._driver.begin_step(work)
        with self._recorder.silenced(silent):
            await self._advance_driver(work, StepEnd(settled))

    def _admit(self, works: list[Work]) -> None:
        for work in works:
            if work.impossible:
                self._impossible.append(work)
            else:
                self._queue.put(work)

    async def _pause(self) -> None:
        first = self._queue.first
        if first is None or not self._execution.pause_wanted:
            return
        self._execution.move(ExecutionEvent.PAUSE_WORKFLOW)
        await self._recorder.durable_event(EventName.WORKFLOW_PAUSED, {"step": first.step})
        await self._execution.resumed()
        self._execution.move(ExecutionEvent.RESUME_WORKFLOW)
        await self._recorder.flush()
        self._recorder.event(EventName.WORKFLOW_RESUMED, {"step": first.step})

    async def _run_until_idle(self) -> None:
        """Run steps until nothing runs; there may be more to come after a pause."""
        if not self._queue and not self._impossible:
            name = self._execution.definition.name
            raise WorkflowError(f"{name}: no step can start, though not all of them have ended")
        self._execution.on_resume = self._start_after_pause
        try:
            self._start_ready()
            await self._task_group.wait()
        except Exception as error:
            if self._execution.cancel_wanted:  # whatever the steps made of being cancelled
                raise asyncio.CancelledError from error
            if self._execution.failed:
                await self._skip_the_rest({})
                self._execution.move(ExecutionEvent.ALL_STEPS_COMPLETED)
            raise
        finally:
            self._execution.on_resume = None

    def _start_after_pause(self) -> None:
        """Start what a pause held back that was lifted before all steps had ended."""
        if len(self._task_group) and not self._execution.cancel_wanted:
            self._start_ready()

    def _start_ready(self) -> None:
        """Start the steps that may start now."""
        group = self._task_group
        if not group.accepts:
            return
        while self._impossible:
            group.start(self._skip_impossible(self._impossible.pop()))
        if self._execution.pause_wanted:
            return
        while work := self._queue.take():
            self._execution.step = work.step
            group.start(self._run_step(work))

    async def _run_step(self, work: Work) -> None:
        try:
            end = await self._step_runner.run_step(work)
        except Declined:
            self._execution.step = work.step
            raise
        except StoreError:
            self._execution.left = True
            raise
        finally:
            self._queue.done(work)
        self._start_ready()  # what waits for a place need not wait for the disk
        await self._settle(work, end)

    def _may_begin_batch(self) -> bool:
        """Tell whether steps of the next batch start now; a pause ends the batch where it ends the run's."""
        execution = self._execution
        awaiting = execution.state_without_checkpoint is ExecutionState.AWAITING_COMPLETION
        goes_on = self._task_group.accepts and not execution.pause_wanted
        return awaiting and goes_on and self._driver.has_more

    async def _skip_impossible(self, work: Work) -> None:
        await self._settle(work, StepEnd(self._step_runner.skip_step(work, work.impossible)))

    async def _settle(self, work: Work, end: StepEnd) -> None:
        """Record how a step ended, then start what waited for it."""
        try:
            await self._recorder.settled(work, end.settled)
        except StoreError:
            self._execution.left = True  # it has not ended, nor have the runs within it
            raise
        except asyncio.CancelledError:
            self._execution.settle(end.settled)  # what is recorded counts, whatever came meanwhile
            raise
        self._execution.settle(end.settled)
        batch = self._driver.batches_done
        await self._advance_driver(work, end)
        next_batch = self._driver.batches_done > batch and self._may_begin_batch()
        if next_batch:
            self._execution.move(ExecutionEvent.BATCH_COMPLETED)
        self._admit(self._driver.ready_steps())
        self._start_ready()
        if next_batch:
            self._execution.move(ExecutionEvent.EXECUTE_STEP_BATCH)
        await self._execution.pause_if_still(self._recorder)

    async def _advance_driver(self, work: Work, end: StepEnd) -> None:
        """Give the driver what became of a step."""
        settled = end.settled
        if settled.status == "skipped":
            self._driver.skip_step(work)
        elif settled.status == "completed":
            context = end.context or StepRun(self._environment, work.step, 1, work.step_definition)
            await self._driver.complete_step(work, settled.value, context)
        elif await self._driver.fail_step(work, settled):
            self._execution.go_on_without(settled)
        else:
            self._execution.step = work.step
            self._execution.failed.add(work.step)
            raise end.error or RecordedFailure(settled)
        self._environment.memory.release(work.step)

    async def _skip_the_rest(self, ended: Mapping[str, Settled]) -> None:
        """Skip what can never run, because the run failed.

        :param ended: what had ended in an earlier process.
        """
        rest = [*self._impossible, *self._queue.drain(), *self._driver.unstarted_steps()]
        works = [work for work in rest if work.step not in ended]
        for work in rest:
            if work.step in ended:
                self._execution.settle(ended[work.step])
        reason = f"the run failed in the step {self._execution.step!r}"
        settled = [(work, self._step_runner.skip_step(work, reason)) for work in works]
        await asyncio.gather(*(self._recorder.settled(work, ending) for work, ending in settled))
        for _, ending in settled:
            self._execution.settle(ending)
