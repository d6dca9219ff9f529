"""The front end of a run in the test's process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tideate_core.engine import ConfirmationRequest, Event, EventName
from tideate_core.workflows import Decision

__all__ = ["LIMIT", "Answer", "Front", "in_order", "no", "yes"]

Answer = Callable[[ConfirmationRequest], Decision]
LIMIT = 60.0
"""Seconds after which a wait has failed."""


def yes(_request: ConfirmationRequest) -> Decision:
    return Decision(True)


def no(_request: ConfirmationRequest) -> Decision:
    return Decision(False, reason="not now")


def in_order(*decisions: Decision | bool) -> Answer:
    """Answer each question with the next of these; one more is a failure."""
    left = [one if isinstance(one, Decision) else Decision(one) for one in decisions]

    def answer(request: ConfirmationRequest) -> Decision:
        assert left, f"nothing more is to be asked: {request}"
        return left.pop(0)

    return answer


@dataclass
class Front:
    """Front end that records events, and answers or withholds answers as the test says."""

    answer: Answer = yes
    events: list[Event] = field(default_factory=list)
    requests: list[ConfirmationRequest] = field(default_factory=list)
    presented: list[str] = field(default_factory=list)
    withdrawn: int = 0
    hold: bool = False
    waiters: list[tuple[Callable[[], bool], asyncio.Event]] = field(default_factory=list)

    editor = None

    async def confirm(self, request: ConfirmationRequest) -> Decision:
        self.requests.append(request)
        self._wake()
        if self.hold:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.withdrawn += 1
                raise
        return self.answer(request)

    def emit(self, event: Event) -> None:
        self.events.append(event)
        self._wake()

    async def present(self, text: str, filetype: str) -> None:
        self.presented.append(text)

    async def until(self, reached: Callable[[], bool]) -> None:
        """Wait until something is so; looked at after every event and question."""
        if not reached():
            event = asyncio.Event()
            self.waiters.append((reached, event))
            await asyncio.wait_for(event.wait(), LIMIT)

    def names(self) -> list[str]:
        """Return the told events, without the checkpoint after every step."""
        names = (event.name for event in self.events if event.name is not EventName.CHECKPOINT_CREATED)
        return [name.value.removeprefix("SD_EVENT_") for name in names]

    def data(self, name: EventName) -> list[dict[str, Any]]:
        return [event.data for event in self.events if event.name is name]

    def notices(self) -> list[str]:
        """Return the messages of all notices."""
        return [data["message"] for data in self.data(EventName.NOTICE)]

    async def until_told(self, name: str, times: int = 1) -> None:
        """Wait until an event was told so many times."""
        await self.until(lambda: len(self.data(EventName[name])) >= times)

    async def until_asked(self, times: int = 1) -> None:
        """Wait until so many questions were asked."""
        await self.until(lambda: len(self.requests) >= times)

    def _wake(self) -> None:
        for reached, event in self.waiters:
            if reached():
                event.set()
