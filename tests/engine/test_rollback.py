"""Changes of runs and their nested runs: found, rolled back, deleted."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from tests.engine.test_loop import passing, step
from tests.engine.test_resumed_runs import Stop, events_of, row_of
from tests.harness.buffers import Buffers
from tests.harness.front import LIMIT
from tideate_core.engine import EventName
from tideate_core.engine.families import family_members, rolled_back_runs, run_families, runs_with_changes
from tideate_core.engine.recovery import RunRollback, forget_changes, nothing_changed_error
from tideate_core.errors import InvalidInput, RollbackConflict, RunIsOwned, RunNotFound
from tideate_core.store import Reader
from tideate_core.workflows import WorkflowDefinition
from tideate_core.workspace import FileChange, Workspace, plan_rollback

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from tests.harness.bench import Bench
    from tideate_core.engine.recovery import RollbackOutcome
    from tideate_core.store import Store
    from tideate_core.workflows import StepContext, StepHandler
    from tideate_core.workspace import BufferText, RollbackPlan, Root
    from tideate_core.workspace.journal import Record


async def adds(step: StepContext) -> str:
    """Write the step's name at the end of `a.txt`."""
    before = (await step.workspace.read("a.txt")).text
    change = FileChange("a.txt", "modify", before, f"{before}\n{step.step}")
    await step.workspace.apply([change], execution_id=step.execution_id)
    return step.step


def nested(bench: Bench, last: StepHandler = adds) -> None:
    """Register `g`: it writes, lets two nested runs write, and then calls `last`."""
    bench.write("a.txt", "mine\n")
    bench.register("innermost", {"third": adds})
    steps = [step("second"), step("deeper", "second", workflow="innermost")]
    inner = WorkflowDefinition.model_validate({"name": "inner", "steps": steps})
    bench.registry.register(inner, {"second": adds})
    steps = [step("first"), step("nested", "first", workflow="inner"), step("last", "nested")]
    outer = WorkflowDefinition.model_validate({"name": "g", "steps": steps})
    bench.registry.register(outer, {"first": adds, "last": last})


async def rolled_back(bench: Bench, run: str) -> RollbackOutcome:
    @asynccontextmanager
    async def store() -> AsyncIterator[Store]:
        yield await bench.runner.store()

    members = family_members(bench.private, Reader(bench.private))[run]
    rollback = RunRollback(bench.root, bench.private)
    return await asyncio.wait_for(rollback.roll_back(run, members, store), LIMIT)


def content(bench: Bench) -> list[str]:
    return (bench.root / "a.txt").read_text().splitlines()


async def test_a_run_is_taken_back_with_the_runs_that_are_its_steps(bench: Bench) -> None:
    nested(bench)
    result = await bench.succeed("g")
    assert content(bench) == ["mine", "first", "second", "third", "last"]
    (members,) = run_families(bench.private, Reader(bench.private)).values()
    assert sorted(members) == runs_with_changes(bench.private)
    assert len(members) == 3
    done = await rolled_back(bench, result.execution_id)
    assert (done.restored, done.cancelled, content(bench)) == (["a.txt"], False, ["mine"])
    assert (await row_of(bench.runner, result.execution_id)).status == "completed"


@pytest.mark.parametrize("ended", [True, False])
async def test_a_rollback_is_in_the_runs_record_and_in_the_log_with_its_files(
    bench: Bench, caplog: pytest.LogCaptureFixture, *, ended: bool
) -> None:
    nested(bench, last=adds if ended else Stop(bench))
    run = (await bench.run("g")).execution_id
    bench.runner = bench.make_runner(bench.config)
    await rolled_back(bench, run)
    events = await events_of(bench.runner, run)
    (back,) = [event for event in events if event.name == EventName.ROLLED_BACK.value]
    assert (back.data["count"], back.data["restored"], back.data["left"]) == (1, ["a.txt"], [])
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    (said,) = [record.getMessage() for record in caplog.records if "rollback of" in record.getMessage()]
    assert said.endswith(": 1 restored: a.txt")
    assert run in said
    await rolled_back(bench, run)
    assert len(await events_of(bench.runner, run)) == len(events), "nothing was restored"


