"""Texts of files that a model was shown, kept with the run: after a crash its answers are about these."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from tideate_core.agents.model_input import why_secret
from tideate_core.errors import ContextTooLong, UnusableAnswer
from tideate_core.workflows import MISSING
from tideate_core.workspace import Source

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from tideate_core.workflows import StepContext

__all__ = ["first_kept_text", "keep_texts", "kept_texts", "text_for_answer"]


def kept_texts(step: StepContext, key: str) -> dict[str, str | None]:
    """Return the texts that were kept before a crash, by path; None of a file that was not there."""
    kept = step.recall(_key_of(step, key))
    return {} if kept is MISSING else dict(kept)


async def keep_texts(step: StepContext, key: str, texts: Mapping[str, str | None]) -> None:
    """Keep texts with the run, and for as long; durable when this returns. What was kept before stays.

    One that seems to hold a secret is not kept: it is read again.
    """
    if step.recall(_key_of(step, key)) is MISSING:
        kept = {
            path: text
            for path, text in texts.items()
            if text is None or not await why_secret(step, path, text)
        }
        await step.remember(_key_of(step, key), kept)


@asynccontextmanager
async def text_for_answer(step: StepContext, path: str) -> AsyncIterator[Source]:
    """Give the text of a file to what has a model answer about it, and keep it once there is an answer.

    A resumed run has the same text for an answer that came, be it one that cannot be used; before that the
    file is read as it is. Each time that a step has an answer about a file has a text of its own.

    :raises WorkspaceError: it cannot be read.
    """
    key = step.numbered(_of_file(path))
    source = _kept_source(step, key) or await step.workspace.read(path)
    try:
        yield source
    except (ContextTooLong, UnusableAnswer):
        await keep_texts(step, key, {source.path: source.text})
        raise
    await keep_texts(step, key, {source.path: source.text})


def first_kept_text(step: StepContext, path: str) -> str | None:
    """Return the text of a file that the step's model answered about first, before a crash; None without."""
    source = _kept_source(step, _of_file(path))
    return None if source is None else source.text


def _kept_source(step: StepContext, key: str) -> Source | None:
    # by the file's own name, links followed
    return next(
        (Source(name, text) for name, text in kept_texts(step, key).items() if text is not None), None
    )


def _of_file(path: str) -> str:
    return f"file:{path}"


def _key_of(step: StepContext, key: str) -> str:
    return f"texts:{step.attempt}:{key}"
