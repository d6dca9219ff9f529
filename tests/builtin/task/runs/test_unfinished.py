"""Edits cut off by a budget: only the user can continue, accept or stop them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.harness.tally import DONE
from tests.harness.unfinished import LAST, LIMITED, WRITTEN, works_until_the_limit
from tideate_core.engine import EventName, PolicyFrontEnd
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from tests.builtin.task.runs.desk import Desk
    from tests.harness.model_server import ModelServer
    from tideate_core.engine import ConfirmationRequest

pytestmark = pytest.mark.slow


@pytest.fixture
def limited(desk: Desk, server: ModelServer) -> Desk:
    config = desk.config / "config.toml"
    config.write_text(LIMITED.format(server.base_url))
    works_until_the_limit(desk.model, server)
    return desk


def asked(desk: Desk) -> list[ConfirmationRequest]:
    return [request for request in desk.front.requests if request.kind == "override"]


async def test_a_person_lets_the_work_go_on_and_it_is_finished(limited: Desk) -> None:
    result = await limited.succeed()
    (question,) = asked(limited)
    assert "The edits are unfinished: limits.turns (3) was reached." in question.message
    assert f"nothing yet: {LAST}" in question.details
    assert all(path in question.details for path in WRITTEN)
    assert limited.changed() == DONE
    assert "unfinished" not in str(result.response)


async def test_a_person_takes_what_is_there_and_is_told_that_it_is_unfinished(limited: Desk) -> None:
    answers = iter([Decision(False), Decision(True)])
    limited.answers(override=lambda _request: next(answers))
    result = await limited.run()
    assert [request.message.rpartition("reached. ")[2][:4] for request in asked(limited)] == ["Let ", "Take"]
    review = next(request for request in limited.front.requests if request.kind == "review")
    assert {file["path"] for file in review.payload["files"]} == set(WRITTEN)
    assert ("execution", True) in limited.gates()
    summary = str(result.response) if result.ok else ""
    assert result.ok, (result.error, limited.model.server.unmatched)
    assert "The edits are unfinished: limits.turns (3) was reached" in summary
    assert f"nothing is staged of {LAST}" in summary
    assert LAST not in result.files


async def test_a_person_stops_and_nothing_is_written(limited: Desk) -> None:
    limited.answers(override=Decision(False))
    result = await limited.run()
    assert (result.cancelled, result.reason, len(asked(limited))) == (True, "declined", 2)
    assert limited.changed() == {}


async def test_a_policy_that_says_yes_does_not_make_it_finished(limited: Desk) -> None:
    policy = PolicyFrontEnd(accept=True)
    limited.front.answer = lambda _request: Decision(True)
    limited.front.confirm = policy.confirm  # type: ignore[method-assign]
    result = await limited.run()
    assert (result.ok, result.cancelled) == (False, False)
    assert "gate 3" in str(result.error)
    assert "unfinished: limits.turns (3) was reached" in str(result.error)
    assert limited.changed() == {}
    kept = next(data for data in limited.front.data(EventName.STEP_COMPLETED) if data["step"] == "executing")
    assert {change["path"] for change in kept["result"]["changes"]} == set(WRITTEN), "it is kept with the run"


async def test_a_limit_of_costs_is_not_lifted_by_an_answer(
    limited: Desk, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    config = limited.config / "config.toml"
    config.write_text('adapter = "openai-chat:gpt-4o-mini"\n[limits]\ncost_usd = 0.012\n')

    def dear() -> None:
        server.prompt_tokens = 100_000  # $0.015

    limited.when("STEP_STARTED", "executing", dear)
    limited.answers(override=Decision(False))
    result = await limited.run()
    (question,) = asked(limited)
    assert "limits.cost_usd was reached. Take the unfinished edits" in question.message
    assert WRITTEN[0] in question.details
    assert f"nothing yet: {WRITTEN[1]}" in question.details
    assert (result.cancelled, result.reason, limited.changed()) == (True, "declined", {})
