"""tideate's own server is killed while it runs a project's command."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.mcp.client.conftest import error_of
from tests.mcp.client.test_client import is_alive
from tests.mcp.projects import Project, there, with_own_programs
from tideate_core.errors import ToolInterrupted
from tideate_core.mcp.client.specs import own_servers

if TYPE_CHECKING:
    from tests.harness.processes import Brood
    from tests.mcp.client.conftest import Make


@pytest.fixture
def project(tmp_path: Path, brood: Brood, monkeypatch: pytest.MonkeyPatch) -> Project:
    for name in ("state", "config"):
        monkeypatch.setenv(f"XDG_{name.upper()}_HOME", str(tmp_path / name))
    monkeypatch.setenv("PATH", with_own_programs())
    return Project(tmp_path, brood)


def server_of(root: Path) -> int:
    """Return the id of the server process of a directory, not of its guard."""
    ours = f"--root\0{root}\0".encode()
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):  # no process, or gone meanwhile
            line = (entry / "cmdline").read_bytes()
            if ours in line and b"guard.py" not in line:
                found.append(int(entry.name))
    (server,) = found
    return server


@pytest.mark.slow
async def test_the_call_ends_its_command_ends_and_the_next_call_has_a_new_server(
    project: Project, make: Make
) -> None:
    project.make("all", "echo $$$$ >pid.new && mv pid.new pid && exec sleep 600").trust()
    (build,) = [one for one in own_servers(project.root) if one.name == "build"]
    names = ("PATH", "XDG_STATE_HOME", "XDG_CONFIG_HOME")
    here = {name: os.environ[name] for name in names}
    client = make(replace(build, environment={**build.environment, **here}))
    running = asyncio.create_task(client.call("build", "build_run", {}))
    await there(project.root / "pid")
    command = int((project.root / "pid").read_text())
    server = server_of(project.root)
    os.kill(server, signal.SIGKILL)
    async with asyncio.timeout(60):
        assert isinstance(await error_of(running), ToolInterrupted)
        while is_alive(command):  # noqa: ASYNC110 of the system's work nobody is told
            await asyncio.sleep(0.01)
        answer = await client.call("build", "build_detect", {})
    assert answer.value["build"]["tool"] == "make"
    assert server_of(project.root) != server
