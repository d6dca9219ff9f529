"""`tideate retry`, `tideate fork` and `tideate diff`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.interrupted import LOOP, SHORT, count_requests, object_of, refactored

if TYPE_CHECKING:
    from tests.harness.model_server import ModelServer
    from tests.harness.shell import Shell

pytestmark = pytest.mark.slow


def test_a_failed_run_is_retried_from_its_failed_step(shell: Shell, answering: ModelServer) -> None:
    shell.write("a.py", LOOP)
    answering.answers("what does the code do", "- it adds up")
    answering.fails("Rewrite these lines", status=400)
    failed = shell.json("run", "refactor", "shorten", "--file", "a.py", "--yes")
    assert not failed["ok"]
    run = failed["execution_id"]
    answering.forgets("Rewrite these lines")
    answering.answers("Rewrite these lines", f"```python\n{SHORT}```")
    done = shell.run("retry", run[:8], "--yes", "--json")
    result = object_of(done)
    assert (done.returncode, result["ok"]) == (0, True), done.stderr
    assert result["execution_id"] != run
    assert count_requests(answering, "what does the code do") == 1
    assert shell.read("a.py") == SHORT
    assert f"1 result of run {run[:8]} is reused; repeated from the step 'refactor' on" in done.stderr
    assert "resumed" not in done.stderr, "that is told once"
    assert f"from {run[:8]}.refactor\n" in shell.run("show", result["execution_id"]).stdout
    assert f"↻ {run[:8]}.refactor" in shell.run("history").stdout
    newest, oldest = shell.json("history")["runs"]
    assert newest["forked_from"] == {"execution_id": run, "step": "refactor"}
    assert (oldest["forked_from"], oldest["state"]) == (None, "failed")
    shell.ok("rollback", "--yes", result["execution_id"])
    assert shell.read("a.py") == LOOP


def test_nothing_is_started_before_a_yes(shell: Shell, answering: ModelServer) -> None:
    command = "retry"
    shell.write("a.py", LOOP)
    answering.answers("what does the code do", "- it adds up")
    answering.fails("Rewrite these lines", status=400)
    run = shell.json("run", "refactor", "shorten", "--file", "a.py", "--yes")["execution_id"]
    count = len(answering.requests)
    for policy, words in (((), "(--yes starts it)"), (("--no",), "declined; no run was started")):
        shell.fails(3, words, command, run[:8], *policy)
    assert shell.json(command, run[:8])["error_code"] == "Declined"
    terminal = shell.open(command, run[:8])
    terminal.answer((f"Rerun refactor {run[:8]} (shorten) from the step 'refactor'? 1 result is", "n"))
    assert terminal.wait_exit() == 3
    assert len(answering.requests) == count
    assert len(shell.json("history")["runs"]) == 1
    answering.forgets("Rewrite these lines")
    answering.answers("Rewrite these lines", f"```python\n{SHORT}```")
    terminal = shell.open(command, run[:8])
    terminal.answer(("[y/N]", "y"), "def total", ("[y/N", "n"))
    assert terminal.wait_exit() == 3
    assert len(answering.requests) > count


NO_KEY = """adapter = "closed"
[adapters.closed]
base_url = "http://127.0.0.1:9/v1"
model = "some"
api_key_env = "KEY_OF_NOBODY"
"""


@pytest.mark.parametrize("command", [("retry",), ("fork", "--adapter", "nosuch")])
def test_a_model_that_cannot_be_asked_is_told_before_the_question(
    shell: Shell, answering: ModelServer, command: tuple[str, ...]
) -> None:
    answering.fails("hello", status=400)
    run = shell.json("run", "ask", "hello")["execution_id"]
    shell.configure(NO_KEY)
    terminal = shell.open(*command, run[:8])
    terminal.wait_for("unknown adapter 'nosuch'" if "nosuch" in command else "$KEY_OF_NOBODY is not set")
    assert terminal.wait_exit() in (1, 2)
    assert "[y/N]" not in terminal.text
    assert len(shell.json("history")["runs"]) == 1


def test_a_fork_takes_another_result_of_a_step_before(shell: Shell, answering: ModelServer) -> None:
    run = refactored(shell, answering)
    shell.ok("rollback", "--yes", run)
    place = f"{run[:8]}.refactor"
    shell.ok("fork", place, "--yes", "--result", "analyze=- it counts sheep")
    assert "it counts sheep" in str(answering.requests[-1])
    assert shell.run("fork", place, "--yes", "--result", "refactor=x").returncode == 2
    assert shell.run("fork", place, "--yes", "--result", "analyze").returncode == 2


def test_nothing_is_asked_about_lines_that_the_run_has_replaced(shell: Shell, answering: ModelServer) -> None:
    run = refactored(shell, answering)
    count = len(answering.requests)
    refused = shell.fails(
        2,
        f"the lines of a.py that run {run[:8]} was about have changed",
        "fork",
        f"{run[:8]}.refactor",
        "--yes",
        "use",
        "a",
        "formula",
    )
    assert f"roll it back first (`tideate rollback {run[:8]}`)" in refused.stderr
    assert len(answering.requests) == count
    assert len(shell.json("history")["runs"]) == 1
    shell.ok("rollback", "--yes", run)
    shell.write("a.py", LOOP.replace("t = 0", "t = int()"))
    refused = shell.fails(2, "run the workflow on them again", "fork", f"{run[:8]}.refactor", "--yes")
    assert len(answering.requests) == count
    # by hand, as an editor does; what stands elsewhere is not in the way
    shell.write("a.py", f"import os\n\n\n{LOOP}")
    shell.ok("fork", f"{run[:8]}.refactor", "--yes", "use", "a", "formula")
    assert len(answering.requests) > count


def test_what_cannot_be_is_wrong_usage(shell: Shell, answering: ModelServer) -> None:
    shell.fails(2, "no run has the id 'abc'", "retry", "abc")
    run = refactored(shell, answering)
    for arguments, words in (
        (["retry", run], "no step of run"),
        (["retry", f"{run}.refactr"], "did you mean 'refactor'"),
        (["fork", f"{run}.analyze", "--prompt", "x", "y"], "given twice"),
        (["fork", f"{run}.analyze", "-i", "x"], "KEY=VALUE"),
        (["fork", f"{run}.analyze", "--adapter", "nobody", "--yes"], "nobody"),
    ):
        done = shell.run(*arguments)
        assert (done.returncode, words in " ".join(done.stderr.split())) == (2, True), done.stderr
    assert len(shell.json("history")["runs"]) == 1


def test_two_runs_are_compared(shell: Shell, answering: ModelServer) -> None:
    run = refactored(shell, answering)
    shell.ok("rollback", "--yes", run)
    answering.forgets("Rewrite these lines")
    answering.answers("Rewrite these lines", f"```python\n{SHORT.replace('sum', 'total_of')}```")
    forked = shell.json("fork", f"{run}.refactor", "--prompt", "use total_of", "--yes")
    other = forked["execution_id"]
    done = shell.ok("diff", run[:8], other[:8])
    for line in (
        "-shorten",
        "+use total_of",
        "-    return sum(range(n))",
        "+    return total_of(range(n))",
    ):
        assert line in done.stdout.splitlines(), done.stdout
    assert f"{run[:8]}.refactor" in done.stdout
    assert "completed, reused" in done.stdout
    shape = shell.json("diff", run, other)
    assert [one["execution_id"] for one in shape["runs"]] == [run, other]
    assert [edit["path"] for edit in shape["edits"]] == ["a.py"]
    assert shell.run("diff", run, "f" * 32).returncode == 2
    terminal = shell.open("diff", run, other, columns=80)
    terminal.wait_for("completed, reused")
    terminal.wait_for("+    return total_of(range(n))")
    assert terminal.wait_exit() == 0


def test_a_turn_of_a_step_is_taken_anew_with_what_is_said(shell: Shell, answering: ModelServer) -> None:
    shell.use(answering, tools=True)
    shell.write("a.py", LOOP)
    shell.write("b.py", "VALUE_OF_B = 41\n")
    answering.calls("what must not change", "read_file", {"path": "b.py"}, times=1)
    answering.answers("VALUE_OF_B", "- it adds up", times=1)
    answering.answers("in one fenced block", f"```python\n{SHORT}```", times=2)
    run = shell.json("run", "refactor", "shorten", "--file", "a.py", "--yes")
    assert run["ok"], (run, answering.unmatched)
    place = f"{run['execution_id'][:8]}.analyze"
    shell.ok("rollback", "--yes", run["execution_id"])
    thread = shell.run("show", run["execution_id"], "--step", "analyze", "--thread").stdout
    assert [line.split()[1] for line in thread.splitlines() if line.startswith("── ")] == [
        *("instructions", "you", "1", "2")
    ]
    count = len(answering.requests)
    answering.answers("say that it is slow, too", "- it adds up, slowly", times=1)
    done = shell.run("fork", place, "--turn", "2", "--say", "say that it is slow, too", "--yes", "--json")
    result = object_of(done)
    assert result["ok"], (done.stderr, answering.unmatched)
    assert result["results"]["analyze"] == "- it adds up, slowly"
    assert "repeated from turn 2 of the step 'analyze' on" in done.stderr
    again, _ = answering.requests[count:]
    assert [one["role"] for one in again["messages"][-3:]] == ["assistant", "tool", "user"]
    refused = shell.run("fork", place, "--turn", "3", "--yes")
    assert (refused.returncode, len(answering.requests)) == (2, count + 2)
    assert "there is no turn 3: the model took 2 turns in the step 'analyze' of run" in refused.stderr


def test_no_turn_is_taken_anew_with_another_definition(shell: Shell, answering: ModelServer) -> None:
    path = shell.write(".tideate/workflows/talk.yaml", "steps:\n  - id: one\n    task: say it\n")
    answering.answers("say it", "IT")
    run = shell.json("run", "talk")["execution_id"]
    path.write_text(path.read_text().replace("say it", "say it again"))
    count = len(answering.requests)
    for turn, code in ((["--turn", "1"], 2), ([], 0)):
        done = shell.run("fork", f"{run}.one", *turn, "--definition=file", "--yes")
        assert done.returncode == code, done.stderr
        assert ("taken with the definition as it was" in " ".join(done.stderr.split())) == bool(turn)
    assert len(answering.requests) == count + 1
