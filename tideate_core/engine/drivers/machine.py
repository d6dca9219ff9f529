"""Machine driver: a model walks through states, with the prompts and tools of each state."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model, field_validator

from tideate_core.agents import StepTools, clip, may_look
from tideate_core.edits import fence_for
from tideate_core.engine.driver import Question, StateDriver, Work
from tideate_core.engine.prompt_material import before, brief, rules_and_material, tell_truncated
from tideate_core.engine.request import NO_TEXT, Subject
from tideate_core.engine.review.review import write_staged
from tideate_core.errors import InvalidDefinition, InvalidInput
from tideate_core.machines.language import BOUNDARY, Workflow
from tideate_core.util.tokens import FEWEST_CHARACTERS_PER_TOKEN

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from tideate_core.adapters import Reply
    from tideate_core.agents import LoopResult
    from tideate_core.config import LimitsConfig, WorkflowConfig
    from tideate_core.engine.events import Emit
    from tideate_core.machines.language import Transition
    from tideate_core.workflows import MachineWorkflow, ModelAccess, PersonAccess, StepContext


@dataclass(frozen=True, slots=True)
class StateResult:
    """Answer of a model in a state."""

    text: str
    files: list[str] | None = None
    """Files that its edits changed; None where it has no tools to edit with."""

    def as_json(self) -> Any:
        """Return the result of the state: the text, or a mapping of `response` and `files`."""
        return self.text if self.files is None else {"response": self.text, "files": self.files}

    @classmethod
    def of_json(cls, value: Any) -> StateResult:
        """Return the result from its `as_json` form."""
        return cls(value["response"], value["files"]) if isinstance(value, dict) else cls(value)

    @property
    def with_files(self) -> str:
        """The text with the changed files, for later states."""
        if self.files is None:
            return self.text
        return f"{self.text}\n\n[files written: {', '.join(self.files) or 'none'}]"


@dataclass(frozen=True, slots=True)
class MachineTools:
    """Tool names by state.

    :param offered: tools offered if the model can call tools.
    :param wanted: tools that the person configured; a model that cannot call tools is an error.
    """

    offered: Mapping[str, Sequence[str]] = field(default_factory=dict)
    wanted: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def of_state(self, step: StepContext, state: str) -> StepTools | None:
        """Return the tools for the work in a state; None if it has none.

        :raises ConfigError: a name is wrong, or the model cannot call the configured tools.
        """
        wanted = self.wanted.get(state, self.wanted.get(""))
        names = wanted
        if names is None and may_look(step):
            names = self.offered.get(state, self.offered.get("", ()))
        if not names:
            return None
        tools = StepTools(step, names)
        tools.check()
        return tools


def tools_of_states(definition: MachineWorkflow, configured: WorkflowConfig | None) -> MachineTools:
    """Return the tools of a machine's states: the configured ones, otherwise the machine's own.

    :raises InvalidInput: the configuration names an unknown state; names the nearest one.
    """
    wanted: dict[str, Sequence[str]] = {}
    if configured is not None and configured.tools is not None:
        wanted[""] = configured.tools
    for name, section in (configured.states if configured is not None else {}).items():
        state = definition.state_named(name)
        if section.tools is not None:
            wanted[state] = section.tools
    return MachineTools(definition.tools, wanted)


DEMONSTRATION = 800
"""Tokens of a whole prompt: the bundled model reads 250 a second."""
UNKNOWN = 16_000
"""Tokens of a model's window if it is unknown."""
LONGEST_REASON = 200
LAST_STATES = 12
"""Passed states listed in a prompt."""
LEAST = 300
"""Minimum characters of the last answers in a prompt."""
LEAST_CONDITION = 80
"""Minimum characters of each transition's condition in a prompt."""


class Choice(BaseModel):
    """A model's choice of a transition; the reason comes first, so that the model thinks before choosing."""

    model_config = ConfigDict(extra="ignore")

    reason: str = Field(default="", max_length=LONGEST_REASON)
    next: str

    @field_validator("reason", mode="before")
    @classmethod
    def _cut(cls, reason: Any) -> Any:
        return " ".join(reason.split())[:LONGEST_REASON] if isinstance(reason, str) else reason


@dataclass(frozen=True, slots=True)
class _Said:
    """Answer given in a state."""

    state: str
    text: str


