"""`tideate run task` in the shell, recorded with a model and replayed without one."""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING

import pytest

from scripts.reduce_recording import reduce_recording
from tests.builtin.task.runs.test_correcting import BODY
from tests.cli.interrupted import object_of, only_run
from tests.harness.shell import Shell
from tests.harness.tally import DONE, LINES, TASK, as_it_stands, make_project
from tests.harness.tasks import CODE, Model, edits

if TYPE_CHECKING:
    import subprocess

    from tests.harness.model_server import ModelServer
    from tests.snapshots.trees import Node

pytestmark = pytest.mark.slow


class House:
    """Shell in a prepared, trusted project."""

    def __init__(self, shell: Shell, server: ModelServer, *, real: bool = False) -> None:
        self.shell = shell
        (shell.project / "pyproject.toml").unlink()
        make_project(shell.project, real=real)
        self.before = as_it_stands(shell.project)
        shell.use(server)
        self.model = Model(server)

    def trust(self) -> None:
        done = self.shell.run("trust", "--yes")
        assert done.returncode == 0, done.stderr

    def run(self, *more: str) -> subprocess.CompletedProcess[str]:
        return self.shell.run("run", "task", TASK, *more)

    def changed(self) -> dict[str, Node | None]:
        now = as_it_stands(self.shell.project)
        return {name: now.get(name) for name in now | self.before if now.get(name) != self.before.get(name)}


@pytest.fixture
def house(shell: Shell, server: ModelServer) -> House:
    house = House(shell, server)
    house.trust()
    return house


@pytest.mark.parametrize("reduced", [False, True])
def test_a_recorded_task_is_played_back_without_a_model(
    tmp_path_factory: pytest.TempPathFactory, shell: Shell, server: ModelServer, reduced: bool
) -> None:
    first, recording = House(shell, server, real=True), shell.home / "task.jsonl"
    first.trust()
    shell.env["TIDEATE_RECORD"] = str(recording)
    done = first.run("--yes", "--json")
    assert (done.returncode, object_of(done)["ok"]) == (0, True), done.stderr
    answers = [json.loads(line) for line in recording.read_text().splitlines()]
    assert len(answers) == 5
    if reduced:
        whole, recording = recording, shell.home / "reduced.jsonl"
        assert reduce_recording(whole, recording) == 5
    asked = len(server.requests)
    again = Shell(tmp_path_factory.mktemp("again"))
    second = House(again, server, real=True)
    again.configure(f'adapter = "replay:{recording}"\n')
    second.trust()
    played = second.run("--yes", "--json")
    result = object_of(played)
    assert (played.returncode, result["ok"], result["rollback_performed"]) == (0, True, False), played.stderr
    assert (second.changed(), sorted(result["files"])) == (DONE, sorted(DONE))
    assert len(server.requests) == asked
    assert "error_code" not in result or result["error_code"] is None
    again.close()


def test_a_task_that_cannot_be_done_is_taken_back_and_exits_with_1(house: House) -> None:
    house.model.says("executor", edits({**CODE, "src/tally/lines.py": LINES.replace(BODY, "return 0")}))
    house.model.says("corrector", "I cannot.")
    done = house.run("--yes", "--json")
    result = object_of(done)
    assert (done.returncode, result["ok"], result["rollback_performed"]) == (1, False, True), done.stderr
    assert house.changed() == {}
    assert only_run(house.shell)["state"] == "failed"
    shown = house.run("--yes")
    assert shown.returncode == 1
    assert "tests/test_lines.py" in shown.stderr


def test_without_a_terminal_the_plan_is_declined(house: House) -> None:
    done = house.run("--json")
    result = object_of(done)
    assert (done.returncode, result["cancelled"], result["reason"]) == (3, True, "declined")
    assert (result["rollback_performed"], house.changed()) == (True, {})


def test_a_project_that_is_not_trusted_exits_with_1_and_says_how_to_trust_it(
    shell: Shell, server: ModelServer
) -> None:
    house = House(shell, server)
    done = house.run("--yes", "--json")
    assert done.returncode in (1, 2), done.stderr
    assert "tideate trust" in done.stdout + done.stderr
    assert (house.changed(), server.requests) == ({}, [])


def test_the_plan_is_shown_and_the_review_asked_for_at_a_terminal(house: House) -> None:
    terminal = house.shell.open("run", "task", TASK)
    terminal.wait_for("count the lines of a text")
    terminal.wait_for("Rollback strategy")
    terminal.wait_for("Carry out this plan? [")
    terminal.type("y\n")
    terminal.wait_for("Apply changes to 4 files?")
    terminal.type("y\n")
    terminal.wait_for("Apply changes to 3 files?")
    terminal.type("y\n")
    assert terminal.wait_exit() == 0, terminal.text
    assert "src/tally/__init__.py" in terminal.text.partition("Rollback strategy")[0]
    assert house.changed() == DONE


@pytest.mark.crash
def test_ctrl_c_takes_back_and_exits_with_130(house: House) -> None:
    gate = house.model.holds("documenter")
    process = house.shell.start("run", "task", TASK, "--yes")
    gate.wait_started()
    assert house.changed() != {}
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert (process.returncode, house.changed()) == (130, {})


@pytest.mark.crash
def test_a_killed_task_is_resumed_in_the_shell_and_asks_nobody_twice(house: House) -> None:
    gate = house.model.holds("documenter")
    process = house.shell.start("run", "task", TASK, "--yes")
    gate.wait_started()
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    gate.wait_disconnected()
    gate.release()
    run = only_run(house.shell)
    assert run["state"] == "interrupted"
    done = house.shell.run("resume", run["execution_id"], "--yes", "--json")
    assert (done.returncode, object_of(done)["ok"]) == (0, True), done.stderr
    assert house.changed() == DONE
    assert [house.model.asked(role) for role in ("planner", "auditor", "executor")] == [1, 1, 1]


def test_a_task_that_was_done_is_rolled_back_by_hand(house: House) -> None:
    done = house.run("--yes", "--json")
    assert done.returncode == 0, done.stderr
    assert house.changed() == DONE
    back = house.shell.run("rollback", "--yes", object_of(done)["execution_id"])
    assert (back.returncode, house.changed()) == (0, {}), back.stderr
