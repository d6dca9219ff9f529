"""Parsing, validation and ordering of a workflow, and failures in each of these states."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from tideate_core.engine import CheckpointManager, EventName, RunRequest, WorkflowEngine, WorkflowRunner
from tideate_core.engine.ending import SUMMARY
from tideate_core.engine.run import Run
from tideate_core.errors import InvalidInput, StoreError
from tideate_core.machines import ExecutionEvent, ExecutionMachine, ExecutionState
from tideate_core.store import Reader, Store
from tideate_core.workflows import Catalog, WorkflowDefinition

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.harness.bench import Bench
    from tideate_core.engine import WorkflowResult
    from tideate_core.workflows import StepContext

NOT_YAML = "steps: [unclosed\n"
NO_SUCH_KEY = "steps:\n  - {id: one, task: do it, colour: red}\n"
NO_SUCH_AGENT = "steps:\n  - {id: one, task: do it, agent: nobody}\n"
CIRCLE = "steps:\n  - {id: one, task: a, dependencies: [two]}\n  - {id: two, task: b, dependencies: [one]}\n"
NO_SUCH_STEP = "steps:\n  - {id: one, task: a, dependencies: [none]}\n"
PARSED = ["initiate_workflow", "parse_workflow", "workflow_parsed"]
NOT_A_MACHINE = "state1 -> \n"

BROKEN = [
    ("flow.yaml", NOT_YAML, "parsing"),
    ("flow.json", "{", "parsing"),
    ("walk.workflow", NOT_A_MACHINE, "parsing"),
    ("flow.yaml", NO_SUCH_KEY, "validating_workflow"),
    ("flow.yaml", NO_SUCH_AGENT, "validating_workflow"),
    ("flow.yaml", CIRCLE + "  - {id: three, agent: nobody, task: c}\n", "validating_workflow"),
    ("flow.yaml", CIRCLE, "building_dependency_graph"),
    ("flow.yaml", NO_SUCH_STEP, "validating_workflow"),
]


@pytest.fixture
async def runner(bench: Bench) -> AsyncIterator[WorkflowRunner]:
    """A runner that finds workflows in files."""
    runner = WorkflowRunner(
        Catalog(bench.registry, bench.root, cwd=bench.root),
        bench.pool,
        bench.config,
        bench.front,
        lambda _request: bench.workspace(),
        bench.make_runner(bench.config).prompts,
        lambda: Store.open(bench.private),
    )
    yield runner
    await runner.aclose()


async def refused(bench: Bench, runner: WorkflowRunner, name: str, text: str) -> WorkflowResult:
    return await runner.run(RunRequest(name=str(bench.write(name, text))))


@pytest.mark.parametrize(("name", "text", "state"), BROKEN)
async def test_a_broken_file_is_in_the_history_with_the_state_that_it_failed_in(
    bench: Bench, runner: WorkflowRunner, name: str, text: str, state: str
) -> None:
    result = await refused(bench, runner, name, text)
    assert not result.ok
    assert result.error_code in ("InvalidDefinitionFile", "InvalidWorkflowFile")
    reader = Reader(bench.private)
    [row] = reader.runs()
    assert (row.id, row.status, row.name) == (result.execution_id, "failed", name.partition(".")[0])
    assert (row.error, row.path) == (result.error, str(bench.root / name))
    assert (row.total_steps, reader.steps(row.id), reader.checkpoints(row.id)) == (0, [], [])
    [event] = reader.events(row.id)
    assert (event.name, event.data["failed_in"]) == (EventName.WORKFLOW_FAILED.value, state)
    assert event.data["cause"].startswith(event.data["error_code"])
    [told] = bench.front.events
    assert (told.sequence, told.data) == (event.sequence, event.data)


@pytest.mark.parametrize(
    ("text", "events"),
    [
        (NOT_YAML, ["initiate_workflow", "parse_workflow", "parse_failed"]),
        (NO_SUCH_KEY, [*PARSED, "validate_workflow", "workflow_invalid"]),
        (NO_SUCH_STEP, [*PARSED, "validate_workflow", "workflow_invalid"]),
        (CIRCLE, [*PARSED, "validate_workflow", "workflow_valid", "build_graph", "graph_invalid"]),
    ],
)
async def test_the_machine_of_a_broken_text_fails_by_the_event_of_its_state(
    bench: Bench, text: str, events: list[str]
) -> None:
    run = Run(bench.runner, RunRequest(name="flow"))
    result = await bench.runner._refused(run, lambda: bench.registry.parse(text, "yaml", "flow"))
    assert result is not None
    assert [move.event for move in run.machine.get_history()] == events
    assert run.machine.state is ExecutionState.FAILED


@pytest.mark.parametrize("why", ["file", "name", "inputs", "adapter"])
async def test_a_refused_run_leaves_a_summary(bench: Bench, runner: WorkflowRunner, why: str) -> None:
    requests = {
        "file": RunRequest(name=str(bench.write("flow.yaml", CIRCLE))),
        "name": RunRequest(name="nothing"),
        "inputs": RunRequest(name="ask", prompt="why", inputs={"no": "such input"}),
        "adapter": RunRequest(name="ask", prompt="why", adapter="nobody"),
    }
    result = await runner.run(requests[why])
    assert not result.ok
    told = json.loads((bench.private / SUMMARY).read_text())
    assert (told["workflowId"], told["status"], told["success"]) == (result.execution_id, "failed", False)
    assert (told["planId"], told["steps"]["completed"]) == (requests[why].name, 0)


@pytest.mark.parametrize(
    ("dependency", "error", "event"),
    [
        ("none", "'none', which is not a step", ExecutionEvent.WORKFLOW_INVALID),
        ("b", "wait for each other", ExecutionEvent.GRAPH_INVALID),
    ],
    ids=["unknown", "cycle"],
)
async def test_a_registered_workflow_with_a_broken_graph_is_in_the_history(
    bench: Bench, dependency: str, error: str, event: ExecutionEvent
) -> None:
    """Document 5, `WorkflowInvalid` and `GraphInvalid`."""
    steps: list[dict[str, Any]] = [
        {"id": "a", "dependencies": [dependency], "handler": "h"},
        {"id": "b", "dependencies": ["a"], "handler": "h"},
    ]
    bench.registry.register(WorkflowDefinition.model_validate({"name": "broken", "steps": steps}), {})
    run = Run(bench.runner, RunRequest(name="broken"))
    result, machine = await bench.runner._refused(run), run.machine
    assert result is not None
    assert error in (result.error or "")
    last = machine.get_history()[-1]
    assert last.event is event
    [row] = Reader(bench.private).runs()
    assert (row.status, row.total_steps) == ("failed", 0)
    [told] = bench.front.events
    assert told.data["failed_in"] == last.from_state.value


async def test_a_registered_workflow_with_a_broken_template_is_in_the_history(bench: Bench) -> None:
    step = {"id": "a", "agent": "executor", "task": "{{ prompt"}
    bench.registry.register(WorkflowDefinition.model_validate({"name": "broken", "steps": [step]}), {})
    run = Run(bench.runner, RunRequest(name="broken", prompt="x"))
    result, machine = await bench.runner._refused(run), run.machine
    assert result is not None
    assert result.error_code == "InvalidDefinition", result.error
    assert machine.get_history()[-1].event is ExecutionEvent.WORKFLOW_INVALID
    [row] = Reader(bench.private).runs()
    assert (row.status, row.total_steps) == ("failed", 0)


async def test_a_request_that_is_wrong_is_no_run_of_the_history(bench: Bench) -> None:
    assert not (await bench.run("nothing")).ok
    assert not (await bench.run("ask", inputs={"no": "such input"})).ok
    assert Reader(bench.private).runs() == []
    assert [event.sequence for event in bench.front.events] == [None, None]
    assert all("failed_in" not in event.data for event in bench.front.events)


async def test_a_broken_workflow_within_a_run_fails_its_step_and_is_no_run_of_its_own(
    bench: Bench, runner: WorkflowRunner
) -> None:
    broken = bench.write("broken.yaml", NO_SUCH_KEY)
    outer = bench.write("outer.yaml", f"steps:\n  - id: one\n    workflow: {{name: {broken}}}\n")
    result = await runner.run(RunRequest(name=str(outer)))
    assert "colour" in (result.error or "")
    rows = Reader(bench.private).runs(parents_only=False)
    assert [(row.name, row.status) for row in rows] == [("outer", "failed")]


async def test_a_history_that_cannot_be_written_is_told_beside_the_failure(bench: Bench) -> None:
    def refuse() -> Store:
        raise StoreError("the disk is full")

    runner = WorkflowRunner(
        bench.registry,
        bench.pool,
        bench.config,
        bench.front,
        lambda _request: bench.workspace(),
        bench.runner.prompts,
        refuse,
    )
    result = await runner.run_text(RunRequest(name="flow"), CIRCLE, "yaml")
    assert result.error_code == "InvalidDefinitionFile"
    notice, failure = bench.front.events
    assert notice.data["message"] == "this run is not in the history: the disk is full"
    assert failure.name is EventName.WORKFLOW_FAILED


async def test_the_stored_status_follows_the_machine(bench: Bench) -> None:
    seen: list[str] = []

    async def look(step: StepContext) -> str:
        await step.remember("x", 1)  # a commit, with all that was buffered before
        seen.append(Reader(bench.private).run(step.execution_id).status)
        return "done"

    bench.register("one", {"a": look, "b": look})
    result = await bench.succeed("one")
    assert seen == ["awaiting_completion", "awaiting_completion"]
    assert Reader(bench.private).run(result.execution_id).status == "completed"


async def test_a_run_goes_through_the_states_of_the_table(bench: Bench) -> None:
    done = asyncio.Event()

    async def wait(_step: StepContext) -> str:
        await done.wait()
        return "done"

    bench.register("one", {"a": wait})
    run = bench.begin("one")
    await bench.front.until_told("STEP_STARTED")
    [execution] = bench.runner.running
    done.set()
    await run
    assert [(move.event.value, move.to_state.value) for move in execution.machine.get_history()] == [
        ("initiate_workflow", "parsing"),
        ("parse_workflow", "parsing"),
        ("workflow_parsed", "validating_workflow"),
        ("validate_workflow", "validating_workflow"),
        ("workflow_valid", "building_dependency_graph"),
        ("build_graph", "building_dependency_graph"),
        ("graph_built", "scheduling_steps"),
        ("schedule_steps", "scheduling_steps"),
        ("steps_scheduled", "executing_steps"),
        ("execute_step_batch", "awaiting_completion"),
        ("step_completed", "awaiting_completion"),
        ("all_steps_completed", "aggregating_results"),
        ("aggregate_results", "aggregating_results"),
        ("complete_workflow", "aggregating_results"),
        ("results_aggregated", "completed"),
    ]


async def test_each_batch_of_the_execution_order_is_completed_once(bench: Bench) -> None:
    steps = [
        {"id": "a"},
        {"id": "b"},
        {"id": "c", "dependencies": ["a", "b"]},
        {"id": "d", "dependencies": ["c"]},
    ]
    done = asyncio.Event()

    async def wait(_step: StepContext) -> str:
        await done.wait()
        return "done"

    definition = WorkflowDefinition.model_validate({"name": "three", "steps": steps})
    bench.registry.register(definition, dict.fromkeys("abcd", wait))
    run = bench.begin("three")
    await bench.front.until_told("STEP_STARTED")
    [execution] = bench.runner.running
    done.set()
    assert (await run).ok
    events = [move.event.value for move in execution.machine.get_history()]
    assert events[events.index("steps_scheduled") + 1 : events.index("aggregate_results")] == [
        "execute_step_batch",
        "step_completed",
        "step_completed",
        "batch_completed",
        "execute_step_batch",
        "step_completed",
        "batch_completed",
        "execute_step_batch",
        "step_completed",
        "all_steps_completed",
    ]


def test_there_are_the_twenty_nine_events_of_the_document() -> None:
    assert len(ExecutionEvent) == 29


async def test_a_step_that_fails_ends_the_run_when_all_steps_have_ended(bench: Bench) -> None:
    async def fail(_step: StepContext) -> str:
        raise InvalidInput("no")

    bench.register("one", {"a": fail, "b": fail})
    machines: list[ExecutionMachine] = []

    def look() -> bool:
        machines.extend(execution.machine for execution in bench.runner.running)
        return False

    bench.front.waiters.append((look, asyncio.Event()))
    assert not (await bench.run("one")).ok
    last = machines[-1].get_history()[-1]
    assert (last.event.value, last.to_state.value) == ("all_steps_completed", "failed")


async def test_the_metrics_of_a_run_are_in_its_last_event(bench: Bench) -> None:
    async def do(step: StepContext) -> str:
        if step.step == "b":
            raise InvalidInput("no")
        return "done"

    bench.register("three", {"a": do, "b": do, "c": do})
    await bench.run("three")
    [ended] = bench.front.data(EventName.WORKFLOW_FAILED)
    metrics = ended["metrics"]
    assert metrics.pop("duration_ms") >= 0
    assert metrics == {
        "total_steps": 3,
        "pending_steps": 0,
        "running_steps": 0,
        "completed_steps": 1,
        "failed_steps": 1,
        "skipped_steps": 1,
        "batches": 3,
        "current_batch": None,
        "checkpoints": 1,
        "input_tokens": 0,
        "output_tokens": 0,
        "cost": None,
    }


async def test_a_refused_run_has_no_checkpoint_and_counts_in_no_metrics(
    bench: Bench, runner: WorkflowRunner
) -> None:
    result = await refused(bench, runner, "flow.yaml", NOT_YAML)
    with pytest.raises(InvalidInput, match="was refused because its workflow has mistakes"):
        await CheckpointManager(await runner.store()).create(result.execution_id)
    assert Reader(bench.private).metrics() == []


async def test_an_engine_goes_on_after_whatever_was_refused(bench: Bench) -> None:
    engine = WorkflowEngine(bench.runner)
    text = "steps: [{id: a, workflow: ask}]\n"
    assert not (await engine.execute(text, inputs={"no": "such input"})).ok
    assert engine.state.value == "failed"
    assert not (await engine.execute(NOT_YAML)).ok
