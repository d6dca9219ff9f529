"""Scheduler of one run: replays its past, starts steps by priority and concurrency, pauses, skips."""

from __future__ import annotations

import asyncio
import heapq
from typing import TYPE_CHECKING

from tideate_core.engine.events import EventName
from tideate_core.engine.lifecycle import RecordedFailure
from tideate_core.errors import StoreError, WorkflowError
from tideate_core.machines import ExecutionEvent
from tideate_core.workflows import Declined

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tideate_core.engine.driver import Settled, Work
    from tideate_core.engine.memory import Memory
    from tideate_core.engine.recorded_run import Past
    from tideate_core.engine.recording import Recorder
    from tideate_core.engine.run import Execution
    from tideate_core.engine.step_runner import Performer
    from tideate_core.engine.task_group import Crew

__all__ = ["Driving", "TaskQueue"]


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
        """How many works are under way."""
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


class Driving:
    """Drives one execution to the end of its steps.

    :param crew: that does the steps' work.
    :param concurrency: how many steps run at once.
    """

    def __init__(
        self,
        execution: Execution,
        recorder: Recorder,
        memory: Memory,
        performer: Performer,
        crew: Crew,
        *,
        concurrency: int,
    ) -> None:
        self._execution = execution
        self._driver = execution.driver
        self._recorder = recorder
        self._memory = memory
        self._performer = performer
        self._queue = TaskQueue(concurrency)
        self._impossible: list[Work] = []
        self._crew = crew

    async def run(self, past: Past | None = None) -> None:
        """Run what is left of the run.

        :param past: what earlier processes did of it, None where it begins.
        :raises Declined: the person said no.
        :raises Exception: what a step failed with.
        """
        if past is None:
            self._admit(self._driver.ready())
        else:
            await self._replay(past)
        machine = self._execution.machine
        while self._driver.has_more:
            await self._pause()
            machine.require(ExecutionEvent.EXECUTE_STEP_BATCH)
            await self._work_off()
            machine.require(ExecutionEvent.BATCH_COMPLETED)
        if machine.can_transition(ExecutionEvent.EXECUTE_STEP_BATCH):  # all was done in earlier processes
            machine.require(ExecutionEvent.EXECUTE_STEP_BATCH)
            machine.require(ExecutionEvent.BATCH_COMPLETED)
        machine.require(ExecutionEvent.RESULTS_AGGREGATED)

    async def _replay(self, past: Past) -> None:
        """Give the driver back how steps ended, without running them and without a word.

        :raises RecordedFailure: of a step that the run does not go on without.
        """
        left = len(past.settled)
        failure: RecordedFailure | None = None
        while works := self._driver.ready():
            for work in works:
                settled = past.settled.get(work.step)
                if settled is None:
                    self._admit([work])
                    continue
                left -= 1
                try:
                    # a choice after the last of them was perhaps never made
                    await self._repeat(work, settled, told=left > 0 or bool(past.running))
                except RecordedFailure as error:
                    failure = failure or error
        if failure is not None:  # what else was ready is skipped, as far as it was not before the crash
            self._execution.step = failure.step
            await self._give_up_the_rest(past.settled)
            raise failure

    async def _repeat(self, work: Work, settled: Settled, *, told: bool) -> None:
        """Give the driver back how one step ended.

        :param told: what follows from it was told, too.
        """
        self._execution.step = work.step
        self._execution.settle(settled)
        if settled.status != "skipped":
            self._performer.begin(work, told=True)
        with self._performer.silently(told):
            await self._hand_on(work, settled, None)

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
        machine = self._execution.machine
        machine.require(ExecutionEvent.PAUSE_WORKFLOW)
        self._recorder.event(EventName.WORKFLOW_PAUSED, {"step": first.step})
        await self._recorder.paused()
        await self._execution.resumed()
        machine.require(ExecutionEvent.RESUME_WORKFLOW)
        await self._recorder.resumed()
        self._recorder.event(EventName.WORKFLOW_RESUMED, {"step": first.step})

    async def _work_off(self) -> None:
        """Run steps until nothing runs; there may be more to come after a pause."""
        if not self._queue and not self._impossible:
            name = self._execution.definition.name
            raise WorkflowError(f"{name}: no step can start, though not all of them have ended")
        self._execution.on_resume = self._go_on
        try:
            self._fill()
            await self._crew.wait()
        except Exception as error:
            if self._execution.cancel_wanted:  # whatever the steps made of being cancelled
                raise asyncio.CancelledError from error
            if self._execution.failed:
                await self._give_up_the_rest({})
            raise
        finally:
            self._execution.on_resume = None

    def _go_on(self) -> None:
        """Start what a pause held back that was taken back before all steps had ended."""
        if len(self._crew) and not self._execution.cancel_wanted:
            self._fill()

    def _fill(self) -> None:
        """Start what may start now."""
        crew = self._crew
        if not crew.accepts:
            return
        while self._impossible:
            crew.start(self._skip(self._impossible.pop()))
        if self._execution.pause_wanted:
            return
        while work := self._queue.take():
            self._execution.step = work.step
            crew.start(self._step(work))

    async def _step(self, work: Work) -> None:
        try:
            settled, error = await self._performer.perform(work)
        except Declined:
            self._execution.step = work.step
            raise
        except StoreError:
            self._execution.left = True
            raise
        finally:
            self._queue.done(work)
        self._fill()  # what waits for a place need not wait for the disk
        await self._settle(work, settled, error)

    async def _skip(self, work: Work) -> None:
        await self._settle(work, self._performer.skip(work, work.impossible), None)

    async def _settle(self, work: Work, settled: Settled, error: Exception | None) -> None:
        """Write down how a step ended, then start what waited for it."""
        try:
            await self._recorder.settled(work, settled)
        except StoreError:
            self._execution.left = True  # it has not ended, nor have the runs within it
            raise
        except asyncio.CancelledError:
            self._execution.settle(settled)  # what is written down counts, whatever came meanwhile
            raise
        self._execution.settle(settled)
        await self._hand_on(work, settled, error)
        self._admit(self._driver.ready())
        self._fill()

    async def _hand_on(self, work: Work, settled: Settled, error: Exception | None) -> None:
        """Give the driver what became of a step.

        :param error: of a failed one.
        """
        if settled.status == "skipped":
            self._driver.skip(work)
        elif settled.status == "completed":
            await self._driver.take(work, settled.value, self._performer.context_after(work))
        elif await self._driver.fail(work, settled):
            self._execution.go_on_without(settled)
        else:
            self._execution.step = work.step
            self._execution.failed.add(work.step)
            raise error or RecordedFailure(settled)
        self._memory.release(work.step)
        self._performer.release(work)

    async def _give_up_the_rest(self, ended: Mapping[str, Settled]) -> None:
        """Skip what can never run, because the run failed.

        :param ended: what had ended in an earlier process.
        """
        rest = [*self._impossible, *self._queue.drain(), *self._driver.unstarted()]
        works = [work for work in rest if work.step not in ended]
        for work in rest:
            if work.step in ended:
                self._execution.settle(ended[work.step])
        reason = f"the run failed in the step {self._execution.step!r}"
        settled = [(work, self._performer.skip(work, reason)) for work in works]
        await asyncio.gather(*(self._recorder.settled(work, ending) for work, ending in settled))
        for _, ending in settled:
            self._execution.settle(ending)
