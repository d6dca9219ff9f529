from __future__ import annotations

import asyncio
import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from tests.engine.logbook import RUN
from tideate_core.config import Config
from tideate_core.engine import EventName, RunRequest
from tideate_core.engine.fork.checkpoints import CheckpointManager, remove_exports
from tideate_core.engine.past import load_recorded_run, stored_definition
from tideate_core.errors import CheckpointNotFound, RunNotFound, StoreError
from tideate_core.store import RunLog, Store, checkpoints, log_statements
from tideate_core.store.records import Graph, NewRun, StepOutcome, StepStart
from tideate_core.workflows import Registration, WorkflowDefinition

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.harness.bench import Bench
    from tideate_core.store.records import CheckpointRow
    from tideate_core.workflows import StepContext

STEPS = ("a", "b", "c")
REQUEST = RunRequest(name="w", prompt="do it", inputs={"n": 1}, execution_id=RUN)
ENDED = 1_700_000_000_042


@pytest.fixture
def private(tmp_path: Path) -> Path:
    return tmp_path / "private"


@pytest.fixture
def store(private: Path) -> Iterator[Store]:
    store = Store.open(private)
    yield store
    store.close()


@pytest.fixture
def manager(store: Store) -> CheckpointManager:
    return CheckpointManager(store)


async def ran(
    store: Store, *steps: str, goes_on: bool = False, result: Any = None
) -> tuple[RunLog, list[CheckpointRow]]:
    steps_told = [{"id": step, "continue_on_error": goes_on} for step in STEPS]
    definition = WorkflowDefinition.model_validate(
        {"name": "w", "steps": steps_told, "context": {"tone": "dry"}}
    )
    log = await store.begin(
        NewRun(
            RUN,
            stored_definition(Registration(definition, {}, "builtin")),
            REQUEST.model_dump(mode="json"),
            len(STEPS),
            1000,
            Graph(STEPS, (("a", "b"), ("b", "c")), tuple((step,) for step in STEPS)),
            steps=tuple((step, step, "assistant") for step in STEPS),
        )
    )
    rows = []
    for step in steps:
        log.started(StepStart(step, step, "assistant", "", 1, 1000))
        outcome = StepOutcome(step, "completed", ENDED, 7, result or {"said": step}, files=(f"{step}.py",))
        row = await log.finish(outcome).future
        assert row is not None
        rows.append(row)
    return log, rows


async def test_a_checkpoint_is_told_as_the_document_wants_it(
    store: Store, manager: CheckpointManager
) -> None:
    _, rows = await ran(store, "a", "b")
    told = json.loads((await manager.load(rows[0].id)).model_dump_json(by_alias=True))
    usage = told["metadata"].pop("memoryUsage")
    assert usage > 1_000_000
    assert told == {
        "checkpointId": rows[0].id,
        "workflowId": RUN,
        "stepId": "a",
        "timestamp": "2023-11-14T22:13:20.042Z",
        "state": {
            "currentStepIndex": 0,
            "completedSteps": ["a"],
            "pendingSteps": ["b", "c"],
            "artifacts": ["a.py"],
            "context": {
                "inputs": {"n": 1},
                "context": {"tone": "dry"},
                "steps": {"a": {"result": {"said": "a"}, "error": None, "status": "completed"}},
                "prompt": "do it",
            },
        },
        "metadata": {"agentId": "assistant", "duration": 7},
    }


