"""`tideate run agent`: the process is killed, and the run resumed."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests import harness
from tests.cli.interrupted import kill, only_run

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.harness.shell import Shell

pytestmark = pytest.mark.slow

LIMIT = 60.0
"""Seconds of every wait."""


class Helper:
    """The scripted agent `helper`, configured for a shell."""

    def __init__(self, shell: Shell, place: Path, *turns: list[dict[str, Any]]) -> None:
        self.place = place
        place.mkdir()
        program = Path(harness.__file__).with_name("acp_agent.py")
        can: dict[str, Any] = {"agentCapabilities": {"sessionCapabilities": {"resume": {}}}}
        (place / "helper.json").write_text(json.dumps({"turns": turns, "initialize": can}))
        command = json.dumps([sys.executable, "-S", str(program), str(place / "helper.json")])
        shell.configure(f"[adapters.helper]\nacp = {command}\n[agents.helper]\nwritable = ['{place}']\n")

    @property
    def prompts(self) -> list[str]:
        told = (json.loads(line) for line in (self.place / "helper.log").read_text().splitlines())
        return [one["params"]["prompt"][0]["text"] for one in told if one.get("method") == "session/prompt"]

    @property
    def processes(self) -> list[str]:
        """Return the living processes with the script's name in their arguments."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                arguments = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if str(self.place / "helper.json").encode() in arguments:
                found.append(folder.name)
        return found


def wait(reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT
    while not reached():
        if time.monotonic() > deadline:
            raise AssertionError(f"not so within {LIMIT} s")
        time.sleep(0.01)


def test_a_killed_process_takes_the_agent_with_it_and_its_turn_is_continued(
    shell: Shell, tmp_path: Path
) -> None:
    place = tmp_path / "place"
    first: list[dict[str, Any]] = [
        {"write": ["a.txt", "half\n"]},
        {"write": [str(place / "ready"), ""]},
        {"receive": "nothing"},
    ]
    helper = Helper(shell, place, first, [{"write": ["b.txt", "rest\n"]}, {"text": "done"}])
    shell.write("a.txt", "old\n")
    process = shell.start("run", "agent", "change it", "--adapter", "helper", "--yes", forked=False)
    wait((place / "ready").exists)
    kill(process)
    wait(lambda: not helper.processes)
    assert shell.read("a.txt") == "old\n"
    shell.ok("resume", only_run(shell)["execution_id"], "--yes")
    assert (shell.read("a.txt"), shell.read("b.txt")) == ("half\n", "rest\n")
    assert "interrupted" in helper.prompts[1]


def test_a_turn_that_ended_before_the_process_was_killed_is_reviewed(shell: Shell, tmp_path: Path) -> None:
    helper = Helper(shell, tmp_path / "place", [{"write": ["a.txt", "new\n"]}, {"text": "done"}])
    shell.write("a.txt", "old\n")
    terminal = shell.open("run", "agent", "change it", "--adapter", "helper")
    terminal.wait_for("Apply the change to a.txt")
    terminal.process.kill()
    terminal.wait_exit()
    assert shell.read("a.txt") == "old\n"
    shell.ok("resume", only_run(shell)["execution_id"], "--yes")
    assert shell.read("a.txt") == "new\n"
    assert len(helper.prompts) == 1
