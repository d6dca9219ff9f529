"""Threads of runs: their prompts, answers and tool calls, their titles, the search for words in them."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import InvalidInput
from tideate_core.store import state_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tideate_core.adapters import Conversation
    from tideate_core.store import Reader, RunRow, State

__all__ = ["read_thread", "runs_with", "title_of"]

LONGEST_TITLE: Final = 60
PAGE: Final = 100
"""Runs that are read at once while those with some words are looked for."""


def title_of(prompt: str) -> str:
    """Return the first line of a prompt, shortened."""
    line = " ".join(next((line for line in prompt.splitlines() if line.strip()), "").split())
    return line if len(line) <= LONGEST_TITLE else f"{line[: LONGEST_TITLE - 1].rstrip()}…"


def read_thread(reader: Reader, wanted: str) -> tuple[RunRow, list[dict[str, Any]]]:
    """Return a run and all that was said in its conversation, those that it went on with included; blocking.

    Each is `role` (`user`, `model` or `tool`) and `text`; of a model also its `turn`, from 1, its name and
    its `calls`; of a tool the name of it.

    :param wanted: the run's id, or the beginning of it.
    :raises RunNotFound: no run has this id.
    :raises InvalidInput: it has no conversation.
    :raises StoreError: the store cannot be read.
    """
    run = reader.run(wanted)
    conversation = _conversation(reader, run.id)
    if conversation is None:
        raise InvalidInput(f"run {run.id[:8]} has no conversation")
    return run, list(_said(conversation))


def runs_with(
    reader: Reader, words: str, *, limit: int, name: str | None = None, status: State | None = None
) -> list[RunRow]:
    """Return the newest runs in whose prompts or answers some words occur, in capitals or not; blocking.

    :raises StoreError: the store cannot be read.
    """
    found = (
        run
        for run in _all_runs(reader, name)
        if status in (None, state_of(run)) and words.casefold() in _text_of(reader, run).casefold()
    )
    return list(islice(found, limit))


def _all_runs(reader: Reader, name: str | None) -> Iterator[RunRow]:
    before: int | None = None
    before_id: str | None = None
    while runs := reader.runs(limit=PAGE, before=before, before_id=before_id, name=name):
        yield from runs
        before, before_id = runs[-1].started_at, runs[-1].id


def _text_of(reader: Reader, run: RunRow) -> str:
    """Return what the person and the models said in a run."""
    response = reader.response(run.id)
    said = [str(reader.request(run.id).get("prompt") or ""), response if isinstance(response, str) else ""]
    conversation = _conversation(reader, run.id)
    if conversation is not None:
        said += [one["text"] for one in _said(conversation) if one["role"] != "tool"]
    return "\n".join(said)


def _conversation(reader: Reader, run_id: str) -> Conversation | None:
    # here, because a list of runs is shown without them
    from tideate_core.adapters import Conversation
    from tideate_core.engine import last_conversation

    kept = last_conversation(reader, run_id)
    return None if kept is None else Conversation.of_json(kept)


def _said(conversation: Conversation) -> Iterator[dict[str, Any]]:
    from tideate_core.adapters import ModelTurn, ToolResult, UserMessage

    turn = 0
    for message in conversation.messages:
        match message:
            case UserMessage(text):
                yield {"role": "user", "text": text}
            case ToolResult(call, text):
                yield {"role": "tool", "tool": call.name, "text": text}
            case ModelTurn():
                turn += 1
                calls = [{"tool": call.name, "arguments": call.arguments} for call in message.calls]
                shape = {"role": "model", "turn": turn, "model": message.model}
                yield {**shape, "text": message.text, "calls": calls}
