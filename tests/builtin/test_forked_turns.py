"""Forks at a model's turn: earlier turns are reused, and the run continues from there."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from tests.builtin.test_buffer_workflows import planned
from tests.builtin.test_with_tools import EXECUTE, SHOP, edit, hand_in, raise_prices
from tests.harness.front import LIMIT
from tideate_core.editor.fork_plans import fork_plan
from tideate_core.engine import EventName, RunEdits
from tideate_core.errors import InvalidInput
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from tests.harness.bench import Bench
    from tideate_core.engine import ConfirmationRequest, WorkflowResult

pytestmark = pytest.mark.slow

SAY = "Leave the cart as it is, and hand in what there is of the price already"

NOT_STAGED = "cart.py: the plan wants to modify it, and no such edit is staged; fix this, or hand in again"


@pytest.fixture
def tools() -> bool:
    return True


def no_review(request: ConfirmationRequest) -> Decision:
    return Decision(request.kind != "review", reason="declined")


async def declined(bench: Bench) -> str:
    """Run an edit of two files in three turns that the user declines; return the run."""
    raise_prices(bench)
    hand_in(bench)
    bench.front.answer = no_review
    result = await bench.run("multi_file", "raise it")
    assert (result.cancelled, result.reason) == (True, "declined"), (result.error, bench.server.unmatched)
    bench.front.answer = lambda _request: Decision(True)
    bench.front.requests.clear()
    bench.front.events.clear()
    return result.execution_id


async def forked(bench: Bench, run: str, step: str | None = "execute", **edits: Any) -> WorkflowResult:
    return await asyncio.wait_for(bench.runner.fork_run(run, step, RunEdits(**edits)), LIMIT)


async def test_a_turn_is_taken_anew_with_what_the_person_says_and_nothing_before_it_is_done_again(
    bench: Bench,
) -> None:
    run = await declined(bench)
    asked = len(bench.server.requests)
    # what the plan has and is not staged is told once
    hand_in(bench, on=SAY)
    hand_in(bench, on=NOT_STAGED)
    result = await forked(bench, run, turn=2, say=SAY)
    assert result.ok, (result.error, bench.server.unmatched)
    request, _ = bench.server.requests[asked:]
    assert [one["role"] for one in request["messages"][-3:]] == ["assistant", "tool", "user"]
    assert request["messages"][-1]["content"] == SAY
    assert "shop/cart.py" not in str(request["messages"][-3]["tool_calls"])
    called = [data["tool"] for data in bench.front.data(EventName.TOOL_CALLED)]
    assert called == [], "no call of the turns before it is made again"
    (review,) = bench.front.requests
    assert [file["path"] for file in review.payload["files"]] == ["shop/price.py"]
    assert bench.fingerprint()["shop/price.py"].decode() == SHOP["shop/price.py"].replace("1.2", "1.3")
    told = bench.front.data(EventName.NOTICE)[0]["message"]
    assert told.endswith("are reused; repeated from turn 2 of the step 'execute' on")
    assert result.as_json()["results"]["execute"]["files"] == ["shop/price.py"]


async def test_a_fork_of_a_fork_begins_with_turns_of_both(bench: Bench) -> None:
    run = await declined(bench)
    edit(bench, "shop/cart.py", "total(", "sum_of(", on=SAY)
    hand_in(bench, on=SAY)
    bench.front.answer = no_review
    second = await forked(bench, run, turn=2, say=SAY)
    assert second.reason == "declined", (second.error, bench.server.unmatched)
    bench.front.answer = lambda _request: Decision(True)
    asked = len(bench.server.requests)
    last = f"{SAY}. That was all, I think, so hand it in as it is by now, and say so"
    hand_in(bench, on=last)
    third = await forked(bench, second.execution_id, turn=3, say=last)
    assert third.ok, (third.error, bench.server.unmatched)
    (request,) = bench.server.requests[asked:]
    assert [one["content"] for one in request["messages"] if one["role"] == "user"][-2:] == [SAY, last]
    assert "sum_of" in bench.fingerprint()["shop/cart.py"].decode()
    assert "1.3" in bench.fingerprint()["shop/price.py"].decode()
    asked = len(bench.server.requests)
    edit(bench, "shop/price.py", "1.3", "1.4")  # as the third run left it
    edit(bench, "shop/cart.py", "items):", "items, rate=2):")
    hand_in(bench)
    bench.front.answer = no_review
    await forked(bench, second.execution_id, turn=1)
    requests = bench.server.requests[asked:]
    assert len(requests) == 3, [one["messages"][-2:] for one in requests]
    assert SAY not in str(requests), "what was said later is not reused"


async def test_a_turn_can_be_taken_by_another_model_without_a_word(bench: Bench) -> None:
    run = await declined(bench)
    bench.server.forgets(EXECUTE)
    hand_in(bench)
    result = await forked(bench, run, turn=3, adapter="fake")
    assert result.ok, (result.error, bench.server.unmatched)
    assert set(result.as_json()["results"]["execute"]["files"]) == set(SHOP)
    assert [one.kind for one in bench.front.requests] == ["review"], "the same edits are reviewed again"


REFUSED: dict[str, tuple[str | None, dict[str, Any], str]] = {
    "no such turn": ("execute", {"turn": 9}, "there is no turn 9: the model took 3 turns in the step"),
    "no turn at all": ("confirm", {"turn": 1}, "the model took no turns in the step 'confirm'"),
    "with a prompt": ("execute", {"turn": 1, "prompt": "x"}, "fork the step without --turn"),
    "said to nobody": ("execute", {"say": SAY}, "name one with --turn"),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_a_fork_that_cannot_be_is_refused_before_a_model_is_asked(bench: Bench, case: str) -> None:
    run = await declined(bench)
    asked = len(bench.server.requests)
    step, edits, why = REFUSED[case]
    with pytest.raises(InvalidInput, match=why):
        await forked(bench, run, step, **edits)
    assert len(bench.server.requests) == asked


async def test_the_form_says_why_a_fork_cannot_begin_at_a_turn(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await declined(bench)
    monkeypatch.setattr("tideate_core.app.runs.project_state", lambda _root: bench.private)
    plan = await fork_plan(bench.root, run, "execute", 9)
    assert plan["not_at_turn"].startswith("there is no turn 9: the model took 3 turns")
    assert "turn" not in plan
    assert (await fork_plan(bench.root, run, "execute", 2))["turn"] == 2


@pytest.mark.parametrize("tools", [False])
async def test_answers_of_a_model_without_tools_are_reused_up_to_a_turn(bench: Bench) -> None:
    planned(bench)
    bench.front.answer = no_review
    declined = await bench.run("multi_file", "move f into a library")
    bench.front.answer = lambda _request: Decision(True)
    asked = len(bench.server.requests)
    result = await forked(bench, declined.execution_id, turn=2)
    assert result.ok, (result.error, bench.server.unmatched)
    assert len(bench.server.requests) == asked + 1, "the first file's answer is reused"
    with pytest.raises(InvalidInput, match="answers a single prompt"):
        await forked(bench, declined.execution_id, turn=2, say=SAY)
