from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.front import LIMIT, no
from tests.harness.model_rules import text_of
from tideate_core.engine import EventName
from tideate_core.errors import StepFailed
from tideate_core.workflows import Confirm, Decision

if TYPE_CHECKING:
    from tests.engine.steps.conftest import Write
    from tests.harness.bench import Bench
    from tideate_core.engine import ConfirmationRequest
    from tideate_core.workflows import StepContext

EACH = """
inputs:
  all: {type: array}
steps:
  - id: each
    for_each: {items: inputs.all, max_parallel: %d}
    retries: %d
    retry_delay: 0
    continue_on_error: %s
"""


def each(places: int = 4, retries: int = 0, goes_on: str = "false") -> str:
    return EACH % (places, retries, goes_on)


async def double(step: StepContext) -> Any:
    values = step.values()
    await asyncio.sleep(0)
    return [values["index"], values["item"] * 2]


async def test_every_item_is_done_and_the_results_keep_its_order(bench: Bench, write: Write) -> None:
    write(each(), each=double)
    result = await bench.run("flow", inputs={"all": [3, 1, 2]})
    assert result.results["each"] == [[0, 6], [1, 2], [2, 4]]
    told = [data["step"] for data in bench.front.data(EventName.STEP_EXECUTED)]
    assert sorted(told) == ["each", "each[0]", "each[1]", "each[2]"]


async def test_an_empty_list_gives_an_empty_list(bench: Bench, write: Write) -> None:
    write(each(), each=double)
    assert (await bench.run("flow", inputs={"all": []})).results["each"] == []


@pytest.mark.concurrency
async def test_no_more_items_run_at_once_than_the_limit(bench: Bench, write: Write) -> None:
    running = most = 0
    full = asyncio.Event()

    async def crowd(_: StepContext) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == 3:
            full.set()
        await full.wait()
        await asyncio.sleep(0)
        running -= 1

    write(each(places=3), each=crowd)
    await bench.succeed("flow", inputs={"all": [0] * 20})
    assert most == 3


async def test_an_agents_task_sees_the_item(bench: Bench, write: Write) -> None:
    write("steps: [{id: each, task: 'Item {{ index }} is {{ item.name }}', for_each: context.all}]\n"
          "context: {all: [{name: Ada}, {name: Bob}]}")  # fmt: skip
    bench.server.answers("Item", lambda body: text_of(body)[-3:])
    assert (await bench.run("flow")).results["each"] == ["Ada", "Bob"]


@pytest.mark.parametrize("tools", [False, True], ids=["one prompt", "work loop"])
async def test_what_a_model_says_of_an_item_is_under_its_name(
    bench: Bench, write: Write, tools: bool
) -> None:
    offered = ", tools: [read_file]" if tools else ""
    write(f"steps: [{{id: each, task: 'Item {{{{ item }}}}', for_each: context.all{offered}}}]\n"
          "context: {all: [red, blue]}")  # fmt: skip
    for word in ("red", "blue"):
        bench.server.answers(f"Item {word}", f"{word} is a colour")
    await bench.succeed("flow")
    streamed: dict[str, str] = {}
    for data in bench.front.data(EventName.TOKEN):
        streamed[data["step"]] = streamed.get(data["step"], "") + data["text"]
    assert streamed == {"each[0]": "red is a colour", "each[1]": "blue is a colour"}
    answered = [data["step"] for data in bench.front.data(EventName.MODEL_ANSWERED)]
    assert sorted(answered) == ["each[0]", "each[1]"]


async def test_notices_gates_and_calls_of_an_item_are_under_its_name(bench: Bench, write: Write) -> None:
    async def work(step: StepContext) -> None:
        step.notice("look")
        step.gate("style", [])
        with step.report_call("search", {}):
            pass

    write(each(), each=work)
    await bench.run("flow", inputs={"all": ["only"]})
    names = (EventName.NOTICE, EventName.GATE_PASSED, EventName.TOOL_CALLED, EventName.TOOL_COMPLETED)
    for name in names:
        assert [data["step"] for data in bench.front.data(name)] == ["each[0]"], name


@pytest.mark.concurrency
async def test_one_item_that_fails_cancels_the_others_and_is_named(bench: Bench, write: Write) -> None:
    waiting, cancelled = asyncio.Event(), []

    async def work(step: StepContext) -> None:
        if step.values()["index"] == 1:
            await waiting.wait()
            raise StepFailed("this one is broken")
        waiting.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(step.step)
            raise

    write(each(), each=work)
    result = await bench.run("flow", inputs={"all": [0, 1, 2]})
    assert result.error == "each[1]: this one is broken"
    assert result.error_code == "StepFailed"
    assert sorted(cancelled) == ["each[0]", "each[2]"]


async def test_a_fault_of_the_handler_in_one_item_fails_the_step(bench: Bench, write: Write) -> None:
    async def divides(step: StepContext) -> float:
        return 1 / float(step.values()["item"])

    write(each(), each=divides)
    result = await bench.run("flow", inputs={"all": [1, 0]})
    assert (result.ok, result.error_code) == (False, "ZeroDivisionError")
    assert "division by zero" in str(result.error)


async def test_where_it_goes_on_errors_stand_in_the_place_of_their_items(bench: Bench, write: Write) -> None:
    async def work(step: StepContext) -> Any:
        if step.values()["item"] == "bad":
            raise StepFailed("broken")
        return step.values()["item"]

    write(each(goes_on="true"), each=work)
    result = await bench.succeed("flow", inputs={"all": ["a", "bad", "c"]})
    assert result.results["each"] == ["a", {"error": "each[1]: broken", "error_code": "StepFailed"}, "c"]


