"""An aborted task is rolled back; an interrupted one is not."""

from __future__ import annotations

import asyncio
import shutil
from typing import TYPE_CHECKING, Any, assert_type

import pytest
from pydantic import JsonValue

from tests.builtin.task.runs.test_correcting import wrong
from tests.builtin.task.runs.test_person import only
from tests.builtin.task.runs.test_whole import STAGES
from tests.harness.front import LIMIT
from tests.harness.tally import DONE, LINES, TASK
from tests.harness.tasks import CODE, edits, plan
from tideate_core.app.wiring import open_project
from tideate_core.engine import CheckpointManager, EventName, RunEdits, RunRequest
from tideate_core.engine.past import recorded_result
from tideate_core.engine.recovery import end_abandoned_run, roll_back_abandoned_run
from tideate_core.errors import WorkspaceError
from tideate_core.gates import TaskResult
from tideate_core.project import project_state
from tideate_core.snapshots import SnapshotManager
from tideate_core.store import Store
from tideate_core.workflows import Decision
from tideate_core.workspace import Workspace

if TYPE_CHECKING:
    from tests.builtin.task.runs.desk import Desk
    from tideate_core.engine import WorkflowResult, WorkflowRunner
    from tideate_core.workspace import RollbackResult

pytestmark = pytest.mark.slow

RUN = "0" * 31 + "7"
REQUEST = RunRequest(name="task", prompt=TASK, execution_id=RUN)


async def left(desk: Desk, event: str, step: str) -> WorkflowRunner:
    """Let the process end at this event; return the runner of the next process."""
    runner = desk.runner()
    desk.when(event, step, runner.leave)
    result = await ended(runner)
    assert (result.ok, result.reason, result.rollback_performed) == (False, "interrupted", None)
    assert desk.front.data(EventName.ROLLED_BACK) == []
    await runner.aclose()
    return desk.runner()


async def resumed(runner: WorkflowRunner) -> WorkflowResult:
    return await asyncio.wait_for(runner.resume_run(RUN), LIMIT)


def asked(desk: Desk) -> list[int]:
    return [desk.model.asked(role) for role in ("planner", "auditor", "executor", "documenter")]


async def going_back(desk: Desk, **end: str) -> None:
    """Record that the task was being rolled back when its process ended."""
    store = Store.open(desk.site.private)
    log = await store.adopt(RUN)
    unknown = {"reason": None, "message": "", "error": None, "error_code": None}
    await log.remember("", "taking_back", {"step": "documenting", **unknown, **end})
    await log.release()
    store.close()


async def ended(runner: WorkflowRunner) -> WorkflowResult:
    return await asyncio.wait_for(runner.run(REQUEST), LIMIT)


@pytest.mark.parametrize("event", ["STEP_STARTED", "STEP_COMPLETED"])
@pytest.mark.parametrize("step", STAGES)
async def test_a_task_that_is_left_goes_on_where_it_stood(desk: Desk, step: str, event: str) -> None:
    result = await resumed(await left(desk, event, step))
    assert (result.ok, result.rollback_performed) == (True, False), result.error
    assert desk.changed() == DONE
    assert asked(desk)[:3] == [1, 1, 1]
    assert len(desk.kinds()) <= 4
    moves = [data["move"] for data in desk.front.data(EventName.TRANSITION)]
    assert moves == list(range(1, 12))
    assert [move["to"] for move in result.path or []] == [*STAGES, "complete"]
    assert len(await SnapshotManager(desk.root).list()) == 1


async def test_what_was_being_taken_back_is_taken_back_and_nothing_else(desk: Desk) -> None:
    runner = await left(desk, "STEP_STARTED", "documenting")
    before, written = asked(desk), desk.changed()
    assert written
    await going_back(desk, error="the model is gone", error_code="StepFailed")
    result = await resumed(runner)
    assert (result.ok, result.cancelled, result.rollback_performed) == (False, False, True)
    assert (result.error, result.error_code) == ("the model is gone", "StepFailed")
    assert (desk.changed(), asked(desk)) == ({}, before)


@pytest.mark.parametrize("reason", ["cancelled", "declined"])
async def test_it_ends_as_it_was_going_to_end(desk: Desk, reason: str) -> None:
    runner = await left(desk, "STEP_STARTED", "documenting")
    await going_back(desk, reason=reason, message="no")
    result = await resumed(runner)
    assert (result.cancelled, result.reason, result.rollback_performed) == (True, reason, True)
    assert desk.changed() == {}