async def test_memory_usage_is_measured_when_the_checkpoint_is_made(
    store: Store, manager: CheckpointManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Document 4, "memoryUsage"."""
    used = iter((100, 200, 300))
    monkeypatch.setattr(log_statements, "memory_usage", lambda: next(used))
    monkeypatch.setattr(checkpoints, "memory_usage", lambda: next(used))
    _, rows = await ran(store, "a", "b")
    made = [*rows, await manager.create(RUN)]
    assert [(await manager.load(row.id)).metadata.memory_usage for row in made] == [100, 200, 300]
    new = (await manager.restore(rows[0].id)).workflow_id
    assert (await manager.load(f"{new}.1")).metadata.memory_usage == 100


async def test_a_later_checkpoint_has_more(store: Store, manager: CheckpointManager) -> None:
    _, rows = await ran(store, "a", "b")
    state = (await manager.load(rows[1].id)).state
    assert (state.current_step_index, state.completed_steps, state.pending_steps) == (1, ["a", "b"], ["c"])
    assert state.artifacts == ["a.py", "b.py"]


async def test_a_checkpoint_of_ones_own_stands_where_the_run_does(
    store: Store, manager: CheckpointManager
) -> None:
    await ran(store, "a")
    row = await manager.create(RUN)
    assert row.manual
    assert (await manager.load(row.id)).state.completed_steps == ["a"]
    assert row.id in {known.id for known in await manager.list(RUN)}


async def test_what_does_not_exist_is_told(store: Store, manager: CheckpointManager) -> None:
    with pytest.raises(RunNotFound):
        await manager.create("f" * 32)
    for do in (manager.load, manager.restore, manager.export):
        with pytest.raises(CheckpointNotFound):
            await do("nothing")


async def test_restoring_makes_a_run_that_has_done_what_the_checkpoint_has(
    store: Store, manager: CheckpointManager
) -> None:
    _, rows = await ran(store, "a", "b")
    restored = await manager.restore(rows[0].id)
    assert restored.restored
    assert restored.workflow_id != RUN
    assert restored.state.completed_steps == ["a"]
    _, _, past = await load_recorded_run(store, restored.workflow_id)
    assert list(past.settled) == ["a"]
    _, _, old = await load_recorded_run(store, RUN)
    assert list(old.settled) == ["a", "b"]
    row = store.reader().run(restored.workflow_id)
    assert (row.status, row.restored_from) == ("paused", rows[0].id)


@pytest.mark.parametrize("goes_on", [False, True])
async def test_a_run_from_where_another_failed_tries_again_what_that_one_could_not_go_on_without(
    store: Store, manager: CheckpointManager, goes_on: bool
) -> None:
    log, _ = await ran(store, "a", goes_on=goes_on)
    await log.finish(StepOutcome("b", "failed", ENDED, error="broken", files=("b.py",))).future
    await log.finish(StepOutcome("c", "skipped", ENDED, error="the run failed in the step 'b'")).future
    restored = await manager.restore((await manager.create(RUN)).id)
    _, _, past = await load_recorded_run(store, restored.workflow_id)
    assert list(past.settled) == (["a", "b", "c"] if goes_on else ["a"])
    assert restored.state.pending_steps == ([] if goes_on else ["b", "c"])
    assert restored.state.artifacts == (["a.py", "b.py"] if goes_on else ["a.py"])
    assert list(restored.state.context["steps"]) == list(past.settled)


async def test_an_export_is_a_file_named_by_the_time(
    store: Store, manager: CheckpointManager, private: Path
) -> None:
    _, rows = await ran(store, "a")
    path = await manager.export(rows[0].id)
    assert path == private / "checkpoints" / "checkpoint_20231114T221320042Z.json"
    assert json.loads(path.read_text())["checkpointId"] == rows[0].id


async def test_exporting_twice_replaces_and_another_of_the_same_millisecond_does_not(
    store: Store, manager: CheckpointManager
) -> None:
    _, rows = await ran(store, "a", "b")
    first = await manager.export(rows[0].id)
    assert await manager.export(rows[0].id) == first
    second = await manager.export(rows[1].id)
    assert second != first
    assert {known(path) for path in first.parent.iterdir()} == {rows[0].id, rows[1].id}


def known(path: Path) -> Any:
    return json.loads(path.read_text())["checkpointId"]


def nested(depth: int) -> list[Any]:
    value: list[Any] = ["end"]
    for _ in range(depth):
        value = [value]
    return value


async def test_exports_of_deleted_runs_are_removed_and_files_of_others_stay(
    store: Store, manager: CheckpointManager
) -> None:
    _, rows = await ran(store, "a", "b")
    folder = store.documents.path("checkpoints")
    assert remove_exports(store.documents, store.reader(), [RUN]) == [], "nothing was exported"
    first, second = await manager.export(rows[0].id), await manager.export(rows[1].id)
    second.write_text("another file")
    assert remove_exports(store.documents, store.reader(), [RUN]) == [f"checkpoints/{second.name}"]
    assert [path.name for path in folder.iterdir()] == [second.name]
    assert not first.exists()


@pytest.mark.parametrize("result", [{"name": "caf\udce9"}, nested(250)], ids=["no UTF-8", "deep"])
async def test_whatever_a_step_gave_can_be_exported(
    store: Store, manager: CheckpointManager, result: Any
) -> None:
    _, rows = await ran(store, "a", result=result)
    path = await manager.export(rows[0].id)
    assert json.loads(path.read_text("ascii"))["state"]["context"]["steps"]["a"]["result"] == result


async def test_what_json_has_no_word_for_is_not_exported(store: Store, manager: CheckpointManager) -> None:
    _, rows = await ran(store, "a", result=[float("nan")])
    with pytest.raises(StoreError, match="cannot be written as JSON"):
        await manager.export(rows[0].id)


async def test_each_steps_checkpoint_is_a_file_where_the_person_wants_it(bench: Bench) -> None:
    """Document 4, "Storage Path"."""

    async def done(step: StepContext) -> str:
        return step.step

    bench.register("two", {"a": done, "b": done})
    folder = bench.private / "checkpoints"
    await bench.run("two")
    assert not folder.exists()
    wanted = Config.model_validate({"workflow": {"checkpoints": "files"}}).workflow
    bench.runner = bench.make_runner(bench.config.model_copy(update={"workflow": wanted}))
    result = await bench.run("two")
    found = [json.loads(path.read_text()) for path in sorted(folder.glob("checkpoint_*.json"))]
    assert {(one["workflowId"], one["stepId"]) for one in found} == {
        (result.execution_id, "a"),
        (result.execution_id, "b"),
    }
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    shutil.rmtree(folder)
    folder.write_text("not a directory")
    await bench.succeed("two")
    told = bench.front.notices()
    assert len([words for words in told if words.startswith("the checkpoint was not exported: ")]) == 2


async def test_a_run_cancelled_while_it_exports_tells_of_its_checkpoint(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def done(step: StepContext) -> str:
        return step.step

    async def cancelled(manager: CheckpointManager, checkpoint: str) -> None:
        bench.runner.cancel()
        await asyncio.Event().wait()

    monkeypatch.setattr(CheckpointManager, "export", cancelled)
    bench.register("one", {"a": done})
    wanted = Config.model_validate({"workflow": {"checkpoints": "files"}}).workflow
    bench.runner = bench.make_runner(bench.config.model_copy(update={"workflow": wanted}))
    result = await bench.run("one")
    assert result.cancelled
    (made,) = bench.front.data(EventName.CHECKPOINT_CREATED)
    reader = await bench.reader()
    assert made["checkpoint_id"] == reader.checkpoints(result.execution_id)[0].id


async def test_what_stands_in_the_way_of_an_export_is_told_and_not_replaced(
    store: Store, manager: CheckpointManager, private: Path
) -> None:
    _, rows = await ran(store, "a")
    (private / "checkpoints").write_text("not a directory")
    with pytest.raises(StoreError, match="was not written"):
        await manager.export(rows[0].id)
    assert (private / "checkpoints").read_text() == "not a directory"
