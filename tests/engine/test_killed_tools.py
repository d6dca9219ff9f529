"""A step with tools, killed after every turn: it goes on in its loop, and its edits are written once."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.engine.logbook import RUN
from tests.engine.test_killed import REPOSITORY
from tideate_core.engine import EventName
from tideate_core.workflows import WorkflowDefinition

if TYPE_CHECKING:
    from tests.harness.bench import Bench

pytestmark = [pytest.mark.concurrency, pytest.mark.slow]

FLOW = {"name": "flow", "steps": [{"id": "fix", "task": "Correct the greeting", "tools": ["look", "edits"]}]}
CHILD = """
import asyncio, os, pathlib, signal, sys
from types import SimpleNamespace
from tests.harness.bench import Bench
from tests.engine.logbook import RUN
from tests.engine.test_killed_tools import FLOW
from tideate_core.engine import RunRequest
from tideate_core.engine.review import review
from tideate_core.engine.context.context import Context
from tideate_core.workflows import WorkflowDefinition
from tests.harness.resumed import go_on

root, url, where = sys.argv[1:]
take_turn, write = Context.take_turn, review.write_changes

def die():
    os.kill(os.getpid(), signal.SIGKILL)

async def taken(self, *args, **named):
    before = self.usage
    turn = await take_turn(self, *args, **named)
    if self.usage != before:  # a turn that was recorded before takes nothing
        die()
    return turn

async def written(*args, **named):
    await write(*args, **named)
    die()

async def main():
    bench = Bench(pathlib.Path(root), SimpleNamespace(base_url=url), tools=True)
    bench.registry.register(WorkflowDefinition.model_validate(FLOW), {})
    if where == "turn":
        Context.take_turn = taken
    else:
        review.write_changes = written
    await go_on(bench.runner, RunRequest(name="flow", execution_id=RUN))
    await bench.aclose()

asyncio.run(main())
"""


@pytest.fixture
def tools() -> bool:
    return True


@pytest.fixture(autouse=True)
def scripted(bench: Bench) -> None:
    bench.registry.register(WorkflowDefinition.model_validate(FLOW), {})
    bench.write("a.txt", "helo\n")
    bench.server.calls("Correct", "read_file", {"path": "a.txt"}, times=1)
    edits = [{"search": "helo", "replace": "hello"}]
    bench.server.calls("Correct", "edit_file", {"path": "a.txt", "edits": edits}, times=1)
    bench.server.answers("Correct", "It says hello now.", times=1)


def run_until_killed(bench: Bench, where: str) -> bool:
    """Run or resume the run in a process that kills itself; return whether it did."""
    command = [sys.executable, "-c", CHILD, str(bench.root), bench.server.base_url, where]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode in {0, -signal.SIGKILL}, done.stderr
    return done.returncode != 0


async def test_killed_after_every_turn_it_asks_nothing_twice_and_writes_at_its_end(bench: Bench) -> None:
    for turn in range(1, 4):
        assert await asyncio.to_thread(run_until_killed, bench, "turn")
        assert len(bench.server.requests) == turn
        assert bench.fingerprint() == {"a.txt": b"helo\n"}
    result = await bench.resume(RUN)
    assert result.results["fix"] == {"response": "It says hello now.", "files": ["a.txt"]}, result.error
    assert len(bench.server.requests) == 3
    assert bench.fingerprint() == {"a.txt": b"hello\n"}


async def test_killed_when_its_edits_are_written_it_writes_them_anew_without_a_question(bench: Bench) -> None:
    assert await asyncio.to_thread(run_until_killed, bench, "written")
    assert bench.fingerprint() == {"a.txt": b"hello\n"}
    result = await bench.resume(RUN)
    assert result.as_json()["results"]["fix"]["files"] == ["a.txt"], result.error
    assert bench.front.data(EventName.CONFIRMATION_REQUIRED) == [], "it was answered before"
    assert bench.fingerprint() == {"a.txt": b"hello\n"}
    await bench.workspace().rollback(RUN)
    assert bench.fingerprint() == {"a.txt": b"helo\n"}
