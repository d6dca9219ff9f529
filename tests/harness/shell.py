"""The real command with a private home and a project."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tideate_core
from tests.harness.commands import MODULE, run_command
from tests.harness.fork_server import interpreter
from tests.harness.processes import Brood
from tests.harness.project import Project
from tests.harness.state import state_below
from tests.harness.terminal import Terminal

if TYPE_CHECKING:
    from tests.harness.model_server import ModelServer

__all__ = ["COMMAND", "PYTHON_PATH", "Shell"]

COMMAND = [sys.executable, "-m", MODULE]
PYTHON_PATH = str(Path(tideate_core.__file__).parent.parent)


class Shell(Project):
    """Runs `tideate` in a private project, without the tester's configuration."""

    def __init__(self, home: Path) -> None:
        self.home = home
        super().__init__(home / "project")
        self.write("pyproject.toml")
        self.brood = Brood()
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home / "config"),
            "XDG_STATE_HOME": str(home / "state"),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "PYTHONPATH": PYTHON_PATH,
            **self.brood.environment(),
        }
        self._terminals: list[Terminal] = []

    @property
    def project(self) -> Path:
        return self.root

    @property
    def state(self) -> Path:
        """The project's private state; it may not exist yet."""
        return state_below(self.home / "state", self.project)

    def configure(self, text: str) -> None:
        """Write the person's configuration."""
        (self.home / "config" / "tideate").mkdir(parents=True, exist_ok=True)
        (self.home / "config" / "tideate" / "config.toml").write_text(text)

    def use(self, server: ModelServer, *, tools: bool = False, more: str = "") -> None:
        """Make a server the default adapter.

        :param tools: its model calls tools.
        :param more: the rest of the configuration.
        """
        self.configure(
            f'adapter = "fake"\n[adapters.fake]\nbase_url = "{server.base_url}"\nmodel = "scripted"\n'
            f"tools = {str(tools).lower()}\n{more}"
        )

    def run(
        self, *arguments: str, stdin: str = "", cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run the command without a terminal to its end."""
        return run_command(arguments, environment=self.env, cwd=cwd or self.project, stdin=stdin, timeout=60)

    def json(self, *arguments: str) -> dict[str, Any]:
        """Run the command with `--json`, which may fail; return its object."""
        shape: dict[str, Any] = json.loads(self.run(*arguments, "--json").stdout)
        return shape

    def ok(self, *arguments: str, **rest: Any) -> subprocess.CompletedProcess[str]:
        """Run the command, which has to succeed."""
        done = self.run(*arguments, **rest)
        assert done.returncode == 0, done.stderr
        return done

    def fails(
        self, status: int, words: str, *arguments: str, **rest: Any
    ) -> subprocess.CompletedProcess[str]:
        """Run the command, which has to end with a status and to print some words on stderr."""
        done = self.run(*arguments, **rest)
        assert (done.returncode, words in done.stderr) == (status, True), done.stderr
        return done

    def start(self, *arguments: str, forked: bool = True) -> subprocess.Popen[str]:
        """Start the command without a terminal.

        :param forked: the returned process stands in for a forked one.
        """
        return subprocess.Popen(
            [interpreter() if forked else sys.executable, *COMMAND[1:], *arguments],
            env=self.env,
            cwd=self.project,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def open(
        self,
        *arguments: str,
        rows: int = 30,
        columns: int = 100,
        stdout: int | None = None,
        forked: bool = True,
    ) -> Terminal:
        """Start the command at a terminal.

        :param forked: as for `start`; all modules are already imported then.
        """
        terminal = Terminal(
            [interpreter() if forked else sys.executable, *COMMAND[1:], *arguments],
            env=self.env,
            cwd=self.project,
            rows=rows,
            columns=columns,
            stdout=stdout,
        )
        self._terminals.append(terminal)
        return terminal

    def close(self) -> None:
        for terminal in self._terminals:
            terminal.close()
        self.brood.kill()
