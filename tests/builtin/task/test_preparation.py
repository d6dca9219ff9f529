"""Verifiability is checked before any model is asked, and a snapshot comes first."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import pytest

from tests.builtin.task.runs.desk import Desk
from tests.harness.front import LIMIT
from tests.harness.state import trust_all
from tests.harness.tally import TASK
from tideate_core.adapters import AdapterPool
from tideate_core.app.wiring import build_catalog, open_project
from tideate_core.builtin.task.preparation import unready
from tideate_core.config import VerifyConfig, load_config
from tideate_core.engine import EventName, PolicyFrontEnd, RunRequest, WorkflowRunner
from tideate_core.errors import WorkspaceError
from tideate_core.gates import readiness
from tideate_core.snapshots import Snapshot, SnapshotManager
from tideate_core.snapshots.limits import MIB
from tideate_core.store import Store
from tideate_core.toolchain import Check, ProjectTrust, select_tools
from tideate_core.workflows import Decision, PromptLibrary
from tideate_core.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.model_server import ModelServer
    from tideate_core.engine import ConfirmationRequest, Event, WorkflowResult


def test_everything_that_is_missing_is_said_at_once_with_what_to_do(tmp_path: Path) -> None:
    words = "\n".join(unready(readiness(tmp_path, VerifyConfig(tests=["make", "test"], lint="off"))))
    for check in ("type_check", "build", "documentation"):
        assert f"verify.{check}" in words
        assert f'{check} = ["PROGRAM", "ARGUMENT"]  # or "off"' in words
    assert "verify.lint" not in words
    assert "- tests: `make test`" in words
    assert "tideate trust" in words
    assert "Or leave it: once the other checks can run, a task asks" in words


def test_commands_of_a_configuration_that_nobody_trusts_are_not_called_missing(tmp_path: Path) -> None:
    config = tmp_path / ".tideate" / "config.toml"
    config.parent.mkdir()
    config.write_text('[verify]\ntests = ["make", "test"]\nbuild = "off"\n')
    words = unready(readiness(tmp_path, VerifyConfig()))
    assert any(line.startswith("verify.tests, verify.build: set in .tideate/config.toml") for line in words)
    assert "tests = " not in "\n".join(words)
    assert 'lint = ["PROGRAM", "ARGUMENT"]  # or "off"' in words


def test_an_untrusted_configuration_is_not_passed_over_for_what_is_found(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("test:\n\t@echo found\n")
    trust_all(tmp_path)
    (found,) = [one for one in readiness(tmp_path, VerifyConfig()) if one.check == Check.TESTS]
    assert found.state == "ready"
    config = tmp_path / ".tideate" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    config.write_text('[verify]\ntests = ["make", "more"]\n')
    (found,) = [one for one in readiness(tmp_path, VerifyConfig()) if one.check == Check.TESTS]
    assert found.state == "declared"


def test_a_project_without_any_check_is_ready_when_that_is_said(tmp_path: Path) -> None:
    off = VerifyConfig(type_check="off", lint="off", tests="off", build="off", documentation="off")
    assert unready(readiness(tmp_path, off)) == []


async def run_as(desk: Desk, *, accept: bool, workspace: Workspace | None = None) -> WorkflowResult:
    """Run a task with a policy as the user."""
    project, events = open_project(str(desk.root)), list["Event"]()
    runner = WorkflowRunner(
        build_catalog(desk.root),
        AdapterPool(project.loaded.config),
        project.loaded.config,
        PolicyFrontEnd(accept, events.append),
        lambda _request: workspace or project.workspace,
        PromptLibrary(),
        lambda: Store.open(desk.site.private),
    )
    result = await asyncio.wait_for(runner.run(RunRequest(name="task", prompt=TASK)), LIMIT)
    await runner.aclose()
    return result


@pytest.mark.slow
async def test_a_task_needs_a_project(desk: Desk, tmp_path: Path) -> None:
    workspace = Workspace(None, private=tmp_path / "private")
    result = await run_as(desk, accept=True, workspace=workspace)
    assert (result.ok, result.error_code) == (False, "InvalidInput")
    assert "needs a project" in str(result.error)
    assert desk.model.asked("planner") == 0


@pytest.mark.slow
@pytest.mark.parametrize("accepted", [True, False])
async def test_a_person_may_leave_out_a_check_without_a_command(
    tmp_path: Path, server: ModelServer, *, accepted: bool
) -> None:
    desk = Desk(tmp_path, server, leave_out="lint")
    asked: list[ConfirmationRequest] = []

    def override(request: ConfirmationRequest) -> Decision:
        asked.append(request)
        return Decision(accepted)

    desk.answers(override=override)
    with desk.site.person():
        result = await desk.run()
        await desk.aclose()
    (question,) = asked
    assert question.message == (
        "Only type_check, tests, build and documentation are known; continue with them?\n"
        "No command is known for lint."
    )
    assert 'lint = ["PROGRAM", "ARGUMENT"]  # or "off"' in question.details
    assert result.ok == accepted, result.error
    if accepted:
        assert "- lint: off" in str(result.response)
    else:
        assert "No command is known for verify.lint" in str(result.error)
        assert desk.model.asked("planner") == 0


@pytest.mark.slow
async def test_one_question_trusts_the_commands_and_leaves_out_the_others(desk: Desk) -> None:
    config = desk.root / ".tideate" / "config.toml"
    lines = config.read_text().splitlines(keepends=True)
    config.write_text("".join(line for line in lines if not line.startswith(("lint", "build"))))
    asked: list[ConfirmationRequest] = []

    def override(request: ConfirmationRequest) -> Decision:
        asked.append(request)
        return Decision(True)

    desk.answers(override=override)
    result = await desk.run()
    assert result.ok, result.error
    (question,) = asked
    assert question.message == (
        "Only type_check, tests and documentation are known; continue with them?\n"
        "No command is known for lint and build.\n"
        "Trust this, which runs the project's code, as it is now?\n"
        "- .tideate/config.toml: verify.type_check, verify.tests and verify.documentation, with all other "
        "keys of the file"
    )
    assert config.read_text().strip() in question.details
    assert load_config(desk.root).config.verify.tests is not None, "the file is trusted from now on"


@pytest.mark.slow
async def test_no_policy_leaves_out_a_check(tmp_path: Path, server: ModelServer) -> None:
    desk = Desk(tmp_path, server, leave_out="lint")
    with desk.site.person():
        result = await run_as(desk, accept=True)
    assert "No command is known for verify.lint" in str(result.error)


@pytest.mark.slow
async def test_a_policy_that_says_yes_carries_it_out(desk: Desk) -> None:
    result = await run_as(desk, accept=True)
    assert (result.ok, result.rollback_performed) == (True, False), result.error


@pytest.mark.slow
async def test_a_policy_that_says_no_leaves_everything(desk: Desk) -> None:
    result = await run_as(desk, accept=False)
    assert (result.cancelled, result.reason, result.rollback_performed) == (True, "declined", True)
    assert desk.changed() == {}


async def test_without_a_snapshot_no_model_is_asked(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    async def full(_self: SnapshotManager, _name: str, **_rest: object) -> str:
        raise WorkspaceError("no space left on the disk")

    monkeypatch.setattr(SnapshotManager, "create", full)
    result = await desk.run()
    assert (result.ok, result.error) == (False, "no space left on the disk")
    assert desk.model.asked("planner") == 0
    assert desk.steps() == ["idle"]


@pytest.mark.slow
async def test_files_that_the_snapshot_leaves_out_are_named(desk: Desk) -> None:
    for number in range(7):
        (desk.root / f"large{number}.bin").write_bytes(bytes(MIB + 1))
    desk.configure("[snapshots]\nmax_file_mib = 1\n")
    desk.answers(document=Decision(False))
    assert (await desk.run()).cancelled
    (notice,) = [data["message"] for data in desk.front.data(EventName.NOTICE) if data["step"] == "idle"]
    assert "leaves out large0.bin, large1.bin, large2.bin, large3.bin, large4.bin and 2 more; " in notice
    assert "`tideate snapshot list` says why" in notice


@pytest.mark.slow
async def test_a_task_that_is_left_once_its_snapshot_is_made_goes_on_with_that_one(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    look, runner = SnapshotManager.get, desk.runner()

    async def leaves(self: SnapshotManager, snapshot: str) -> Snapshot:
        runner.leave()
        return await look(self, snapshot)

    monkeypatch.setattr(SnapshotManager, "get", leaves)
    request = RunRequest(name="task", prompt=TASK)
    left = await asyncio.wait_for(runner.run(request), LIMIT)
    assert (left.reason, left.results) == ("interrupted", {})
    (made,) = await SnapshotManager(desk.root).list()
    done = await desk.resume(request.execution_id)
    assert done.as_json()["results"]["idle"]["snapshot"] == made.id
    assert [one.id for one in await SnapshotManager(desk.root).list()] == [made.id]


@pytest.mark.slow
async def test_buffers_that_are_not_saved_are_said(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    async def unsaved(_self: Workspace) -> list[str]:
        return ["README.md"]

    monkeypatch.setattr(Workspace, "unsaved_files", unsaved)
    await desk.succeed()
    notices = [data["message"] for data in desk.front.data(EventName.NOTICE) if data["step"] == "idle"]
    assert any("README.md" in notice for notice in notices)


@pytest.mark.slow
async def test_a_mention_that_stands_for_nothing_is_said_and_stays_a_word(desk: Desk) -> None:
    await desk.succeed(f"{TASK}, as in @file:nowhere.md and @file:README.md")
    assert any("nowhere.md" in data["message"] for data in desk.front.data(EventName.NOTICE))
    told = desk.model.prompts("planner")[0]
    assert "@file:nowhere.md" in told
    assert (desk.root / "README.md").read_text().splitlines()[0] in told


def test_a_program_that_is_not_installed_stops_a_task_with_the_way_to_get_it(tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text("module a\n")
    (tmp_path / ".golangci.yml").touch()
    environment = {"PATH": str(tmp_path / "nothing")}
    words = unready(readiness(tmp_path, VerifyConfig(documentation="off", environment=environment)))
    assert "✗ lint: `golangci-lint run`: golangci-lint is not installed; install it" in words
    assert "✗ tests: `go test ./...`: go is not installed; install Go" in words


SCRIPT = '{"scripts": {"test": "node --test"}}'


def test_a_program_that_one_part_of_several_lacks_does_not_stop_a_task(tmp_path: Path) -> None:
    for name, text in {"api/package.json": SCRIPT, "svc/go.mod": "module a\n"}.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs" / "npm").symlink_to(sys.executable)
    environment = {"PATH": str(tmp_path / "programs")}
    off = dict.fromkeys(("type_check", "lint", "build", "documentation"), "off")
    config = VerifyConfig.model_validate({**off, "environment": environment})
    ProjectTrust(tmp_path).trust(select_tools(tmp_path, config, environment)[Check.TESTS])
    found = readiness(tmp_path, config)
    states = {one.tool.folder: one.state for one in found if one.tool is not None}
    assert states == {"api": "ready", "svc": "not_installed"}
    assert unready(found) == []
    (tmp_path / "programs" / "npm").unlink()
    assert len(unready(readiness(tmp_path, config))) == 4
