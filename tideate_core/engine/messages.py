"""Messages of a person to the model that works in a run: kept with the run until a model reads them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from tideate_core.errors import InvalidInput
from tideate_core.store import Message

if TYPE_CHECKING:
    from tideate_core.adapters import Adapter
    from tideate_core.engine.run import Execution
    from tideate_core.store import RunLog, Store

__all__ = ["RunMessages"]


class _LiveRun(Protocol):
    """The part of a live run that its messages need."""

    execution: Execution

    @property
    def adapter(self) -> Adapter: ...

    @property
    def takes_turns(self) -> bool: ...

    def notify(self, message: str, *, level: str = "info") -> None: ...


class RunMessages:
    """The messages to one run, while this process has it."""

    def __init__(self, live: _LiveRun) -> None:
        self.closed = False
        """No model of the run reads them any more."""
        self._live = live
        self._store: Store | None = None
        self._log: RunLog | None = None
        self._opened = asyncio.Event()
        """Set once the run is in the store, or will never be."""

    def attach(self, log: RunLog, store: Store) -> None:
        """Give the run those that no model of an earlier process read; take others from now on."""
        self._log, self._store = log, store
        for message in log.unread:
            self._live.execution.say(message)
        self._opened.set()

    def repeat_unread(self) -> None:
        """Tell which of earlier processes are still to be read."""
        for message in self._log.unread if self._log else ():
            self._live.notify(f"you: {message.text}")

    async def send(self, text: str) -> None:
        """Have the model told something before its next turn, also if another process has the run then.

        :raises InvalidInput: there is nothing to tell, or no model that would read it.
        :raises StoreError: the message cannot be kept.
        """
        self._refuse_unreadable(text)
        await self._opened.wait()
        self._refuse_unreadable(text)  # the run may have ended meanwhile
        assert self._store is not None  # noqa: S101 else it is closed, and was refused
        await self._store.send_control_request(self._live.execution.id, Message(text))

    def take(self, message: Message) -> None:
        """Take a message that is in the store; its person reads what becomes of it among the events."""
        live = self._live
        try:
            self._refuse_unreadable(message.text)
        except InvalidInput as error:
            if self._log is not None and not self.closed:
                self._log.drop(message)
            live.notify(f"a message was not passed on: {error}", level="warn")
        else:
            if live.execution.say(message):
                live.notify(f"you: {message.text}")

    def close(self) -> None:
        """Tell which messages no model read, and take no more: the run ends."""
        for message in self._live.execution.take_own_messages():
            self._live.notify(f"no model read what you said: {message.text}", level="warn")
        self.closed = True
        self._opened.set()

    def _refuse_unreadable(self, text: str) -> None:
        if not text.strip():
            raise InvalidInput("there is nothing to say; add the message")
        if self.closed:
            raise InvalidInput("the run has come to its end; no model reads it any more")
        if not self._live.takes_turns:
            name = self._live.adapter.name
            raise InvalidInput(
                f"the run reads no messages: the model of the adapter {name!r} does not work with tools, "
                "so it takes no turns between which it could be told something"
            )
