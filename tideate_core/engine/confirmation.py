"""Confirmation requests, and what a front end does with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.engine.events import Event
    from tideate_core.workflows import Decision, DecisionKind, EditorAccess
    from tideate_core.workspace import ExecutableFile

__all__ = ["ConfirmationRequest", "FrontEnd"]


@dataclass(frozen=True, slots=True)
class ConfirmationRequest:
    """A question; `details` is Markdown, `payload` JSON by kind."""

    execution_id: str
    workflow: str
    step: str
    kind: DecisionKind
    message: str
    details: str = ""
    payload: Any = None
    demonstration: bool = False
    """The question is about the work of a model that is not to be relied on."""
    executed: Sequence[ExecutableFile] = ()
    """Files of the change or the plan that other tools run by themselves; each front end warns of them."""
    draft: str = ""
    """The file in which a front end keeps what the person did so far about a review, a plan or a document;
    empty: in none."""
    unread: str = ""
    """Why an earlier draft cannot be used, in words behind its name; empty: it can, or there is none."""

    def as_json(self) -> dict[str, Any]:
        shape = {name: getattr(self, name) for name in self.__slots__}
        return {**shape, "executed": [one.as_json() for one in self.executed]}


class FrontEnd(Protocol):
    """The editor, the shell, or a policy. It shows and answers, and decides nothing else."""

    @property
    def editor(self) -> EditorAccess | None:
        """Answers what only a running editor knows; None outside of one."""
        ...

    async def confirm(self, request: ConfirmationRequest) -> Decision:
        """Return the answer; cancelling withdraws the question."""
        ...

    def emit(self, event: Event) -> None:
        """Take an event; returns at once."""
        ...

    async def present(self, text: str, filetype: str) -> None:
        """Show a new text that belongs to no file yet."""
        ...
