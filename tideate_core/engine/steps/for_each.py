"""Loop step: the step's work once for every item of a list."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from tideate_core.engine.context.context import ItemContext
from tideate_core.engine.events import EventName, error_fields
from tideate_core.engine.step import FATAL, CheckedList, check_json, check_value
from tideate_core.errors import FrontEndGone, OutputMismatch, StepFailed, StoreError, TideateError
from tideate_core.util.json_digest import digest_of
from tideate_core.workflows import LIMITS, Confirm, Declined, evaluate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tideate_core.engine.context.context import Context
    from tideate_core.engine.run import Run
    from tideate_core.workflows import ForEach, StepContext, StepHandler, WorkflowStep


MOST_ITEMS: Final = LIMITS.loop_items
NEVER_PASSED_OVER: Final = (Declined, FrontEndGone, StoreError)
"""Errors that end the run even if it continues without failed items."""


def for_each(definition: WorkflowStep, loop: ForEach, handler: StepHandler, run: Run) -> StepHandler:
    """Return a handler that calls another for every item, and returns the results in order.

    An item's result is durable before the next item starts in its place: completed items are not repeated
    after a crash or in another attempt. The first failed item cancels the others, unless the step continues
    on errors: then, after the last attempt, failed items are listed as `error` and `error_code`.
    """

    async def do_all(step: StepContext) -> list[Any]:
        items = _items(loop, step)
        return await _Loop(definition, handler, run, step, items).run(loop.max_parallel or step.concurrency)

    return do_all


def _items(loop: ForEach, step: StepContext) -> list[Any]:
    items = evaluate(loop.items, step.values())
    if not isinstance(items, list):
        raise StepFailed(
            f"step {step.step!r}: for_each goes over a list, and {loop.items!r} gave "
            f"{type(items).__name__}; let it name a list"
        )
    if len(items) > MOST_ITEMS:
        raise StepFailed(
            f"step {step.step!r}: {loop.items!r} gave {len(items)} items, and for_each takes at most "
            f"{MOST_ITEMS}; split the list over several steps"
        )
    return items


class _Loop:
    """One attempt of a step with a list."""

    def __init__(
        self,
        definition: WorkflowStep,
        handler: StepHandler,
        run: Run,
        step: StepContext,
        items: list[Any],
    ) -> None:
        self._definition = definition
        self._handler = handler
        self._run = run
        self._step = step
        self._values = step.values()
        """Shared by all items: a view of the steps, and texts that may be long."""
        self._items = items
        self._results: list[Any] = [None] * len(items)
        self._failed: dict[int, Exception] = {}

    async def run(self, workers: int) -> list[Any]:
        waiting = iter(range(len(self._items)))
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(workers, len(self._items))):
                    group.create_task(self._work_off(waiting))
        except BaseExceptionGroup as errors:
            declined = (error for error in errors.exceptions if isinstance(error, Declined))
            raise next(declined, errors.exceptions[0]) from None
        again = [error for error in self._failed.values() if not isinstance(error, FATAL)]
        if again and self._step.attempt <= self._definition.retries:
            raise again[0]
        # each answer of an agent was checked against the schema
        return CheckedList(self._results) if self._definition.agent else self._results

    async def _work_off(self, waiting: Iterator[int]) -> None:
        async with self._run.item_worker(self._step.step):
            await self._work_off_all(waiting)

    async def _work_off_all(self, waiting: Iterator[int]) -> None:
        for index in waiting:
            try:
                self._results[index] = await self._do(index)
            except NEVER_PASSED_OVER:
                raise
            except Exception as error:
                if not self._definition.continue_on_error:
                    raise
                self._failed[index] = error
                self._results[index] = error_fields(error)

    async def _do(self, index: int) -> Any:
        item = self._items[index]
        produce = partial(self._produce, index, item)
        return await self._step.choose_once(f"item:{index}", digest_of(item), produce)

    async def _produce(self, index: int, item: Any) -> Any:
        feedback = self._step.recall(_refused(index)) or ""
        values = {**self._values, "item": item, "index": index}
        context = ItemContext(cast("Context", self._step), index, len(self._items), values, feedback)
        begun, ending = time.monotonic(), dict[str, Any](success=False)
        try:
            value = await self._value(context, index)
            ending = {"success": True}
        except Declined:
            ending["declined"] = True
            raise
        except Exception as error:
            ending |= error_fields(error)
            if isinstance(error, OutputMismatch):
                await self._step.remember(_refused(index), str(error))
            else:
                _name(error, context.step)
            raise
        finally:
            duration = round((time.monotonic() - begun) * 1000)
            data = {"step": context.step, "duration_ms": duration, **ending}
            self._run.recorder.event(EventName.STEP_EXECUTED, data)
        return value

    async def _value(self, context: StepContext, index: int) -> Any:
        outcome = await self._handler(context)
        value = outcome.value if isinstance(outcome, Confirm) else outcome
        check_json(context.step, value)
        check_value(self._definition, value, at=f"$[{index}]")
        if not isinstance(outcome, Confirm) or not self._run.gated:
            return value
        decision = await context.confirm(
            outcome.kind, outcome.message, details=outcome.details, payload=outcome.payload
        )
        if not decision.accepted:
            raise Declined(decision.reason)
        return value if decision.value is None else decision.value


def _refused(index: int) -> str:
    return f"refused:{index}"


def _name(error: Exception, step: str) -> None:
    """Add the item's name to an error in place, so that retries recognize it."""
    if isinstance(error, TideateError) and len(error.args) == 1:
        error.args = (f"{step}: {error}",)
