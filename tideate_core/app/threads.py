"""Threads of runs: their prompts, answers and tool calls, their titles, the search for words in them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import InvalidInput
from tideate_core.store import state_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from tideate_core.adapters import Conversation
    from tideate_core.store import Reader, RunRow, State

__all__ = ["found_runs", "has_changed", "read_step_thread", "read_thread", "runs_with", "time_of", "title_of"]

LONGEST_TITLE: Final = 60
PAGE: Final = 100
"""Runs that are read at once while those with some words are looked for."""

_AGO: Final = re.compile(r"(\d{1,6})([mhdw])")
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


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


def read_step_thread(reader: Reader, wanted: str, step: str) -> list[dict[str, Any]]:
    """Return what was said in a step, with instructions, reasoning and what each turn took; blocking.

    As `read_thread` returns it; `role` may be `system`, too. Of a step that keeps no conversation, or has not
    ended, only the models' answers are known, without `turn`. `step_turn` of the step's own turns is their
    number in it, which a fork names.

    :param step: or an item of it.
    :raises RunNotFound: no run has this id.
    :raises StoreError: the store cannot be read.
    """
    # here, because a list of runs is shown without them
    from tideate_core.adapters import Conversation, ModelTurn
    from tideate_core.engine import said_in_step

    kept, replies = said_in_step(reader, reader.run(wanted).id, step)
    if kept is None:
        return [{**_answer(one), "step_turn": number} for number, one in enumerate(replies, start=1)]
    conversation = Conversation.of_json(kept)
    numbers = _step_turns(conversation, replies)
    turns = (message for message in conversation.messages if isinstance(message, ModelTurn))
    said = [{"role": "system", "text": conversation.system}] if conversation.system else []
    for one in _said(conversation):
        if one["role"] != "model":
            said.append(one)
            continue
        answer = {**_answer(next(turns).as_json()), **one}
        if one["turn"] in numbers:
            answer["step_turn"] = numbers[one["turn"]]
        said.append(answer)
    return said


def _step_turns(conversation: Conversation, replies: Sequence[Mapping[str, Any]]) -> dict[int, int]:
    """Return the numbers in the step of the turns of a conversation that are its own, by those in that."""
    from tideate_core.adapters import ModelTurn

    turns = [one.as_json() for one in conversation.messages if isinstance(one, ModelTurn)]
    numbers, at = {}, len(turns)
    for number, reply in reversed([*enumerate(replies, start=1)]):
        # what it answered by itself, or in another conversation, is none of this one
        found = next((place for place in range(at, 0, -1) if turns[place - 1] == reply), None)
        if found is not None:
            numbers[found], at = number, found - 1
    return numbers


def _answer(reply: Mapping[str, Any]) -> dict[str, Any]:
    """Return the text, the reasoning and the tokens of a model's answer as the store has it."""
    usage = {key: value for key, value in (reply.get("usage") or {}).items() if value is not None}
    shape = {"role": "model", "model": reply["model"], "text": reply["text"], "usage": usage, "calls": []}
    return {**shape, "reasoning": reply.get("reasoning") or ""}


def runs_with(
    reader: Reader,
    words: str,
    *,
    limit: int,
    name: str | None = None,
    status: State | None = None,
    file: str | None = None,
    since: int | None = None,
    among: Collection[str] | None = None,
) -> list[tuple[RunRow, str]]:
    """Return the newest runs that match, each with an excerpt of where the words stand; blocking.

    :param words: as `Reader.search` has them; empty: any run, without an excerpt.
    :param file: that a run changed: its path in the project, or the end of that.
    :param since: milliseconds since the epoch, when the oldest one started.
    :param among: the ids of the runs that are looked at; None: all that are no steps of others.
    :raises InvalidInput: there is no word in the words.
    :raises StoreError: the store cannot be read.
    """

    def fits(run: RunRow) -> bool:
        changed = (among is None or run.id in among) and (file is None or has_changed(run, file))
        return changed and status in (None, state_of(run)) and name in (None, run.name)

    candidates: Iterator[tuple[RunRow, str]]
    if words.strip():
        candidates = found_runs(reader, words)
    elif among is not None:
        candidates = ((run, "") for run in reader.runs_named(among) if run.parent is None)
    else:
        candidates = _every_run(reader, name)
    newer = takewhile(lambda found: since is None or found[0].started_at >= since, candidates)
    return list(islice((found for found in newer if fits(found[0])), limit))


def has_changed(run: RunRow, file: str) -> bool:
    """Tell whether a run changed a file.

    :param file: its path in the project, or the end of that.
    """
    return any(f"/{path}".endswith(f"/{file}") for path in run.files)


def time_of(since: str) -> int:
    """Return a date or a time ago in milliseconds since the epoch.

    :raises InvalidInput: it is no time.
    """
    ago = _AGO.fullmatch(since)
    now = datetime.now(UTC)
    try:
        then = now - timedelta(**{_UNITS[ago[2]]: int(ago[1])}) if ago else datetime.fromisoformat(since)
        return round(then.timestamp() * 1000)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(
            f"since {since}: give a date as 2026-11-30, or a time ago as 7d, 12h, 30m"
        ) from error


def found_runs(reader: Reader, words: str, *, behind: str | None = None) -> Iterator[tuple[RunRow, str]]:
    """Yield the runs with some words, the newest first, each with an excerpt; blocking.

    :param behind: the id of a run behind which they are.
    :raises InvalidInput: there is no word.
    :raises StoreError: the store cannot be read.
    """
    seen: set[str] = set()
    before = None if behind is None else reader.number_of(behind)
    while page := reader.search(words, limit=PAGE, before=before):
        new = {found.run: found.excerpt for found in reversed(page) if found.run not in seen}
        seen |= new.keys()
        runs = reader.runs_named(new)
        yield from ((run, new[run.id]) for run in runs)
        before = page[-1].number


def _every_run(reader: Reader, name: str | None) -> Iterator[tuple[RunRow, str]]:
    return ((run, "") for run in _all_runs(reader, name))


def _all_runs(reader: Reader, name: str | None) -> Iterator[RunRow]:
    before: int | None = None
    before_id: str | None = None
    while runs := reader.runs(limit=PAGE, before=before, before_id=before_id, name=name):
        yield from runs
        before, before_id = runs[-1].started_at, runs[-1].id


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
