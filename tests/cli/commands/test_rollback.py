"""`tideate rollback` without an id, by the beginning of one, and of runs that have not ended."""

from __future__ import annotations

import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cli.interrupted import LOOP, SHORT, killed, only_run, refactored, scripted

if TYPE_CHECKING:
    from tests.harness.model_server import ModelServer
    from tests.harness.shell import Shell

pytestmark = pytest.mark.slow


def test_runs_with_changes_are_listed_until_they_are_rolled_back(
    shell: Shell, answering: ModelServer
) -> None:
    assert "no run has changes" in shell.run("rollback").stderr
    run = refactored(shell, answering)
    (listed,) = shell.json("rollback")["runs"]
    assert (listed["execution_id"], listed["files"], listed["changed_since"]) == (run, ["a.py"], [])
    done = shell.run("rollback", "--yes", run[:6])
    assert (done.returncode, shell.read("a.py")) == (0, LOOP), done.stderr
    assert shell.json("rollback")["runs"] == []


def test_the_last_run_is_rolled_back_by_that_name(shell: Shell, answering: ModelServer) -> None:
    refactored(shell, answering)
    done = shell.run("rollback", "--yes", "last")
    assert (done.returncode, shell.read("a.py")) == (0, LOOP), done.stderr
    assert "1 restored" not in done.stderr
    assert ": 1 restored: a.py" in (shell.home / "state" / "tideate" / "shell.log").read_text()


def test_a_dry_run_shows_the_differences_and_changes_nothing(shell: Shell, answering: ModelServer) -> None:
    run = refactored(shell, answering)
    written = shell.read("a.py")
    ahead = shell.run("rollback", "--dry-run", run[:6])
    assert (ahead.returncode, shell.read("a.py")) == (0, written), ahead.stderr
    assert "would be restored: a.py" in ahead.stderr
    patched = subprocess.run(
        ["git", "apply", "-"],
        input=ahead.stdout,
        cwd=shell.project,
        text=True,
        capture_output=True,
        check=False,
    )
    assert (patched.returncode, shell.read("a.py")) == (0, LOOP), patched.stderr
    (shell.project / "a.py").write_text("mine\n")
    refused = shell.run("rollback", "--dry-run", run)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "in its way: a.py (changed" in refused.stderr
    shape = shell.json("rollback", "--dry-run", run)
    assert (shape["ok"], shape["files"], list(shape["reasons"])) == (False, [], ["a.py"])


@pytest.mark.parametrize("options", [["--dry-run"], ["--dry-run", "--yes", "abc"]])
def test_a_dry_run_is_of_a_run_and_no_answer(shell: Shell, options: list[str]) -> None:
    shell.fails(2, "--dry-run requires a run", "rollback", *options)


def test_what_was_changed_since_is_named_and_stays(shell: Shell, answering: ModelServer) -> None:
    run = refactored(shell, answering)
    shell.write("a.py", "mine\n")
    assert "nothing: a.py: changed" in shell.run("rollback").stdout
    shell.fails(1, "a.py", "rollback", "--yes", run)
    assert shell.read("a.py") == "mine\n"


def test_a_damaged_database_does_not_prevent_a_rollback(shell: Shell, answering: ModelServer) -> None:
    run = refactored(shell, answering)
    for file in (shell.state).glob("tideate.db-*"):
        file.unlink()
    (shell.state / "tideate.db").write_bytes(b"no database at all" * 1000)
    done = shell.run("rollback", "--yes", run)
    assert (done.returncode, shell.read("a.py")) == (0, LOOP), done.stderr
    assert "is not a database" in done.stderr


NESTED = """\
name: both
steps:
  - id: first
    workflow: {name: refactor, prompt: shorten}
  - id: second
    task: Say that it is done.
    dependencies: [first]
"""


@pytest.mark.crash
def test_a_run_that_could_go_on_is_cancelled_with_its_changes(shell: Shell, answering: ModelServer) -> None:
    file = shell.write("a.py", LOOP)
    scripted(answering)
    gate = answering.holds("Say that it is done")
    both = str(shell.write("both.yaml", NESTED))
    shell.ok("trust", "--yes", both)
    process = shell.start("run", both, "--file", "a.py", "--yes")
    gate.wait_started()
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    run = only_run(shell)
    assert (run["state"], file.read_text()) == ("interrupted", SHORT)
    shown = shell.json("show", run["execution_id"])
    assert [(child["workflow"], child["parent_step"]) for child in shown["runs"]] == [("refactor", "first")]
    done = shell.run("rollback", "--yes", run["execution_id"][:8])
    assert (done.returncode, file.read_text()) == (0, LOOP), done.stderr
    assert "it is cancelled now" in done.stderr
    assert only_run(shell)["state"] == "cancelled"


@pytest.mark.crash
def test_a_run_without_changes_is_told_apart(shell: Shell, answering: ModelServer) -> None:
    run = killed(shell, answering)["execution_id"]
    shell.fails(2, "changed no file", "rollback", "--yes", run)
