"""Answers by rule, where no person is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.builtin.test_buffer_workflows import LOOP, analyzed
from tideate_core.engine import (
    ConfirmationRequest,
    Event,
    EventName,
    PolicyFrontEnd,
    RunRequest,
    WorkflowResult,
    declined_unasked,
)

if TYPE_CHECKING:
    from tests.harness.bench import Bench
    from tideate_core.workflows import DecisionKind


async def ruled(bench: Bench, front: PolicyFrontEnd) -> WorkflowResult:
    bench.write("a.py", LOOP)
    bench.runner = bench.make_runner(bench.config, front=front)
    context = bench.context("a.py", 4, 6)
    return await bench.runner.run(RunRequest(name="refactor", prompt="simplify", context=context))


async def test_yes_applies_a_change_and_the_sink_is_told(bench: Bench) -> None:
    told: list[Event] = []
    analyzed(bench)
    result = await ruled(bench, PolicyFrontEnd(True, told.append))
    assert result.ok, result.error
    assert b"r**2" in bench.fingerprint()["a.py"]
    assert told[-1].name is EventName.WORKFLOW_COMPLETED


async def test_no_declines_at_the_first_question(bench: Bench) -> None:
    analyzed(bench)
    result = await ruled(bench, PolicyFrontEnd(False))
    assert (result.cancelled, result.reason) == (True, "declined")
    assert len(bench.server.requests) == 1
    assert bench.fingerprint()["a.py"] == LOOP.encode()


async def test_yes_does_not_write_new_syntax_errors(bench: Bench) -> None:
    analyzed(bench, "```python\ndef area(r:\n    return 1\n```")
    result = await ruled(bench, PolicyFrontEnd(True))
    assert result.error_code == "StepFailed"
    assert "new syntax errors; nothing was written" in str(result.error)
    assert bench.fingerprint()["a.py"] == LOOP.encode()


@pytest.mark.parametrize(("demonstration", "accepted"), [(False, True), (True, False)])
async def test_yes_is_no_review_of_what_a_demonstration_model_wrote(
    demonstration: bool, accepted: bool
) -> None:
    front = PolicyFrontEnd(True)
    asked = ConfirmationRequest("r", "w", "s", "review", "Apply?", demonstration=demonstration)
    decision = await front.confirm(asked)
    assert (decision.accepted, decision.by) == (accepted, "policy:yes")
    assert bool(decision.reason) is not accepted


async def test_a_new_text_is_part_of_the_result_and_shown_nowhere_else(bench: Bench) -> None:
    bench.server.answers("a constant", "```\nLIMIT = 3\n```")
    bench.runner = bench.make_runner(bench.config, front=PolicyFrontEnd(True))
    result = await bench.runner.run(RunRequest(name="generate", prompt="a constant"))
    assert (result.ok, result.response) == (True, "LIMIT = 3")


def test_a_tool_that_nobody_may_be_asked_about_is_declined_and_all_else_is_asked() -> None:
    called = {"tool": "push", "server": "forge"}
    unattended = {**called, "unattended": True}
    decision = declined_unasked(ConfirmationRequest("r", "w", "s", "tool", "Call it?", payload=unattended))
    assert decision is not None
    assert (decision.accepted, decision.by) == (False, "policy:unattended")
    assert "'push' of the MCP server 'forge' is not allowed here" in decision.reason
    asked: list[tuple[DecisionKind, dict[str, Any]]] = [("tool", called), ("review", unattended)]
    requests = [ConfirmationRequest("r", "w", "s", kind, "Well?", payload=given) for kind, given in asked]
    assert [declined_unasked(request) for request in requests] == [None, None]
