"""Limit of what a run may spend: a request that could pass it is not sent."""

from __future__ import annotations

from contextlib import contextmanager
from json import dumps
from typing import TYPE_CHECKING, Final

from tideate_core.adapters import ModelTurn, PricedAdapter
from tideate_core.errors import CostLimitReached
from tideate_core.util.tokens import CHARACTERS_PER_TOKEN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tideate_core.adapters import Adapter, Conversation, OfferedTool, Prompt
    from tideate_core.engine.run import Execution

__all__ = ["ASSUMED_OUTPUT", "conversation_tokens", "estimated_tokens", "within_cost_limit"]

ASSUMED_OUTPUT: Final = 4096
"""Tokens of an answer where nobody set a limit to it."""


def estimated_tokens(prompt: Prompt) -> int:
    """Return about how many tokens a prompt has, with the turns before it."""
    before = sum(len(turn.user) + len(turn.assistant) for turn in prompt.history)
    return (before + len(prompt.system) + len(prompt.user)) // CHARACTERS_PER_TOKEN + 1


def conversation_tokens(conversation: Conversation, tools: Sequence[OfferedTool]) -> int:
    """Return about how many tokens a conversation has, with the tools that are offered."""
    texts = [conversation.system, *(f"{tool.description}{dumps(dict(tool.schema))}" for tool in tools)]
    for message in conversation.messages:
        texts.append(message.text)
        if isinstance(message, ModelTurn):
            texts += [dumps(call.arguments) for call in message.calls]
    return sum(map(len, texts)) // CHARACTERS_PER_TOKEN + 1


@contextmanager
def within_cost_limit(
    execution: Execution,
    limit: float | None,
    adapter: Adapter,
    *,
    input_tokens: int,
    output_tokens: int | None,
    warn: Callable[[str], None],
) -> Iterator[None]:
    """Ask a model within: what it may cost counts as spent while it is under way.

    :param limit: US dollars that the run may spend with all runs within it; None: no limit.
    :param output_tokens: the longest answer that is wanted; None: the adapter's.
    :param warn: told, once in a run, of a model whose price nobody knows.
    :raises CostLimitReached: spent and under way and this one would pass the limit.
    """
    price = _price(adapter, input_tokens, output_tokens) if limit is not None else None
    if limit is None or price is None:
        if limit is not None:
            _warn_once(execution, adapter, warn)
        yield
        return
    committed = execution.outermost.committed_cost()
    if committed + price > limit:
        raise CostLimitReached(
            f"limits.cost_usd is ${limit:g}: ${committed:.4f} of it are spent or under way, and the next "
            f"request to {adapter.name!r} may cost ${price:.4f} (about {input_tokens} tokens in); it was not "
            "sent. Set a higher limits.cost_usd, a lower max_tokens, or use a cheaper model"
        )
    execution.cost_under_way += price
    try:
        yield
    finally:
        execution.cost_under_way -= price


def _price(adapter: Adapter, input_tokens: int, output_tokens: int | None) -> float | None:
    if not isinstance(adapter, PricedAdapter):
        return None
    return adapter.price_of(input_tokens, output_tokens or adapter.max_tokens or ASSUMED_OUTPUT)


def _warn_once(execution: Execution, adapter: Adapter, warn: Callable[[str], None]) -> None:
    words = f"nobody knows the price of {adapter.name!r}: its requests are sent whatever limits.cost_usd says"
    warned = execution.outermost.warned
    if words not in warned and not adapter.demonstration:
        warned.add(words)
        warn(words)
