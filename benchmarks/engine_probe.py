"""What every engine is given to do, and the stop-watch that its steps press."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["Engine", "Probe", "Task"]


@dataclass(frozen=True, slots=True)
class Task:
    """A workflow of steps that do nothing but give a result, each durable before what depends on it starts.

    A `chain` has `steps` steps; a `fan` has one, then `steps` side by side, then one.
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


class Engine(Protocol):
    """Makes a task ready to go, its database opened.

    It returns what runs it to its end, which gives how many results there are, and what frees all of it.
    """

    def __call__(self, task: Task, probe: Probe) -> tuple[Callable[[], int], Callable[[], object]]: ...
