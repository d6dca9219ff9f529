"""The process of an agent, and of a host that is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.process.test_guard import runs
from tideate_core.adapters.acp.pipes import AgentPipes
from tideate_core.errors import AdapterUnavailable

if TYPE_CHECKING:
    from pathlib import Path

    from tests.adapters.acp.conftest import Script

HOST = """
import asyncio, os, sys
from pathlib import Path
from tideate_core.adapters.acp.pipes import AgentPipes

async def main():
    pipes = await AgentPipes.start("a", sys.argv[1:], cwd=Path.cwd(), environment=dict(os.environ))
    asked = {"prompt": [{"text": ""}]}
    await pipes.send({"jsonrpc": "2.0", "id": 1, "method": "session/prompt", "params": asked})
    print(await pipes.receive(), flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.slow
def test_an_agent_and_its_children_end_with_a_killed_host(script: Script, place: Path) -> None:
    child = ["sh", "-c", "setsid sleep 300 >/dev/null 2>&1 & echo $! > pid"]
    command = script([{"run": child}, {"receive": "nothing"}])
    with subprocess.Popen([sys.executable, "-c", HOST, *command], cwd=place, stdout=subprocess.PIPE) as host:
        assert host.stdout is not None
        host.stdout.readline()
        assert runs(place)
        os.kill(host.pid, signal.SIGKILL)
    deadline = time.monotonic() + 30
    while runs(place) and time.monotonic() < deadline:
        pass
    assert not runs(place)


async def test_a_program_that_cannot_run_is_unavailable(place: Path) -> None:
    (place / "agent").write_text("no program")
    (place / "agent").chmod(0o755)
    pipes = await AgentPipes.start("a", [str(place / "agent")], cwd=place, environment={})
    assert await pipes.receive() is None
    await pipes.close()
    assert "cannot be run" in pipes.last_words


async def test_a_missing_interpreter_is_unavailable(place: Path) -> None:
    with pytest.raises(AdapterUnavailable, match="cannot be started"):
        await AgentPipes.start("a", ["x"], cwd=place, environment={}, within=lambda _: ["/nosuch/program"])
