"""Prompts of a machine: the guidance of a state, then the choice among its transitions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model, field_validator

from tideate_core.agents import clip
from tideate_core.edits import fence_for
from tideate_core.engine.drivers.machine_tools import StateResult, work_in_state
from tideate_core.engine.mentions import before, rules_and_material
from tideate_core.engine.selected_text import NO_TEXT, Subject, brief
from tideate_core.machines.language import BOUNDARY
from tideate_core.util.tokens import FEWEST_CHARACTERS_PER_TOKEN

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from tideate_core.agents import StepTools
    from tideate_core.machines.language import Transition
    from tideate_core.workflows import ModelAccess, PersonAccess, StepContext

__all__ = ["Choice", "MachineConversation", "choice_among", "exit_word"]


DEMONSTRATION = 800
"""Tokens of a whole prompt: the bundled model reads 250 a second."""
UNKNOWN = 16_000
"""Tokens that a model is taken to read where nobody says."""
LONGEST_REASON = 200
LAST_STATES = 12
"""States of the way so far that a prompt tells."""
LEAST = 300
"""Characters of what was said last that a prompt gives, however little room there is."""
LEAST_CONDITION = 80
"""The same of each way's condition."""


class Choice(BaseModel):
    """A model's choice of a transition; the reason comes first, so that it is thought of first."""

    model_config = ConfigDict(extra="ignore")

    reason: str = Field(default="", max_length=LONGEST_REASON)
    next: str

    @field_validator("reason", mode="before")
    @classmethod
    def _cut(cls, reason: Any) -> Any:
        return " ".join(reason.split())[:LONGEST_REASON] if isinstance(reason, str) else reason


@dataclass(frozen=True, slots=True)
class _Said:
    """An answer that was given in a state."""

    state: str
    text: str


class MachineConversation:
    """One run's conversation with the model; remembers what was said.

    :param states: all of the workflow.
    :param hide: replaces what the model must not see in the person's own texts.
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
        """The last text a model gave, empty without any."""
        return self._last

    async def follow(
        self,
        step: StepContext,
        state: str,
        guidance: str,
        path: Sequence[Mapping[str, str]],
        tools: StepTools | None = None,
    ) -> StateResult:
        """Have the model do what a state's guidance says.

        :param tools: those that it may work with.
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
        if tools is not None:
            return await work_in_state(step, tools, prompt)
        reply = await step.ask(prompt)
        if reply.truncated:
            step.notice("the answer was cut off at the model's length limit", level="warn")
        return StateResult(reply.text.strip())

    def heard(self, state: str, result: Any) -> None:
        """Remember what was said in a state; nothing was where it has no guidance.

        :param result: the state's, as it is stored.
        """
        if result is not None:
            said = StateResult.of_json(result)
            self._said.append(_Said(state, said.with_files))
            self._last = said.text

    async def choose(
        self, step: StepContext, state: str, ways: Sequence[tuple[Transition, str]]
    ) -> tuple[Transition, str]:
        """Ask the model which way it takes, and why; it is given what was said last.

        :param ways: each with the guidance of where it leads.
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
        """Return the selected text as the prompt wants it; it stays the same for the whole run."""
        if self._subject is None:
            subject = Subject.of(step.context)
            if subject is None or not subject.selected:
                self._subject = NO_TEXT
            else:
                text = self._hide(clip(step, subject.text, _room(step) // 3))
                self._subject = {**subject.variables(), "path": self._hide(subject.path), "text": text}
        return self._subject

    def _latest(self, room: int) -> list[_Said]:
        """Return what was said last, as much as there is room for, the latest at the end."""
        kept: list[_Said] = []
        room = max(LEAST, room)
        for said in reversed(self._said):
            if room < len(said.text) and kept:
                break
            kept.append(_Said(said.state, _tail(said.text, room)))
            room -= len(said.text)
        return kept[::-1]


def choice_among(names: Collection[str]) -> type[Choice]:
    """Return the type of an answer that can be nothing but one of these names."""
    options: Any = Literal.__getitem__(tuple(names))
    return create_model("Choice", __base__=Choice, next=(options, ...))


def exit_word(states: Iterable[str]) -> str:
    """Return the word for the way out: no state's name, however it is written."""
    taken = {state.casefold() for state in states}
    word = "end"
    while word in taken:
        word += "_here"
    return word


def _room(step: ModelAccess) -> int:
    """Return how many characters a prompt may have: half of what question and answer share."""
    tokens = step.context_tokens or UNKNOWN
    room = min(tokens // 2, DEMONSTRATION) if step.demonstration else tokens // 2
    return room * FEWEST_CHARACTERS_PER_TOKEN


def _tail(text: str, room: int) -> str:
    """Return the end of a text: what was decided stands there."""
    return text if len(text) <= room else "…" + text[len(text) - room + 1 :]


def _fitted(texts: Sequence[str], room: int) -> list[str]:
    """Return texts that share the room, the longest cut at their ends; what a short one leaves is theirs."""
    fitted = list(texts)
    for rank, at in enumerate(sorted(range(len(texts)), key=lambda at: len(texts[at]))):
        share = max(LEAST_CONDITION, room // (len(texts) - rank))
        if len(texts[at]) > share:
            fitted[at] = texts[at][: share - 1] + "…"
        room -= len(fitted[at])
    return fitted