class MachineConversation:
    """Conversation of one run with the model.

    :param states: all states of the workflow.
    :param hide: replaces text that the model must not see in the person's own texts.
    """

    def __init__(
        self, workflow: str, prompt: str, *, states: Iterable[str], hide: Callable[[str], str]
    ) -> None:
        self._workflow = workflow
        self._prompt = prompt
        self._end = exit_word(states)
        self._hide = hide
        self._said: list[_Said] = []
        self._last = ""
        self._subject: Mapping[str, Any] | None = None
        self._warned: set[str] = set()

    @property
    def last(self) -> str:
        """The last text of a model; empty without one."""
        return self._last

    async def follow(
        self,
        step: StepContext,
        state: str,
        guidance: str,
        path: Sequence[Mapping[str, str]],
        tools: StepTools | None = None,
    ) -> StateResult:
        """Let the model follow a state's guidance; review and write its edits.

        :param tools: the tools that it may use.
        :raises Declined: the person accepted none of the edits.
        """
        subject = self._text(step)
        found = self._hide(await rules_and_material(step, self._prompt))
        taken = len(guidance) + len(self._prompt) + len(subject["text"]) + len(found)
        past = self._latest(_room(step) - taken)
        values = {
            **subject,
            "workflow": self._workflow,
            "prompt": self._prompt,
            "state": state,
            "guidance": guidance,
            "past": past,
            "way": [move["to"] for move in path[-LAST_STATES:]],
            "fence": fence_for(subject["text"], *(said.text for said in past)),
        }
        prompt = brief(step, before(step.render("machine_state", **values), found))
        reply: Reply | LoopResult[Any]
        reply = await (step.ask(prompt) if tools is None else tools.work("state", prompt))
        if reply.truncated:
            tell_truncated(step)
        files = await write_staged(step, tools.staged) if tools is not None and tools.stages else None
        return StateResult(reply.text.strip(), files)

    def heard(self, state: str, result: Any) -> None:
        """Remember the answer of a state; a state without guidance has none.

        :param result: the state's result, as stored.
        """
        if result is not None:
            said = StateResult.of_json(result)
            self._said.append(_Said(state, said.with_files))
            self._last = said.text

    async def choose(
        self, step: StepContext, state: str, ways: Sequence[tuple[Transition, str]]
    ) -> tuple[Transition, str]:
        """Ask the model for a transition and its reason; the prompt has the last answers.

        :param ways: the transitions, each with the guidance of its target.
        """
        by_name = {self._end if way.target == BOUNDARY else way.target: way for way, _ in ways}
        conditions = [" ".join((way.when or guidance).split()) for way, guidance in ways]
        taken = len(self._prompt) + sum(len(name) for name in by_name)
        fitted = _fitted(conditions, _room(step) - taken - LEAST)
        if fitted != conditions:
            self._warn_once(step, f"the conditions of the ways from {state!r} are cut to fit this model")
        listed = [{"name": name, "when": when} for name, when in zip(by_name, fitted, strict=True)]
        latest = self._said[-1] if self._said else None
        taken += sum(len(when) for when in fitted)
        text = _tail(latest.text, max(LEAST, _room(step) - taken)) if latest else ""
        values = {
            "workflow": self._workflow,
            "prompt": self._prompt,
            "state": "" if state == BOUNDARY else state,
            "ways": listed,
            "end": self._end,
            "said": text,
            "said_in": latest.state if latest else "",
            "fence": fence_for(text),
        }
        prompt = brief(step, step.render("machine_choice", **values))

        async def choice() -> dict[str, str]:
            reply = await step.ask(prompt, schema=choice_among(list(by_name)), quiet=True)
            chosen = reply.parsed
            assert isinstance(chosen, Choice)  # noqa: S101 the adapter validated it
            return {"next": chosen.next, "reason": chosen.reason}

        made = await step.choose_once("way", json.dumps([state, *by_name]), choice)
        return by_name[made["next"]], made["reason"]

    def _warn_once(self, step: PersonAccess, message: str) -> None:
        if message not in self._warned:
            self._warned.add(message)
            step.notice(message, level="warn")

    def _text(self, step: StepContext) -> Mapping[str, Any]:
        """Return the selected text for prompts; it stays the same for the whole run."""
        if self._subject is None:
            subject = Subject.of(step.context)
            if subject is None or not subject.selected:
                self._subject = NO_TEXT
            else:
                text = self._hide(clip(step, subject.text, _room(step) // 3))
                self._subject = {**subject.variables(), "path": self._hide(subject.path), "text": text}
        return self._subject

    def _latest(self, room: int) -> list[_Said]:
        """Return the last answers that fit, the latest at the end."""
        kept: list[_Said] = []
        room = max(LEAST, room)
        for said in reversed(self._said):
            if room < len(said.text) and kept:
                break
            kept.append(_Said(said.state, _tail(said.text, room)))
            room -= len(said.text)
        return kept[::-1]


def choice_among(names: Collection[str]) -> type[Choice]:
    """Return the type of an answer that is one of these names."""
    options: Any = Literal.__getitem__(tuple(names))
    return create_model("Choice", __base__=Choice, next=(options, ...))


def exit_word(states: Iterable[str]) -> str:
    """Return the word for leaving the machine, different from every state's name."""
    taken = {state.casefold() for state in states}
    word = "end"
    while word in taken:
        word += "_here"
    return word


def _room(step: ModelAccess) -> int:
    """Return the characters that a prompt may have: half of the window."""
    tokens = step.context_tokens or UNKNOWN
    room = min(tokens // 2, DEMONSTRATION) if step.demonstration else tokens // 2
    return room * FEWEST_CHARACTERS_PER_TOKEN


def _tail(text: str, room: int) -> str:
    """Return the end of a text, which has the decision."""
    return text if len(text) <= room else "…" + text[len(text) - room + 1 :]


def _fitted(texts: Sequence[str], room: int) -> list[str]:
    """Return texts cut to fit together; long ones use the space that short ones leave."""
    fitted = list(texts)
    for rank, at in enumerate(sorted(range(len(texts)), key=lambda at: len(texts[at]))):
        share = max(LEAST_CONDITION, room // (len(texts) - rank))
        if len(texts[at]) > share:
            fitted[at] = texts[at][: share - 1] + "…"
        room -= len(fitted[at])
    return fitted


LOOP_STATES = 6
"""States of a loop listed in an error."""


@dataclass(frozen=True, slots=True)
class _Move:
    """Transition that was chosen and not made yet."""

    transition: Transition
    by: str
    reason: str = ""


class MachineDriver(StateDriver):
    """`Driver` of a state machine: the model works in a state and chooses the next transition.

    :param confirm: states that are entered only after a question.
    :param prompt: the person's task.
    :param tools: the tools of the states.
    :raises InvalidDefinition: no transition leads into a state.
    """

    reversible = None

    def __init__(
        self,
        definition: MachineWorkflow,
        *,
        confirm: Collection[str],
        limits: LimitsConfig,
        prompt: str,
        emit: Emit,
        tools: MachineTools | None = None,
    ) -> None:
        hide = definition.obfuscator.hide if definition.obfuscator else str
        states = definition.machine.states
        super().__init__(definition.name, [*states], limits=limits, prompt=hide(prompt), emit=emit)
        self._states = states
        self._outgoing = definition.machine.outgoing
        self._check()
        self._confirm = confirm
        self._talk = MachineConversation(self._name, self._prompt, states=states, hide=hide)
        self._tools = tools or MachineTools()
        self._machine = Workflow(definition.machine).machine()
        self._ended = False
        self._chosen = self._only(BOUNDARY)

    @property
    def has_more(self) -> bool:
        return not self._ended

    @property
    def at_last(self) -> bool:
        ways = self._outgoing.get(self._machine.state, ())  # none at the end
        return all(way.target == BOUNDARY for way in ways)

    def begin_step(self, work: Work) -> None:
        self._works += 1
        if self._chosen is not None:
            self._move(self._chosen)
            self._visits[self._machine.state] += 1
            self._chosen = None

    async def complete_step(self, work: Work, value: Any, step: StepContext) -> None:
        """Choose the next transition; a stored choice is not made again."""
        if work.step == BOUNDARY:
            self._chosen = self._chosen or await self._choose(step, BOUNDARY)
        else:
            self._talk.heard(work.more["state"], value)
            await self._find_way(step, self._machine.state)
        if self._chosen is None:
            self._ended = True
        elif self._chosen.transition.target == BOUNDARY:
            self._move(self._chosen)
            self._ended = True
        self._given = False

    def response(self) -> str:
        return self._talk.last

    def unfinished_response(self) -> str | None:
        return self._talk.last or None

    def _next(self) -> Work:
        index = self._works + 1
        if self._chosen is None:  # several transitions lead in: the choice is a step of its own
            return Work(BOUNDARY, self._enter, index, 0, more={"state": BOUNDARY}, agent="machine")
        way = self._chosen.transition
        state, guidance = way.target, self._guidance(way)
        self._check_limits(state, f"{self._round(state)}: ")
        question = None
        if state in self._confirm:
            question = question_before(self._name, way, guidance, self._chosen.reason)
        handler, more = partial(self._visit, way), {"state": state}
        return Work(self._step_of(state), handler, index, 0, question, more, agent="machine", task=guidance)

    async def _enter(self, step: StepContext) -> None:
        self._chosen = await self._choose(step, BOUNDARY)

    async def _visit(self, way: Transition, step: StepContext) -> Any:
        guidance = self._guidance(way)
        if not guidance:
            return None
        tools = self._tools.of_state(step, way.target)
        return (await self._talk.follow(step, way.target, guidance, self._path, tools)).as_json()

    async def _find_way(self, step: StepContext, state: str) -> None:
        """Choose a transition out of a state; its result is already stored, so the choice may fail."""
        try:
            self._chosen = self._only(state) or await self._choose(step, state)
        except Exception:
            step.notice(f"{self._name}: no way out of the state {state!r} was chosen", level="warn")
            raise
        if self._chosen is None:
            step.notice(f"{self._name} ends in {state!r}: no transition leads out of it, to * neither")

    async def _choose(self, step: StepContext, state: str) -> _Move | None:
        ways = self._outgoing[state]
        if not ways:
            return None
        way, reason = await self._talk.choose(step, state, [(w, self._guidance(w)) for w in ways])
        return _Move(way, "model", reason)

    def _only(self, state: str) -> _Move | None:
        ways = self._outgoing[state]
        return _Move(ways[0], "only") if len(ways) == 1 else None

    def _guidance(self, way: Transition) -> str:
        if way.guidance or way.target == BOUNDARY:
            return way.guidance
        return self._states[way.target].guidance

    def _move(self, move: _Move) -> None:
        way = move.transition
        self._machine.require(way.target)
        reason = {"reason": move.reason} if move.reason else {}
        self._add_move(way.source, way.target, way.when, move.by, **reason)

    def _check(self) -> None:
        if not any(self._outgoing.values()):
            raise InvalidDefinition(f"{self._name} has no transition; `* to STATE` says where a run starts")
        if all(way.target == BOUNDARY for way in self._outgoing[BOUNDARY]):
            raise InvalidDefinition(
                f"{self._name} has no entry: a transition `* to STATE` says where a run starts"
            )

    def _round(self, state: str) -> str:
        """Return the states passed since this one was left; without a loop, the last ones."""
        way = [move["to"] for move in self._path]
        loop = way[len(way) - way[::-1].index(state) - 1 :] if state in way else way
        if state in loop and len(loop) == 2:
            return " ⇄ ".join(loop)
        if len(loop) > LOOP_STATES:
            loop = ["…", *loop[-LOOP_STATES:]]
        return " → ".join([*loop, state])


def states_to_confirm(
    definition: MachineWorkflow, configured: Iterable[str], inputs: Mapping[str, Any]
) -> frozenset[str]:
    """Return the states to confirm, by the names that the definition uses.

    The run's option `confirm` (a list, or names separated by commas) replaces the others. The configuration
    adds to the workflow's own.

    :raises InvalidInput: a state is unknown; names the nearest one.
    """
    names: Any = inputs.get("confirm")
    if names is None:
        names = [*definition.confirm, *configured]
    elif isinstance(names, str):
        names = [name.strip() for name in names.split(",") if name.strip()]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InvalidInput("the input 'confirm' lists states: confirm=first_state,second_state")
    return frozenset(definition.state_named(name) for name in names)


def question_before(workflow: str, way: Transition, guidance: str, reason: str) -> Question:
    """Return the question before a state is entered: the reason for it, and the state's guidance.

    :param reason: the model's reason; empty if it had no choice.
    """
    whence = "as its first state" if way.source == BOUNDARY else f"from {way.source!r}"
    when = " ".join(way.when.split())
    why = {"when": when, "because": reason}
    details = [*(f"{word}: {text}" for word, text in why.items() if text), guidance]
    return Question(
        f"{workflow}: enter the state {way.target!r} {whence}?",
        "\n\n".join(filter(None, details)),
        {"from": way.source, "to": way.target, **why, "guidance": guidance},
    )
