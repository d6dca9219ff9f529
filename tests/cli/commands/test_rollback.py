"""`tideate rollback` without an id, by the beginning of one, and of runs that have not ended."""

from __future__ import annotations

import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cli.interrupted import LOOP, SHORT, killed, object_of, only_run, refactored

if TYPE_CHECKING:
    from tests.cli.conftest import Shell
    from tests.support.model_server import ModelServer

pytestmark = pytest.mark.slow


def test_runs_with_changes_are_listed_until_they_are_taken_back(shell: Shell, answering: ModelServer) -> None:
    assert "no run has changes" in shell.run("rollback").stderr
    run = refactored(shell, answering)
    (listed,) = object_of(shell.run("rollback", "--json"))["runs"]
    assert (listed["execution_id"], listed["files"], listed["changed_since"]) == (run, ["a.py"], [])
    done = shell.run("rollback", "--yes", run[:6])
    assert (done.returncode, (shell.project / "a.py").read_text()) == (0, LOOP), done.stderr
    assert object_of(shell.run("rollback", "--json"))["runs"] == []


def test_the_last_run_is_rolled_back_by_that_name(shell: Shell, answering: ModelServer) -> None:
    refactored(shell, answering)
    done = shell.run("rollback", "--yes", "last")
    assert (done.returncode, (shell.project / "a.py").read_text()) == (0, LOOP), done.stderr
    assert "1 restored" not in done.stderr
    assert ": 1 restored: a.py" in (shell.home / "state" / "tideate" / "shell.log").read_text()


def test_a_dry_run_shows_the_differences_and_changes_nothing(shell: Shell, answering: ModelServer) -> None:
    run = refactored(shell, answering)
    written = (shell.project / "a.py").read_text()
    ahead = shell.run("rollback", "--dry-run", run[:6])
    assert (ahead.returncode, (shell.project / "a.py").read_text()) == (0, written), ahead.stderr
    assert "would be restored: a.py" in ahead.stderr
    patched = subprocess.run(
        ["git", "apply", "-"],
        input=ahead.stdout,
        cwd=shell.project,
        text=True,
        capture_output=True,
        check=False,
    )
    assert (patched.returncode, (shell.project / "a.py").read_text()) == (0, LOOP), patched.stderr
    (shell.project / "a.py").write_text("mine\n")
    refused = shell.run("rollback", "--dry-run", run)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "in its way: a.py (changed" in refused.stderr
    shape = object_of(shell.run("rollback", "--dry-run", "--json", run))
    assert (shape["ok"], shape["files"], list(shape["reasons"])) == (False, [], ["a.py"])


@pytest.mark.parametrize("options", [["--dry-run"], ["--dry-run", "--yes", "abc"]])
def test_a_dry_run_is_of_a_run_and_no_answer(shell: Shell, options: list[str]) -> None:
    refused = shell.run("rollback", *options)
    assert (refused.returncode, "--dry-run requires a run" in refused.stderr) == (2, True), refused.stderr


def test_what_was_changed_since_is_said_in_the_list(shell: Shell, answering: ModelServer) -> None:
    refactored(shell, answering)
    shell.write("a.py", "mine\n")
    assert "nothing: a.py: changed" in shell.run("rollback").stdout


def test_a_damaged_database_keeps_nobody_from_taking_back(shell: Shell, answering: ModelServer) -> None:
    run = refactored(shell, answering)
    for file in (shell.state).glob("tideate.db-*"):
        file.unlink()
    (shell.state / "tideate.db").write_bytes(b"no database at all" * 1000)
    done = shell.run("rollback", "--yes", run)
    assert (done.returncode, (shell.project / "a.py").read_text()) == (0, LOOP), done.stderr
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
    answering.answers("what does the code do", "- it adds up")
    answering.answers("Rewrite these lines", f"```python\n{SHORT}```")
    gate = answering.holds("Say that it is done")
    both = str(shell.write("both.yaml", NESTED))
    assert shell.run("trust", "--yes", both).returncode == 0
    process = shell.start("run", both, "--file", "a.py", "--yes")
    gate.wait_started()
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    run = only_run(shell)
    assert (run["state"], file.read_text()) == ("interrupted", SHORT)
    shown = object_of(shell.run("show", run["execution_id"], "--json"))
    assert [(child["workflow"], child["parent_step"]) for child in shown["runs"]] == [("refactor", "first")]
    done = shell.run("rollback", "--yes", run["execution_id"][:8])
    assert (done.returncode, file.read_text()) == (0, LOOP), done.stderr
    assert "it is cancelled now" in done.stderr
    assert only_run(shell)["state"] == "cancelled"


@pytest.mark.crash
def test_a_run_without_changes_is_told_apart(shell: Shell, answering: ModelServer) -> None:
    run = killed(shell, answering)["execution_id"]
    done = shell.run("rollback", "--yes", run)
    assert (done.returncode, "changed no file" in done.stderr) == (2, True), done.stderr
