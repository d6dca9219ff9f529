"""Interface of adapters: prompts, replies, offered tools."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from tideate_core.errors import AdapterUnavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping

    from pydantic import BaseModel

__all__ = [
    "NO_MODEL",
    "Adapter",
    "NewPart",
    "OfferedTool",
    "Origin",
    "Prompt",
    "Reply",
    "Turn",
    "Usage",
    "tool_name",
]

LONGEST_TOOL_NAME: Final = 64


@dataclass(frozen=True, slots=True)
class Turn:
    """One earlier exchange of the same conversation, sent before the prompt (corrections need it)."""

    user: str
    assistant: str


@dataclass(frozen=True, slots=True)
class Origin:
    """The place in a run that asks; a recording tells conversations apart by it, and no model is told."""

    conversation: str = ""
    """Step, and loop of it; the same in each run of a workflow."""
    run: str = ""
    """Id of the execution, the outermost of those that run within each other."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt to a model."""

    user: str
    system: str = ""
    max_tokens: int | None = None
    """Longest answer in tokens; None = the adapter's own limit."""
    history: tuple[Turn, ...] = ()
    origin: Origin = field(default=Origin(), compare=False)


class NewPart(str):
    """First piece of a new part of a stream: of a second answer, or of a call."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and cost of an answer."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    """US dollars, None where the price is not known."""
    cached_tokens: int = 0
    """Of the input, those that the provider had in its cache."""

    def __add__(self, other: Usage) -> Usage:
        known = [cost for cost in (self.cost, other.cost) if cost is not None]
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            sum(known) if known else None,
            self.cached_tokens + other.cached_tokens,
        )


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer: `parsed` is an instance of the schema that was asked for."""

    text: str
    model: str
    parsed: BaseModel | None = None
    usage: Usage = field(default_factory=Usage)
    truncated: bool = False
    """The model stopped at its length limit."""
    notice: str = ""
    """What the person should know of the answer; told once in a run."""


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool that a model may call while it answers."""

    name: str
    """Letters, digits, `_` and `-`."""
    description: str
    schema: Mapping[str, Any]
    """JSON Schema of the arguments."""
    call: Callable[[dict[str, Any], str], Awaitable[str]]
    """Is given arguments, and a key that tells the call from others of its step; returns the result for the
    model. An exception ends the answer."""
    parallel: bool = False
    """It only reads: calls of one turn may run side by side."""
    is_answer: bool = False
    """It hands in an answer: its arguments stream as a text does."""
    recalled: Callable[[str], None] | None = None
    """Is given the key of a call that was made before a crash, and is not made again."""


def tool_name(wanted: str, taken: Collection[str]) -> str:
    """Return a name that models take for a tool, and that no other one has."""
    name = first = re.sub(r"[^A-Za-z0-9_-]", "_", wanted)[:LONGEST_TOOL_NAME]
    number = 1
    while name in taken:
        number += 1
        end = f"_{number}"
        name = f"{first[: LONGEST_TOOL_NAME - len(end)]}{end}"
    return name


class Adapter(Protocol):
    """The one that answers prompts: a provider's model, the bundled one, a recording."""

    name: str

    @property
    def demonstration(self) -> bool:
        """True: its answers show how things work and are not to be relied on."""
        ...

    @property
    def context_tokens(self) -> int | None:
        """Tokens that prompt and answer share, None where the model's limit is not known."""
        ...

    async def ask(
        self,
        prompt: Prompt,
        *,
        on_token: Callable[[str], None] | None = None,
        schema: type[BaseModel] | None = None,
    ) -> Reply:
        """Answer a prompt; cancelling the task closes the request.

        :param on_token: called with each piece of text as it streams, on the caller's event loop; with a
            `NewPart`, a blank line first, where it does not continue the one before.
        :param schema: the answer is validated against it and returned as `Reply.parsed`.
        :raises AdapterError: one of its subclasses, for every failure of the provider.
        """
        ...

    async def check(self) -> str:
        """Return one line about the model that would answer, for `doctor` and `:checkhealth`.

        :raises AdapterError: nothing would.
        """
        ...

    async def check_key(self) -> None:
        """Check for the key, library or recording that the adapter needs; nothing is sent or started.

        :raises AdapterError: something is missing; the message names it.
        """
        ...

    async def aclose(self) -> None:
        """Free connections and child processes; the adapter can be used again afterwards."""
        ...


class _NoModel:
    """Adapter of a run that asks no model."""

    name = "no model"
    demonstration = False
    context_tokens = None

    async def ask(
        self,
        prompt: Prompt,
        *,
        on_token: Callable[[str], None] | None = None,
        schema: type[BaseModel] | None = None,
    ) -> Reply:
        raise AdapterUnavailable("this workflow asks no model")

    async def check(self) -> str:
        return "no model is asked"

    async def check_key(self) -> None:
        """No key is needed."""

    async def aclose(self) -> None:
        """Nothing is open."""


NO_MODEL: Final[Adapter] = _NoModel()
