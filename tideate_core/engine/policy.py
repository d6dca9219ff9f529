"""Front end that answers questions by a policy, without a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tideate_core.engine.context.person import question_digest
from tideate_core.engine.review.drafts import WAITS, read_begun
from tideate_core.errors import LeftAtGate, PersonNeeded
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tideate_core.engine.events import ConfirmationRequest, Event
    from tideate_core.workflows import EditorAccess


FROM_DRAFT: Final = "policy:draft"
"""Author of an answer that a person began and a policy completed."""
PERSONS: Final = frozenset({"user", FROM_DRAFT})
"""Authors of answers that a person wrote. If such an answer is unusable, the person is asked again."""


UNASKED: Final = "policy:none"
"""Author of a refusal because no person can be asked."""


def declined_unasked(request: ConfirmationRequest) -> Decision | None:
    """Decline a question for permission if the person wants no questions; None for other questions.

    Without confirmations a tool still needs permission, which only a rule can give then.
    """
    if request.kind != "tool" or not request.payload.get("unattended"):
        return None
    reason = (
        f"this run asks no questions (require_confirmation is off), and {request.payload['tool']!r} of the "
        f"MCP server {request.payload['server']!r} is not allowed here; allow it always in a run that asks, "
        "or give --yes"
    )
    return Decision(False, by="policy:unattended", reason=reason)


class PolicyFrontEnd:
    """Front end that answers by rule, without a person.

    Earlier decisions of a person on a question are kept; accepting accepts the rest.

    :param accept: the answer to gates, plans and reviews. New syntax errors and edits of a demonstration
        model are never accepted by rule. None: decline, because no person can be asked.
    :param sink: receives the events.
    """

    editor: EditorAccess | None = None

    def __init__(self, accept: bool | None, sink: Callable[[Event], None] | None = None) -> None:
        self._accept = accept
        self._sink = sink

    async def confirm(self, request: ConfirmationRequest) -> Decision:
        """Return the answer.

        :raises PersonNeeded: it would lose a person's partial answer.
        """
        begun = await read_begun(request)
        if not self._accept:
            if self._accept is None and begun.begun:
                raise PersonNeeded(f"you began to answer, and no person can be asked here; {WAITS}")
            by = UNASKED if self._accept is None else "policy:no"
            return Decision(False, by=by, reason="no person can be asked here, or --no was given")
        if request.kind == "override":
            return Decision(False, by="policy:yes", reason="only a person may override a failed check")
        if request.kind == "review" and request.demonstration:
            reason = "edits of the demonstration model are applied only after a person's review"
            if begun.begun:
                raise PersonNeeded(f"{reason}; {WAITS}")
            return Decision(False, by="policy:yes", reason=reason)
        value = begun.accepted_rest()
        return Decision(True, value, by="policy:yes" if value is None else FROM_DRAFT)

    def emit(self, event: Event) -> None:
        if self._sink:
            self._sink(event)

    async def present(self, text: str, filetype: str) -> None:
        """Ignore the text: it is part of the run's result."""


class RecordedAnswers:
    """Answers that a person gave elsewhere, by the digest of their question; each is given once.

    :param tell: called with a notice about each answer.
    """

    def __init__(self, answers: Mapping[str, tuple[Decision, str]], tell: Callable[[str], object]) -> None:
        self._answers = dict(answers)
        self._tell = tell

    def take(self, request: ConfirmationRequest) -> Decision | None:
        """Return the answer to a question, or None."""
        found = self._answers.pop(question_digest(request), None)
        if found is None:
            return None
        decision, author = found
        self._tell(f"answered by {author}")
        return decision


class LeavingFrontEnd(PolicyFrontEnd):
    """Front end that leaves the run at a question for a reviewer elsewhere.

    :param accept: True: accept what a policy may, and leave the rest; False: decline; None: leave.
    :param recorded: answers that count first.
    """

    def __init__(
        self,
        accept: bool | None,
        recorded: RecordedAnswers | None = None,
        sink: Callable[[Event], None] | None = None,
    ) -> None:
        super().__init__(accept, sink)
        self._recorded = recorded
        self.left: ConfirmationRequest | None = None
        """The question at which the run was left."""

    async def confirm(self, request: ConfirmationRequest) -> Decision:
        """Return a recorded answer, or one by rule.

        :raises LeftAtGate: a person has to answer.
        """
        decision = self._recorded.take(request) if self._recorded else None
        if decision is None and not self._accept:
            decision = declined_unasked(request)
        if decision is None and self._accept is not None:
            decision = await super().confirm(request)
            decision = decision if decision.accepted or not self._accept else None
        if decision is not None:
            return decision
        if not request.step:  # before the run continues, there is nothing to leave
            return Decision(False, by=UNASKED, reason="no person can be asked here")
        self.left = request
        raise LeftAtGate(f"the run is left at this question: {request.message}")
