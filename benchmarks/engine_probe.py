"""The task of every engine, and the probe that its steps call."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Ready: TypeAlias = "tuple[Callable[[], int], Callable[[], object]]"
"""What runs a task to its end, which gives how many results there are, and what frees all of it."""


@dataclass(frozen=True, slots=True)
class Task:
    """A workflow of trivial steps, each durable before its dependents start.

    A `chain` has `steps` steps; a `fan` has one, then `steps` side by side, then one. Every result is stored
    with its step; no engine carries a list of them in what it stores, only how many there are.
    """

    shape: Literal["chain", "fan"]
    steps: int
    place: Path
    """Where the engine keeps its database."""
    size: int = 0
    """Bytes of every step's result."""
    nap: float = 0.0
    """Seconds that each of the steps side by side waits."""
    kill_at: int | None = None
    """The process dies in this step, counted from 0."""
    resume: bool = False
    """An earlier process was killed in it: go on."""


@dataclass
class Probe:
    """Called by every step."""

    task: Task
    at: list[float] = field(default_factory=list)
    """When each step ran: seconds of the machine's monotonic clock, which all processes share."""

    def step(self, number: int) -> str:
        """Do a step's work."""
        self.at.append(time.monotonic())
        if number == self.task.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return f"{number:08}" + "x" * max(0, self.task.size - 8)

    def wait_and_step(self, number: int) -> str:
        """Do a step's work after its wait."""
        if self._waits(number):
            time.sleep(self.task.nap)
        return self.step(number)

    async def wait_and_step_async(self, number: int) -> str:
        """Do a step's work after its wait, which others use."""
        if self._waits(number):
            await asyncio.sleep(self.task.nap)
        return self.step(number)

    def _waits(self, number: int) -> bool:
        return bool(self.task.nap) and 0 < number <= self.task.steps


class Engine(Protocol):
    """Makes a task ready to go, its database opened."""

    def __call__(self, task: Task, probe: Probe) -> Ready: ...
