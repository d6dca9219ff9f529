"""Telling those who wait in an event loop, from the writer's thread."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable

__all__ = ["Delivery", "call_in", "tell"]


@dataclass(slots=True)
class Delivery:
    """What is told to one who waits."""

    future: asyncio.Future[Any]
    result: Any = None
    error: Exception | None = None

    def tell(self) -> None:
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
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(call, *values)
