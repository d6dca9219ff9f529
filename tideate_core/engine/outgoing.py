"""Filter of all text that a run sends to a model: no secret leaves that nobody agreed to show."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tideate_core.adapters import ModelTurn, Turn

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tideate_core.adapters import Conversation, Message, OfferedTool, Prompt

__all__ = ["Outgoing"]


class Outgoing:
    """The filter of one run, of the runs within it, too.

    Three kinds of text may hold secrets: words that the person typed, texts that the person agreed to give,
    and what a model said itself. In all other texts secrets are hidden.

    :param typed: words of the person.
    """

    def __init__(self, typed: Iterable[str]) -> None:
        self._agreed: set[str] = set()
        self._said: set[str] = set()
        self.has_hidden = False
        """Something was hidden so far."""
        for text in typed:
            self.allow(text)

    def allow(self, text: str) -> None:
        """Note a text that the person typed, or agreed to give to the model."""
        from tideate_core.mentions import secret_parts

        self._agreed |= secret_parts(text)

    def allow_conversation(self, conversation: Conversation) -> None:
        """Note a conversation that was kept: it was filtered before."""
        for text in (conversation.system, *map(_text_of, conversation.messages)):
            self.allow(text)

    def note_said(self, text: str, arguments: Any = None) -> None:
        """Note the words of a model: what it said it knows."""
        from tideate_core.mentions import secret_parts

        self._said |= secret_parts(text)
        for one in texts_in(arguments):
            self._said |= secret_parts(one)

    def note_turn(self, turn: ModelTurn) -> None:
        """Note a turn of a model, see `note_said`."""
        self.note_said(turn.text, [call.arguments for call in turn.calls])

    def hide(self, text: str) -> str:
        """Return a text of others without secrets, those of a model's own words included."""
        return self._hide(text, self._agreed)

    def hide_within(self, value: Any) -> Any:
        """Return a JSON value of others without secrets in its texts; a text may be JSON itself."""
        match value:
            case str():
                return self._hide_json(value)
            case dict():
                return {self.hide(str(name)): self.hide_within(one) for name, one in value.items()}
            case list():
                return [self.hide_within(one) for one in value]
        return value

    def _hide_json(self, text: str) -> str:
        if text.lstrip()[:1] in ("{", "["):
            try:
                value = json.loads(text)
            except (ValueError, RecursionError):
                return self.hide(text)
            hidden = self.hide_within(value)
            if hidden != value:
                return json.dumps(hidden, ensure_ascii=False, indent=2 if "\n" in text.strip() else None)
        return self.hide(text)

    def prompt(self, prompt: Prompt) -> Prompt:
        """Return a prompt as it may be sent."""
        history = tuple(Turn(self._sent(one.user), one.assistant) for one in prompt.history)
        return replace(
            prompt, user=self._sent(prompt.user), system=self._sent(prompt.system), history=history
        )

    def conversation(self, conversation: Conversation) -> Conversation:
        """Return a conversation as it may be sent."""
        messages = [self._message(one) for one in conversation.messages]
        return replace(conversation, system=self._sent(conversation.system), messages=messages)

    def tools(self, tools: Sequence[OfferedTool]) -> list[OfferedTool]:
        """Return tools with what may be told of them."""
        return [
            replace(one, description=self.hide(one.description), schema=self.hide_within(dict(one.schema)))
            for one in tools
        ]

    def _message(self, message: Message) -> Message:
        if isinstance(message, ModelTurn):  # it goes back to the model as it made it
            return message
        text = self._sent(message.text)
        return message if text == message.text else replace(message, text=text)

    def _sent(self, text: str) -> str:
        return self._hide(text, self._agreed | self._said)

    def _hide(self, text: str, shown: set[str]) -> str:
        from tideate_core.mentions import hide_secrets

        hidden = hide_secrets(text, shown)
        self.has_hidden |= hidden != text
        return hidden


def texts_in(value: Any) -> Iterable[str]:
    """Yield all texts of a JSON value."""
    match value:
        case str():
            yield value
        case dict():
            for one in value.values():
                yield from texts_in(one)
        case list() | tuple():
            for one in value:
                yield from texts_in(one)


def _text_of(message: Message) -> str:
    if not isinstance(message, ModelTurn):
        return message.text
    return "\n".join((message.text, *texts_in([call.arguments for call in message.calls])))
