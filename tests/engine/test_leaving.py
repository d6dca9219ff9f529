"""Questions at which a run is left, and recorded answers to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tideate_core.engine import (
    ConfirmationRequest,
    LeavingFrontEnd,
    RecordedAnswers,
    answer_key,
    question_digest,
)
from tideate_core.errors import LeftAtGate
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from tideate_core.workflows import DecisionKind


def asking(kind: DecisionKind = "gate", step: str = "write", **more: Any) -> ConfirmationRequest:
    return ConfirmationRequest("0" * 32, "refactor", step, kind, "Apply it?", **more)


async def test_without_a_policy_a_run_is_left_at_its_question() -> None:
    front = LeavingFrontEnd(None)
    with pytest.raises(LeftAtGate, match=r"left at this question: Apply it\?"):
        await front.confirm(asking())
    assert front.left == asking()


async def test_a_policy_answers_what_it_may_and_leaves_the_rest() -> None:
    front = LeavingFrontEnd(accept=True)
    assert (await front.confirm(asking())).accepted
    for of_a_person in (asking("override"), asking("review", payload={"files": []}, demonstration=True)):
        with pytest.raises(LeftAtGate):
            await front.confirm(of_a_person)
        assert front.left == of_a_person


async def test_a_declining_policy_leaves_nothing() -> None:
    front = LeavingFrontEnd(accept=False)
    assert not (await front.confirm(asking())).accepted
    assert front.left is None


async def test_before_a_run_continues_there_is_nothing_to_leave() -> None:
    front = LeavingFrontEnd(None)
    decision = await front.confirm(asking(step=""))
    assert (decision.accepted, front.left) == (False, None)


async def test_a_run_that_asks_no_questions_is_not_left_at_a_permission() -> None:
    shown = {"server": "files", "tool": "write_file", "arguments": {}, "unattended": True}
    decision = await LeavingFrontEnd(None).confirm(asking("tool", payload=shown))
    assert (decision.accepted, decision.by) == (False, "policy:unattended")


async def test_a_recorded_answer_counts_once_and_at_its_place() -> None:
    request, told = asking(place="write:1"), list[str]()
    answers = {answer_key(question_digest(request), "write:1"): (Decision(accepted=True, by="user"), "Ana")}
    front = LeavingFrontEnd(None, RecordedAnswers(answers, told.append))
    with pytest.raises(LeftAtGate):
        await front.confirm(asking(place="write:2"))
    assert (await front.confirm(request)).accepted
    assert told == ["answered by Ana"]
    with pytest.raises(LeftAtGate):
        await front.confirm(request)
