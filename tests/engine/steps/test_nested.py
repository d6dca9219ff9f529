from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.front import LIMIT, no
from tideate_core.engine import EventName
from tideate_core.engine.steps.nested import child_id
from tideate_core.errors import StepFailed
from tideate_core.workflows import Confirm

if TYPE_CHECKING:
    from tests.engine.steps.conftest import Write
    from tests.harness.bench import Bench
    from tideate_core.workflows import StepContext

OUTER = """
context: {numbers: [1, 2], label: L}
steps:
  - id: inside
    workflow:
      name: inner
      prompt: "{{ context.label }}: {{ prompt }}"
      inputs:
        numbers: "{{ context.numbers }}"
        text: "from {{ context.label }}"
        deep: {list: ["{{ context.numbers | length }}"]}
"""
INNER = """
inputs:
  numbers: {type: array}
  text: {type: string}
  deep: {type: object}
steps:
  - id: look
"""
PLAIN = "steps: [{id: inside, workflow: inner}]"
MACHINE = """\
* to work:
  Do it

work to *
"""


async def echo(step: StepContext) -> Any:
    return {"prompt": step.prompt, **step.inputs}


async def test_a_workflow_runs_as_a_step_with_prompt_and_inputs_filled_in(bench: Bench, write: Write) -> None:
    write(INNER, "inner", look=echo)
    write(OUTER, "outer")
    result = await bench.run("outer", "what")
    assert result.results["inside"] == {
        "prompt": "L: what",
        "numbers": [1, 2],
        "text": "from L",
        "deep": {"list": [2]},
    }


async def test_without_a_prompt_of_its_own_it_has_this_runs(bench: Bench, write: Write) -> None:
    write("steps: [{id: look}]", "inner", look=echo)
    write(PLAIN)
    assert (await bench.run("flow", "what")).results["inside"] == {"prompt": "what"}


async def test_it_is_a_run_of_its_own_with_an_id_that_can_be_found_again(bench: Bench, write: Write) -> None:
    write("steps: [{id: look}]", "inner", look=echo)
    write(PLAIN)
    result = await bench.run("flow")
    names = {event.execution_id for event in bench.front.events if event.name is EventName.WORKFLOW_STARTED}
    assert names == {result.execution_id, child_id(result.execution_id, "inside", 1)}


async def test_a_failed_child_fails_the_step_with_its_error(bench: Bench, write: Write) -> None:
    async def fail(_: StepContext) -> None:
        raise StepFailed("the inner one is broken")

    write("steps: [{id: look}]", "inner", look=fail)
    write(PLAIN)
    result = await bench.run("flow")
    assert (result.error, result.error_code) == ("the inner one is broken", "StepFailed")


async def test_another_attempt_is_another_child(bench: Bench, write: Write) -> None:
    runs: list[str] = []

    async def once_bad(step: StepContext) -> str:
        runs.append(step.execution_id)
        if len(runs) == 1:
            raise StepFailed("not yet")
        return "done"

    write("steps: [{id: look}]", "inner", look=once_bad)
    write("steps: [{id: inside, workflow: inner, retries: 1, retry_delay: 0}]")
    result = await bench.run("flow")
    assert result.results["inside"] == "done"
    assert runs == [child_id(result.execution_id, "inside", attempt) for attempt in (1, 2)]


@pytest.mark.concurrency
async def test_a_declined_child_cancels_the_parent(bench: Bench, write: Write) -> None:
    async def ask(_: StepContext) -> Confirm:
        return Confirm(1, "Go on?")

    bench.front.answer = no
    write("steps: [{id: look}]", "inner", look=ask)
    write("steps: [{id: inside, workflow: inner, continue_on_error: true, retries: 3}]")
    result = await bench.run("flow")
    assert result.cancelled
    assert len(bench.front.requests) == 1


