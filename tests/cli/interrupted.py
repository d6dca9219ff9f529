"""Runs that tests interrupt, and the JSON output of commands."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import subprocess

    from tests.harness.model_server import Gate, ModelServer
    from tests.harness.shell import Shell
    from tests.harness.terminal import Terminal

LOOP = "def total(n):\n    t = 0\n    for i in range(n):\n        t += i\n    return t\n"
SHORT = "def total(n):\n    return sum(range(n))\n"
REFACTOR = ["run", "refactor", "shorten", "--file", "a.py", "--yes"]


def scripted(server: ModelServer, code: str = SHORT) -> None:
    """Script the analysis and the answer of a refactoring."""
    server.answers("what does the code do", "- it adds up")
    server.answers("Rewrite these lines", f"```python\n{code}```")


def object_of(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """Return the one object on stdout."""
    shape: dict[str, Any] = json.loads(done.stdout)
    return shape


def count_requests(server: ModelServer, words: str) -> int:
    """Count the requests with these words."""
    return sum(words in str(request) for request in server.requests)


def only_run(shell: Shell) -> dict[str, Any]:
    """Return the only run of the project."""
    (run,) = shell.json("history")["runs"]
    assert isinstance(run, dict)
    return run


def held_run(shell: Shell, server: ModelServer) -> tuple[subprocess.Popen[str], Gate]:
    """Start a refactoring, and hold the answer to its second step."""
    shell.write("a.py", LOOP)
    server.answers("what does the code do", "- it adds up")
    gate = server.holds("Rewrite these lines", text=f"```python\n{SHORT}```")
    process = shell.start(*REFACTOR, forked=False)
    gate.wait_started()
    return process, gate


def kill(process: subprocess.Popen[str], *gates: Gate) -> None:
    """Kill a run during held requests, then let the model answer."""
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    for gate in gates:
        gate.wait_disconnected()
        gate.release()


def killed(shell: Shell, server: ModelServer) -> dict[str, Any]:
    """Kill a refactoring during its second step; return the run. The model answers afterwards."""
    process, gate = held_run(shell, server)
    kill(process, gate)
    run = only_run(shell)
    assert (run["state"], run["completed_steps"]) == ("interrupted", 1)
    return run


def refactored(shell: Shell, server: ModelServer) -> str:
    """Run a refactoring to its end; return its id."""
    shell.write("a.py", LOOP)
    scripted(server)
    done = shell.ok(*REFACTOR, "--json")
    return str(object_of(done)["execution_id"])


def shouting(
    shell: Shell, server: ModelServer, *, forked: bool = True
) -> tuple[Terminal, list[str], list[str]]:
    """Open a review of three hunks at a terminal, reject the first; return the old and the new lines, too."""
    lines = [f"line {at}" for at in range(1, 41)]
    loud = [line.upper() if at in (4, 19, 34) else line for at, line in enumerate(lines)]
    shell.write("a.txt", "\n".join([*lines, ""]))
    server.answers("what does the code do", "- it lists lines")
    server.answers("Rewrite these lines", "```\n" + "\n".join([*loud, ""]) + "```")
    terminal = shell.open("run", "refactor", "shout", "--file", "a.txt", forked=forked)
    for shown, typed in (("[y/N]", "y\n"), ("[y/N/p/c/d]", "p\n"), ("hunk 1/3", "n\n"), ("hunk 2/3", "")):
        terminal.wait_for(shown)
        terminal.type(typed)
    return terminal, lines, loud
