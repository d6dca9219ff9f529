"""Prompts of a machine's run: the latest answers, within the model's window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from tideate_core.adapters import Prompt, Reply
from tideate_core.engine.drivers.machine import MachineConversation
from tideate_core.machines.language import Transition
from tideate_core.workflows import PromptLibrary, RunContext

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from pydantic import BaseModel

    from tideate_core.workflows import StepContext

FRAME = 900
"""Characters of a template's own words."""


class Listener:
    """A step's context that records prompts and returns given answers."""

    context = RunContext()
    rules_files = None

    def __init__(self, tokens: int | None = None, *, demonstration: bool = False) -> None:
        self.context_tokens = tokens
        self.demonstration = demonstration
        self.prompts: list[Prompt] = []
        self.notices: list[str] = []
        self.text = ""
        self.truncated = False

    def render(self, name: str, **values: Any) -> Prompt:
        return PromptLibrary().render(name, **values)

    def notice(self, message: str, **_: Any) -> None:
        self.notices.append(message)

    async def choose_once(self, key: str, digest: str, produce: Callable[[], Awaitable[Any]]) -> Any:
        return await produce()

    async def ask(
        self, prompt: Prompt, *, schema: type[BaseModel] | None = None, quiet: bool = False
    ) -> Reply:
        self.prompts.append(prompt)
        parsed = schema.model_validate({"next": "end", "reason": "done"}) if schema else None
        return Reply(self.text, "listener", parsed, truncated=self.truncated)


class Conversation:
    def __init__(self, step: Listener) -> None:
        self.step = step
        self.talk = MachineConversation("w", "the task", states=["a", "b", "c", "d"], hide=str)

    async def say(self, state: str, text: str = "more", path: int = 1) -> str:
        """Answer in a state; return the prompt."""
        self.step.text = text
        moves = [{"to": f"s{n}"} for n in range(path)]
        said = (await self.talk.follow(cast("StepContext", self.step), state, "Go.", moves)).text
        self.talk.heard(state, said)
        return self.step.prompts[-1].user

    async def choose(self, state: str, when: str = "", guidance: str = "Back  to\nwork.") -> str:
        ways = [(Transition(state, "a", when, ""), guidance), (Transition(state, "*", "", ""), "")]
        way, reason = await self.talk.choose(cast("StepContext", self.step), state, ways)
        assert (way.target, reason) == ("*", "done")
        return self.step.prompts[-1].user


async def test_what_was_said_is_given_in_its_order() -> None:
    conversation = Conversation(Listener())
    await conversation.say("a", "first")
    await conversation.say("b", "second")
    prompt = await conversation.say("c")
    assert prompt.index("In the state a:\n\n```\nfirst") < prompt.index("In the state b:\n\n```\nsecond")
    assert conversation.talk.last == "more"


async def test_what_there_is_no_room_for_is_left_out_whole_the_oldest_first() -> None:
    conversation = Conversation(Listener(1000))
    await conversation.say("a", "oldest " * 100)
    await conversation.say("b", "older " * 100)
    await conversation.say("c", "latest " * 100)
    prompt = await conversation.say("d")
    assert "In the state a" not in prompt
    assert "In the state b" in prompt
    assert "In the state c" in prompt
    assert "…" not in prompt


async def test_of_what_is_too_long_by_itself_the_end_is_given() -> None:
    conversation = Conversation(Listener(400))
    await conversation.say("a", "begun " + "x" * 5000 + " ended")
    prompt = await conversation.say("b")
    assert "begun" not in prompt
    assert "\n…x" in prompt
    assert "x ended" in prompt
    assert len(prompt) <= 600 + FRAME


async def test_the_bundled_model_reads_little_however_much_fits_it() -> None:
    conversation = Conversation(Listener(100_000, demonstration=True))
    await conversation.say("a", "x" * 50_000)
    prompt = await conversation.say("b", "y" * 50_000)
    assert 2000 < len(prompt) < 2400 + FRAME
    assert len(await conversation.choose("b")) < 2400 + FRAME
    assert conversation.step.prompts[-1].max_tokens is not None


async def test_a_prompt_tells_only_the_last_of_a_long_way() -> None:
    prompt = await Conversation(Listener()).say("a", path=40)
    assert f"so far: {' → '.join(f's{n}' for n in range(28, 40))}\n" in prompt


async def test_an_answer_that_was_cut_off_is_told() -> None:
    conversation = Conversation(Listener())
    conversation.step.truncated = True
    await conversation.say("a", "half of")
    assert conversation.step.notices == ["the answer was cut off at the model's length limit"]


async def test_a_choice_is_given_what_was_said_last_wherever_it_was() -> None:
    conversation = Conversation(Listener())
    assert "was said" not in await conversation.choose("b")
    await conversation.say("a", "All is done.")
    assert "What was said in the state a:\n\n```\nAll is done.\n```" in await conversation.choose("b")


@pytest.mark.parametrize("line", ["- a: Back to work.", "- end (the workflow ends): no condition is given"])
async def test_a_way_without_a_condition_is_told_by_what_is_done_there(line: str) -> None:
    assert line in await Conversation(Listener()).choose("b")


LONG = "the person asked for it, " * 10 + "but not on a day with rain"
"""Its end turns it round."""


@pytest.mark.parametrize("how", [{"when": LONG}, {"guidance": LONG}])
async def test_a_condition_is_given_whole_however_long(how: dict[str, str]) -> None:
    conversation = Conversation(Listener())
    assert len(LONG) > 260
    assert f"- a: {LONG}\n- end" in await conversation.choose("b", **how)
    assert conversation.step.notices == []


async def test_conditions_without_room_are_cut_with_a_mark_and_a_notice() -> None:
    conversation = Conversation(Listener(1000))
    for _ in range(2):
        prompt = await conversation.choose("b", "so it is " * 1000)
        assert "…\n- end" in prompt
        assert 1000 < prompt.count("so it is") * 9 < len(prompt) < 1500 + FRAME
    assert conversation.step.notices == ["the conditions of the ways from 'b' are cut to fit this model"]


async def test_the_room_that_short_conditions_leave_belongs_to_the_long_ones() -> None:
    step = Listener(1000)
    whens = ["x" * 5000, "a short one", "y" * 5000, "z" * 350]
    names = ["end", "b", "c", "d"]
    ways = [(Transition("a", name, when), "") for name, when in zip(names, whens, strict=True)]
    talk = MachineConversation("w", "", states=["a", "b", "c", "d"], hide=str)
    await talk.choose(cast("StepContext", step), "a", ways)
    prompt = step.prompts[0].user
    assert "- b: a short one\n" in prompt
    assert 350 <= prompt.count("z") < 360
    assert 400 < prompt.count("x" * 10) * 10 < 600
    assert abs(prompt.count("x") - prompt.count("y")) <= 5
