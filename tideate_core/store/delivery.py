"""Delivery of write results and notices from the writer's thread to event loops."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tideate_core.errors import StoreError
    from tideate_core.store.records import ControlRequest

__all__ = ["Delivery", "RunCallbacks", "call_in", "deliver"]


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


class RunCallbacks:
    """Callbacks of one run in its event loop: control requests, loss of the run."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._failure: StoreError | None = None
        self._on_control_request: Callable[[ControlRequest], None] | None = None
        self._early_requests: list[ControlRequest] = []
        self._on_lost: Callable[[], None] | None = None

    @property
    def on_control_request(self) -> Callable[[ControlRequest], None] | None:
        """Called with another process's request; requests made before it is set are passed then."""
        return self._on_control_request

    @on_control_request.setter
    def on_control_request(self, call: Callable[[ControlRequest], None] | None) -> None:
        self._on_control_request = call
        while call is not None and self._early_requests:
            call(self._early_requests.pop(0))

    @property
    def on_lost(self) -> Callable[[], None] | None:
        """Called when the run must stop at once; `failure` has the reason."""
        return self._on_lost

    @on_lost.setter
    def on_lost(self, call: Callable[[], None] | None) -> None:
        self._on_lost = call
        if call is not None and self._failure is not None:
            call()

    @property
    def failure(self) -> StoreError | None:
        """The reason why this process can no longer write the run; RunLost if another process owns it."""
        return self._failure

    def fail(self, error: StoreError) -> None:
        """Stop all further writes of this run by this process; called in the writer's thread."""
        if self._failure is None:
            self._failure = error
            call_in(self._loop, self._call_on_lost)

    def pass_on(self, request: ControlRequest) -> None:
        """Pass on another process's request; called in the writer's thread."""
        call_in(self._loop, self._call_on_control_request, request)

    def _call_on_lost(self) -> None:
        if self._on_lost is not None:
            self._on_lost()

    def _call_on_control_request(self, request: ControlRequest) -> None:
        if self._on_control_request is None:
            self._early_requests.append(request)
        else:
            self._on_control_request(request)
