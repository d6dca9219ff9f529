"""What the runner does next, and who says so: the seam between a run and the kind of its workflow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from tideate_core.engine.events import EventName
    from tideate_core.workflows import StepContext, StepHandler

__all__ = ["Driver", "Emit", "Question", "Work"]

Emit = Callable[["EventName", dict[str, Any]], None]
"""Sends an event of one run."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a person confirms before the work starts; `details` is Markdown."""

    message: str
    details: str = ""
    payload: Any = None


@dataclass(frozen=True, slots=True)
class Work:
    """One step of a run."""

    step: str
    """Unique in the run."""
    handler: StepHandler
    index: int
    """From 1."""
    total: int
    """0 where nobody knows how many there will be."""
    question: Question | None = None
    more: Mapping[str, Any] = field(default_factory=dict)
    """What the step's events say beside that."""

    @property
    def place(self) -> dict[str, Any]:
        return {"step": self.step, **self.more, "index": self.index, "total": self.total}


class Driver(Protocol):
    """Gives the next work, is told when it begins, and takes its result. Lives as long as one run."""

    @property
    def has_steps(self) -> bool:
        """There is something to do at all."""
        ...

    @property
    def ready(self) -> bool:
        """It was prepared."""
        ...

    @property
    def has_more(self) -> bool:
        """There is work after what was taken."""
        ...

    @property
    def at_last(self) -> bool:
        """Nothing can come after the work that is under way."""
        ...

    @property
    def path(self) -> list[dict[str, str]] | None:
        """The moves made so far, None where there are no moves."""
        ...

    def prepare(self) -> None:
        """Make what the work's order needs.

        :raises InvalidDefinition: there is no such order.
        """
        ...

    def outline(self) -> dict[str, Any]:
        """Return what the run's first event says about the workflow."""
        ...

    def next(self) -> Work:
        """Return the work that comes now; the same until it is taken.

        :raises MoveLimitReached: it would be one too many.
        """
        ...

    def begin(self, work: Work) -> None:
        """The person agreed, where one was asked: the work starts."""
        ...

    async def take(self, work: Work, value: Any, step: StepContext) -> None:
        """The work is done and told, and `value` came of it; find what comes next.

        :param step: the work's, to ask with.
        """
        ...

    def response(self) -> Any:
        """Return what a completed run answers."""
        ...

    def unfinished(self) -> Any:
        """Return what a run that broke off leaves; None where that is nothing."""
        ...
