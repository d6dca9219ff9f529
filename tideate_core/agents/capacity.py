"""How much of a text, and of a project's list of files, a model can be given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.agents.ranking import nearest_files

if TYPE_CHECKING:
    from tideate_core.workflows import StepContext

__all__ = ["CHARACTERS_PER_TOKEN", "clip", "is_small", "listed_files", "text_budget"]

CHARACTERS_PER_TOKEN = 3
"""On the careful side: code takes more tokens than prose."""
SMALL = 16_384
"""Tokens of context up to which a model counts as small."""
LISTED_FILES = 400
AVERAGE_PATH = 40
"""Characters: how many paths fit a small model is guessed by this."""


def text_budget(step: StepContext) -> int | None:
    """Return how many characters of text fit beside the question and the answer; None = no known limit."""
    if step.context_tokens is None:
        return None
    return step.context_tokens * CHARACTERS_PER_TOKEN // 2


def is_small(step: StepContext) -> bool:
    """Whether the model is one of those that keep no form but a whole text; by what it can read."""
    return step.demonstration or (step.context_tokens is not None and step.context_tokens <= SMALL)


def clip(step: StepContext, text: str, budget: int | None = None) -> str:
    """Cut a text to what the model can read, at a line's end, and say so.

    :param budget: characters, None for what a question about the text leaves.
    """
    budget = text_budget(step) if budget is None else budget
    if budget is None or len(text) <= budget:
        return text
    kept = text[:budget].rpartition("\n")[0] or text[:budget]
    lines, total = kept.count("\n") + 1, text.count("\n") + 1
    step.notice(f"only the first {lines} of {total} lines fit this model and were read", level="warn")
    return kept


async def listed_files(step: StepContext, about: str) -> tuple[list[str], int]:
    """Return as many of the project's files as the model bears, and how many more there are.

    :param about: what the question is about; where not all fit, the files nearest to it are returned.
    """
    files = await step.workspace.list()
    budget = text_budget(step)
    limit = LISTED_FILES if budget is None else min(LISTED_FILES, budget // AVERAGE_PATH // 2)
    return nearest_files(files, about, limit), max(0, len(files) - limit)
