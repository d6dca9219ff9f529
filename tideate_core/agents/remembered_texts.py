"""Texts of files shown to a model, stored with the run: after a crash, its answers refer to these texts."""

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


def kept_texts(step: StepContext, key: str) -> dict[str, str | None]:
    """Return the texts stored before a crash, by path; None for a file that did not exist."""
    kept = step.recall(_key_of(step, key))
    return {} if kept is MISSING else dict(kept)


async def keep_texts(step: StepContext, key: str, texts: Mapping[str, str | None]) -> None:
    """Store texts with the run, for as long as it is kept; durable on return. An existing record is kept.

    Texts that seem to hold a secret are not stored; their files are read again.
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
    """Provide the text of a file for a question to a model, and store it once there is an answer.

    A resumed run gets the same text if there was an answer, even an unusable one; otherwise the file is read
    again. Each question of a step about a file has a record of its own.

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
    """Return the text of a file for the step's first answer before a crash; None if there is none."""
    source = _kept_source(step, _of_file(path))
    return None if source is None else source.text


def _kept_source(step: StepContext, key: str) -> Source | None:
    # by the file's real name, links resolved
    return next(
        (Source(name, text) for name, text in kept_texts(step, key).items() if text is not None), None
    )


def _of_file(path: str) -> str:
    return f"file:{path}"


def _key_of(step: StepContext, key: str) -> str:
    return f"texts:{step.attempt}:{key}"
