"""Loop step: the step's work once for every item of a list."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from tideate_core.engine.events import EventName, error_fields
from tideate_core.engine.memory import digest_of
from tideate_core.engine.step_context import ItemRun
from tideate_core.engine.step_output import CheckedList, check_json, check_value
from tideate_core.engine.step_runner import FATAL
from tideate_core.errors import FrontEndGone, OutputMismatch, StepFailed, StoreError, TideateError
from tideate_core.workflows import LIMITS, Confirm, Declined, evaluate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tideate_core.engine.step_context import StepRun
    from tideate_core.engine.step_services import Services
    from tideate_core.workflows import ForEach, StepContext, StepHandler, WorkflowStep

__all__ = ["MOST_ITEMS", "for_each"]

MOST_ITEMS: Final = LIMITS.loop_items
NEVER_PASSED_OVER: Final = (Declined, FrontEndGone, StoreError)
"""Errors that end the run, also where it goes on without an item."""


def for_each(
    definition: WorkflowStep, loop: ForEach, handler: StepHandler, services: Services
) -> StepHandler:
    """Return what calls a handler for every item, and returns the results in the order of the items.

    An item's result is durable before the next item of its place starts: an item that is done is not done
    again, neither after a crash nor at another attempt. The first item that fails cancels the others, unless
    the step continues on errors: then, at the last attempt, what failed stands in the list as `error` and
    `error_code`.
    """

    async def run(step: StepContext) -> list[Any]:
        return await _Loop(definition, handler, services, step, _items(loop, step)).run(
            loop.max_parallel or step.concurrency
        )

    return run


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
    """One attempt of the step."""

    def __init__(
        self,
        definition: WorkflowStep,
        handler: StepHandler,
        services: Services,
        step: StepContext,
        items: list[Any],
    ) -> None:
        self._definition = definition
        self._handler = handler
        self._services = services
        self._step = step
        self._values = step.values()
        """Once for all: a view of the steps, and texts that may be long."""
        self._items = items
        self._results: list[Any] = [None] * len(items)
        self._failed: dict[int, Exception] = {}

    async def run(self, places: int) -> list[Any]:
        waiting = iter(range(len(self._items)))
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(places, len(self._items))):
                    group.create_task(self._work_off(waiting))
        except BaseExceptionGroup as errors:
            declined = (error for error in errors.exceptions if isinstance(error, Declined))
            raise next(declined, errors.exceptions[0]) from None
        again = [error for error in self._failed.values() if not isinstance(error, FATAL)]
        if again and self._step.attempt <= self._definition.retries:
            raise again[0]
        # an agent's answers were held against the schema one by one
        return CheckedList(self._results) if self._definition.agent else self._results

    async def _work_off(self, waiting: Iterator[int]) -> None:
        run = cast("StepRun", self._step).run
        async with run.execution.place(self._step.step, run.recorder):
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
        context = ItemRun(cast("StepRun", self._step), index, len(self._items), values, feedback)
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
            self._services.emit(EventName.STEP_EXECUTED, data)
        return value

    async def _value(self, context: StepContext, index: int) -> Any:
        outcome = await self._handler(context)
        value = outcome.value if isinstance(outcome, Confirm) else outcome
        check_json(context.step, value)
        check_value(self._definition, value, at=f"$[{index}]")
        if not isinstance(outcome, Confirm) or not self._services.gated:
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
    """Say in an error which item it is of; it stays the one that it is, so that retries know it."""
    if isinstance(error, TideateError) and len(error.args) == 1:
        error.args = (f"{step}: {error}",)