async def test_that_it_is_taken_back_is_written_down_before_the_first_file(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong(desk)
    desk.model.says("corrector", "I cannot.")
    seen: list[Any] = []
    take_back = Workspace.rollback_best_effort

    async def looked_at(self: Workspace, execution_id: str) -> RollbackResult:
        store = Store.open(desk.site.private)
        seen.append(store.reader().memos(execution_id)[""]["taking_back"])
        store.close()
        return await take_back(self, execution_id)

    monkeypatch.setattr(Workspace, "rollback_best_effort", looked_at)
    result = await desk.run()
    assert (result.rollback_performed, desk.changed()) == (True, {})
    (memo,) = seen
    assert memo["error"] == result.error


@pytest.mark.parametrize(
    ("error", "said", "cancelled"),
    [
        (WorkspaceError("no space left on the disk"), "no space left on the disk", True),
        (WorkspaceError("no space left on the disk"), "no space left on the disk", False),
        (RuntimeError("nobody expects it"), "RuntimeError: nobody expects it", True),
        (MemoryError(), "MemoryError: ", False),
        (OSError(5, "Input/output error"), "OSError: [Errno 5] Input/output error", False),
    ],
)
async def test_a_rollback_that_fails_is_said(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, error: Exception, said: str, *, cancelled: bool
) -> None:
    async def full(_self: Workspace, _execution_id: str, _members: tuple[str, ...] = ()) -> RollbackResult:
        raise error

    monkeypatch.setattr(Workspace, "rollback_best_effort", full)
    runner = desk.runner()
    if cancelled:
        desk.when("STEP_STARTED", "documenting", runner.cancel)
    else:
        wrong(desk)
        desk.model.says("corrector", "I cannot.")
    result = await ended(runner)
    assert (result.ok, result.cancelled, result.rollback_performed) == (False, False, False)
    for words in (said, f"tideate rollback {RUN[:8]}"):
        assert words in str(result.error)
    (back,) = desk.front.data(EventName.ROLLED_BACK)
    assert back["error"] == said
    assert back["foreign"] == [], "its own files are said to be others'"
    assert desk.front.names()[-1] == "WORKFLOW_FAILED"
    monkeypatch.undo()
    await desk.rolls_back(RUN)


async def test_without_its_journal_it_is_not_said_that_a_task_was_taken_back(desk: Desk) -> None:
    wrong(desk)
    desk.model.says("corrector", "I cannot.")
    desk.when(
        "STEP_STARTED",
        "verifying",
        lambda: shutil.rmtree(project_state(desk.root) / "journal"),
    )
    result = await desk.run()
    assert (result.ok, result.rollback_performed) == (False, False)
    assert "the journal of its changes is gone" in str(result.error)
    assert "tideate snapshot diff" in str(result.error)
    assert desk.changed(), "then why was it not said?"


async def test_what_others_changed_meanwhile_is_named_and_stays(desk: Desk) -> None:
    wrong(desk)
    desk.model.says("corrector", "I cannot.")
    formatted = desk.root / "README.md"
    desk.when("STEP_STARTED", "verifying", lambda: formatted.write_text("formatted\n"))
    result = await desk.run()
    assert (result.ok, result.rollback_performed, formatted.read_text()) == (False, True, "formatted\n")
    (back,) = desk.front.data(EventName.ROLLED_BACK)
    assert (back["foreign"], back["more_foreign"], back["left"]) == (["README.md"], 0, [])


async def test_an_abandoned_task_that_is_cancelled_is_taken_back(desk: Desk) -> None:
    runner = await left(desk, "STEP_STARTED", "verifying")
    assert desk.changed() == DONE
    store = await runner.store()
    run = await asyncio.to_thread(store.reader().run, RUN)
    workspace = open_project(str(desk.root)).workspace
    ended_runs = await end_abandoned_run(store, run, workspace)
    assert desk.changed() == {}
    done = await roll_back_abandoned_run(workspace, ended_runs)
    assert sorted(done.restored) == sorted(DONE)
    now = await asyncio.to_thread(store.reader().run, RUN)
    result = await asyncio.to_thread(recorded_result, store.reader(), now)
    assert (now.status, result.rollback_performed, result.files) == ("cancelled", True, [])


async def test_an_abandoned_task_without_its_journal_is_not_ended_as_taken_back(desk: Desk) -> None:
    runner = await left(desk, "STEP_STARTED", "verifying")
    store = await runner.store()
    run = await asyncio.to_thread(store.reader().run, RUN)
    with desk.site.person():
        shutil.rmtree(project_state(desk.root) / "journal")
    with pytest.raises(WorkspaceError, match="the journal of its changes is gone"):
        await end_abandoned_run(store, run, open_project(str(desk.root)).workspace)
    assert not (await asyncio.to_thread(store.reader().run, RUN)).ended


async def test_a_completed_task_can_be_rolled_back(desk: Desk) -> None:
    runner = desk.runner()
    result = await ended(runner)
    assert (result.ok, desk.changed()) == (True, DONE), result.error
    await desk.rolls_back(RUN)


async def test_a_failed_task_is_read_as_it_ended(desk: Desk) -> None:
    desk.model.says("planner", plan(rollback_strategy=""))
    runner = desk.runner()
    live = await ended(runner)
    reader = (await runner.store()).reader()
    read = await asyncio.to_thread(lambda: recorded_result(reader, reader.run(RUN)))
    for result in (live, read):
        assert (result.ok, result.rollback_performed, result.attempts) == (False, True, 0)
        assert result.result is None
    assert live.as_json()["rollback_performed"] is True


async def test_the_workflow_result_of_a_task_has_its_typed_task_result(desk: Desk) -> None:
    wanted = [name for name in CODE if name != "tools/count.sh"]
    desk.answers(review=lambda request: only(*wanted)(request) if len(desk.kinds()) == 2 else Decision(True))
    runner = desk.runner()
    live = await ended(runner)
    reader = (await runner.store()).reader()
    read = await asyncio.to_thread(lambda: recorded_result(reader, reader.run(RUN)))
    created = ["src/tally/lines.py", "tests/test_lines.py"]
    expected = TaskResult(files_created=created, files_modified=["src/tally/__init__.py"])
    for result in (live, read):
        assert_type(result.response, JsonValue)
        assert_type(result.results, dict[str, JsonValue])
        assert (result.ok, result.result) == (True, expected), result.error
        assert result.as_json()["result"] == expected.model_dump()


@pytest.mark.parametrize("well", [True, False])
async def test_the_snapshot_is_needed_no_more_when_it_has_ended(desk: Desk, *, well: bool) -> None:
    if not well:
        desk.model.says("planner", plan(rollback_strategy=""))
    pinned: list[tuple[str, ...]] = []

    async def look() -> None:
        pinned.extend([one.pinned for one in await SnapshotManager(desk.root).list()])

    looking: list[asyncio.Task[None]] = []
    desk.when("STEP_STARTED", "planning", lambda: looking.append(asyncio.ensure_future(look())))
    result = await ended(desk.runner())
    await asyncio.gather(*looking)
    assert (result.ok, pinned) == (well, [(RUN,)])
    (snapshot,) = await SnapshotManager(desk.root).list()
    assert snapshot.pinned == ()
    assert RUN[:8] in snapshot.name


@pytest.mark.parametrize("well", [True, False])
async def test_a_run_from_a_checkpoint_writes_its_own(desk: Desk, *, well: bool) -> None:
    wrong(desk)
    desk.model.says("corrector", edits({"src/tally/lines.py": LINES}) if well else "I cannot.")
    runner = desk.runner()
    first = await ended(runner)
    assert first.ok == well
    if well:
        await open_project(str(desk.root)).workspace.rollback(RUN)
    store = await runner.store()
    manager = CheckpointManager(store)
    checkpoints = {row.step: row.id for row in await manager.list(RUN)}
    new = (await manager.restore(checkpoints["documenting"])).workflow_id
    desk.model.says("corrector", edits({"src/tally/lines.py": LINES}))
    before = asked(desk)[:3]
    result = await asyncio.wait_for(runner.resume_run(new), LIMIT)
    assert (result.ok, asked(desk)[:3]) == (True, before), result.error
    assert desk.changed() == DONE
    await desk.rolls_back(new)


async def test_a_retry_plans_nothing_anew_and_writes_all_of_it(desk: Desk) -> None:
    wrong(desk)
    desk.model.says("corrector", "I cannot.")
    runner = desk.runner()
    assert not (await ended(runner)).ok
    assert desk.changed() == {}
    planned = asked(desk)[:2]
    assert planned[0] == 1
    desk.model.says("corrector", edits({"src/tally/lines.py": LINES}))
    result = await asyncio.wait_for(runner.fork_run(RUN, None, RunEdits()), LIMIT)
    assert (result.ok, asked(desk)[:2]) == (True, planned), result.error
    assert desk.changed() == DONE
    await desk.rolls_back(result.execution_id)


async def test_what_is_taken_back_is_not_put_back_step_by_step_first(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Restoring steps first would look like changes by the user."""
    runner = await left(desk, "CONFIRMATION_REQUIRED", "awaiting_documentation_gate")
    await going_back(desk, error="gone", error_code="StepFailed")

    async def refused(*_given: object) -> list[str]:
        raise AssertionError("steps are put back that are to be taken back with all others")

    monkeypatch.setattr("tideate_core.engine.recovery.roll_back_unfinished_steps", refused)
    result = await resumed(runner)
    assert (result.error, result.rollback_performed, desk.changed()) == ("gone", True, {})


async def test_a_snapshot_that_was_made_before_a_crash_is_found_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = SnapshotManager.create
    runner = desk.runner()

    async def create_and_leave(self: SnapshotManager, name: str, **rest: Any) -> str:
        made = await create(self, name, **rest)
        runner.leave()
        await asyncio.Event().wait()
        return made

    with monkeypatch.context() as patched:
        patched.setattr(SnapshotManager, "create", create_and_leave)
        result = await ended(runner)
    assert result.reason == "interrupted"
    await runner.aclose()
    result = await resumed(desk.runner())
    assert (result.ok, desk.changed()) == (True, DONE), result.error
    assert len(await SnapshotManager(desk.root).list()) == 1
