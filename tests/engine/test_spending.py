"""Budgets of work loops: one for all attempts of a step and one for all steps of a run, also over a crash."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from tests.agents.loop_step import turn
from tests.engine.logbook import Logbook
from tideate_core.config import LimitsConfig
from tideate_core.engine.context.memory import Ledger, Memory, Spent

if TYPE_CHECKING:
    from tideate_core.adapters import ModelTurn

LIMITS = LimitsConfig(turns=5, run_turns=8, tokens=1000)


def two_turns() -> list[ModelTurn]:
    return [turn("a", ("look", {})), turn("b", ("look", {}), ("look", {}))]


def memo(one: ModelTurn, **more: Any) -> dict[str, Any]:
    return {"turn": one.as_json(), "usage": {}, "late": False, **more}


def left(ledger: Ledger, step: str = "a") -> dict[str, int]:
    return {one.name: one.left for one in ledger.allowances(LIMITS, step)}


def test_what_is_left_is_of_the_step_and_of_the_run() -> None:
    ledger = Ledger()
    for one in two_turns():
        ledger.spend("a", one)
    ledger.spend("b", turn("c"))
    assert ledger.total == Spent(3, 3, 33)
    assert left(ledger) == {
        "limits.turns": 3,
        "limits.tool_calls": 297,
        "limits.tokens": 978,
        "limits.run_turns": 5,
        "limits.run_tool_calls": 4997,
    }
    assert left(ledger, "c")["limits.turns"] == 5


def test_another_process_counts_every_attempt_every_item_and_ended_runs_within() -> None:
    one, two = two_turns()
    ledger = Ledger(
        {
            "a": {
                "1.ask:turn:a:loop:1:x:0": memo(one, of="a"),
                "2.ask:turn:a:loop:2:x:0": memo(two, of="a"),
                "2.ask:turn:a[1]:loop:2:x:0": memo(two, of="a[1]"),
                "1.ask:digest": {"text": "", "usage": {}, "late": False},
                "spent_within:other": {"turns": 2, "tool_calls": 0, "tokens": 5},
            },
            "b": {"1.ask:turn:b:loop:1:x:0": memo(one, of="b")},
        }
    )
    assert (left(ledger)["limits.turns"], left(ledger, "a[1]")["limits.turns"]) == (3, 4)
    assert ledger.total == Spent(6, 6, 49)


def test_a_run_within_draws_on_the_budget_of_the_outermost() -> None:
    outer, inner, innermost = Ledger(), Ledger(), Ledger()
    outer.open_within("one", inner)
    inner.open_within("two", innermost)
    innermost.spend("a", turn("a"))
    outer.spend("a", turn("b"))
    assert (left(innermost)["limits.run_turns"], left(innermost)["limits.turns"]) == (6, 4)
    innermost.extend("a", run=True)
    assert (left(outer)["limits.run_turns"], left(innermost)["limits.turns"]) == (14, 9)


async def test_a_budget_that_was_given_once_more_is_given_once_over_a_crash() -> None:
    log = Logbook()
    memory = Memory(cast("Any", log))
    for _ in range(2):
        await memory.extend_budget("a", 1, "a", run=False)
    assert (log.durable, left(memory.ledger)["limits.turns"]) == (2, 15)
    again = Memory(cast("Any", log), {step: dict(kept) for step, kept in log.memos.items()})
    await again.extend_budget("a", 1, "a", run=False)
    assert left(again.ledger)["limits.turns"] == 15
    for _ in range(2):
        await again.extend_budget("a", 1, "a", run=True)
    assert (left(again.ledger)["limits.turns"], left(again.ledger)["limits.run_turns"]) == (20, 16)
