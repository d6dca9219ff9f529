"""Builder of recorded runs, written by the store itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tideate_core.store.records import Definition, Ending, Graph, NewRun, StepOutcome, StepStart, Tokens

if TYPE_CHECKING:
    from tideate_core.store import RunLog, Store
    from tideate_core.store.records import CheckpointRow

DAY = 24 * 60 * 60 * 1000
NOON = 1_700_000_000_000 - 1_700_000_000_000 % DAY + DAY // 2
"""Noon of a day (UTC) in 2023, in milliseconds."""


def run_id(number: int) -> str:
    return f"{number:032x}"


def big(sign: str, length: int = 20_000) -> str:
    """Return a value stored as a file of `length` + 2 bytes."""
    return sign * length


def definition(name: str = "w", text: str = '{"steps": []}') -> Definition:
    workflow_id = f"00000000-0000-0000-0000-{name.encode().hex():0>12}"
    return Definition(
        workflow_id, name, "graph", text, f"about {name}", "1.2.0", "project", f"/p/{name}.yaml"
    )


@dataclass
class Past:
    """A run with a chain of steps, driven by the test."""

    store: Store
    number: int = 1
    name: str = "w"
    at: int = NOON
    steps: tuple[str, ...] = ("a", "b", "c")
    request: dict[str, Any] = field(default_factory=lambda: {"prompt": "do it", "inputs": {"n": 1}})
    parent: str | None = None
    text: str = '{"steps": []}'

    async def begin(self) -> RunLog:
        steps = self.steps
        self.log = await self.store.begin(
            NewRun(
                run_id(self.number),
                definition(self.name, self.text),
                self.request,
                len(steps),
                self.at,
                Graph(steps, tuple(pairwise(steps)), tuple((step,) for step in steps)),
                parent=self.parent,
                parent_step=None if self.parent is None else "a",
                steps=tuple((step, step.upper(), "assistant") for step in steps),
            )
        )
        return self.log

    def start(self, step: str, attempt: int = 1) -> None:
        place = self.steps.index(step) if step in self.steps else 0
        before = self.steps[place - 1 : place] if place else ()
        self.log.started(StepStart(step, step.upper(), "assistant", "do it", attempt, self.at + 1, before))

    async def step(self, step: str, result: Any = None, **outcome: Any) -> CheckpointRow | None:
        self.start(step)
        given = {"status": "completed", "completed_at": self.at + 5, "duration_ms": 4, **outcome}
        row: CheckpointRow | None = await self.log.finish(StepOutcome(step, result=result, **given)).future
        return row

    async def end(self, **ending: Any) -> None:
        given = {"status": "completed", "completed_at": self.at + 10, "duration_ms": 10, **ending}
        await self.log.ended(Ending(**given))

    async def whole(self, result: Any = None, **ending: Any) -> str:
        """Start the run, complete all steps with this result, end it."""
        await self.begin()
        for step in self.steps:
            await self.step(step, result, tokens=Tokens(1, 2, 0.5))
        await self.end(completed_steps=len(self.steps), **ending)
        return run_id(self.number)
