"""Resume, pause and cancellation of killed runs and of runs of living processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.interrupted import (
    LOOP,
    SHORT,
    count_requests,
    held_run,
    killed,
    object_of,
    only_run,
    shouting,
)

if TYPE_CHECKING:
    from tests.harness.model_server import ModelServer
    from tests.harness.shell import Shell

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
    assert count_requests(answering, "what does the code do") == 1
    assert shell.read("a.py") == SHORT
    assert "resumed after 1 step completed before" in done.stderr
    assert only_run(shell)["state"] == "completed"
    assert shell.run("list").stderr == ""


def test_without_an_id_a_person_is_asked_about_the_newest(shell: Shell, answering: ModelServer) -> None:
    killed(shell, answering)
    terminal = shell.open("resume")
    terminal.answer("refactor (", ("Resume it? [Y/n]", "n"))
    assert terminal.wait_exit() == 3
    again = shell.open("resume")
    again.answer(("Resume it? [Y/n]", "y"))
    again.wait_for("[y/N/p/c/d]")  # the review: it was never answered
    again.type("y\n")
    assert again.wait_exit() == 0
    assert shell.read("a.py") == SHORT


def test_without_a_terminal_the_run_has_to_be_named_and_only_its_process_can_pause_it(
    shell: Shell, answering: ModelServer
) -> None:
    shell.fails(2, "no run can be resumed", "resume")
    run = killed(shell, answering)["execution_id"]
    shell.fails(2, f"`tideate resume {run[:8]}`", "resume")
    paused = shell.run("pause", run, "--json")
    assert (paused.returncode, object_of(paused)["error_code"]) == (1, "RunNotActive")
    assert f"tideate resume {run}" in object_of(paused)["error"]
    assert only_run(shell)["state"] == "interrupted"


def test_yes_keeps_what_was_rejected_before(shell: Shell, answering: ModelServer) -> None:
    terminal, lines, loud = shouting(shell, answering)
    file = shell.project / "a.txt"
    terminal.process.kill()
    terminal.wait_exit()
    run = only_run(shell)["execution_id"]
    shell.fails(3, "resume it at a terminal or in Neovim", "resume", run)
    assert file.read_text() == "\n".join([*lines, ""])
    done = shell.ok("resume", run, "--yes")
    assert "[yes, your earlier decisions are kept]" in done.stderr
    assert file.read_text() == "\n".join([*lines[:5], *loud[5:], ""])


def test_a_run_that_a_living_process_has_is_left_to_it(shell: Shell, answering: ModelServer) -> None:
    process, gate = held_run(shell, answering)
    run = only_run(shell)
    assert (run["state"], run["owner"]["pid"]) == ("running", process.pid)
    done = shell.run("resume", run["execution_id"], "--yes", "--json")
    assert (done.returncode, object_of(done)["error_code"]) == (1, "RunIsOwned")
    assert str(process.pid) in object_of(done)["error"]
    gate.release()
    assert process.wait(60) == 0
    process.communicate()


def test_cancel_reaches_the_process_that_has_the_run(shell: Shell, answering: ModelServer) -> None:
    process, gate = held_run(shell, answering)
    done = shell.run("cancel", only_run(shell)["execution_id"][:6], "--json")
    assert (done.returncode, object_of(done)["state"]) == (0, "cancelled"), done.stdout
    gate.wait_disconnected()
    _, stderr = process.communicate(timeout=60)
    assert (process.returncode, "cancelled" in stderr) == (3, True), stderr


def test_cancel_ends_a_run_that_nobody_has(shell: Shell, answering: ModelServer) -> None:
    run = killed(shell, answering)["execution_id"]
    done = shell.run("cancel", run)
    assert (done.returncode, "is cancelled" in done.stderr) == (0, True), done.stderr
    shown = shell.json("show", run, "--events")
    assert (shown["state"], shown["completed_steps"], shown["owner"]) == ("cancelled", 1, None)
    assert shown["events"][-1]["name"] == "SD_EVENT_WORKFLOW_CANCELLED"
    summary = (shell.project / ".tideate" / "workflow" / "reports" / "run-summary.json").read_text()
    assert run in summary
    shell.fails(1, "nothing left to cancel", "cancel", run)


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
    assert count_requests(answering, "Rewrite these lines") == 0
    woken = shell.run("resume", run)
    assert (woken.returncode, f"process {process.pid}" in woken.stderr) == (0, True), woken.stderr
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 0, stderr
    assert f"`tideate resume {run[:8]}` resumes it" in stderr
    assert shell.read("a.py") == SHORT
