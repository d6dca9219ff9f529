"""What the writer's thread tells the one who runs a run: what others ask, and that it was lost."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tideate_core.store.delivery import call_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from tideate_core.errors import StoreError
    from tideate_core.store.records import Wish

__all__ = ["Listening"]


class Listening:
    """Calls back in the event loop in which it was made."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._failure: StoreError | None = None
        self._on_wish: Callable[[Wish], None] | None = None
        self._unheard: list[Wish] = []
        self._on_lost: Callable[[], None] | None = None

    @property
    def on_wish(self) -> Callable[[Wish], None] | None:
        """Called in the event loop when another process asks for something; set late, it is called then."""
        return self._on_wish

    @on_wish.setter
    def on_wish(self, call: Callable[[Wish], None] | None) -> None:
        self._on_wish = call
        while call is not None and self._unheard:
            call(self._unheard.pop(0))

    @property
    def on_lost(self) -> Callable[[], None] | None:
        """Called in the event loop when the run must stop at once; `failure` says why."""
        return self._on_lost

    @on_lost.setter
    def on_lost(self, call: Callable[[], None] | None) -> None:
        self._on_lost = call
        if call is not None and self._failure is not None:
            call()

    @property
    def failure(self) -> StoreError | None:
        """Why nothing more of the run can be written here: RunLost where another process has it."""
        return self._failure

    def fail(self, error: StoreError) -> None:
        """Nothing more of this run can be written by this process. In the writer's thread."""
        if self._failure is None:
            self._failure = error
            call_in(self._loop, self._tell_lost)

    def hear(self, wish: Wish) -> None:
        """Another process asks for something. In the writer's thread."""
        call_in(self._loop, self._tell_wish, wish)

    def _tell_lost(self) -> None:
        if self._on_lost is not None:
            self._on_lost()

    def _tell_wish(self, wish: Wish) -> None:
        if self._on_wish is None:
            self._unheard.append(wish)
        else:
            self._on_wish(wish)
