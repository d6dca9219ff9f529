"""A private home, a project and a provider, in which a real agent is started in each of its ways."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from scripts.terminal import Terminal
from tests.external_agents.agents import PROGRAMS
from tests.external_agents.provider import ScriptedProvider
from tests.external_agents.turns import Turn, edit, read, shell, write
from tests.harness.model_rules import Gate
from tests.harness.processes import Brood
from tests.harness.project import Project, git, write_files
from tests.harness.shell import COMMAND, PYTHON_PATH

if TYPE_CHECKING:
    from typing import Self

    from tests.external_agents.agents import Agent

__all__ = ["START", "Rig"]

LIMIT = 120
"""Seconds for an agent's whole turn, on a busy machine too."""
START = {"a.txt": "one\ntwo\nthree\n", "b.txt": "b\n", "c.txt": "c\n"}


class Rig(Project):
    """See the module. Everything that it starts ends with it."""

    def __init__(self, place: Path, agent: Agent) -> None:
        super().__init__(place / "project")
        self.agent = agent
        self.home = place / "home"
        self.asks = False
        """Over the protocol, the agent asks for permissions."""
        self.is_free = True
        """The agent may start in a mode in which it does not ask."""
        self.more: dict[str, str] = {}
        """Of the environment."""
        self.provider = ScriptedProvider()
        # a guarded agent does not inherit the usual mark
        self.brood = Brood(f"HOME={self.home}")
        self._place = place
        self._terminals: list[Terminal] = []

    def __enter__(self) -> Self:
        self.provider.__enter__()
        write_files(self.root, START)
        git(self.root, "init", "-q", "-b", "main")
        git(self.root, "config", "user.name", "A Person")
        git(self.root, "config", "user.email", "a@b.example")
        git(self.root, "add", "-A")
        git(self.root, "commit", "-qm", "first")
        write_files(self.home, self.agent.files(self.provider.address, self.root))
        (self._place / "tmp").mkdir()
        return self

    def __exit__(self, *_: object) -> None:
        for terminal in self._terminals:
            terminal.close()
        self.brood.kill()
        self.provider.__exit__()

    def files(self) -> dict[str, bytes]:
        """Return the files of the project, without git's."""
        return {name: text for name, text in self.fingerprint().items() if not name.startswith(".git/")}

    def work(self) -> list[Turn]:
        """Turns with edits by tools, an edit by the shell, a deletion and a commit."""
        commands = "echo more >> b.txt; rm c.txt; git add -A; git commit -qm 'by the agent'"
        return [
            Turn("I look.", [read(self.root / "a.txt")]),
            Turn("I edit.", [edit(self.root / "a.txt", "two", "zwei")]),
            Turn("I write.", [write(self.root / "new.txt", "new\n")]),
            Turn("I run.", [shell(commands)]),
            Turn("Finished."),
        ]

    def stall(self) -> Gate:
        """Script an edit, a program in the background, and an answer that does not come."""
        gate = Gate()
        self.provider.plays(
            Turn("I look.", [read(self.root / "a.txt")]),
            Turn("I edit.", [edit(self.root / "a.txt", "two", "zwei")]),
            Turn("I run.", [shell("nohup sleep 1000 >/dev/null 2>&1 &")]),
            Turn("I wait.", gate=gate),
        )
        return gate

    @property
    def environment(self) -> dict[str, str]:
        """Without the tester's variables. Every other host is reached by a proxy that refuses."""
        proxies = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
        return {
            "PATH": os.pathsep.join([PROGRAMS, os.environ["PATH"]]),
            "HOME": str(self.home),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            # codex makes no links for its sandbox if its home lies below the temporary directory
            "TMPDIR": str(self._place / "tmp"),
            **dict.fromkeys(proxies, self.provider.address),
            **dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost"),
            **self.agent.variables(self.provider.address),
            **(self.agent.asking if self.asks else self.agent.free if self.is_free else {}),
            **self.more,
            **self.brood.environment(),
            "PYTHONPATH": PYTHON_PATH,
        }

    def configure(self, text: str) -> None:
        """Write the person's configuration of tideate."""
        write_files(self.home, {".config/tideate/config.toml": text})

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the project, without a terminal."""
        return subprocess.run(
            command,
            cwd=self.root,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )

    def tideate(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.run(*COMMAND, *arguments)

    def guarded(self, prompt: str) -> subprocess.Popen[str]:
        """Start `tideate guard` with a prompt for the agent, without a terminal."""
        return subprocess.Popen(
            [*COMMAND, "guard", "--json", *self.agent.once, prompt],
            cwd=self.root,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def start_as_installed(self) -> None:
        """Leave out the settings of modes, which tideate's adapters choose."""
        self.is_free = False
        (self.home / ".claude/settings.json").unlink(missing_ok=True)

    def allow_daemons(self) -> None:
        """Let codex start its daemon, as it does by default."""
        for path in self.home.glob(".codex/config.toml"):
            path.write_text(path.read_text().replace("daemon_auto_start = false\n", ""))

    def agent_pids(self) -> list[int]:
        """Processes of the agent's own programs."""
        roots = tuple(str(Path(folder).parents[1]) for folder in PROGRAMS.split(os.pathsep))
        programs = {pid: str(Path(f"/proc/{pid}/exe").readlink()) for pid in self.brood.pids()}
        return [pid for pid, program in programs.items() if program.startswith(roots)]

    def open(self, *command: str, columns: int = 100, rows: int = 30) -> Terminal:
        """Start a command at a terminal."""
        terminal = Terminal(command, env=self.environment, cwd=self.root, columns=columns, rows=rows)
        self._terminals.append(terminal)
        return terminal

    def open_agent(self, *within: str) -> Terminal:
        """Start the agent at a terminal, and wait until a prompt can be typed.

        :param within: the command that runs it.
        """
        terminal = self.open(*within, *self.agent.screen)
        terminal.wait_for(self.agent.ready)
        return terminal
