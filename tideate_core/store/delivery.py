"""Telling those who wait in an event loop, from the writer's thread."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["Delivery", "call_in", "tell"]


@dataclass(slots=True)
class Delivery:
    """What is told to one who waits."""

    future: asyncio.Future[Any]
    result: Any = None
    error: Exception | None = None
    told: bool = False

    async def outlast(self) -> bool:
        """Wait until it is told, however often the caller is cancelled; returns whether it was.

        :raises Exception: the error that it is told.
        """
        cancelled = False
        while not self.told:
            try:
                await self.future
            except asyncio.CancelledError:
                cancelled = True
                if self.future.cancelled():
                    self.future = asyncio.get_running_loop().create_future()
        if self.error is not None:
            raise self.error
        return cancelled

    def tell(self) -> None:
        self.told = True
        if self.future.done():  # nobody waits any more
            return
        if self.error is None:
            self.future.set_result(self.result)
        else:
            self.future.set_exception(self.error)


def tell(deliveries: Iterable[Delivery]) -> None:
    """Wake all who wait, each event loop once."""
    loops: dict[asyncio.AbstractEventLoop, list[Delivery]] = {}
    for delivery in deliveries:
        loops.setdefault(delivery.future.get_loop(), []).append(delivery)
    for loop, told in loops.items():
        call_in(loop, _tell_all, told)


def _tell_all(deliveries: list[Delivery]) -> None:
    for delivery in deliveries:
        delivery.tell()


def call_in(loop: asyncio.AbstractEventLoop, call: Callable[..., object], *values: object) -> None:
    """Call something in a loop from another thread; in one that has ended nobody is there to be told."""
    try:
        loop.call_soon_threadsafe(call, *values)
    except RuntimeError:  # it is closed
        return
