"""Questions to a model that may read the project first: one conversation, one work loop for each answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from tideate_core.adapters import Conversation, ModelTurn, Reply, Usage, UserMessage
from tideate_core.agents.loop import HANDED_IN, SUBMIT, Submission, WorkLoop, continued
from tideate_core.agents.model_input import is_small, text_budget
from tideate_core.agents.staged_files import StagedFiles
from tideate_core.agents.tools.table import tools_named
from tideate_core.agents.tools.tool import ToolContext, offer_tools
from tideate_core.errors import InvalidReply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pydantic import BaseModel

    from tideate_core.adapters import OfferedTool, Prompt, Turn
    from tideate_core.agents.loop import LoopResult
    from tideate_core.agents.tools.tool import WorkTool
    from tideate_core.workflows import StepContext

T = TypeVar("T", bound="BaseModel")

SUBMIT_ANSWER: Final = "Hand in the answer after you read what you need."
LOOKING: Final = ("files", "search", "symbols", "git", "editor", "skills")
"""Groups of tools; a model that may only look gets the tools of these that only read."""


@dataclass(eq=False)
class LookingModel:
    """Asks like `StepContext.ask`, but lets the model call tools before it answers.

    A prompt with a history corrects the last answer: it continues the same conversation, so the model still
    has everything that it read.

    :param key: identifies these questions within the step.
    :param earlier: the conversation that the first question continues.
    :param on_turn: called after each turn; an exception that it raises ends the question.
    :param words: instructions about the tools, appended to the system prompt.
    :param submit: name of the tool that submits a typed answer.
    :param other_phases: see `WorkLoop`.
    """

    step: StepContext
    key: str
    tools: Sequence[OfferedTool]
    staged: StagedFiles | None = None
    adapter: str | None = None
    earlier: Conversation | None = None
    on_turn: Callable[[ModelTurn], None] | None = None
    words: str = ""
    submit: str = SUBMIT
    other_phases: Sequence[OfferedTool] = ()
    about: str = SUBMIT_ANSWER
    """Description of the submitting tool."""
    after: str = HANDED_IN
    """See `Submission`."""
    continues: bool = False
    """Ask every question in the conversation of the last one, not only corrections."""

    def __post_init__(self) -> None:
        self._conversation = self.earlier
        self._asked = 0

    async def ask(
        self, prompt: Prompt, *, schema: type[BaseModel] | None = None, quiet: bool = False
    ) -> Reply:
        """Return the answer: a text, or a value that was submitted.

        :raises InvalidReply: a value is required, and the model submitted none.
        """
        self._asked += 1
        loop: WorkLoop[Any] = WorkLoop(
            self.step,
            f"{self.key}:{self._asked}",
            self.tools,
            submission=self._submission(schema) if schema is not None else None,
            other_phases=self.other_phases,
            staged=self.staged,
            adapter=self.adapter,
            words=self.words,
            corrects=bool(prompt.history),
            quiet=quiet,
            on_turn=self.on_turn,
        )
        before = self._conversation if prompt.history or self.continues else self.earlier
        try:
            done = await loop.run(prompt, before)
        finally:
            self.step.keep_conversation(loop.conversation, self.staged.changes() if self.staged else ())
        self._conversation = done.conversation
        if done.exhausted:
            self.step.notice(f"{done.exhausted} is reached: the model's work so far is used", level="warn")
        return _reply(done, schema)

    def _submission(self, schema: type[T]) -> Submission[T]:
        async def accept(_value: T) -> str:
            return ""

        return Submission(schema, self.about, accept, self.submit, is_answer=True, after=self.after)


class RememberedModel:
    """Asks a model without tools like `StepContext.ask`, and records the conversation.

    :param earlier: the conversation that the questions continue; its tool calls are left out.
    """

    def __init__(self, step: StepContext, earlier: Conversation | None = None) -> None:
        self._step = step
        self._earlier = earlier

    async def ask(
        self,
        prompt: Prompt,
        *,
        schema: type[BaseModel] | None = None,
        quiet: bool = False,
        on_text: Callable[[str], None] | None = None,
    ) -> Reply:
        """Return the answer; see `StepContext.ask`."""
        earlier = self._earlier or Conversation(prompt.system)
        prompt = continued(prompt, self._earlier)
        said = (*self._fitting(earlier.exchanges()), *prompt.history)
        asked = replace(prompt, history=said)
        reply = await self._step.ask(asked, schema=schema, quiet=quiet, on_text=on_text)
        messages = list(earlier.messages)
        for turn in prompt.history:
            messages += [UserMessage(turn.user), ModelTurn(turn.assistant, (), reply.model)]
        answer = ModelTurn(reply.text, (), reply.model, usage=reply.usage, truncated=reply.truncated)
        kept = Conversation(prompt.system, (*messages, UserMessage(prompt.user), answer))
        self._step.keep_conversation(kept)
        return reply

    def _fitting(self, said: Sequence[Turn]) -> Sequence[Turn]:
        """Return the last exchanges that fit the model's window beside the question and the answer."""
        left = text_budget(self._step)
        if left is None:
            return said
        first = len(said)
        while first and (left := left - len(said[first - 1].user) - len(said[first - 1].assistant)) >= 0:
            first -= 1
        if first:
            self._step.notice(
                f"{first} of {len(said)} earlier answers do not fit this model and were left out",
                level="warn",
            )
        return said[first:]


def _reply(done: LoopResult[Any], schema: type[BaseModel] | None) -> Reply:
    if done.value is None and (schema is not None or not done.text.strip()):
        raise InvalidReply.of_nothing(done.model)
    text = done.value.model_dump_json() if done.value is not None else done.text
    # each turn was counted when it was taken
    return Reply(text, done.model, done.value, done.usage or Usage(), done.truncated)


def may_look(step: StepContext, adapter: str | None = None) -> bool:
    """Return whether the model is given tools; tools only confuse a small model.

    :param adapter: overrides the run's adapter.
    """
    return step.can_use_tools(adapter) and not is_small(step)


def look_tools(step: StepContext, staged: StagedFiles) -> list[OfferedTool]:
    """Return the tools that only read."""
    tools = tools_named(LOOKING, editor=step.editor is not None)
    return offer_tools((tool for tool in tools if tool.effect == "reads"), ToolContext(step, staged))


def model_of(
    step: StepContext,
    key: str,
    *,
    earlier: Conversation | None = None,
    more_tools: Iterable[WorkTool[Any]] = (),
) -> LookingModel | RememberedModel:
    """Return the run's model, with the tools that only read if it can call tools.

    :param key: identifies its questions within the step.
    :param earlier: the conversation that its first question continues.
    :param more_tools: additional tools.
    """
    if not may_look(step):
        return RememberedModel(step, earlier)
    staged = StagedFiles()
    words = step.render("look").system
    tools = [*look_tools(step, staged), *offer_tools(more_tools, ToolContext(step, staged))]
    return LookingModel(step, key, tools, staged=staged, earlier=earlier, words=words)
