"""All `tideate` commands of the documents, run in order in a project with the named files and runs."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.harness.documents import arguments_of, shell_lines, the_block

if TYPE_CHECKING:
    from tests.harness.model_server import ModelServer
    from tests.harness.shell import Shell

pytestmark = pytest.mark.slow

NOT_RUN = re.compile(
    r"login|mcp serve|mcp tools files|models openai|project (move OLD|forget PATH)|git/git_log|gh auth"
    r"|tideate chat|tideate watch|tideate (worker|submit|fleet|schedule) "
)
"""Commands that wait for a client, a change or a person, call a foreign server, or have placeholders."""
REFUSED = re.compile(
    r"no guarded session has the id|(claude|codex|opencode) is not installed"
    r"|no step of run|no terminal to (choose|ask) on|changed no file|continues only runs of|there is no turn"
)
"""Expected refusals: there is no person, and one run serves all examples."""
SHOP = '"""A shop."""\n\n\ndef total(prices):\n    result = 0\n    for price in prices:\n'
SHOP += "        result += price\n    return result\n\n\nend = 1\n"
TWO_STEPS = "inputs:\n  n: {type: string, default: '1'}\nsteps:\n  - {id: plan, task: Plan}\n"
TWO_STEPS += "  - {id: merge, task: 'Merge {{ inputs.n }}', dependencies: [plan]}\n"


@pytest.fixture
def names(shell: Shell, answering: ModelServer) -> dict[str, str]:
    """Ids of runs and snapshots, by their examples in the documents."""
    answering.answers("", "```python\ndef total(prices):\n    return sum(prices)\n```")
    config = shell.home / "config" / "tideate" / "config.toml"
    other = config.read_text().partition("[adapters.fake]")[2]
    config.write_text(f"{config.read_text()}[adapters.other]{other}")
    shell.write("shop.py", SHOP)
    shell.write("own.yaml", TWO_STEPS)
    shell.write(".tideate/workflows/guide.yaml", the_block("docs/workflows/steps.md", "yaml", "id: topics"))
    shell.write("careful.workflow", the_block("docs/workflows/machines.md", "", "* to draft"))
    subprocess.run(["git", "init", "-q"], cwd=shell.project, env=shell.env, check=True)
    runs = [shell.json("run", "own.yaml", "--yes")["execution_id"] for _ in range(2)]
    snapshot = shell.run("snapshot", "create").stdout.split()[0]
    asked = shell.json("run", "ask", "What is a monad?")["execution_id"]
    return {
        "3f2a": asked,
        "3f2a.merge": f"{runs[0]}.merge",
        "9c1b": runs[1],
        "9bbfc8d1": snapshot,
        "5f76a205": snapshot,
        "3f2a8c": snapshot,
    }


@pytest.mark.timeout(900)  # a hundred commands, one after the other
def test_every_documented_command_does_what_it_can(shell: Shell, names: dict[str, str]) -> None:
    wrong = []
    for where, line in shell_lines():
        if NOT_RUN.search(line):
            continue
        words = arguments_of(line)
        words = [names.get(word, word) for word in words]
        done = shell.run(*words, stdin=TWO_STEPS if "-" in words else "")
        is_right = done.returncode in {0, 1, 3} or REFUSED.search(done.stderr)
        if not is_right or "Traceback" in done.stderr:
            wrong.append((where, line, done.returncode, done.stderr[-300:]))
    assert wrong == [], "\n".join(map(str, wrong))
