"""Events of an agent's turn: quiet turns, repeated plans and calls, limits of calls and cost, ended calls."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from tideate_core.adapters import CallUpdate, CostUpdate, PlanEntry, PlanUpdate, SaidText
from tideate_core.engine.context.agent_events import AgentEvents
from tideate_core.errors import BudgetReached, CostLimitReached

if TYPE_CHECKING:
    from tideate_core.engine.context.context import Context


class Step:
    """Step with its limits that keeps its events."""

    def __init__(self, *, tool_calls: int = 9, cost: float | None = None) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []
        limits = SimpleNamespace(tool_calls=tool_calls, cost_usd=cost)
        config = SimpleNamespace(config=SimpleNamespace(limits=limits))
        self.run = SimpleNamespace(runner=config, outermost=SimpleNamespace(committed_cost=lambda: 0.5))

    def emit(self, event: str, /, **data: Any) -> None:
        self.events.append((str(event), data))

    def shown(self, *, quiet: bool = False) -> AgentEvents:
        return AgentEvents(cast("Context", self), "acp:x", quiet=quiet)


def test_a_quiet_turn_shows_no_text() -> None:
    step = Step()
    step.shown(quiet=True).show(SaidText("words"))
    step.shown().show(SaidText("thought", is_thought=True))
    assert [data["text"] for _, data in step.events] == ["thought"]


def test_a_repeated_or_empty_plan_is_not_shown_again_and_a_done_one_ends() -> None:
    step = Step()
    events = step.shown()
    plan = PlanUpdate((PlanEntry("one"), PlanEntry("two", "completed")))
    for update in (PlanUpdate(()), plan, plan):
        events.show(update)
    begun = len(step.events)
    events.show(PlanUpdate((PlanEntry("one", "completed"), PlanEntry("two", "completed"))))
    assert 0 < begun < len(step.events)
    ended = len(step.events)
    events.close()
    assert len(step.events) == ended


def test_calls_end_once_and_those_under_way_end_with_the_turn() -> None:
    step = Step()
    events = step.shown()
    events.show(CallUpdate("a", "Read", "read"))
    events.show(CallUpdate("a", "Read a.txt", state="completed", output="text"))
    after = len(step.events)
    events.show(CallUpdate("a", "late"))
    assert len(step.events) == after
    events.show(CallUpdate("b", "Run", "execute", state="failed"))
    events.show(CallUpdate("c", "Wait"))
    events.show(PlanUpdate((PlanEntry("one"),)))
    before = len(step.events)
    events.close()
    assert len(step.events) == before + 2


def test_limits_of_calls_and_cost_stop_the_agent() -> None:
    events = Step(tool_calls=1, cost=1.0).shown()
    events.show(CallUpdate("a", "Read"))
    with pytest.raises(BudgetReached, match="tool_calls"):
        events.show(CallUpdate("b", "Read"))
    events.show(CostUpdate(0.4))
    with pytest.raises(CostLimitReached, match="acp:x"):
        events.show(CostUpdate(0.6))
    Step().shown().show(CostUpdate(1000.0))
