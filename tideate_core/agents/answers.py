"""Typed answers of models: ask until one is valid; clean its text for terminals and documents."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Protocol, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from tideate_core.adapters import Turn
from tideate_core.agents.attempts import report_refusal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tideate_core.adapters import Prompt, Reply
    from tideate_core.workflows import StepContext

T = TypeVar("T", bound=BaseModel)


def tidy_text(text: str) -> str:
    """Strip a text and replace its control characters, except line ends, by blanks."""
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join("".join(c if c.isprintable() else " " for c in line).rstrip() for line in lines).strip()


def tidy_line(text: str) -> str:
    """Return a text on one line, without control characters."""
    return " ".join(tidy_text(text).split())


def tidy_path(path: str) -> str:
    """Normalize a model's path: no quotes, no leading `./`. A path outside the project stays outside."""
    one = tidy_line(path).strip("`\"'")
    while one.startswith("./"):
        one = one[2:].lstrip("/")
    return one


def tidy_paths(paths: list[str]) -> list[str]:
    """Normalize a model's paths and drop blank ones; see `tidy_path`."""
    return [tidy_path(path) for path in paths if path.strip()]


TidyText = Annotated[str, AfterValidator(tidy_text)]
PathText = Annotated[str, Field(max_length=260)]
PathTexts = Annotated[list[PathText], AfterValidator(tidy_paths)]


class Answer(BaseModel):
    """Base class of typed answers; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class AskBySchema(Protocol):
    """Callable that asks for a value of a schema, such as `StepContext.ask` and `Stage.ask`."""

    async def __call__(self, prompt: Prompt, *, schema: type[BaseModel] | None = None) -> Reply: ...


async def ask_until_valid(
    step: StepContext,
    ask: AskBySchema,
    schema: type[T],
    prompt: Prompt,
    find_mistakes: Callable[[T], Awaitable[list[str]]],
    correction: str,
) -> tuple[T, list[str]]:
    """Ask until an answer has no mistakes, at most `step.attempts` times; return it with its mistakes.

    :param correction: template of the follow-up, with `{mistakes}`.
    """
    for attempt in range(1, step.attempts + 1):
        parsed = (await ask(prompt, schema=schema)).parsed
        assert isinstance(parsed, schema)  # noqa: S101 the adapter validated it
        answer: T = parsed
        mistakes = await find_mistakes(answer)
        if not mistakes or attempt == step.attempts:
            break
        turn, found = Turn(prompt.user, answer.model_dump_json()), "; ".join(mistakes)
        report_refusal(step, found)
        words = correction.format(mistakes=found)
        prompt = replace(prompt, history=(*prompt.history, turn), user=words)
    return answer, mistakes
