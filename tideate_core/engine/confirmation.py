"""Confirmation requests, and the front ends that answer them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tideate_core.engine.events import Event
    from tideate_core.workflows import DecisionKind, EditorAccess
    from tideate_core.workspace import ExecutableFile

__all__ = ["ConfirmationRequest", "FrontEnd", "PolicyFrontEnd", "declined_unasked"]


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

    def as_json(self) -> dict[str, Any]:
        shape = {name: getattr(self, name) for name in self.__slots__}
        return {**shape, "executed": [one.as_json() for one in self.executed]}


def declined_unasked(request: ConfirmationRequest) -> Decision | None:
    """Return the answer to a question that no person is to be asked, None to all others.

    Where the person wants no confirmations, a tool is not called for that: it asks for permission, and only
    a rule may give it then.
    """
    if request.kind != "tool" or not request.payload.get("unattended"):
        return None
    reason = (
        f"nobody is asked in this run (require_confirmation is off), and {request.payload['tool']!r} of the "
        f"MCP server {request.payload['server']!r} is not allowed here; allow it always in a run that asks, "
        "or give --yes"
    )
    return Decision(False, by="policy:unattended", reason=reason)


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


class PolicyFrontEnd:
    """Answers by rule, where no person is asked.

    :param accept: the answer to gates, plans and reviews. New syntax errors, and edits of a model that
        is only a demonstration, are never accepted by rule.
    :param sink: takes the events.
    """

    editor: EditorAccess | None = None

    def __init__(self, accept: bool, sink: Callable[[Event], None] | None = None) -> None:
        self._accept = accept
        self._sink = sink

    async def confirm(self, request: ConfirmationRequest) -> Decision:
        if not self._accept:
            return Decision(False, by="policy:no", reason="nobody can be asked here, or --no was given")
        if request.kind == "override":
            return Decision(False, by="policy:yes", reason="only a person may override a failed check")
        if request.kind == "review" and request.demonstration:
            reason = "edits of the demonstration model are applied only after a person's review"
            return Decision(False, by="policy:yes", reason=reason)
        return Decision(True, by="policy:yes")

    def emit(self, event: Event) -> None:
        if self._sink:
            self._sink(event)

    async def present(self, text: str, filetype: str) -> None:
        """Nothing to do: the text is part of the run's result."""
