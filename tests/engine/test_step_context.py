"""Context of a step: stored answers, asked once, available after a crash."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel

from tests.engine.logbook import RUN, Logbook
from tests.harness.bare_run import bare_run
from tests.harness.front import Front, in_order
from tests.harness.scripted import ScriptedModel
from tideate_core.adapters import Prompt, Reply, Usage
from tideate_core.engine import RunRequest
from tideate_core.engine.context.context import Context
from tideate_core.engine.driver import Settled
from tideate_core.errors import InvalidReply
from tideate_core.workflows import (
    BufferContext,
    Decision,
    RunContext,
    Selection,
    WorkflowDefinition,
)
from tideate_core.workflows.handler import MISSING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Answer(BaseModel):
    word: str


def says(text: str, word: str | None = None) -> Reply:
    parsed = Answer(word=word) if word else None
    return Reply(text, "model", parsed, Usage(10, 2, 0.25), truncated=text.endswith("…"))


class Process:
    """One process that has the run: the same log, everything else new."""

    def __init__(self, root: Path, log: Logbook) -> None:
        context = RunContext(
            buffer=BufferContext(path="/x/a.py", text="one\ntwo\nthree", filetype="python"),
            selection=Selection(start=2, end=3),
        )
        request = RunRequest(name="w", prompt="do it", context=context, inputs={"n": 1}, execution_id=RUN)
        definition = WorkflowDefinition.chain("w", ["a", "b"], context={"tone": "dry"})
        self.model, self.front = ScriptedModel(), Front(in_order())
        memos = {step: dict(kept) for step, kept in log.memos.items()}
        self.run = bare_run(
            request,
            definition=definition,
            front=self.front,
            adapter=self.model,
            root=root,
            log=log,
            memos=memos,
        )
        self.memory = self.run.memory

    def step(self, name: str = "a", attempt: int = 1) -> Context:
        return Context(self.run, name, attempt)


@pytest.fixture
def log() -> Logbook:
    return Logbook()


@pytest.fixture
def first(tmp_path: Path, log: Logbook) -> Process:
    return Process(tmp_path, log)


@pytest.fixture
def after_crash(tmp_path: Path, log: Logbook) -> Callable[[], Process]:
    return lambda: Process(tmp_path, log)


async def test_a_model_is_asked_once_over_a_crash(first: Process, after_crash: Callable[[], Process]) -> None:
    first.model.answers = [says("yes…", "yes")]
    before = await first.step().ask(Prompt("well?"), schema=Answer)
    second = after_crash()
    after = await second.step().ask(Prompt("well?"), schema=Answer)
    assert after == before
    assert after.parsed == Answer(word="yes")
    assert second.model.prompts == []
    assert first.front.names() == ["TOKEN", "MODEL_ANSWERED"]
    assert second.front.names() == ["TOKEN"]


async def test_who_resumes_a_run_sees_what_was_answered_before(
    first: Process, after_crash: Callable[[], Process]
) -> None:
    first.model.answers = [says("my analysis"), says("not shown")]
    step = first.step()
    await step.ask(Prompt("well?"))
    await step.ask(Prompt("between us"), quiet=True)
    second = after_crash()
    step = second.step()
    await step.ask(Prompt("well?"))
    await step.ask(Prompt("between us"), quiet=True)
    shown = {"step": "a", "text": "my analysis\n\n", "again": True}
    assert [event.data for event in second.front.events] == [shown]


async def test_a_replayed_answer_takes_no_tokens_again(
    first: Process, after_crash: Callable[[], Process]
) -> None:
    first.model.answers = [says("yes")]
    await first.step().ask(Prompt("well?"))
    second = after_crash()
    step = second.step()
    await step.ask(Prompt("well?"))
    assert second.run.usage == Usage()
    assert step.usage == Usage(10, 2, 0.25)


@pytest.mark.parametrize(
    "other",
    [
        {"prompt": Prompt("well?", max_tokens=3)},
        {"prompt": Prompt("oh?")},
        {"prompt": Prompt("well?"), "schema": Answer},
    ],
)
async def test_another_question_is_asked_anew(
    first: Process, after_crash: Callable[[], Process], other: dict[str, Any]
) -> None:
    first.model.answers = [says("yes")]
    await first.step().ask(Prompt("well?"))
    second = after_crash()
    second.model.answers = [says("new", "new")]
    reply = await second.step().ask(**other)
    assert reply.text == "new"


async def test_the_same_question_twice_has_two_answers_and_both_come_back(
    first: Process, after_crash: Callable[[], Process]
) -> None:
    first.model.answers = [says("one"), says("two")]
    step = first.step()
    assert [(await step.ask(Prompt("?"))).text for _ in range(2)] == ["one", "two"]
    # a handler in the editor asks through a new context each time
    second = after_crash()
    assert [(await second.step().ask(Prompt("?"))).text for _ in range(2)] == ["one", "two"]


async def test_questions_side_by_side_find_their_answers_in_any_order(
    first: Process, after_crash: Callable[[], Process]
) -> None:
    first.model.answers = [says("A"), says("B")]
    step = first.step()
    for name in ("a", "b"):
        await step.ask(Prompt(name))
    again = after_crash().step()
    assert [(await again.ask(Prompt(name))).text for name in ("b", "a")] == ["B", "A"]


async def test_a_new_attempt_asks_the_model_anew(first: Process) -> None:
    first.model.answers = [says("bad"), says("good")]
    await first.step(attempt=1).ask(Prompt("?"))
    assert (await first.step(attempt=2).ask(Prompt("?"))).text == "good"


async def test_an_empty_answer_is_not_kept(first: Process, after_crash: Callable[[], Process]) -> None:
    first.model.answers = [says(" ")]
    with pytest.raises(InvalidReply, match=r"^the model '.+' ended without an answer; try again, "):
        await first.step().ask(Prompt("?"))
    second = after_crash()
    second.model.answers = [says("better")]
    assert (await second.step().ask(Prompt("?"))).text == "better"


async def test_a_question_after_the_end_of_a_step_is_marked(first: Process, log: Logbook) -> None:
    first.model.answers = [says("x"), says("y")]
    await first.step().ask(Prompt("in it"))
    first.run.settled["a"] = Settled("a", "completed")
    await first.step().ask(Prompt("after it"))
    assert [memo["late"] for memo in log.memos["a"].values()] == [False, True]


async def test_a_person_is_asked_once_over_a_crash(
    first: Process, after_crash: Callable[[], Process], log: Logbook
) -> None:
    decision = Decision(True, {"files": [{"accepted": [0]}]}, reason="fine")
    first.front.answer = in_order(decision)
    assert await first.step().confirm("review", "Apply?", payload={"x": [1]}) == decision
    assert log.kinds() == ["event", "note", "event"]  # required, kept, answered
    second = after_crash()
    assert await second.step().confirm("review", "Apply?", payload={"x": [1]}) == decision
    assert second.front.requests == []
    assert second.front.events == []


async def test_an_answer_is_durable_before_it_is_told(first: Process, log: Logbook) -> None:
    first.front.answer = in_order(True)
    await first.step().confirm("gate", "Go on?")
    assert log.durable == 2
    assert first.front.names() == ["CONFIRMATION_REQUIRED", "CONFIRMATION_ANSWERED"]


@pytest.mark.parametrize(
    "other",
    [
        {"kind": "plan", "message": "Go on?", "details": "d", "payload": {"p": 1}},
        {"kind": "gate", "message": "Go on!", "details": "d", "payload": {"p": 1}},
        {"kind": "gate", "message": "Go on?", "details": "D", "payload": {"p": 1}},
        {"kind": "gate", "message": "Go on?", "details": "d", "payload": {"p": 2}},
    ],
)
async def test_a_question_that_differs_in_anything_is_asked(
    first: Process, after_crash: Callable[[], Process], other: dict[str, Any]
) -> None:
    first.front.answer = in_order(True)
    await first.step().confirm("gate", "Go on?", details="d", payload={"p": 1})
    second = after_crash()
    second.front.answer = in_order(False)
    assert not (await second.step().confirm(**other)).accepted


async def test_each_attempt_has_answers_of_its_own_over_a_crash(
    first: Process, after_crash: Callable[[], Process]
) -> None:
    first.front.answer = in_order(True, False)
    await first.step(attempt=1).confirm("gate", "Deploy?")
    await first.step(attempt=2).confirm("gate", "Deploy?")
    second = after_crash()
    assert not (await second.step(attempt=2).confirm("gate", "Deploy?")).accepted
    assert (await second.step(attempt=1).confirm("gate", "Deploy?")).accepted
    second.front.answer = in_order(Decision(False, reason="enough"))
    assert (await second.step(attempt=3).confirm("gate", "Deploy?")).reason == "enough"


MODIFIED = {"path": "a.py", "action": "modify", "hunks": [{"start": 0, "old": ["x"], "new": ["y"]}]}
DELETED = {"path": "a.py", "action": "delete", "hunks": [], "digest": "d1"}


@pytest.mark.parametrize("file", [MODIFIED, DELETED])
async def test_a_review_is_the_same_in_an_editor_that_was_started_again(
    first: Process, after_crash: Callable[[], Process], file: dict[str, Any]
) -> None:
    first.front.answer = in_order(True)
    payload = {"files": [{**file, "buffer": 1, "tick": 7}], "demonstration": False}
    await first.step().confirm("review", "Apply?", payload=payload)
    # what went wrong in a round is told in other words
    told = {"warnings": ["no revision after 31 s"]}
    again = {"files": [{**file, "buffer": 4, "tick": 2}], "demonstration": False, **told}
    assert (await after_crash().step().confirm("review", "Apply?", payload=again)).accepted


@pytest.mark.parametrize(
    ("file", "change"), [(MODIFIED, {"hunks": []}), (MODIFIED, {"path": "b.py"}), (DELETED, {"digest": "d2"})]
)
async def test_another_edit_is_reviewed(
    first: Process, after_crash: Callable[[], Process], file: dict[str, Any], change: dict[str, Any]
) -> None:
    first.front.answer = in_order(Decision(True))
    await first.step().confirm("review", "Apply?", payload={"files": [file]})
    second = after_crash()
    second.front.answer = in_order(Decision(False))
    payload = {"files": [{**file, **change}]}
    assert not (await second.step().confirm("review", "Apply?", payload=payload)).accepted


async def test_a_choice_is_made_once_as_long_as_its_question_is_the_same(
    first: Process, after_crash: Callable[[], Process], log: Logbook
) -> None:
    made: list[str] = []

    async def left() -> str:
        made.append("left")
        return "left"

    assert await first.step().choose_once("way", "d", left) == "left"
    assert log.durable == 1
    step = after_crash().step(attempt=3)
    assert await step.choose_once("way", "d", left) == "left"
    assert made == ["left"]
    assert await step.choose_once("way", "other", left) == "left"
    assert made == ["left", "left"]


async def test_a_step_recalls_only_its_own(first: Process, after_crash: Callable[[], Process]) -> None:
    await first.step("a").remember("item:0", {"x": 1})
    second = after_crash()
    assert second.step("a").recall("item:0") == {"x": 1}
    assert second.step("b").recall("item:0") is MISSING


def test_templates_see_inputs_context_steps_and_the_prompt(first: Process) -> None:
    first.run.settle(Settled("a", "completed", {"files": ["x"]}))
    first.run.settle(Settled("b", "failed", error="no", error_code="StepFailed"))
    values = first.step("b").values()
    assert values["inputs"] == {"n": 1}
    assert values["prompt"] == "do it"
    assert values["context"]["tone"] == "dry"
    assert values["context"]["selection"] == "two\nthree"
    assert values["steps"]["a"] == {"result": {"files": ["x"]}, "error": None, "status": "completed"}
    assert values["steps"]["b"] == {"result": None, "error": "no", "status": "failed"}


def test_what_is_changed_is_known_of_the_step_and_of_the_run(first: Process) -> None:
    a, b = first.step("a"), first.step("b")
    a.changed(["x", "y"])
    b.changed(["y", "z"])
    assert (a.files, b.files, first.run.files) == (["x", "y"], ["y", "z"], ["x", "y", "z"])
