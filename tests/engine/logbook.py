"""Run log in memory, for tests of the order of its records."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tideate_core.store.delivery import Delivery
from tideate_core.store.records import CheckpointRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.store.records import Ending, Message, StepOutcome, StepStart

RUN = "0" * 31 + "1"


@dataclass
class Logbook:
    """Stand-in for `RunLog`: `lines` has the records in order, `durable` the number of durable ones."""

    run_id: str = RUN
    lines: list[tuple[Any, ...]] = field(default_factory=list)
    durable: int = 0
    memos: dict[str, dict[str, Any]] = field(default_factory=dict)

    def event(self, name: str, at: int, data: dict[str, Any]) -> int:
        self.lines.append(("event", name.removeprefix("SD_EVENT_"), data))
        return sum(line[0] == "event" for line in self.lines)

    def status(self, status: str, step: str | None) -> None:
        self.lines.append(("status", status, step))

    def started(self, start: StepStart) -> None:
        self.lines.append(("started", start))

    def finish(self, outcome: StepOutcome) -> Delivery:
        self.lines.append(("finished", outcome))
        self.durable = len(self.lines)
        delivery = Delivery(asyncio.get_running_loop().create_future())
        if outcome.status == "completed":
            step, at = outcome.step, outcome.completed_at
            delivery.result = CheckpointRow(f"after {step}", RUN, step, 1, at, 0)
        delivery.deliver()
        return delivery

    def note(self, step: str, key: str, value: Any) -> None:
        self.lines.append(("note", step, key, value))
        self.memos.setdefault(step, {})[key] = value

    async def remember(self, step: str, key: str, value: Any) -> None:
        self.note(step, key, value)
        await self.flush()

    async def read(self, step: str, key: str, messages: Sequence[Message]) -> None:
        await self.remember(step, key, [message.text for message in messages])

    async def ended(self, ending: Ending, last: tuple[str, int, dict[str, Any]]) -> int:
        number = self.event(*last)
        self.lines.append(("ended", ending))
        await self.flush()
        return number

    async def flush(self) -> None:
        self.durable = len(self.lines)

    def kinds(self) -> list[str]:
        return [line[0] for line in self.lines]
