"""One step of a run from the question before it to the last of its events."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tideate_core.engine.confirmation import ConfirmationRequest
from tideate_core.engine.ending import words_of
from tideate_core.engine.events import EventName
from tideate_core.engine.resuming import still_there
from tideate_core.engine.work import Settled
from tideate_core.errors import StoreError
from tideate_core.machines import ExecutionEvent, ExecutionState
from tideate_core.workflows import Declined, persons_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tideate_core.engine.confirmation import FrontEnd
    from tideate_core.engine.execution import Execution
    from tideate_core.engine.executor import TaskExecutor
    from tideate_core.engine.recording import Recorder
    from tideate_core.engine.resuming import Past
    from tideate_core.engine.step import StepRun
    from tideate_core.engine.work import Work

__all__ = ["Performer"]


class Performer:
    """Has a run's steps done, and tells of them; what they are worth is the loop's to say.

    :param past: what earlier processes did of the run, None where it begins.
    """

    def __init__(
        self,
        execution: Execution,
        recorder: Recorder,
        executor: TaskExecutor,
        context_of: Callable[[Work, int], StepRun],
        front: FrontEnd,
        past: Past | None,
    ) -> None:
        self._context_of = context_of
        self._last: dict[str, StepRun] = {}
        """By step that is not handed on yet: what its last attempt was given."""
        self._execution = execution
        self._recorder = recorder
        self._executor = executor
        self._front = front
        self._past = past

    async def perform(self, work: Work) -> tuple[Settled, Exception | None]:
        """Do a step's work; returns how it ended and, of a failed one, its error.

        :raises Declined: the person said no.
        :raises StoreError: it cannot be written down.
        :raises Exception: of a machine's state, it could not even begin.
        """
        doing = _Doing(work, self)
        interrupted = self._past is not None and work.step in self._past.running
        failed_attempts = self._past.attempts.get(work.step, 0) if self._past else 0
        try:
            if interrupted and not work.idempotent:
                await self._ask_again(work)
            settled = await self._executor.execute(
                work,
                doing.context_of,
                partial(self._begin, doing, interrupted),
                failed_attempts=failed_attempts,
            )
        except Exception as error:
            if isinstance(error, Declined):
                self._executed(doing, success=False, declined=True)
                raise
            # what cannot be written down has not failed; a state is not entered only to fail in it
            if isinstance(error, StoreError) or (doing.begun is None and work.step_definition is None):
                raise
            return self._failed(doing, error), error
        return (self._skipped(work) if settled.status == "skipped" else self._done(doing, settled)), None

    def context_of(self, work: Work, attempt: int) -> StepRun:
        """Return what a handler is given for an attempt."""
        self._last[work.step] = context = self._context_of(work, attempt)
        return context

    def context_after(self, work: Work) -> StepRun:
        """Return what is asked with once the work is done."""
        return self._last.get(work.step) or self._context_of(work, 1)

    def release(self, work: Work) -> None:
        """The work was handed on: nothing is asked with its context any more."""
        self._last.pop(work.step, None)

    def skip(self, work: Work, reason: str) -> Settled:
        """Tell that a step is not run."""
        self._recorder.event(EventName.STEP_SKIPPED, {**work.place, "reason": reason})
        return Settled(work.step, "skipped")

    @contextmanager
    def silently(self, silent: bool = True) -> Iterator[None]:
        """Neither write down nor tell what happens meanwhile: it was, before."""
        before, self._recorder.replaying = self._recorder.replaying, silent
        try:
            yield
        finally:
            self._recorder.replaying = before

    def begin(self, work: Work, *, told: bool) -> None:
        """Tell the driver that a step begins.

        :param told: what it says of that was told in an earlier process.
        """
        if told:
            with self.silently():
                self._execution.driver.begin(work)
        else:
            self._execution.driver.begin(work)

    def _begin(self, doing: _Doing, interrupted: bool) -> None:
        self.begin(doing.work, told=interrupted)
        doing.begun = time.monotonic()
        self._recorder.status(ExecutionState.EXECUTING_STEPS, doing.work.step)
        self._recorder.event(EventName.STEP_STARTED, doing.work.place)

    def _done(self, doing: _Doing, settled: Settled) -> Settled:
        settled = doing.summed(settled)
        work, value, duration = doing.work, settled.value, settled.duration_ms
        self._execution.machine.require(ExecutionEvent.STEP_COMPLETED)
        data = {**work.place, "duration_ms": duration, "result": value}
        self._recorder.event(EventName.STEP_COMPLETED, data)
        self._executed(doing, success=True)
        return settled

    def _failed(self, doing: _Doing, error: Exception) -> Settled:
        words = words_of(error)
        if doing.begun is None:
            self._begin(doing, interrupted=False)
        self._execution.machine.require(ExecutionEvent.STEP_FAILED)
        self._recorder.event(EventName.STEP_FAILED, {**doing.work.place, **words})
        self._executed(doing, success=False, declined=False)
        return doing.summed(Settled(doing.work.step, "failed", **words, duration_ms=doing.elapsed_ms))

    def _skipped(self, work: Work) -> Settled:
        when = work.step_definition.when if work.step_definition else None
        return self.skip(work, f"its condition does not hold: {when}")

    def _executed(self, doing: _Doing, **how: bool) -> None:
        if doing.begun is not None:
            data = {"step": doing.work.step, "duration_ms": doing.elapsed_ms, **how}
            self._recorder.event(EventName.STEP_EXECUTED, data)

    async def _ask_again(self, work: Work) -> None:
        """Ask whether a step that may not run twice does; every crash is a question of its own.

        :raises Declined: it does not.
        """
        name = self._execution.definition.name
        message = (
            f"{name}: the process ended while the step {work.step!r} was running. It may have done its work, "
            "and says of itself that it must not be done twice. Run it again?"
        )
        request = ConfirmationRequest(self._execution.id, name, work.step, "gate", message, work.task, None)
        place = {"step": work.step, "kind": "gate"}
        self._recorder.event(EventName.CONFIRMATION_REQUIRED, {**place, "message": message})
        with persons_time():
            decision = await self._front.confirm(request)
        self._recorder.event(EventName.CONFIRMATION_ANSWERED, {**place, "accepted": decision.accepted})
        if not decision.accepted:
            raise Declined(decision.reason)
        assert self._past is not None  # noqa: S101 it was interrupted in an earlier process
        left: list[str] = []
        workspace = self._context_of(work, 1).workspace
        await workspace.rollback_unfinished_steps(
            self._execution.id, self._past.finished, only=work.step, on_left=left.append
        )
        for name in left:
            self._recorder.event(EventName.NOTICE, still_there(name, work.step))


class _Doing:
    """A step while it is done: when it began, and what its attempts were given."""

    def __init__(self, work: Work, performer: Performer) -> None:
        self.work = work
        self.begun: float | None = None
        self._contexts: list[StepRun] = []
        self._performer = performer

    @property
    def elapsed_ms(self) -> int:
        return round((time.monotonic() - self.begun) * 1000) if self.begun is not None else 0

    def context_of(self, attempt: int) -> StepRun:
        self._contexts.append(self._performer.context_of(self.work, attempt))
        return self._contexts[-1]

    def summed(self, settled: Settled) -> Settled:
        """Return how it ended with what all its attempts took and changed."""
        if not self._contexts:
            return settled
        files = dict.fromkeys(path for context in self._contexts for path in context.files)
        usage = self._contexts[-1].usage
        if not files and usage == settled.usage:
            return settled
        return replace(settled, usage=usage, files=tuple(files))
