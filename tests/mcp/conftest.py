"""A small machine, and the real command that serves it, in a private home."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tideate_core
from tests.harness.processes import Brood
from tests.mcp.served import Served
from tideate_core.machines.language import Workflow

if TYPE_CHECKING:
    from collections.abc import Iterator

HARBOUR = Path(__file__).parent / "fixtures" / "harbour.workflow"
COMMAND = [sys.executable, "-m", "tideate_core.cli", "mcp", "serve"]
SERVE = [*COMMAND, "transitions"]
TOKEN = "tests-know-it-0123456789"
AUTHORIZED = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def harbour() -> Workflow:
    return Workflow(HARBOUR.read_text(), "harbour")


class Home:
    """Starter of servers that never see the developer's configuration, and ends them."""

    def __init__(self, directory: Path) -> None:
        self.project = directory / "project"
        self.project.mkdir()
        (self.project / "pyproject.toml").write_text("")
        self.state = directory / "state"
        self.brood = Brood()
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(directory),
            "XDG_CONFIG_HOME": str(directory / "config"),
            "XDG_STATE_HOME": str(self.state),
            "LANG": "C.UTF-8",
            "TIDEATE_MCP_TOKEN": TOKEN,
            "PYTHONPATH": str(Path(tideate_core.__file__).parent.parent),
            **self.brood.environment(),
        }
        self._served: list[Served] = []

    def command(self, *options: str, workflow: str = str(HARBOUR)) -> list[str]:
        return [*SERVE, "--workflow", workflow, "--root", str(self.project), *options]

    def start(self, *options: str, workflow: str = str(HARBOUR)) -> Served:
        served = Served(self.command(*options, workflow=workflow), self.environment, self.project)
        self._served.append(served)
        return served

    def project_command(self, name: str, *options: str) -> list[str]:
        """Return the command of a server for the project."""
        return [*COMMAND, name, "--root", str(self.project), *options]

    def serve(self, name: str, *options: str) -> Served:
        served = Served(self.project_command(name, *options), self.environment, self.project)
        self._served.append(served)
        return served

    def http(self, *options: str, workflow: str = str(HARBOUR)) -> str:
        """Start a server on a free port; return its address."""
        return self.start("--transport", "http", "--port", "0", *options, workflow=workflow).url()

    def close(self) -> None:
        for served in self._served:
            served.close()
        self.brood.kill()


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path)
    yield home
    home.close()


@pytest.fixture(scope="module")
def shared_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a WebSocket server shared by the tests of a module."""
    home = Home(tmp_path_factory.mktemp("shared"))
    yield home.start("--transport", "websocket", "--port", "0").url()
    home.close()
