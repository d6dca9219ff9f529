"""A model in the test's process that answers in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tideate_core.adapters import Prompt, Reply

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import BaseModel

__all__ = ["ScriptedModel"]


class ScriptedModel:
    """Adapter that gives one answer a request; an exception is raised, a mapping fills the schema."""

    name = "scripted"
    demonstration = False
    context_tokens: int | None = None

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.prompts: list[Prompt] = []

    async def ask(
        self,
        prompt: Prompt,
        schema: type[BaseModel] | None = None,
        *,
        on_token: Callable[[str], None] | None = None,
    ) -> Reply:
        self.prompts.append(prompt)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, dict):
            assert schema
            answer = Reply("", self.name, parsed=schema.model_validate(answer))
        reply = answer if isinstance(answer, Reply) else Reply(answer, self.name)
        if on_token:
            on_token(reply.text)
        return reply