@pytest.mark.parametrize("goes_on", ["false", "true"])
async def test_another_attempt_does_only_what_is_not_done(bench: Bench, write: Write, goes_on: str) -> None:
    runs: Counter[int] = Counter()

    async def work(step: StepContext) -> Any:
        index = step.values()["index"]
        runs[index] += 1
        if index == 2 and runs[index] == 1:
            raise StepFailed("not the first time")
        return index

    write(each(places=1, retries=1, goes_on=goes_on), each=work)
    result = await bench.run("flow", inputs={"all": [0] * 4})
    assert result.results["each"] == [0, 1, 2, 3]
    assert runs == {0: 1, 1: 1, 2: 2, 3: 1}


async def test_only_the_item_that_was_refused_is_told_why(bench: Bench, write: Write) -> None:
    told: list[tuple[int, str]] = []

    async def work(step: StepContext) -> Any:
        index = step.values()["index"]
        told.append((index, step.feedback))
        return "wrong" if index == 0 and not step.feedback else index

    write(each(places=1, retries=1) + "    output_schema: {type: integer}\n", each=work)
    result = await bench.run("flow", inputs={"all": ["a", "b"]})
    assert result.results["each"] == [0, 1]
    assert told[0] == (0, "")
    assert told[1][0] == 0
    assert "$[0]: 'wrong' is not of type 'integer'" in told[1][1]
    assert told[2] == (1, "")


async def test_what_is_no_list_is_refused(bench: Bench, write: Write) -> None:
    write("steps: [{id: each, for_each: prompt}]", each=double)
    result = await bench.run("flow", "not a list")
    assert "for_each goes over a list, and 'prompt' gave str" in str(result.error)


async def test_too_many_items_are_refused_before_the_first_runs(bench: Bench, write: Write) -> None:
    runs = []

    async def work(step: StepContext) -> None:
        runs.append(step.step)

    write("steps: [{id: each, for_each: range(10001)}]", each=work)
    result = await bench.run("flow")
    assert "gave 10001 items, and for_each takes at most 10000" in str(result.error)
    assert not runs


async def test_a_result_that_is_no_json_fails_its_item(bench: Bench, write: Write) -> None:
    async def work(_: StepContext) -> Any:
        return {1, 2}

    write(each(), each=work)
    result = await bench.run("flow", inputs={"all": [1]})
    assert "'each[0]' returned a value that is not JSON" in str(result.error)


async def test_a_question_of_one_item_is_not_that_of_another(bench: Bench, write: Write) -> None:
    async def work(step: StepContext) -> Confirm:
        return Confirm(step.values()["item"], "Go on?")

    def answer(request: ConfirmationRequest) -> Decision:
        return Decision(True, value="changed" if "item 2 of 2" in request.message else None)

    bench.front.answer = answer
    write(each(), each=work)
    result = await bench.run("flow", inputs={"all": ["a", "b"]})
    assert sorted(request.message for request in bench.front.requests) == [
        "Go on? (item 1 of 2)",
        "Go on? (item 2 of 2)",
    ]
    assert result.results["each"] == ["a", "changed"]


async def test_a_declined_item_cancels_the_run_even_where_it_goes_on(bench: Bench, write: Write) -> None:
    async def work(step: StepContext) -> Confirm:
        return Confirm(step.values()["item"], "Go on?")

    bench.front.answer = no
    write(each(goes_on="true"), each=work)
    result = await bench.run("flow", inputs={"all": ["a"]})
    assert result.cancelled
    assert result.reason == "declined"


async def test_a_run_that_asks_nothing_asks_about_no_item(bench: Bench, write: Write) -> None:
    async def work(step: StepContext) -> Confirm:
        return Confirm(step.values()["item"], "Go on?")

    write(each(), each=work)
    result = await bench.run("flow", inputs={"all": ["a"]}, require_confirmation=False)
    assert (result.results["each"], bench.front.requests) == (["a"], [])


async def test_items_that_were_done_before_the_process_ended_are_not_done_again(
    bench: Bench, write: Write
) -> None:
    runs: Counter[int] = Counter()
    reached, gate = asyncio.Event(), asyncio.Event()

    async def work(step: StepContext) -> int:
        index: int = step.values()["index"]
        runs[index] += 1
        if index == 2:
            reached.set()
            await gate.wait()
        return index

    write(each(places=1), each=work)
    first = bench.begin("flow", inputs={"all": [0] * 4})
    await asyncio.wait_for(reached.wait(), LIMIT)
    execution = bench.runner.running[0].id
    bench.runner.leave()
    await first
    gate.set()
    again = bench.make_runner(bench.config)
    result = await asyncio.wait_for(again.resume_run(execution), LIMIT)
    assert result.results["each"] == [0, 1, 2, 3]
    assert runs == {0: 1, 1: 1, 2: 2, 3: 1}


@pytest.mark.slow
async def test_thousands_of_items_cost_no_more_each_than_a_few(bench: Bench, write: Write) -> None:
    async def work(step: StepContext) -> Any:
        return step.values()["index"]

    write("steps: [{id: each, for_each: {items: range(2000), max_parallel: 64}}]", each=work)
    result = await bench.run("flow")
    assert result.results["each"] == list(range(2000))
