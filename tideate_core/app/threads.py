"""Read stored conversations: of a run, a step, or a chat of several runs; list chats; a run's title."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import InvalidInput, RunNotFound
from tideate_core.util.cutting import beginning

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tideate_core.adapters import Conversation
    from tideate_core.store import Reader, RunRow

LONGEST_TITLE: Final = 60
CHATS: Final = ("chat", "ask")
"""Workflows whose conversations are listed as chats."""
NEWEST: Final = "last"
"""Name of the newest chat."""
LONGEST_CALL: Final = 2000
"""Characters of a tool call's arguments and of its result in a chat."""
LISTED: Final = 50
_WHOLE: Final = 1000
"""Length from which a run's row may have only the beginning of the prompt."""


def title_of(prompt: str) -> str:
    """Return the first line of a prompt, truncated."""
    line = " ".join(next((line for line in prompt.splitlines() if line.strip()), "").split())
    return beginning(line, LONGEST_TITLE)


def read_thread(reader: Reader, wanted: str) -> tuple[RunRow, list[dict[str, Any]]]:
    """Return a run and its conversation, including continued conversations; blocking.

    Messages have `role` (`user`, `model` or `tool`) and `text`; from a model also `turn` (from 1), `model`
    and `calls`, from a tool its name as `tool`.

    :param wanted: a run id or a prefix of one.
    :raises RunNotFound: no run has this id.
    :raises InvalidInput: the run has no conversation.
    :raises StoreError: the store cannot be read.
    """
    run = reader.run(wanted)
    conversation = _conversation(reader, run.id)
    if conversation is None:
        raise InvalidInput(f"run {run.id[:8]} has no conversation")
    return run, list(_said(conversation))


def read_chat(reader: Reader, wanted: str) -> dict[str, Any]:
    """Return a run with the runs that it continues, as one conversation; blocking.

    `runs` lists them oldest first. The `messages` of each are its own part of the conversation, in the form
    of `read_thread` with `reasoning`; a call has the tool's `result`. A person's first message is the run's
    prompt without added material. `turn` numbers the turns of the whole conversation.

    :param wanted: a run id, a prefix of one, or `last`.
    :returns: without chats, `runs` is empty.
    :raises RunNotFound: no run has this id.
    :raises StoreError: the store cannot be read.
    """
    # here, because lists of runs do not need them
    from tideate_core.engine import conversation_starts

    if wanted == NEWEST:
        if not (newest := list_chats(reader)):
            return {"title": "", "runs": []}
        wanted = newest[0].id
    chain = reader.chain(reader.run(wanted).id)
    starts = conversation_starts(reader, [run.id for run in chain])
    # only the newest run can lack a conversation: runs without one cannot be continued
    kept = next(filter(None, (_conversation(reader, run.id) for run in reversed(chain))), None)
    said = list(_exchanged(kept)) if kept else []
    parts: list[dict[str, Any]] = []
    for run in reversed(chain):
        start = starts.get(run.id, 0)
        own: list[dict[str, Any]] = []
        while said and said[-1][0] >= start:
            own.append(said.pop()[1])
        prompt = run.prompt if len(run.prompt) < _WHOLE else str(reader.request(run.id).get("prompt") or "")
        if own and own[-1]["role"] == "user":
            own.pop()
        parts.append({"run": run, "messages": [{"role": "user", "text": prompt}, *reversed(own)]})
    return {"title": title_of(chain[0].prompt), "runs": parts[::-1]}


def chat_tip(reader: Reader, wanted: str, *, or_none: bool = False) -> RunRow | None:
    """Return the run of a chat that its next message continues: the newest one with an answer; blocking.

    :param wanted: a run id, a prefix of one, or `last`.
    :param or_none: return None if the run does not exist.
    :raises RunNotFound: no run has this id.
    :raises StoreError: the store cannot be read.
    """
    try:
        runs = list_chats(reader)[:1] if wanted == NEWEST else [reader.run(wanted)]
    except RunNotFound:
        if or_none:
            return None
        raise
    for run in reversed(reader.chain(runs[0].id) if runs else []):
        if _conversation(reader, run.id) is not None:
            return run
    return None


def list_chats(reader: Reader, limit: int = LISTED) -> list[RunRow]:
    """Return the newest run of each chat, newest first; blocking.

    :raises StoreError: the store cannot be read.
    """
    # here, because lists of runs do not need it
    from tideate_core.engine import CONVERSATION

    found = [run for name in CHATS for run in reader.runs(limit=limit, name=name, as_begun=True)]
    answered = reader.with_memo([run.id for run in found], CONVERSATION)
    # a run that ended without an answer is a chat only if it was to begin one
    begun = {run.id for run in found if run.name == CHATS[0] and not (run.ended and run.continues)}
    kept = [run for run in found if run.id in answered | begun]
    continued = {run.continues for run in kept}
    newest = sorted(kept, key=lambda run: run.started_at, reverse=True)
    return [run for run in newest if run.id not in continued][:limit]


def _exchanged(conversation: Conversation) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the messages for a chat with their positions; a tool's result belongs to its call."""
    from tideate_core.adapters import ModelTurn, ToolResult, UserMessage
    from tideate_core.engine import summarize_call

    turn, calls = 0, dict[str, dict[str, Any]]()
    for at, message in enumerate(conversation.messages):
        match message:
            case UserMessage(text):
                yield at, {"role": "user", "text": text}
            case ToolResult(call, text):
                if call.id in calls:
                    calls[call.id]["result"] = beginning(text, LONGEST_CALL)
            case ModelTurn():
                turn += 1
                calls = {
                    call.id: {
                        "tool": call.name,
                        "summary": summarize_call("", call.name, call.arguments or {}),
                        "arguments": beginning(json.dumps(call.arguments, ensure_ascii=False), LONGEST_CALL),
                    }
                    for call in message.calls
                }
                shape = {"role": "model", "turn": turn, "model": message.model, "text": message.text}
                yield at, {**shape, "reasoning": message.reasoning, "calls": [*calls.values()]}


def read_step_thread(reader: Reader, wanted: str, step: str) -> list[dict[str, Any]]:
    """Return the conversation of a step, with instructions, reasoning and usage per turn; blocking.

    As from `read_thread`, with the further role `system`. A step without a stored conversation has only the
    models' answers, without `turn`. `step_turn` numbers the step's own turns for `tideate fork --turn`.

    :param step: a step or a list item of one.
    :raises RunNotFound: no run has this id.
    :raises StoreError: the store cannot be read.
    """
    # here, because lists of runs do not need them
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
    """Map turn numbers in a conversation to turn numbers in its step, for the step's own turns."""
    from tideate_core.adapters import ModelTurn

    turns = [one.as_json() for one in conversation.messages if isinstance(one, ModelTurn)]
    numbers, at = {}, len(turns)
    for number, reply in reversed([*enumerate(replies, start=1)]):
        # a reply outside of this conversation has no turn in it
        found = next((place for place in range(at, 0, -1) if turns[place - 1] == reply), None)
        if found is not None:
            numbers[found], at = number, found - 1
    return numbers


def _answer(reply: Mapping[str, Any]) -> dict[str, Any]:
    """Return the message for a stored reply of a model, with reasoning and tokens."""
    usage = {key: value for key, value in (reply.get("usage") or {}).items() if value is not None}
    shape = {"role": "model", "model": reply["model"], "text": reply["text"], "usage": usage, "calls": []}
    return {**shape, "reasoning": reply.get("reasoning") or ""}


def _conversation(reader: Reader, run_id: str) -> Conversation | None:
    # here, because lists of runs do not need them
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
