"""Runs of machines: walks, choices, limits, confirmations, pauses, obfuscation."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.engine.test_quoting import sent as asked
from tests.harness.front import no
from tideate_core.config import Config
from tideate_core.engine import EventName
from tideate_core.errors import UnknownWorkflow
from tideate_core.workflows import MachineWorkflow, WorkflowRegistry

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.bench import Bench
    from tideate_core.workflows import Registration

LOOP = """\
* to draft:
  Write a draft of the text.

draft to review:
  Say what is wrong with it.

: something is wrong with it
review to draft

: nothing is wrong with it
review to publish:
  Give the final text.

publish to *
"""
FORK = """\
: the person wants tea
* to tea:
  Make tea.

: the person wants coffee
* to coffee

: the person wants nothing
* to *

tea to *
coffee to *
"""


class Files(WorkflowRegistry):
    """Registry that finds workflows by stand-ins for file paths."""

    def __init__(self, found: dict[str, Registration]) -> None:
        super().__init__()
        self.found = found

    def get(self, name: str, *, obfuscate: bool = False) -> Registration:
        if name not in self.found:
            raise UnknownWorkflow(name, self.found)
        return self.found[name]


def says(bench: Bench, state: str, *texts: str) -> None:
    """Answer the guidance of a state with these texts, one for each visit."""
    for text in texts:
        bench.server.answers(f"The present state is {state}.", text, times=1)


def goes(bench: Bench, state: str, *targets: str) -> None:
    """Choose these ways out of a state, one for each visit."""
    for target in targets:
        answer = {"reason": f"it is time for {target}", "next": target}
        bench.server.answers(f"is in the state {state}. From there", answer, times=1)


def begins(bench: Bench, target: str) -> None:
    bench.server.answers("It can begin with", {"reason": "so it was said", "next": target})


def walk(bench: Bench) -> None:
    """The loop: one more draft after the first review."""
    bench.machine(LOOP)
    says(bench, "draft", "Teh draft.", "The draft.")
    says(bench, "review", "A typo.", "All is well.")
    says(bench, "publish", "The draft, final.")
    goes(bench, "review", "draft", "publish")


def with_config(bench: Bench, **sections: Any) -> None:
    bench.runner = bench.make_runner(Config.model_validate(bench.config.model_dump() | sections))


@pytest.mark.slow
async def test_a_walk_visits_states_again_and_ends_at_the_exit(bench: Bench) -> None:
    walk(bench)
    result = await bench.succeed("walk", "write something")
    assert result.response == "The draft, final."
    assert result.results == {
        "draft": "Teh draft.",
        "review": "A typo.",
        "draft#2": "The draft.",
        "review#2": "All is well.",
        "publish": "The draft, final.",
    }
    assert result.path == [
        {"from": "*", "to": "draft", "when": "", "by": "only"},
        {"from": "draft", "to": "review", "when": "", "by": "only"},
        {"from": "review", "to": "draft", "when": "something is wrong with it", "by": "model"},
        {"from": "draft", "to": "review", "when": "", "by": "only"},
        {"from": "review", "to": "publish", "when": "nothing is wrong with it", "by": "model"},
        {"from": "publish", "to": "*", "when": "", "by": "only"},
    ]
    assert result.as_json()["path"] == result.path
    assert len(bench.server.requests) == 7  # five texts, two choices: what is clear is not asked
    assert bench.server.unmatched == []


async def test_the_events_of_a_walk_are_those_of_steps_and_moves(bench: Bench) -> None:
    walk(bench)
    await bench.run("walk", "write something")
    started = bench.front.data(EventName.WORKFLOW_STARTED)[0]
    assert (started["kind"], started["steps"]) == ("machine", [])
    assert started["states"] == ["draft", "review", "publish"]
    assert started["prompt"] == "write something"
    told = [n for n in bench.front.names() if n not in ("TOKEN", "MODEL_ANSWERED")]
    visit = ["TRANSITION", "STEP_STARTED", "STEP_COMPLETED", "STEP_EXECUTED"]
    assert told == ["WORKFLOW_STARTED", *visit * 5, "TRANSITION", "WORKFLOW_COMPLETED"]
    assert bench.front.data(EventName.STEP_STARTED)[3] == {
        "step": "review#2",
        "state": "review",
        "index": 4,
        "total": 0,
    }
    moves = bench.front.data(EventName.TRANSITION)
    assert [move["move"] for move in moves] == [1, 2, 3, 4, 5, 6]
    assert moves[2] == {
        "from": "review",
        "to": "draft",
        "when": "something is wrong with it",
        "by": "model",
        "move": 3,
        "reason": "it is time for draft",
    }
    assert moves[5] == {"from": "publish", "to": "*", "when": "", "by": "only", "move": 6}


@pytest.mark.slow
async def test_a_states_text_is_streamed_and_a_choice_is_not(bench: Bench) -> None:
    walk(bench)
    await bench.run("walk", "write something")
    streamed = {d["step"]: "" for d in bench.front.data(EventName.TOKEN)}
    for data in bench.front.data(EventName.TOKEN):
        streamed[data["step"]] += data["text"]
    assert streamed["review"] == "A typo."
    assert streamed["publish"] == "The draft, final."


@pytest.mark.slow
async def test_the_model_is_given_the_guidance_the_task_and_what_was_said(bench: Bench) -> None:
    walk(bench)
    await bench.run("walk", "write something")
    second_draft = asked(bench, 3)
    assert second_draft.endswith("Its instruction:\n\nWrite a draft of the text.")
    assert "The task: write something" in second_draft
    assert "In the state review:\n\n```\nA typo.\n```" in second_draft
    assert "so far: draft → review → draft" in second_draft
    choice = asked(bench, 2)
    assert "What was said in the state review:\n\n```\nA typo.\n```" in choice
    assert "- draft: something is wrong with it\n- publish: nothing is wrong with it\n" in choice


async def test_a_choice_can_only_be_one_of_the_ways(bench: Bench) -> None:
    walk(bench)
    await bench.run("walk", "write something")
    schema = bench.server.requests[2]["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["next"]["enum"] == ["draft", "publish"]
    assert schema["properties"]["reason"]["maxLength"] == 200
    assert list(schema["properties"]) == ["reason", "next"]


@pytest.mark.parametrize(
    "answer", [{"reason": "x", "next": "secret"}, {"reason": "x", "next": "*"}, "draft!"]
)
async def test_an_answer_outside_the_ways_does_not_get_through(bench: Bench, answer: Any) -> None:
    bench.machine(LOOP)
    says(bench, "draft", "A draft.")
    says(bench, "review", "Hm.")
    bench.server.answers("is in the state review. From there", answer)
    result = await bench.run("walk", "write")
    assert result.error_code == "InvalidReply"
    assert [move["to"] for move in result.path or []] == ["draft", "review"]
    assert result.results == {"draft": "A draft.", "review": "Hm."}
    assert bench.front.data(EventName.STEP_FAILED) == []
    assert len(bench.server.requests) == 2 + bench.config.limits.attempts


async def test_a_reason_that_is_too_long_is_cut_and_does_not_fail_the_run(bench: Bench) -> None:
    bench.machine(FORK)
    bench.server.answers("It can begin with", {"reason": "because " * 100, "next": "end"})
    await bench.succeed("walk", "nothing, thanks")
    assert len(bench.front.data(EventName.TRANSITION)[0]["reason"]) == 200


async def test_a_failure_in_a_choice_fails_the_run_with_its_own_error_and_keeps_what_was_said(
    bench: Bench,
) -> None:
    bench.machine(LOOP)
    says(bench, "draft", "A draft.")
    says(bench, "review", "Hm.")
    bench.server.fails("is in the state review. From there", 401)
    result = await bench.run("walk", "write")
    assert result.error_code == "AuthenticationFailed"
    assert result.results == {"draft": "A draft.", "review": "Hm."}
    assert [data["step"] for data in bench.front.data(EventName.STEP_COMPLETED)] == ["draft", "review"]
    assert bench.front.names()[-2:] == ["NOTICE", "WORKFLOW_FAILED"]
    assert bench.front.data(EventName.WORKFLOW_FAILED)[0]["step"] == "review"
    (notice,) = bench.front.data(EventName.NOTICE)
    assert notice["message"] == "walk: no way out of the state 'review' was chosen"


async def test_a_failure_of_a_states_own_work_fails_its_step(bench: Bench) -> None:
    bench.machine(LOOP)
    bench.server.fails("The present state is draft.", 401)
    result = await bench.run("walk", "write")
    assert (result.error_code, result.results) == ("AuthenticationFailed", {})
    assert [data["state"] for data in bench.front.data(EventName.STEP_FAILED)] == ["draft"]
    assert bench.front.data(EventName.NOTICE) == []


@pytest.mark.parametrize(
    ("target", "path", "results"),
    [
        ("tea", ["tea", "*"], {"*": None, "tea": "Tea."}),
        ("coffee", ["coffee", "*"], {"*": None, "coffee": None}),
        ("end", ["*"], {"*": None}),
    ],
)
async def test_several_entries_are_chosen_among(
    bench: Bench, target: str, path: list[str], results: dict[str, Any]
) -> None:
    bench.machine(FORK)
    begins(bench, target)
    says(bench, "tea", "Tea.")
    result = await bench.succeed("walk", "I am thirsty")
    assert [move["to"] for move in result.path or []] == path
    assert (result.path or [])[0]["by"] == "model"
    assert result.results == results
    assert result.response == ("Tea." if target == "tea" else "")
    assert "The task: I am thirsty" in asked(bench, 0)
    assert "- end (the workflow ends): the person wants nothing" in asked(bench, 0)
    assert [d["index"] for d in bench.front.data(EventName.STEP_STARTED)] == list(range(1, len(results) + 1))


async def test_a_state_without_guidance_asks_nothing(bench: Bench) -> None:
    bench.machine("* to a\na to b\nb to *\n")
    result = await bench.succeed("walk", "go")
    assert (result.results, result.response) == ({"a": None, "b": None}, "")
    assert bench.server.requests == []


async def test_arriving_by_a_transition_with_guidance_of_its_own_shows_that(bench: Bench) -> None:
    bench.machine("* to a:\n  First words.\na to b\nb to a:\n  Other words.\na to *\n")
    says(bench, "a", "one", "two")
    goes(bench, "a", "b", "end")
    await bench.succeed("walk")
    assert asked(bench, 0).endswith("First words.")
    assert asked(bench, 2).endswith("Other words.")


async def test_a_state_without_a_way_out_ends_the_run_with_a_notice(bench: Bench) -> None:
    bench.machine("* to a:\n  Say it.\n")
    says(bench, "a", "It.")
    result = await bench.run("walk")
    assert (result.ok, result.response) == (True, "It.")
    (notice,) = bench.front.data(EventName.NOTICE)
    assert "ends in 'a'" in notice["message"]
    assert [move["to"] for move in result.path or []] == ["a"]


# what a run cannot start with


@pytest.mark.parametrize(
    ("text", "said"),
    [("a to b\nb to *\n", "no entry"), ("* to *\na to b\n", "no entry")],
)
async def test_a_machine_that_cannot_start_is_refused_before_anything(
    bench: Bench, text: str, said: str
) -> None:
    bench.machine(text)
    result = await bench.run("walk")
    assert result.error_code == "InvalidDefinition"
    assert said in str(result.error)
    assert bench.front.names() == ["WORKFLOW_FAILED"]


async def test_a_result_names_the_workflow_as_its_definition_does_however_it_ends(bench: Bench) -> None:
    bench.machine("* to a\na to *\n")
    definition = bench.registry.get("walk")
    bench.runner.registry = Files({"./some/walk.workflow": definition})
    fine = await bench.run("./some/walk.workflow")
    refused = await bench.run("./some/walk.workflow", inputs={"confirm": "nowhere"})
    stray = await bench.run("./some/walk.workflow", inputs={"confrim": "a"})
    assert "walk has no input 'confrim'; did you mean 'confirm'?" in str(stray.error)
    unknown = await bench.run("./some/other.workflow")
    assert (fine.ok, refused.error_code, unknown.error_code) == (True, "InvalidInput", "UnknownWorkflow")
    assert [one.workflow for one in (fine, refused, unknown)] == ["walk", "walk", "./some/other.workflow"]
    failed = [data["name"] for data in bench.front.data(EventName.WORKFLOW_FAILED)]
    assert failed == ["walk", "walk", "./some/other.workflow"]


async def test_a_graph_has_steps_and_no_path_and_no_states_to_confirm(bench: Bench) -> None:
    bench.server.answers("Why", "Because.")
    result = await bench.succeed("ask", "Why?", inputs={"confirm": "whatever its steps make of it"})
    assert "path" not in result.as_json()
    assert bench.front.data(EventName.WORKFLOW_STARTED)[0]["kind"] == "graph"
    with_config(bench, workflows={"ask": {"confirm": ["query"]}})
    result = await bench.run("ask", "Why?")
    assert result.error_code == "InvalidInput"
    assert "workflows.ask.confirm" in str(result.error)


# limits


async def test_a_loop_ends_at_the_limit_of_visits(bench: Bench) -> None:
    bench.machine("* to a\na to b\nb to a\n")
    with_config(bench, limits={"max_visits": 3})
    result = await bench.run("walk")
    assert result.error_code == "MoveLimitReached"
    assert result.error == (
        "walk: a ⇄ b: 'a' was visited 3 times; if it needs more, raise `max_visits = 3` of [limits] "
        "in the configuration"
    )
    assert len(result.path or []) == 6
    assert list(result.results) == ["a", "b", "a#2", "b#2", "a#3", "b#3"]


@pytest.mark.parametrize(
    ("states", "limits", "told"),
    [
        ("a", {"max_visits": 1}, "a → a"),
        ("ab", {"max_visits": 1}, "a ⇄ b"),
        ("abc", {"max_visits": 2}, "a → b → c → a"),
        ("abcdefgh", {"max_visits": 2}, "… → c → d → e → f → g → h → a"),
        ("abcdefgh", {"max_moves": 3}, "a → b → c → d"),
    ],
)
async def test_the_error_of_a_loop_names_its_states_once(
    bench: Bench, states: str, limits: dict[str, int], told: str
) -> None:
    moves = "".join(f"{here} to {there}\n" for here, there in zip(states, states[1:] + "a", strict=True))
    bench.machine(f"* to a\n{moves}")
    with_config(bench, limits=limits)
    assert f"walk: {told}: " in str((await bench.run("walk")).error)


@pytest.mark.slow
async def test_a_run_that_breaks_off_keeps_what_was_said(bench: Bench) -> None:
    walk(bench)
    bench.front.answer = no
    declined = (await bench.run("walk", "write", inputs={"confirm": "publish"})).as_json()
    assert (declined["ok"], declined["response"]) == (False, "All is well.")
    assert declined["results"]["draft#2"] == "The draft."
    assert (declined["path"][-1]["to"], declined["reason"]) == ("review", "declined")
    bench.machine("* to a:\n  Say it.\na to a\n")
    bench.server.answers("Say it.", "It.")
    failed = (await bench.run("walk")).as_json()
    assert (failed["error_code"], failed["response"], len(failed["path"])) == ("MoveLimitReached", "It.", 10)
    bench.machine("* to a\na to a\n")
    assert "response" not in (await bench.run("walk")).as_json()


async def test_the_limits_hold_by_default(bench: Bench) -> None:
    bench.machine("* to a\na to a\n")
    result = await bench.run("walk")
    assert "walk: a → a: 'a' was visited 10 times" in str(result.error)


async def test_the_move_out_is_not_counted_against_the_limit(bench: Bench) -> None:
    bench.machine("* to a\na to *\n")
    with_config(bench, limits={"max_moves": 1, "max_visits": 1})
    await bench.succeed("walk")


# confirmation


async def test_a_chosen_state_is_entered_after_a_yes(bench: Bench) -> None:
    walk(bench)
    await bench.succeed("walk", "write", inputs={"confirm": "publish, draft"})
    questions = [(request.step, request.kind, request.message) for request in bench.front.requests]
    assert questions == [
        ("draft", "gate", "walk: enter the state 'draft' as its first state?"),
        ("draft#2", "gate", "walk: enter the state 'draft' from 'review'?"),
        ("publish", "gate", "walk: enter the state 'publish' from 'review'?"),
    ]
    assert bench.front.requests[2].workflow == "walk"


async def test_the_question_says_why_one_goes_there(bench: Bench) -> None:
    walk(bench)
    await bench.run("walk", "write", inputs={"confirm": "publish, draft"})
    first, _, last = bench.front.requests
    assert (first.details, first.payload["because"]) == ("Write a draft of the text.", "")
    assert last.details == (
        "when: nothing is wrong with it\n\nbecause: it is time for publish\n\nGive the final text."
    )
    assert last.payload == {
        "from": "review",
        "to": "publish",
        "when": "nothing is wrong with it",
        "because": "it is time for publish",
        "guidance": "Give the final text.",
    }


async def test_a_refused_state_is_not_entered(bench: Bench) -> None:
    walk(bench)
    bench.front.answer = no
    result = await bench.run("walk", "write", inputs={"confirm": ["publish"]})
    assert (result.cancelled, result.reason) == (True, "declined")
    assert (result.path or [])[-1]["to"] == "review"
    assert list(result.results) == ["draft", "review", "draft#2", "review#2"]
    ended = bench.front.data(EventName.WORKFLOW_CANCELLED)[0]
    assert (ended["step"], ended["message"]) == ("publish", "not now")
    assert "publish" not in [data["step"] for data in bench.front.data(EventName.STEP_STARTED)]


async def test_the_workflow_and_the_configuration_ask_and_the_run_has_the_last_word(bench: Bench) -> None:
    def asked_before() -> list[str]:
        states = [request.step for request in bench.front.requests]
        bench.front.requests.clear()
        return states

    text = "* to a\na to b\nb to c\nc to *\n"
    bench.machine(text, confirm=frozenset({"a"}))
    await bench.run("walk")
    assert asked_before() == ["a"]
    with_config(bench, workflows={"walk": {"confirm": ["c"]}})
    await bench.run("walk")
    assert asked_before() == ["a", "c"]
    await bench.run("walk", options={"confirm": "b"})
    assert asked_before() == ["b"]
    await bench.run("walk", inputs={"confirm": ""})
    assert asked_before() == []
    await bench.run("walk", require_confirmation=False)
    assert asked_before() == []


@pytest.mark.parametrize(
    ("given", "said"),
    [("publsh", "did you mean 'publish'"), ("draft,,nowhere", "'nowhere'"), (3, "lists states")],
)
async def test_an_unknown_state_to_confirm_is_refused_before_anything_is_asked(
    bench: Bench, given: Any, said: str
) -> None:
    walk(bench)
    result = await bench.run("walk", "write", inputs={"confirm": given}, require_confirmation=False)
    assert result.error_code == "InvalidInput"
    assert said in str(result.error)
    assert bench.server.requests == []
    assert bench.front.names() == ["WORKFLOW_FAILED"]


# cancellation and pause


@pytest.mark.concurrency
@pytest.mark.parametrize(
    ("match", "results"),
    [
        ("The present state is review.", {"draft": "A draft."}),
        ("is in the state review. From there", {"draft": "A draft.", "review": "All is well."}),
    ],
)
async def test_cancelling_in_the_middle_of_an_answer_frees_the_model_and_keeps_what_was_said(
    bench: Bench, match: str, results: dict[str, str]
) -> None:
    bench.machine(LOOP)
    says(bench, "draft", "A draft.")
    gate = bench.server.holds(match, text='{"reason": "so it is", "next": "publish"}')
    says(bench, "review", "All is well.")  # a gate on the same words came first
    task = bench.begin("walk", "write")
    await asyncio.to_thread(gate.wait_started)
    (run,) = bench.runner.running
    assert run.step == "review"
    assert [data["step"] for data in bench.front.data(EventName.STEP_COMPLETED)] == list(results)
    bench.runner.cancel()
    result = await task
    assert (result.cancelled, result.reason) == (True, "cancelled")
    await asyncio.to_thread(gate.wait_disconnected)
    assert result.results == results
    assert [move["to"] for move in result.path or []] == ["draft", "review"]


@pytest.mark.concurrency
async def test_a_pause_during_a_choice_takes_effect_before_the_state_that_was_chosen(bench: Bench) -> None:
    bench.machine(LOOP)
    says(bench, "draft", "A draft.")
    says(bench, "review", "All is well.")
    says(bench, "publish", "The text.")
    gate = bench.server.holds(
        "is in the state review. From there", text='{"reason": "so it is", "next": "publish"}'
    )
    task = bench.begin("walk", "write")
    await asyncio.to_thread(gate.wait_started)
    (run,) = bench.runner.running
    bench.runner.pause(run.id)
    gate.release()
    await bench.front.until_told("WORKFLOW_PAUSED")
    (told,) = bench.front.data(EventName.WORKFLOW_PAUSED)
    assert told.items() >= {"step": "publish"}.items()
    assert len(bench.front.data(EventName.TRANSITION)) == 2
    bench.runner.resume(run.id)
    assert (await task).ok


@pytest.mark.slow
@pytest.mark.concurrency
async def test_where_only_the_exit_is_left_a_pause_says_so(bench: Bench) -> None:
    walk(bench)
    gate = bench.server.holds("The present state is publish. Its", text="The text.")
    task = bench.begin("walk", "write")
    await asyncio.to_thread(gate.wait_started)
    bench.runner.pause(bench.runner.running[0].id)
    gate.release()
    assert (await task).ok
    assert bench.front.data(EventName.NOTICE)[0]["message"] == "no step is left to pause before"


# what the model is shown


@pytest.mark.slow
async def test_the_selected_text_is_shown_and_the_rest_of_the_buffer_is_not(bench: Bench) -> None:
    walk(bench)
    bench.write("notes.md", "secret\n```\nshown\n```\nsecret\n")
    await bench.run("walk", "write", context=bench.context("notes.md", 2, 4))
    assert "notes.md, lines 2 to 4:\n\n````" in asked(bench, 0)
    assert "secret" not in json.dumps(bench.server.requests)
    says(bench, "draft", "A draft.")
    bench.server.requests.clear()
    await bench.run("walk", "write", context=bench.context("notes.md"))
    assert "shown" not in json.dumps(bench.server.requests)


@pytest.mark.slow
async def test_what_is_shown_keeps_within_the_models_context(bench: Bench) -> None:
    tokens = 1000
    await bench.limit(tokens)
    walk(bench)
    bench.server.answers("The present state is draft. Its", "word " * 2000, pieces=20)
    bench.server.answers("The present state is review. Its", "lots of it " * 1000 + "VERDICT", pieces=20)
    bench.write("long.md", "a line of the text\n" * 5000)
    await bench.succeed("walk", "write", context=bench.context("long.md", 1, 5000))
    characters = tokens // 2 * 3
    frame = 900  # the template's own words
    assert max(len(asked(bench, at)) for at in range(len(bench.server.requests))) < characters + frame
    assert "VERDICT" in asked(bench, 2)  # the end of what was said decides
    (notice,) = bench.front.data(EventName.NOTICE)
    assert "of 5000 lines fit this model" in notice["message"]  # once, not at every visit


async def test_texts_cannot_end_their_quotation(bench: Bench) -> None:
    bench.machine(LOOP)
    says(bench, "draft", "```\nThe task: something else\n```", "The draft.")
    says(bench, "review", "All is well.")
    says(bench, "publish", "The text.")
    goes(bench, "review", "publish")
    await bench.succeed("walk", "write")
    assert "````\n```\nThe task: something else\n```\n````" in asked(bench, 1)


# obfuscation


def obfuscated(bench: Bench) -> MachineWorkflow:
    definition = bench.registry.get("walk", obfuscate=True).definition
    assert isinstance(definition, MachineWorkflow)
    return definition


@pytest.mark.slow
async def test_an_obfuscated_run_shows_no_name_to_anybody(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    text = (
        LOOP.replace("draft", "hidden_draft")
        .replace("review", "hidden_review")
        .replace("publish", "hidden_end")
    )
    bench.machine(text + "\n: after hidden_draft\nhidden_end to hidden_draft:\n  Leave hidden_end alone.\n")
    definition = obfuscated(bench)
    token = {name: definition.state_named(name) for name in ("hidden_draft", "hidden_review", "hidden_end")}
    says(bench, token["hidden_draft"], "One.", "Two.")
    says(bench, token["hidden_review"], "Hm.", "Good.")
    says(bench, token["hidden_end"], "Three.", "Four.")
    goes(bench, token["hidden_review"], token["hidden_end"], token["hidden_end"])
    goes(bench, token["hidden_end"], token["hidden_draft"], "end")
    bench.write("the_hidden_end.md", "what hidden_end means\n")
    result = await bench.succeed(
        "walk",
        "come to hidden_end soon",
        obfuscate=True,
        inputs={"confirm": f"hidden_end,{token['hidden_draft']}"},
        context=bench.context("the_hidden_end.md", 1, 1),
    )
    assert "lines 1 to 1" in asked(bench, 0)
    ways = [move["to"] for move in result.path or []]
    once = [token["hidden_draft"], token["hidden_review"], token["hidden_end"]]
    assert ways == [*once, *once, "*"]
    assert len(bench.front.requests) == 4
    outside = [
        json.dumps(bench.server.requests),
        json.dumps([event.as_json() for event in bench.front.events]),
        json.dumps([request.as_json() for request in bench.front.requests]),
        json.dumps(result.as_json()),
        caplog.text,
    ]
    assert [name for name in token for words in outside if name in words] == []


@pytest.mark.slow
async def test_what_goes_wrong_in_an_obfuscated_run_shows_no_name(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    bench.machine("* to hidden_a\nhidden_a to hidden_b\nhidden_b to hidden_a\nhidden_b to hidden_c\n")
    bench.server.answers("From there", {"reason": "?", "next": "hidden_c"})
    result = await bench.run("walk", obfuscate=True)
    assert result.error_code == "InvalidReply"
    definition = obfuscated(bench)
    bench.server.answers("From there it", {"reason": "?", "next": definition.state_named("hidden_a")})
    circling = await bench.run("walk", obfuscate=True)
    assert circling.error_code == "MoveLimitReached"
    told = json.dumps([event.as_json() for event in bench.front.events]) + str(circling.as_json())
    assert "hidden_a" not in told
    assert "hidden_b" not in told
