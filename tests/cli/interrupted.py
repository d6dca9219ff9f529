"""Runs that a test stops in their middle, and what the commands say of them."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import subprocess

    from tests.cli.conftest import Shell
    from tests.support.model_server import Gate, ModelServer

__all__ = ["LOOP", "SHORT", "asked", "held", "killed", "object_of", "only_run", "refactored"]

LOOP = "def total(n):\n    t = 0\n    for i in range(n):\n        t += i\n    return t\n"
SHORT = "def total(n):\n    return sum(range(n))\n"
REFACTOR = ["run", "refactor", "shorten", "--file", "a.py", "--yes"]


def object_of(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """Return the one object on stdout."""
    shape: dict[str, Any] = json.loads(done.stdout)
    return shape


def asked(server: ModelServer, words: str) -> int:
    """Count the requests with these words."""
    return sum(words in str(request) for request in server.requests)


def only_run(shell: Shell) -> dict[str, Any]:
    """Return the only run of the project."""
    (run,) = object_of(shell.run("history", "--json"))["runs"]
    assert isinstance(run, dict)
    return run


def held(shell: Shell, server: ModelServer) -> tuple[subprocess.Popen[str], Gate]:
    """Start a refactoring whose first step is done and whose second one waits for its answer."""
    shell.write("a.py", LOOP)
    server.answers("what does the code do", "- it adds up")
    gate = server.holds("Rewrite these lines", text=f"```python\n{SHORT}```")
    process = shell.start(*REFACTOR, forked=False)
    gate.wait_started()
    return process, gate


def killed(shell: Shell, server: ModelServer) -> dict[str, Any]:
    """Kill one in the middle of its second step; return the run. Its model answers afterwards."""
    process, gate = held(shell, server)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    gate.wait_disconnected()
    gate.release()
    run = only_run(shell)
    assert (run["state"], run["completed_steps"]) == ("interrupted", 1)
    return run


def refactored(shell: Shell, server: ModelServer) -> str:
    """Let a refactoring come to its end; return its id."""
    shell.write("a.py", LOOP)
    server.answers("what does the code do", "- it adds up")
    server.answers("Rewrite these lines", f"```python\n{SHORT}```")
    done = shell.run(*REFACTOR, "--json")
    assert done.returncode == 0, done.stderr
    return str(object_of(done)["execution_id"])
