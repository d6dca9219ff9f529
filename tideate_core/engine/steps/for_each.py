"""Loop step: the step's work once for every item of a list."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tideate_core.engine.context.context import ItemContext
from tideate_core.engine.events import EventName, error_fields
from tideate_core.engine.step import FATAL, CheckedList, check_json, check_value, confirmed
from tideate_core.errors import FrontEndGone, OutputMismatch, StepFailed, StoreError, TideateError
from tideate_core.util.json_digest import digest_of
from tideate_core.workflows import LIMITS, Confirm, Declined, evaluate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tideate_core.engine.context.context import Context
    from tideate_core.workflows import ForEach, StepHandler, WorkflowStep


MOST_ITEMS: Final = LIMITS.loop_items
NEVER_PASSED_OVER: Final = (Declined, FrontEndGone, StoreError)
"""Errors that end the run even if it continues without failed items."""


async def for_each(definition: WorkflowStep, loop: ForEach, handler: StepHandler, step: Context) -> list[Any]:
    """Call a handler for every item of a list, and return the results in order.

    An item's result is durable before the next item starts in its place: completed items are not repeated
    after a crash or in another attempt. The first failed item cancels the others, unless the step continues
    on errors: then, after the last attempt, failed items are listed as `error` and `error_code`.
    """
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
    return await _Loop(definition, handler, step, items).run(loop.max_parallel or step.concurrency)


class _Loop:
    """One attempt of a step with a list."""

    def __init__(
        self, definition: WorkflowStep, handler: StepHandler, step: Context, items: list[Any]
    ) -> None:
        self._definition = definition
        self._handler = handler
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
        async with self._step.run.item_worker(self._step.step):
            for index in waiting:
                try:
                    produce = partial(self._produce, index)
                    digest = digest_of(self._items[index])
                    self._results[index] = await self._step.choose_once(f"item:{index}", digest, produce)
                except NEVER_PASSED_OVER:
                    raise
                except Exception as error:
                    if not self._definition.continue_on_error:
                        raise
                    self._failed[index] = error
                    self._results[index] = error_fields(error)

    async def _produce(self, index: int) -> Any:
        refused = f"refused:{index}"
        values = {**self._values, "item": self._items[index], "index": index}
        context = ItemContext(self._step, index, len(self._items), values, self._step.recall(refused) or "")
        begun, ending = time.monotonic(), dict[str, Any](success=False)
        try:
            outcome = await self._handler(context)
            value = outcome.value if isinstance(outcome, Confirm) else outcome
            check_json(context.step, value)
            check_value(self._definition, value, at=f"$[{index}]")
            value = await confirmed(context, outcome, value, gated=self._step.run.gated)
            ending = {"success": True}
            return value
        except Declined:
            ending["declined"] = True
            raise
        except Exception as error:
            ending |= error_fields(error)
            if isinstance(error, OutputMismatch):
                await self._step.remember(refused, str(error))
            elif isinstance(error, TideateError) and len(error.args) == 1:
                # named in place, so that retries recognize it
                error.args = (f"{context.step}: {error}",)
            raise
        finally:
            duration = round((time.monotonic() - begun) * 1000)
            context.emit(EventName.STEP_EXECUTED, duration_ms=duration, **ending)