async def test_the_run_of_a_step_is_taken_back_alone_with_what_ran_within_it(bench: Bench) -> None:
    nested(bench, last=passing)
    result = await bench.succeed("g")
    reader = Reader(bench.private)
    (inner,) = [run for run in reader.runs(parents_only=False) if run.parent == result.execution_id]
    assert len(family_members(bench.private, reader)[inner.id]) == 2
    await rolled_back(bench, inner.id)
    assert content(bench) == ["mine", "first"]


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many records each plan of a rollback was made of."""
    made: list[int] = []

    def counted(root: Root, records: Sequence[Record], loaded: None) -> RollbackPlan:
        made.append(len(records))
        return plan_rollback(root, records, loaded)

    monkeypatch.setattr("tideate_core.workspace.plan_rollback", counted)
    return made


def known_back(bench: Bench) -> set[str]:
    families = family_members(bench.private, Reader(bench.private))
    return rolled_back_runs(bench.root, bench.private, families)


def markers(bench: Bench) -> list[Path]:
    return list(bench.private.glob("journal/*/*/rolled_back.json"))


async def test_what_was_rolled_back_is_known_without_a_plan(bench: Bench, plans: list[int]) -> None:
    nested(bench)
    result = await bench.run("g")
    assert known_back(bench) == set()
    await rolled_back(bench, result.execution_id)
    assert len(markers(bench)) == 3
    # also the runs that are its steps
    assert known_back(bench) == set(family_members(bench.private, Reader(bench.private)))
    bench.write("a.txt", "mine again\n")
    assert result.execution_id in known_back(bench)
    assert plans == []


@pytest.mark.parametrize("damage", ["{", None])
async def test_a_rollback_without_a_marker_is_planned_once(
    bench: Bench, plans: list[int], damage: str | None
) -> None:
    nested(bench)
    result = await bench.run("g")
    await rolled_back(bench, result.execution_id)
    for marker in markers(bench):
        marker.unlink()
        if damage:
            marker.write_text(damage)
    everything = set(family_members(bench.private, Reader(bench.private)))
    assert [known_back(bench), known_back(bench)] == [everything, everything]
    assert len(plans) == len(everything)
    # what is rolled back by this version is known again without
    await rolled_back(bench, result.execution_id)
    assert known_back(bench) == everything
    assert len(plans) == len(everything)


async def test_an_apply_after_a_rollback_is_not_taken_for_rolled_back(bench: Bench, plans: list[int]) -> None:
    nested(bench, last=passing)
    run = (await bench.run("g")).execution_id
    await rolled_back(bench, run)
    workspace = Workspace(bench.root, private=bench.private)
    await workspace.apply([FileChange("a.txt", "modify", "mine\n", "more\n")], execution_id=run)
    assert run not in known_back(bench)
    assert len(plans) == 1


async def test_what_was_changed_since_stops_all_of_it(bench: Bench) -> None:
    nested(bench)
    result = await bench.run("g")
    bench.write("a.txt", "mine again\n")
    ahead = RunRollback(bench.root, bench.private).preview(runs_with_changes(bench.private))
    assert ahead.conflicts == ["a.txt"]
    with pytest.raises(RollbackConflict, match=r"a\.txt"):
        await rolled_back(bench, result.execution_id)
    assert content(bench) == ["mine again"]


async def test_a_run_that_could_go_on_is_cancelled_with_its_changes(bench: Bench) -> None:
    nested(bench, last=Stop(bench))
    left = await bench.run("g")
    assert left.reason == "interrupted"
    bench.runner = bench.make_runner(bench.config)
    done = await rolled_back(bench, left.execution_id)
    assert (done.cancelled, content(bench)) == (True, ["mine"])
    assert (await row_of(bench.runner, left.execution_id)).status == "cancelled"


async def test_a_run_that_could_go_on_still_can_where_a_conflict_stopped_the_rollback(bench: Bench) -> None:
    nested(bench, last=Stop(bench))
    left = await bench.run("g")
    bench.runner = bench.make_runner(bench.config)
    bench.write("a.txt", "mine again\n")
    with pytest.raises(RollbackConflict):
        await rolled_back(bench, left.execution_id)
    assert (await row_of(bench.runner, left.execution_id)).resumable


@pytest.mark.concurrency
async def test_a_run_that_is_under_way_is_left_alone(bench: Bench) -> None:
    release = asyncio.Event()
    waiting = asyncio.Event()

    async def waits(_step: StepContext) -> str:
        waiting.set()
        await release.wait()
        return "done"

    bench.write("a.txt", "mine\n")
    bench.register("two", {"first": adds, "second": waits})
    task = bench.begin("two")
    await asyncio.wait_for(waiting.wait(), LIMIT)
    (run,) = bench.runner.running
    with pytest.raises(RunIsOwned):
        await rolled_back(bench, run.id)
    release.set()
    assert (await task).ok
    assert content(bench) == ["mine", "first"]


async def test_what_was_forgotten_and_what_changed_nothing_is_told_apart(bench: Bench) -> None:
    bench.write("a.txt", "mine\n")
    bench.register("writes", {"first": adds})
    bench.register("reads", {"first": passing})
    written, read = (await bench.run("writes")).execution_id, (await bench.run("reads")).execution_id
    forget_changes(bench.private, written)
    assert runs_with_changes(bench.private) == []
    reader = Reader(bench.private)
    error = nothing_changed_error(reader, read)
    assert isinstance(error, InvalidInput)
    assert "of reads changed no file" in str(error)
    with pytest.raises(RunNotFound):
        nothing_changed_error(reader, "f" * 32)


async def test_a_run_whose_changes_were_forgotten_is_not_one_that_changed_nothing(bench: Bench) -> None:
    async def writes(step: StepContext) -> str:
        step.changed(["a.txt"])
        return await adds(step)

    bench.write("a.txt", "mine\n")
    bench.register("writes", {"first": writes})
    written = (await bench.run("writes")).execution_id
    forget_changes(bench.private, written)
    told = nothing_changed_error(Reader(bench.private), written)
    assert "can no longer be rolled back: its journal was deleted" in str(told)


def test_where_nothing_was_ever_written_there_is_nothing_to_take_back(tmp_path: Path) -> None:
    assert runs_with_changes(tmp_path) == []
    assert run_families(tmp_path, Reader(tmp_path)) == {}


@pytest.mark.concurrency
@pytest.mark.parametrize("during_writes", [False, True])
async def test_a_cancelled_rollback_restores_nothing_before_its_first_write_and_all_after_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, during_writes: bool
) -> None:
    nested(bench)
    result = await bench.succeed("g")
    written = content(bench)
    members = family_members(bench.private, Reader(bench.private))[result.execution_id]
    editor, begun = Buffers(), list[bool]()
    find = editor.find

    async def find_meanwhile(path: Path) -> BufferText | None:
        if not during_writes:
            rollback.cancel()
        return await find(path)

    def on_write() -> None:
        begun.append(rollback.cancel())

    monkeypatch.setattr(editor, "find", find_meanwhile)
    work = RunRollback(bench.root, bench.private, editor).restore_files(members, on_write)
    rollback = asyncio.create_task(work)
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(rollback, LIMIT)
    assert begun == [True] * during_writes
    assert content(bench) == (["mine"] if during_writes else written)
    assert editor.disk_checks == [bench.root / "a.txt"] * during_writes  # which comes last