@pytest.mark.concurrency
async def test_a_cancelled_child_cancels_the_parent(bench: Bench, write: Write) -> None:
    async def stay(_: StepContext) -> None:
        await asyncio.Event().wait()

    write("steps: [{id: look}]", "inner", look=stay)
    write(PLAIN)
    run = bench.begin("flow")
    await bench.front.until_told("STEP_STARTED", 2)
    parent = next(e.execution_id for e in bench.front.events if e.name is EventName.WORKFLOW_STARTED)
    bench.runner.cancel(child_id(parent, "inside", 1))
    result = await run
    assert result.cancelled
    assert "'inner' was cancelled in the step 'inside'" in str(
        bench.front.data(EventName.WORKFLOW_CANCELLED)[-1]["message"]
    )


async def test_what_a_child_changed_and_took_counts_for_the_parent(bench: Bench, write: Write) -> None:
    async def change(step: StepContext) -> None:
        step.changed(["a.py"])

    write("steps: [{id: look}, {id: say, task: Say}]", "inner", look=change)
    write(PLAIN)
    bench.server.answers("Say", "said")
    result = await bench.run("flow")
    assert result.files == ["a.py"]
    assert result.usage.output_tokens > 0


async def test_workflows_that_run_each_other_are_stopped_with_words(bench: Bench, write: Write) -> None:
    write("steps: [{id: there, workflow: pong}]", "ping")
    write("steps: [{id: back, workflow: ping}]", "pong")
    result = await bench.run("ping")
    assert result.error_code == "InvalidInput"
    assert "within ping → pong → ping" in str(result.error)
    assert "at most 8 runs may be within one another" in str(result.error)
    assert bench.front.names().count("WORKFLOW_STARTED") == 8


async def test_items_of_for_each_have_children_of_their_own(bench: Bench, write: Write) -> None:
    write("steps: [{id: look}]", "inner", look=echo)
    write("""
        context: {all: [a, b]}
        steps:
          - {id: inside, for_each: context.all, workflow: {name: inner, prompt: "{{ item }}"}}
    """)
    result = await bench.run("flow")
    assert result.results["inside"] == [{"prompt": "a"}, {"prompt": "b"}]


async def test_a_child_that_ended_before_a_crash_is_not_run_again(bench: Bench, write: Write) -> None:
    runs: Counter[str] = Counter()
    gate = asyncio.Event()

    async def look(step: StepContext) -> str:
        runs[step.prompt] += 1
        if step.prompt == "b":
            await gate.wait()
        return step.prompt

    write("steps: [{id: look}]", "inner", look=look)
    write("""
        context: {all: [a, b]}
        steps:
          - id: inside
            for_each: {items: context.all, max_parallel: 1}
            workflow: {name: inner, prompt: "{{ item }}"}
    """)
    first = bench.begin("flow")
    await bench.front.until_told("STEP_STARTED", 3)
    parent = next(e.execution_id for e in bench.front.events if e.name is EventName.WORKFLOW_STARTED)
    bench.runner.leave()
    await first
    gate.set()
    again = bench.make_runner(bench.config)
    result = await asyncio.wait_for(again.resume_run(parent), LIMIT)
    assert result.results["inside"] == ["a", "b"]
    assert runs == {"a": 1, "b": 2}


async def test_a_machine_runs_as_a_step_and_its_response_is_the_result(bench: Bench, write: Write) -> None:
    bench.machine(MACHINE, "walk")
    bench.server.answers("Do it", "did it")
    write("steps: [{id: go, machine: walk}]")
    result = await bench.succeed("flow", "the task")
    assert result.results["go"] == "did it"


async def test_a_machines_moves_are_kept_with_the_step(bench: Bench, write: Write) -> None:
    bench.machine(MACHINE, "walk")
    bench.server.answers("Do it", "did it")
    write("steps: [{id: go, machine: walk}]")
    result = await bench.run("flow", "the task")
    store = await bench.runner.store()
    memos = await asyncio.to_thread(store.reader().memos, result.execution_id)
    kept = [value for key, value in memos["go"].items() if key.endswith("path")]
    assert [move["to"] for move in kept[0]] == ["work", "*"]


async def test_a_graph_is_no_machine(bench: Bench, write: Write) -> None:
    write("steps: [{id: go, machine: ask}]")
    result = await bench.run("flow")
    assert "'ask' has steps and is not a machine; name it in `workflow`" in str(result.error)
