"""A step for work loops: durable memory, and a scripted model."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.agents.stage import StepDouble
from tideate_core.adapters import ModelTurn, OfferedTool, RequestedCall, ToolResult, Usage, UserMessage
from tideate_core.config import LimitsConfig
from tideate_core.engine.context.memory import Ledger
from tideate_core.workflows import MISSING, Allowance, CallReport

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tideate_core.adapters import Conversation

__all__ = ["Killed", "LoopStep", "Memory", "said", "tool", "turn"]

Memory = dict[str, Any]
"""Durable values by key."""


class Killed(BaseException):
    """Ends the process."""


def turn(text: str = "", *calls: tuple[str, Mapping[str, Any] | None], **rest: Any) -> ModelTurn:
    """Return a turn with tool calls; their ids derive from its text."""
    made = [
        RequestedCall(f"{text}{at}", name, None if given is None else dict(given))
        for at, (name, given) in enumerate(calls)
    ]
    return ModelTurn(text, tuple(made), "scripted", usage=rest.pop("usage", Usage(10, 1)), **rest)


def tool(name: str, work: Any, *, parallel: bool = False) -> OfferedTool:
    """Return a tool that takes any arguments."""
    return OfferedTool(name, f"does {name}", {"type": "object"}, work, parallel)


def said(conversation: Conversation) -> list[str]:
    """Summarize a conversation, one line for each message."""
    lines = []
    for message in conversation.messages:
        match message:
            case UserMessage(text):
                lines.append(f"user: {text}")
            case ToolResult(call, text):
                lines.append(f"{call.name}: {text}")
            case ModelTurn(text=text, calls=calls):
                lines.append(f"model: {text}{[call.name for call in calls] or ''}")
    return lines


class LoopStep(StepDouble):
    """The part of `StepContext` that loops use.

    :param answers: turns of the model, or errors, each raised once.
    :param memory: memory of an earlier process; extended in place.
    :param dies_at: number of the durable write, from 1, that kills the process; 0: never.
    """

    step = "work"
    attempt = 1
    demonstration = False

    def __init__(
        self,
        answers: Sequence[ModelTurn | Exception],
        memory: Memory | None = None,
        *,
        dies_at: int = 0,
        context_tokens: int | None = None,
        **limits: Any,
    ) -> None:
        super().__init__(memory)
        self.context_tokens = context_tokens
        self._limits = LimitsConfig(**limits)
        self._ledger = Ledger()
        for key, value in self.memory.items():
            if key.startswith("turn:"):
                self._ledger.spend(self.step, ModelTurn.of_json(value))
        self.asked: list[Conversation] = []
        self.offered: list[list[str]] = []
        self.messages: list[str] = []
        self.reports: list[tuple[str, CallReport]] = []
        self._turns = list(answers)
        self._dies_at = dies_at
        self._writes = 0

    async def remember(self, key: str, value: Any) -> None:
        self._writes += 1
        if self._writes == self._dies_at:
            raise Killed
        assert key not in self.memory, f"{key} was written before"
        self.memory[key] = value

    async def take_turn(
        self,
        conversation: Conversation,
        tools: Sequence[OfferedTool],
        *,
        key: str,
        quiet: bool = False,
        adapter: str | None = None,
    ) -> ModelTurn:
        kept = self.recall(f"turn:{key}")
        if kept is not MISSING:
            return ModelTurn.of_json(kept)
        self.asked.append(conversation)
        self.offered.append([one.name for one in tools])
        number = sum(1 for name in self.memory if name.startswith("turn:"))
        answer = self._turns[number]
        if isinstance(answer, Exception):
            self._turns.pop(number)
            raise answer
        self._ledger.spend(self.step, answer)
        await self.remember(f"turn:{key}", answer.as_json())
        return answer

    def has_turn(self, key: str) -> bool:
        return f"turn:{key}" in self.memory

    def allowances(self) -> list[Allowance]:
        return list(self._ledger.allowances(self._limits, self.step))

    async def read_messages(self, key: str) -> list[str]:
        kept = self.recall(key)
        if kept is MISSING:
            kept, self.messages = self.messages, []
            if kept:
                await self.remember(key, kept)
        return list(kept)

    async def wait_if_paused(self) -> None:
        """Never pauses."""

    @contextmanager
    def report_call(
        self, name: str, arguments: Mapping[str, Any], *, server: str = ""
    ) -> Iterator[CallReport]:
        report = CallReport()
        self.reports.append((name, report))
        yield report
