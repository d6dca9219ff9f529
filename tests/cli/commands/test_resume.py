"""A run that was killed goes on; one that is alive is asked, not robbed."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from tests.cli.interrupted import LOOP, SHORT, asked, held, killed, object_of, only_run, refactored

if TYPE_CHECKING:
    from tests.cli.conftest import Shell
    from tests.support.model_server import ModelServer

pytestmark = [pytest.mark.crash, pytest.mark.slow]


def test_a_killed_run_goes_on_and_asks_no_step_again(shell: Shell, answering: ModelServer) -> None:
    run = killed(shell, answering)
    hinted = shell.run("list")
    assert f"`tideate resume {run['execution_id'][:8]}` resumes it" in hinted.stderr
    done = shell.run("resume", run["execution_id"][:8], "--yes", "--json")
    result = object_of(done)
    assert (done.returncode, result["ok"], result["execution_id"]) == (0, True, run["execution_id"]), (
        done.stderr
    )
    assert asked(answering, "what does the code do") == 1
    assert (shell.project / "a.py").read_text() == SHORT
    assert "resumed after 1 step completed before" in done.stderr
    assert only_run(shell)["state"] == "completed"
    assert shell.run("list").stderr == ""


def test_without_an_id_a_person_is_asked_about_the_newest(shell: Shell, answering: ModelServer) -> None:
    killed(shell, answering)
    terminal = shell.open("resume")
    terminal.wait_for("refactor (")
    terminal.wait_for("Resume it? [Y/n]")
    terminal.type("n\n")
    assert terminal.wait_exit() == 3
    again = shell.open("resume")
    again.wait_for("Resume it? [Y/n]")
    again.type("y\n")
    again.wait_for("[y/N/p/c/d]")  # the review: it was never answered
    again.type("y\n")
    assert again.wait_exit() == 0
    assert (shell.project / "a.py").read_text() == SHORT


def test_without_a_terminal_the_run_has_to_be_named(shell: Shell, answering: ModelServer) -> None:
    nothing = shell.run("resume")
    assert (nothing.returncode, "no run can be resumed" in nothing.stderr) == (2, True)
    run = killed(shell, answering)
    done = shell.run("resume")
    assert done.returncode == 2
    assert f"`tideate resume {run['execution_id'][:8]}`" in done.stderr
    assert only_run(shell)["state"] == "interrupted"


def test_yes_keeps_what_was_rejected_before(shell: Shell, answering: ModelServer) -> None:
    lines = [f"line {at}" for at in range(1, 41)]
    loud = [line.upper() if at in (4, 19, 34) else line for at, line in enumerate(lines)]
    file = shell.write("a.txt", "\n".join([*lines, ""]))
    answering.answers("what does the code do", "- it lists lines")
    answering.answers("Rewrite these lines", "```\n" + "\n".join([*loud, ""]) + "```")
    terminal = shell.open("run", "refactor", "shout", "--file", "a.txt")
    terminal.wait_for("[y/N]")
    terminal.type("y\n")
    terminal.wait_for("[y/N/p/c/d]")
    terminal.type("p\n")
    terminal.wait_for("hunk 1/3")
    terminal.type("n\n")
    terminal.wait_for("hunk 2/3")
    terminal.process.kill()
    terminal.wait_exit()
    run = only_run(shell)["execution_id"]
    unasked = shell.run("resume", run)
    assert (unasked.returncode, "resume it at a terminal or in Neovim" in unasked.stderr) == (3, True)
    assert file.read_text() == "\n".join([*lines, ""])
    done = shell.run("resume", run, "--yes")
    assert (done.returncode, "[yes, what you decided before is kept]" in done.stderr) == (0, True), (
        done.stderr
    )
    assert file.read_text() == "\n".join([*lines[:5], *loud[5:], ""])


def test_a_run_that_a_living_process_has_is_left_to_it(shell: Shell, answering: ModelServer) -> None:
    process, gate = held(shell, answering)
    run = only_run(shell)
    assert (run["state"], run["owner"]["pid"]) == ("running", process.pid)
    done = shell.run("resume", run["execution_id"], "--yes", "--json")
    assert (done.returncode, object_of(done)["error_code"]) == (1, "RunIsOwned")
    assert str(process.pid) in object_of(done)["error"]
    gate.release()
    assert process.wait(60) == 0
    process.communicate()


def test_a_run_that_ended_does_not_go_on(shell: Shell, answering: ModelServer) -> None:
    run = refactored(shell, answering)
    done = shell.run("resume", run, "--yes", "--json")
    assert (done.returncode, object_of(done)["error_code"]) == (1, "RunEnded")
    unknown = shell.run("resume", "0" * 32, "--json")
    assert (unknown.returncode, object_of(unknown)["error_code"]) == (2, "RunNotFound")


def test_ctrl_c_cancels_for_good(shell: Shell, answering: ModelServer) -> None:
    process, gate = held(shell, answering)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    gate.wait_disconnected()
    run = only_run(shell)
    assert (process.returncode, run["state"], run["resumable"]) == (130, "cancelled", False)
    assert (shell.project / "a.py").read_text() == LOOP


def test_cancel_reaches_the_process_that_has_the_run(shell: Shell, answering: ModelServer) -> None:
    process, gate = held(shell, answering)
    done = shell.run("cancel", only_run(shell)["execution_id"][:6], "--json")
    assert (done.returncode, object_of(done)["state"]) == (0, "cancelled"), done.stdout
    gate.wait_disconnected()
    _, stderr = process.communicate(timeout=60)
    assert (process.returncode, "cancelled" in stderr) == (3, True), stderr


def test_cancel_ends_a_run_that_nobody_has(shell: Shell, answering: ModelServer) -> None:
    run = killed(shell, answering)["execution_id"]
    done = shell.run("cancel", run)
    assert (done.returncode, "is cancelled" in done.stderr) == (0, True), done.stderr
    shown = object_of(shell.run("show", run, "--events", "--json"))
    assert (shown["state"], shown["completed_steps"], shown["owner"]) == ("cancelled", 1, None)
    assert shown["events"][-1]["name"] == "SD_EVENT_WORKFLOW_CANCELLED"
    summary = (shell.project / ".tideate" / "workflow" / "reports" / "run-summary.json").read_text()
    assert run in summary
    again = shell.run("cancel", run)
    assert (again.returncode, "nothing left to cancel" in again.stderr) == (1, True)


def test_a_run_pauses_and_goes_on_from_another_shell(shell: Shell, answering: ModelServer) -> None:
    shell.write("a.py", LOOP)
    gate = answering.holds("what does the code do", text="- it adds up")
    answering.answers("Rewrite these lines", f"```python\n{SHORT}```")
    process = shell.start("run", "refactor", "shorten", "--file", "a.py", "--yes", forked=False)
    gate.wait_started()
    run = only_run(shell)["execution_id"]
    asked_for = shell.run("pause", run, "--wait", "0", "--json")
    assert (asked_for.returncode, object_of(asked_for)["state"]) == (0, "running")
    gate.release()
    paused = shell.run("pause", run, "--json")
    assert object_of(paused)["state"] == "paused", paused.stdout
    assert asked(answering, "Rewrite these lines") == 0
    woken = shell.run("resume", run)
    assert (woken.returncode, f"process {process.pid}" in woken.stderr) == (0, True), woken.stderr
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 0, stderr
    assert f"`tideate resume {run[:8]}` resumes it" in stderr
    assert (shell.project / "a.py").read_text() == SHORT


def test_nobody_can_pause_a_run_that_nobody_has(shell: Shell, answering: ModelServer) -> None:
    run = killed(shell, answering)["execution_id"]
    done = shell.run("pause", run, "--json")
    assert (done.returncode, object_of(done)["error_code"]) == (1, "RunNotActive")
    assert f"tideate resume {run}" in object_of(done)["error"]


TWO_STEPS = """\
name: two
steps:
  - id: first
    task: Say one.
  - id: second
    task: Say two.
    dependencies: [first]
"""


def test_a_changed_definition_is_asked_about(shell: Shell, answering: ModelServer) -> None:
    answering.answers("Say one", "one")
    answering.answers("Say three", "three")
    gate = answering.holds("Say two", text="two")
    file = shell.write("two.yaml", TWO_STEPS)
    process = shell.start("run", str(file))
    gate.wait_started()
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    gate.release()
    run = only_run(shell)["execution_id"]
    file.write_text(TWO_STEPS.replace("Say two", "Say three"))
    unasked = shell.run("resume", run)
    assert (unasked.returncode, only_run(shell)["state"]) == (3, "interrupted"), unasked.stderr
    assert "--definition=stored" in unasked.stderr
    done = shell.run("resume", run, "--definition", "stored")
    assert (done.returncode, done.stdout) == (0, "two\n"), done.stderr
    assert (asked(answering, "Say one"), asked(answering, "Say three")) == (1, 0)
