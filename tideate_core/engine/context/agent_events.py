"""Events of a step for an agent's turn: text, thoughts, plan, tool calls; limits and usage of the turn."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from tideate_core.adapters import CallUpdate, CostUpdate, PlanUpdate, SaidText
from tideate_core.engine.events import EventName
from tideate_core.engine.tool_call_events import CallEvents
from tideate_core.errors import BudgetReached, CostLimitReached

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tideate_core.adapters import AgentUpdate
    from tideate_core.engine.context.context import Context

PLAN: Final = "plan"
"""Tool name of the call that shows an agent's plan."""
SIGNS: Final = {"completed": "[x]", "in_progress": "[-]", "pending": "[ ]"}
MOST_PLANS: Final = 50
"""Maximum number of plans that a turn shows; finished plans are stored."""
BETWEEN: Final = 0.1
"""Seconds between two events about one running call."""


class AgentEvents:
    """Display of an agent's updates.

    :param agent: name of the adapter.
    """

    def __init__(self, step: Context, agent: str, *, quiet: bool) -> None:
        self._step = step
        self._agent = agent
        self._quiet = quiet
        self._calls: dict[str, CallEvents] = {}
        self._seen: set[str] = set()
        """Calls that ended; later updates of them are dropped."""
        self._plan: CallEvents | None = None
        self._plans = 0
        self._shown: PlanUpdate | None = None
        self._last = 0.0

    def show(self, update: AgentUpdate) -> None:
        """Send the events of an update.

        :raises BudgetReached: the agent exceeded the step's limit of calls.
        :raises CostLimitReached: the agent's cost exceeds the run's limit.
        """
        match update:
            case SaidText(text, is_thought):
                if not self._quiet:
                    self._step.emit(EventName.REASONING if is_thought else EventName.TOKEN, text=text)
            case PlanUpdate():
                self._show_plan(update)
            case CallUpdate():
                self._show_call(update)
            case CostUpdate(amount):
                self._check_cost(amount)

    def _show_plan(self, update: PlanUpdate) -> None:
        if not update.entries or update == self._shown or self._plans >= MOST_PLANS:
            return
        self._shown = update
        done = sum(one.state == "completed" for one in update.entries)
        now = next((one.text for one in update.entries if one.state != "completed"), "")
        checklist = [f"{SIGNS[one.state]} {one.text}" for one in update.entries]
        if self._plan is None:
            self._plans += 1
            self._plan = CallEvents(self._step.emit, PLAN, {}, server=self._agent)
        self._plan.result = "\n".join(checklist)
        self._plan.more = {"checklist": checklist}
        self._plan.progress(done, len(update.entries), now)
        if done == len(update.entries):
            self._plan.end()
            self._plan = None

    def _show_call(self, update: CallUpdate) -> None:
        if update.id in self._seen:
            return
        call = self._calls.get(update.id)
        if call is None:
            self._check_calls()
            arguments: dict[str, Any] = {"title": update.title, "paths": list(update.paths)}
            known = {**arguments, **({"input": update.arguments} if update.arguments else {})}
            call = CallEvents(
                self._step.emit, update.kind or "other", known, server=self._agent, summary=update.title
            )
            self._calls[update.id] = call
        elif update.title and update.title != call.summary:
            call.summary = update.title
            if time.monotonic() - self._last >= BETWEEN:
                self._last = time.monotonic()
                call.progress()
        call.result = update.output or call.result
        if update.state in {"completed", "failed"}:
            failed = (call.result or "failed") if update.state == "failed" else ""
            call.end(failed=failed)
            del self._calls[update.id]
            self._seen.add(update.id)

    def _check_calls(self) -> None:
        limit = self._step.run.runner.config.limits.tool_calls
        if len(self._calls) + len(self._seen) >= limit:
            name = f"limits.tool_calls ({limit})"
            words = f"{name} is reached: the agent {self._agent!r} was stopped; set a higher limit"
            raise BudgetReached(words, name)

    def _check_cost(self, amount: float) -> None:
        limit = self._step.run.runner.config.limits.cost_usd
        if limit is not None and self._step.run.outermost.committed_cost() + amount > limit:
            raise CostLimitReached(
                f"limits.cost_usd is ${limit:g}, and the agent {self._agent!r} has cost ${amount:.4f}: it "
                "was stopped. Set a higher limits.cost_usd"
            )

    def close(self) -> None:
        """End the calls under way: the turn is over."""
        if self._plan is not None:
            self._plan.end()
        for call in self._calls.values():
            call.end(failed="the agent's turn ended before it")
        self._calls.clear()


@contextmanager
def agent_events(step: Context, agent: str, *, quiet: bool = False) -> Iterator[AgentEvents]:
    """Show a turn's updates with `show`; end open calls at the end of the block."""
    events = AgentEvents(step, agent, quiet=quiet)
    try:
        yield events
    finally:
        events.close()
