"""Work loop: a model takes turns and calls tools until it submits; every turn and result is durable."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from tideate_core.adapters import (
    Conversation,
    ModelTurn,
    OfferedTool,
    Origin,
    ToolResult,
    Usage,
    UserMessage,
)
from tideate_core.agents.compaction import READ_RESULT, Compaction
from tideate_core.agents.tools.tool import lean_schema
from tideate_core.errors import BudgetReached, ContextTooLong, CostLimitReached, InvalidReply, nearest
from tideate_core.workflows import MISSING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from tideate_core.adapters import Message, Prompt, RequestedCall
    from tideate_core.agents.staged_files import StagedFiles
    from tideate_core.workflows import StepContext

T = TypeVar("T", bound=BaseModel)

SUBMIT: Final = "submit"
ACCEPTED: Final = "accepted"
"""Result of an accepted submission."""
OPEN_SKILL: Final = "open_skill"
HANDED_IN: Final = "error: the work is already handed in; this call did not run"
LONGEST: Final = 60_000
"""Characters of a result sent to the model."""
NUDGES: Final = 2
"""Turns without a call that get a reminder to submit; the next one ends the loop."""
CONTINUE: Final = "Go on with the tools, or call {submit} if the work is done. A text alone ends nothing."
NO_ANSWER: Final = "Your last turn has thoughts only: no text and no call came of it. Think less, and answer."
WRITTEN: Final = (
    "You wrote a call of {name} as text, so it was not made. Call tools as tools, not in the text."
)
_WRITTEN_CALL: Final = re.compile(
    r"<(?:tool_call|function_call|tool|function)>\s*\{\s*[\"'](?:name|function|tool)[\"']\s*:\s*[\"']([\w.:-]+)"
    r"|<tool_call>\s*([\w.:-]+)\s*<arg_key>"
    r"|<function=([\w.:-]+)>"
    r"|<(?:\w+:)?invoke\s+name=[\"']([\w.:-]+)"
    r"|\[TOOL_CALLS\]\s*\[?\s*(?:\{\s*\"name\"\s*:\s*\")?([\w.:-]+)"
    r"|<(?:\|tool_call_begin\|>|\uff5ctool\u2581call\u2581begin\uff5c>)(?:function\S{0,20}sep\S{0,3}>)?(?:functions\.)?([\w.-]+)"
    r"|(?:\A|\n)\s*\{\s*\"(?:name|function|tool)\"\s*:\s*\"([\w.:-]+)\"\s*,\s*\"(?:arguments|parameters)\"\s*:",
)
"""A call written as text, in the forms of models whose server does not parse it."""
CUT_OFF: Final = "Your last turn was cut off at the length limit. Go on in smaller parts."
REPEATED_CALL: Final = (
    "You made the same call {count} times and had the same result. Do something else, or finish."
)
REPEATS_BEFORE_WARNING: Final = 5
MOST_REPEATS: Final = 10
"""Consecutive turns with the same calls and results, at which the model gets its last turn."""
ANSWER_NOW: Final = "answer with what you know"
LOW: Final = 0.2
"""Share of a limit left at which the model is warned."""
FEWEST: Final = 3
"""Units left at which the model is warned, for any limit."""
REFUSALS: Final = 3
"""Submissions that may be refused; the next one is accepted, and its defects are reported."""


@dataclass(frozen=True, slots=True)
class Submission(Generic[T]):
    """Description of the result that a model submits, and its check.

    :param accept: returns why a value is refused, for the model; empty if it is accepted.
    :param name: name of the submitting tool.
    :param is_answer: stream the value to the person.
    :param after: result of later calls in the turn of the submission.
    :param advice: follows the reason of a refusal; only the model reads it.
    :param needs_success: refuse a submission if an edit or check of its turn failed: the model has not seen
        that result.
    """

    shape: type[T]
    description: str
    accept: Callable[[T], Awaitable[str]]
    name: str = SUBMIT
    is_answer: bool = False
    after: str = HANDED_IN
    needs_success: bool = False
    advice: str = ""


@dataclass(frozen=True, slots=True)
class LoopResult(Generic[T]):
    """The outcome of a loop."""

    text: str
    """Text of the last turn."""
    value: T | None
    """The submitted value; None if there is none."""
    refused: str = ""
    """Why the value would have been refused; empty if it was accepted."""
    exhausted: str = ""
    """The limit reached before the model submitted; empty if it submitted."""
    turns: int = 0
    calls: int = 0
    usage: Usage | None = None
    model: str = ""
    truncated: bool = False
    conversation: Conversation = field(default=Conversation(""), repr=False)
    """The whole conversation, for a loop that continues it."""


class WorkLoop(Generic[T]):
    """Turns of one model, within one attempt of a step.

    After a crash the loop continues from its last recorded result, with its original prompt. It does not ask
    for a recorded turn again, nor repeat a recorded call, nor resend a conversation that a provider refused
    as too long.

    The budgets are those of the step and the run. If one is used up, the model gets a last turn, in which it
    can only submit; if one is used up before the first turn, the loop does not start.

    :param key: identifies the loop within the step.
    :param submission: None: a turn without calls is the answer.
    :param other_phases: submitting tools of other phases of the same conversation; offering the same tools in
        every phase keeps the provider's cache valid.
    :param staged: the files that the tools edit.
    :param adapter: overrides the run's adapter.
    :param words: instructions about the tools, for the system prompt.
    :param corrects: the loop corrects an earlier answer, and gets its last turn even without budget.
    :param quiet: do not stream the text to the person.
    :param on_turn: called after each turn; an exception that it raises ends the loop.
    """

    def __init__(
        self,
        step: StepContext,
        key: str,
        tools: Sequence[OfferedTool],
        *,
        submission: Submission[T] | None = None,
        other_phases: Sequence[OfferedTool] = (),
        staged: StagedFiles | None = None,
        adapter: str | None = None,
        words: str = "",
        corrects: bool = False,
        quiet: bool = False,
        on_turn: Callable[[ModelTurn], None] | None = None,
    ) -> None:
        self._step = step
        self._key = step.numbered(f"loop:{step.attempt}:{key}")
        self._submission = submission
        self._staged = staged
        self._adapter = adapter
        self._quiet = quiet
        self._on_turn = on_turn
        self._words = words
        self._corrects = corrects
        self._warned: set[str] = set()
        """Limits that the model was warned about."""
        self._turns = self._calls = 0
        self._usage = Usage()
        self._last_turn = False
        """The current turn is the last one."""
        self._compaction = Compaction(step.context_tokens)
        self._reading = self._compaction.tool()
        """Offered once a result was replaced; stays callable from then on, even after a crash."""
        self._submit_name = submission.name if submission else ""
        ends = [*other_phases, *([self._submit_tool(submission)] if submission else [])]
        offered = [*tools, *sorted(ends, key=lambda tool: tool.name)]
        self._tools = {tool.name: tool for tool in offered}
        self._messages: list[Message] = []
        self._system = ""
        self._submitted: T | None = None
        self._failed: list[str] = []
        """Failed edits and checks of the current turn."""
        self._earlier: Conversation | None = None
        self._refused = ""
        self._refusals = 0
        self._last_calls: list[tuple[str, str]] = []
        """Calls of the last turn with their results."""
        self._repeats = 0
        """Consecutive turns with these calls and results."""
        self._has_written_call = False
        """The person was told that the model writes calls as text."""

    async def run(
        self,
        prompt: Prompt,
        earlier: Conversation | None = None,
        taken_up: Sequence[RequestedCall] = (),
        *,
        rested: bool = False,
    ) -> LoopResult[T]:
        """Run until the model submits, answers without a call, or reaches a limit.

        :param earlier: the conversation to continue.
        :param taken_up: unanswered calls of its last turn. The prompt is the result of the first one; the
            others run before the next turn.
        :param rested: the provider's cache has lost the conversation, so leave out superseded results.
        :raises BudgetReached: a budget is used up, and there are no staged edits to return.
        :raises ContextTooLong: the conversation does not fit the model even without old results.
        :raises AdapterError: the adapter failed.
        """
        await self._open(prompt, earlier, taken_up, rested=rested)
        if self._submitted is not None:
            return self._result(ModelTurn("", (), ""), "")
        idle = 0
        while True:
            await self._step.wait_if_paused()
            await self._add_persons_messages()
            exhausted = await self._exhausted()
            try:
                turn = await self._take_turn(exhausted)
            except (BudgetReached, CostLimitReached, InvalidReply) as error:
                if not error.limit or self._staged is None or not self._staged.changed_texts():
                    raise
                self._step.notice(str(error), level="warn")
                return self._result(ModelTurn("", (), ""), error.limit)  # the staged edits are returned
            self._messages.append(turn)
            await self._answer(turn.calls)
            self._count_repeats(turn)
            if not turn.calls:
                self._note_written_call(turn.text)
                await self._take_as_submission(turn.text)
            if self._submitted is not None or exhausted or (not turn.calls and self._ends_with(turn, idle)):
                return self._result(turn, "" if self._submitted is not None else exhausted)
            idle = 0 if turn.calls else idle + 1
            if not turn.calls:
                self._add_message(self._nudge(turn))
            elif self._repeats == REPEATS_BEFORE_WARNING:
                self._add_message(REPEATED_CALL.format(count=REPEATS_BEFORE_WARNING))
            await self._warn()

    async def _open(
        self,
        prompt: Prompt,
        earlier: Conversation | None,
        taken_up: Sequence[RequestedCall],
        *,
        rested: bool,
    ) -> None:
        skills = await skills_of(self._step) if OPEN_SKILL in self._tools else ""
        if not skills:
            self._tools.pop(OPEN_SKILL, None)
        began = await self._begin(continued(prompt, earlier, self._words, skills), rested=rested)
        self._system, user = began[:2]
        self._messages, self._earlier = [*(earlier.messages if earlier else ())], earlier
        if earlier is not None and len(began) > 2:
            self._offer_left_out(self._compaction.drop_replaced(earlier.messages))
        self._messages.append(ToolResult(taken_up[0], user) if taken_up else UserMessage(user))
        await self._answer(taken_up[1:])

    def _count_repeats(self, turn: ModelTurn) -> None:
        """Count consecutive turns with the same calls and results."""
        results = [one for one in self._messages[-len(turn.calls) :] if isinstance(one, ToolResult)]
        made = [(f"{one.call.name} {one.call.arguments}", one.text) for one in results] if turn.calls else []
        self._repeats = self._repeats + 1 if made and made == self._last_calls else bool(made)
        self._last_calls = made

    @property
    def conversation(self) -> Conversation:
        """The conversation so far, without a last turn of interrupted calls."""
        said = self._messages
        last = max((at for at, one in enumerate(said) if isinstance(one, ModelTurn)), default=0)
        turn = said[last] if said else None
        results = sum(isinstance(one, ToolResult) for one in said[last:])
        if isinstance(turn, ModelTurn) and results < len(turn.calls):
            # of calls that were taken up the conversation of the other step has the turn
            is_own = self._earlier is None or last >= len(self._earlier.messages)
            said = said[:last] if is_own else []
        return Conversation(self._system, tuple(said))

    async def _exhausted(self) -> str:
        """Return the limit reached; empty if the next turn is not the last one.

        The limit is recorded: after a crash, recorded turns are counted again from the start.
        """
        key = f"{self._key}:{self._turns}:last"
        kept = self._step.recall(key)
        if kept is not MISSING:
            return str(kept)
        if self._repeats >= MOST_REPEATS:
            return f"equal calls in a row ({MOST_REPEATS}: {self._last_calls[0][0].partition(' ')[0]})"
        used_up = (one for one in self._step.allowances() if one.left <= 0)
        if self._is_recorded or (reached := next(used_up, None)) is None:
            return ""
        limit = f"{reached.name} ({reached.limit})"
        if not self._turns and not self._calls and not self._corrects:
            whose = "run" if reached.of_run else f"step {self._step.step!r}"
            raise BudgetReached(f"{limit} is reached: the {whose} has used it up; set it higher", limit)
        await self._step.remember(key, limit)
        return limit

    async def _warn(self) -> None:
        """Warn the model about limits that run low."""
        key = f"{self._key}:{self._turns}:low"
        kept = self._step.recall(key)
        if kept is MISSING:
            kept = {} if self._is_recorded else self._running_low()
            if not kept:
                return
            await self._step.remember(key, kept)
        self._warned.update(kept)
        self._add_message(f"Left: {', '.join(kept.values())}. Come to an end.")

    def _running_low(self) -> dict[str, str]:
        """Describe the limits that run low, by name; the model is warned once about each."""
        return {
            one.name: f"{one.left} {one.unit.replace('_', ' ')}{' of the whole run' if one.of_run else ''}"
            for one in self._step.allowances()
            if one.limit > FEWEST
            and 0 < one.left <= max(FEWEST, one.limit * LOW)
            and one.name not in self._warned
        }

    @property
    def _is_recorded(self) -> bool:
        """True if the next turn was recorded before a crash."""
        return self._step.has_turn(f"{self._key}:{self._turns}")

    def _ends_with(self, turn: ModelTurn, idle: int) -> bool:
        """Return whether a turn without calls ends the loop."""
        wants_more = self._submission is not None or turn.truncated or not turn.text.strip()
        return idle >= NUDGES or not wants_more

    def _nudge(self, turn: ModelTurn) -> str:
        """Return the reply to a turn without calls that does not end the loop."""
        if turn.truncated:
            return CUT_OFF
        if name := self._written_call(turn.text):
            return WRITTEN.format(name=name)
        return CONTINUE.format(submit=self._submit_name) if turn.text.strip() else NO_ANSWER

    def _note_written_call(self, text: str) -> None:
        """Notify the person once that the model writes calls as text."""
        name = self._written_call(text)
        if name and not self._has_written_call:
            self._has_written_call = True
            self._step.notice(
                f"the model wrote a call of the tool {name!r} as text, so it was not executed",
                level="warn",
            )

    def _written_call(self, text: str) -> str:
        """Return the name of the offered tool that a text calls; empty if none."""
        names = (name for found in _WRITTEN_CALL.finditer(text) for name in found.groups() if name)
        return next((name for name in names if name in self._tools), "")

    async def _take_as_submission(self, text: str) -> None:
        """Accept a text that is exactly the JSON of a submission; some models answer so."""
        if self._submission is None or not text.lstrip().startswith("{"):
            return
        with contextlib.suppress(ValueError, RecursionError):
            arguments = json.loads(text)
            told = await self._submit(self._submission, arguments)
            if self._submitted is None:
                self._add_message(told)

    async def _begin(self, prompt: Prompt, *, rested: bool) -> list[Any]:
        """Return the recorded prompt of the loop, and True if the conversation was not in the cache."""
        kept = self._step.recall(f"{self._key}:start")
        if kept is MISSING:
            kept = [prompt.system, prompt.user, *([True] if rested else [])]
            await self._step.remember(f"{self._key}:start", kept)
        return list(kept)

    async def _add_persons_messages(self) -> None:
        """Add messages that the person sent meanwhile."""
        for text in await self._step.read_messages(f"{self._key}:{self._turns}:said"):
            self._add_message(text)

    async def _take_turn(self, exhausted: str) -> ModelTurn:
        tools = list(self._tools.values())
        self._last_turn = bool(exhausted)
        if exhausted:
            tools = [tool for tool in tools if tool.name == self._submit_name]
            what = f"call {self._submit_name} with what you have" if self._submit_name else ANSWER_NOW
            self._add_message(f"The limit {exhausted} is reached. This is your last turn: {what}.")
        self._make_room()
        key = f"{self._key}:{self._turns}:refused"
        was_refused = self._step.recall(key) is not MISSING
        if was_refused:
            self._make_room(refused=True)
        try:
            turn = await self._ask(tools)
        except ContextTooLong:
            if was_refused or not self._make_room(refused=True):
                raise
            await self._step.remember(key, True)
            turn = await self._ask(tools)
        self._turns += 1
        self._usage += turn.usage
        if self._on_turn is not None:
            self._on_turn(turn)
        return turn

    async def _ask(self, tools: Sequence[OfferedTool]) -> ModelTurn:
        key = f"{self._key}:{self._turns}"
        origin = Origin(f"{self._step.step}:{self._key}")
        conversation = Conversation(self._system, self._compaction.sent(self._messages), origin)
        return await self._step.take_turn(
            conversation, tools, key=key, quiet=self._quiet, adapter=self._adapter
        )

    def _make_room(self, *, refused: bool = False) -> int:
        count = self._compaction.make_room(self._messages, refused=refused)
        self._offer_left_out(count)
        if count:
            results = f"{count} old tool result{'' if count == 1 else 's'}"
            self._step.notice(f"the model's context is nearly full; {results} are sent by reference now")
        return count

    def _offer_left_out(self, count: int) -> None:
        if count:
            self._tools[READ_RESULT] = self._reading
            if self._staged is not None:
                self._staged.forget_shown()

    def _add_message(self, text: str) -> None:
        self._messages.append(UserMessage(text))

    async def _answer(self, calls: Sequence[RequestedCall]) -> None:
        """Make the calls of a turn in order and add their results; adjacent reads run concurrently."""
        numbered, self._failed = list(enumerate(calls, self._calls + 1)), []
        self._calls += len(calls)
        for parallel, group in groupby(numbered, key=lambda one: self._is_parallel(one[1])):
            if not parallel:
                for number, call in group:
                    self._messages.append(result := await self._call(number, call))
                    self._note_failure(result)
                continue
            try:
                async with asyncio.TaskGroup() as tasks:
                    made = [tasks.create_task(self._call(number, call)) for number, call in group]
            except BaseExceptionGroup as errors:
                raise errors.exceptions[0] from None
            self._messages += [task.result() for task in made]

    def _note_failure(self, result: ToolResult) -> None:
        tool = self._tools.get(result.call.name)
        if tool is not None and tool.failed is not None and tool.failed.search(result.text):
            self._failed.append(result.call.name)

    def _is_parallel(self, call: RequestedCall) -> bool:
        tool = self._tools.get(call.name)
        return tool is not None and tool.parallel

    async def _call(self, number: int, call: RequestedCall) -> ToolResult:
        """Return the result of a call: the recorded one, else call the tool and record its result."""
        key = f"{self._key}:call:{number}"
        kept = self._step.recall(key)
        if kept is MISSING or call.name == self._submit_name:
            text = await self._execute(call, key)
            if len(text) > LONGEST:
                text = f"{text[:LONGEST]} … ({len(text)} characters; ask for less)"
            staged = self._staged.export_change() if self._staged is not None else {}
            if call.name != self._submit_name:  # checked again after a crash, with the same staged edits
                await self._step.remember(key, {"text": text, "staged": staged})
            return ToolResult(call, text)
        self._step.allow_secrets(kept["text"])  # it was sent before
        if self._staged is not None:
            self._staged.restore(kept["staged"])
        tool = self._tools.get(call.name)
        if tool is not None and tool.recalled is not None:
            tool.recalled(key)
        return ToolResult(call, kept["text"])

    async def _execute(self, call: RequestedCall, key: str) -> str:
        tool = self._reading if call.name == READ_RESULT else self._tools.get(call.name)
        if self._submitted is not None:
            return self._submission.after if self._submission else ""
        if tool is None:
            near = nearest(call.name, self._tools)
            hint = f"; did you mean {near}?" if near else ""
            return f"error: there is no tool {call.name!r}{hint} (there are {', '.join(self._tools)})"
        if call.arguments is None:
            return "error: the arguments are no JSON object; nothing was called"
        counts = [one for one in self._step.allowances() if one.unit == "tool_calls"]
        if call.name != self._submit_name and any(one.left < 0 for one in counts):
            return "error: no tool calls are left; finish now"
        return await tool.call(call.arguments, key)

    def _submit_tool(self, submission: Submission[T]) -> OfferedTool:
        async def call(arguments: dict[str, Any], _key: str) -> str:
            return await self._submit(submission, arguments)

        return OfferedTool(
            submission.name,
            submission.description,
            lean_schema(submission.shape),
            call,
            is_answer=submission.is_answer,
        )

    async def _submit(self, submission: Submission[T], arguments: dict[str, Any]) -> str:
        try:
            value = submission.shape.model_validate(arguments)
        except ValidationError as error:
            return f"error: it cannot be read: {explain_mistakes(error)}"
        reason = await submission.accept(value)
        if submission.needs_success and self._failed:
            failed = f"{', '.join(dict.fromkeys(self._failed))} failed in this turn"
            reason = "; ".join(filter(None, [reason, failed]))
        if reason and self._refusals < REFUSALS and not self._last_turn:
            self._refusals += 1
            self._refused = reason
            return "; ".join(filter(None, [f"error: not accepted: {reason}", submission.advice]))
        self._submitted, self._refused = value, reason
        return ACCEPTED

    def _result(self, turn: ModelTurn, exhausted: str) -> LoopResult[T]:
        return LoopResult(
            text=turn.text,
            value=self._submitted,
            refused=self._refused,
            exhausted=exhausted,
            turns=self._turns,
            calls=self._calls,
            usage=self._usage,
            model=turn.model,
            truncated=turn.truncated,
            conversation=self.conversation,
        )


def explain_mistakes(error: ValidationError) -> str:
    """Describe the validation errors of a value for a model."""
    return "; ".join(
        f"{'.'.join(map(str, one['loc'])) or 'it'}: {one['msg'].lower()}"
        for one in error.errors(include_url=False)
    )


def continued(prompt: Prompt, earlier: Conversation | None, *more: str) -> Prompt:
    """Return a prompt with further instructions, as the next message of a conversation.

    The system prompt stays that of the conversation, so the provider's cache stays valid.
    """
    instructions = list(filter(None, (prompt.system, *more)))
    if earlier is None:
        return replace(prompt, system="\n\n".join(instructions))
    new = [one for one in instructions if one not in earlier.system]
    return replace(prompt, system=earlier.system, user="\n\n".join([*new, prompt.user]))


async def skills_of(step: StepContext) -> str:
    """Return the project's skills for a prompt; empty if it has none or rules are turned off."""
    from tideate_core.mentions import describe_skills, find_skills

    root = step.workspace.root
    if step.rules_files is None or root is None:
        return ""
    listed = describe_skills(await asyncio.to_thread(find_skills, root))
    return f"Skills of the project, for {OPEN_SKILL} where one fits the task:\n{listed}" if listed else ""
