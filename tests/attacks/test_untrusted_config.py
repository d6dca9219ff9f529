"""An untrusted configuration with extreme values for every key, in a project with a person's work.

Snapshots, history and files stay, no program runs, and no more is asked of models than without the file.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from tests.config.test_untrusted import candidates, leaves, toml, variants
from tests.harness.model_server import ModelServer, events
from tideate_core.config import Config

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.shell import Shell


pytestmark = [pytest.mark.attack, pytest.mark.slow]

OWN = """
adapter = "mine"
[adapters.mine]
base_url = "{url}"
model = "m"
tools = true
[limits]
turns = 5
attempts = 2
[snapshots]
keep = 6
"""
LARGE = 3 * 2**20
"""Bytes of the person's file: more than the lowest limits of snapshots."""


def merged(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    both = dict(one)
    for key, value in other.items():
        inner = both.get(key)
        both[key] = merged(inner, value) if isinstance(inner, dict) and isinstance(value, dict) else value
    return both


def extreme(url: str, program: list[str], *, highest: bool) -> tuple[dict[str, Any], set[str]]:
    """Return a valid configuration with extreme values, and the keys that exclude each other."""
    whole: dict[str, Any] = {}
    left: set[str] = set()
    for path, field in leaves(Config):
        tried = candidates(field)
        numbers = sorted((one for one in tried if type(one) in (int, float)), reverse=highest)
        others = [one for one in tried if one not in numbers]
        values = [program, "mine", url, *numbers, *(others if highest else reversed(others))]
        wholes = (merged(whole, one) for value in values for one in variants(path, value))
        found = next(filter(is_valid, wholes), None)
        left |= {".".join(path)} if found is None else set()
        whole = found or whole
    return whole, left


def is_valid(values: dict[str, Any]) -> bool:
    try:
        Config.model_validate(values)
    except ValidationError:
        return False
    return True


def work(shell: Shell, server: ModelServer) -> list[int]:
    """Run commands that ask models; return the requests of each, with a model that never finishes."""
    shell.write("a.py", "one = 1\n")
    counts = []
    for prompt, workflow in (("Look round", "generate"), ("Change it", "refactor")):
        for number in range(40):
            call = {"name": "search", "arguments": json.dumps({"pattern": f"word{number}"})}
            delta = {"tool_calls": [{"index": 0, "id": f"c{number}", "type": "function", "function": call}]}
            server.sends(prompt, events(delta, finish_reason="tool_calls"), times=1)
        before = len(server.requests)
        shell.run("run", workflow, prompt, "--file", "a.py:1-1", "--yes")
        server.forgets(prompt)
        counts.append(len(server.requests) - before)
    return counts


def kept(shell: Shell) -> set[str]:
    """Return the ids of the person's snapshots and runs."""
    snapshots = json.loads(shell.run("snapshot", "list", "--json").stdout)["snapshots"]
    runs = json.loads(shell.run("history", "--json").stdout)["runs"]
    return {*(one["id"] for one in snapshots), *(one["execution_id"] for one in runs)}


@pytest.mark.parametrize("highest", [True, False], ids=["highest", "lowest"])
def test_nothing_of_a_persons_changes_and_nothing_more_is_spent(
    shell: Shell, server: ModelServer, tmp_path: Path, highest: bool
) -> None:
    shell.configure(OWN.format(url=server.base_url))
    large = shell.write("large.bin", "x" * LARGE)
    for number in range(4):
        shell.write("words.txt", f"work {number}\n")
        assert shell.run("snapshot", "create", f"mine{number}").returncode == 0
    spent = work(shell, server)
    assert all(spent)
    then = kept(shell)
    own = (tmp_path / "config/tideate/config.toml").read_bytes()

    ran = tmp_path / "ran"
    with ModelServer() as theirs:
        values, left = extreme(theirs.base_url, ["sh", "-c", f"touch {ran}"], highest=highest)
        shell.write(".tideate/config.toml", toml(values))
        assert all(key.endswith(("_command", "_env", ".url", ".acp", ".options")) for key in left), (
            "another one was taken"
        )
        now = work(shell, server)
        assert theirs.requests == []
    assert all(after <= before for after, before in zip(now, spent, strict=True))
    assert highest is (now == spent)
    late = shell.run("snapshot", "create", "late").stdout.split()[0]
    large.unlink()
    restored = shell.run("snapshot", "restore", late, "--yes")
    assert restored.returncode == 0, restored.stderr
    assert large.stat().st_size == LARGE
    assert shell.run("history", "--prune").returncode == 0
    assert then <= kept(shell)
    assert (tmp_path / "config/tideate/config.toml").read_bytes() == own
    assert not ran.exists()
