"""Adapter interface for prompts without tools: prompt, reply, usage; the form of an offered tool."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from tideate_core.errors import AdapterUnavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping

    from pydantic import BaseModel

    OnText: TypeAlias = Callable[[str], None] | None
    """Called with each piece of streamed text; None drops the pieces."""
    Schema: TypeAlias = type[BaseModel] | None
    """Model of a typed answer; None for text."""

LONGEST_TOOL_NAME: Final = 64


@dataclass(frozen=True, slots=True)
class Turn:
    """An earlier exchange of the conversation, sent before the prompt (needed for corrections)."""

    user: str
    assistant: str


@dataclass(frozen=True, slots=True)
class Origin:
    """The requesting place in a run. Recordings use it to separate conversations; models never see it."""

    conversation: str = ""
    """Step and its loop; the same in every run of a workflow."""
    run: str = ""
    """Id of the outermost enclosing execution."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt to a model."""

    user: str
    system: str = ""
    max_tokens: int | None = None
    """Limit of the answer in tokens; None for the adapter's own limit."""
    history: tuple[Turn, ...] = ()
    origin: Origin = field(default=Origin(), compare=False)


class NewPart(str):
    """First streamed piece of a new part: of a second answer, or of a tool call."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts and cost of an answer."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    """US dollars, None if the price is unknown."""
    cached_tokens: int = 0
    """Input tokens that were in the provider's cache."""

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
    """An answer; `parsed` is an instance of the requested schema."""

    text: str
    model: str
    parsed: BaseModel | None = None
    usage: Usage = field(default_factory=Usage)
    truncated: bool = False
    """The model stopped at its length limit."""
    notice: str = ""
    """Remark for the user, shown once in a run."""


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool that a model may call."""

    name: str
    """Letters, digits, `_` and `-`."""
    description: str
    schema: Mapping[str, Any]
    """JSON Schema of the arguments."""
    call: Callable[[dict[str, Any], str], Awaitable[str]]
    """Called with the arguments and a key that identifies the call within its step; returns the result for
    the model. An exception ends the answer."""
    parallel: bool = False
    """Read-only: calls of one turn may run concurrently."""
    failed: re.Pattern[str] | None = None
    """Matches the result of an edit or a check that failed."""
    is_answer: bool = False
    """The call is the model's answer: its arguments stream like text."""
    recalled: Callable[[str], None] | None = None
    """Called with the key of a call that completed before a crash and is not repeated."""


def tool_name(wanted: str, taken: Collection[str]) -> str:
    """Return a valid tool name that is not yet taken."""
    name = first = re.sub(r"[^A-Za-z0-9_-]", "_", wanted)[:LONGEST_TOOL_NAME]
    number = 1
    while name in taken:
        number += 1
        end = f"_{number}"
        name = f"{first[: LONGEST_TOOL_NAME - len(end)]}{end}"
    return name


class Adapter(Protocol):
    """A model adapter: answers prompts with a provider's model, the bundled one, or a recording."""

    name: str

    @property
    def demonstration(self) -> bool:
        """True if the answers only demonstrate the product and are unreliable."""
        ...

    @property
    def context_tokens(self) -> int | None:
        """Context window in tokens, shared by prompt and answer; None if unknown."""
        ...

    async def ask(self, prompt: Prompt, *, on_token: OnText = None, schema: Schema = None) -> Reply:
        """Answer a prompt; cancelling the task closes the request.

        :param on_token: called on the caller's event loop with each piece of text as it streams; with a
            `NewPart`, which begins with a blank line, for a piece that does not continue the previous
            one.
        :param schema: model that the answer is validated against and returned as, in `Reply.parsed`.
        :raises AdapterError: a subclass for each kind of provider failure.
        """
        ...

    async def check(self) -> str:
        """Return one line about the answering model, for `doctor` and `:checkhealth`.

        :raises AdapterError: no model would answer.
        """
        ...

    async def check_key(self) -> None:
        """Check that the required key, library or recording exists, without a request.

        :raises AdapterError: a requirement is missing; the message names it.
        """
        ...

    async def aclose(self) -> None:
        """Close connections and child processes; the adapter remains usable."""
        ...


class _NoModel:
    """Adapter of a run that asks no model."""

    name = "no model"
    demonstration = False
    context_tokens = None

    async def ask(self, prompt: Prompt, *, on_token: OnText = None, schema: Schema = None) -> Reply:
        raise AdapterUnavailable("this workflow asks no model")

    async def check(self) -> str:
        return "no model is asked"

    async def check_key(self) -> None:
        """No key is needed."""

    async def aclose(self) -> None:
        """Nothing is open."""


NO_MODEL: Final[Adapter] = _NoModel()
