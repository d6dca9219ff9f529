"""Delivery of write results and notices from the writer's thread to event loops."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


@dataclass(slots=True)
class Delivery:
    """The result of a write, delivered to its waiting caller."""

    future: asyncio.Future[Any]
    result: Any = None
    error: Exception | None = None
    delivered: bool = False

    async def outlast(self) -> bool:
        """Wait for the delivery even if the caller is cancelled; returns whether it was.

        :raises Exception: the delivered error.
        """
        cancelled = False
        while not self.delivered:
            try:
                await self.future
            except asyncio.CancelledError:
                cancelled = True
                if self.future.cancelled():
                    self.future = asyncio.get_running_loop().create_future()
        if self.error is not None:
            raise self.error
        return cancelled

    def deliver(self) -> None:
        """Wake the waiting caller; runs in the future's event loop."""
        self.delivered = True
        if self.future.done():  # the caller no longer waits
            return
        if self.error is None:
            self.future.set_result(self.result)
        else:
            self.future.set_exception(self.error)


def deliver(deliveries: Iterable[Delivery]) -> None:
    """Wake all waiting callers, with one call per event loop."""
    loops: dict[asyncio.AbstractEventLoop, list[Delivery]] = {}
    for delivery in deliveries:
        loops.setdefault(delivery.future.get_loop(), []).append(delivery)
    for loop, waiting in loops.items():
        call_in(loop, _deliver_here, waiting)


def _deliver_here(deliveries: list[Delivery]) -> None:
    for delivery in deliveries:
        delivery.deliver()


def call_in(loop: asyncio.AbstractEventLoop, call: Callable[..., object], *values: object) -> None:
    """Schedule a call in a loop from another thread; ignored if the loop has ended."""
    try:
        loop.call_soon_threadsafe(call, *values)
    except RuntimeError:  # it is closed
        return
