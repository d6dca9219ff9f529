"""Read the stored conversation of a run or a step: prompts, answers, tool calls; a run's title."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import InvalidInput
from tideate_core.util.cutting import beginning

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tideate_core.adapters import Conversation
    from tideate_core.store import Reader, RunRow

LONGEST_TITLE: Final = 60


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
