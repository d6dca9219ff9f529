"""The servers that are compared, and a client that costs next to nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console

from scripts.conformance import environment
from scripts.third_party import provide

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

REFERENCE_GIT: Final = "mcp-server-git==2026.10.19"
HANDSHAKE: Final = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}
BARE: Final = """
from mcp.server import MCPServer

server = MCPServer("bare", log_level="WARNING")

@server.tool()
def echo(text: str) -> str:
    return text

server.run("stdio")
"""
LEFT_OUT: Final = {"excludePatterns": ["**/.git"]}
"""For the reference filesystem server: what ours leaves out, in the form that costs it least."""
FOLDERS: Final = 100
COMMITS: Final = 20
CHANGED: Final = 20
"""Files that are not as in the last commit."""


@dataclass(frozen=True, slots=True)
class Server:
    """How a server is started."""

    name: str
    command: tuple[str, ...]


def ours(name: str, root: Path) -> Server:
    """The server of tideate with this name."""
    return Server(
        f"tideate {name}",
        (sys.executable, "-m", "tideate_core.cli", "mcp", "serve", name, "--root", str(root)),
    )


def bare() -> Server:
    """A server on the SDK that does nothing."""
    return Server("bare, Python SDK", (sys.executable, "-c", BARE))


def reference_git(root: Path) -> Server:
    """The git server of the MCP project, installed on the first call."""
    python = environment("mcp-git", REFERENCE_GIT)
    return Server("reference git", (str(python), "-m", "mcp_server_git", "--repository", str(root)))


def reference_filesystem(root: Path) -> Server:
    """The filesystem server of the MCP project, installed on the first call."""
    return Server("reference filesystem", (*provide(Console(stderr=True)), str(root)))


class Running:
    """A server's process; one request at a time."""

    def __init__(self, server: Server, environment: Mapping[str, str] | None = None) -> None:
        begun = time.perf_counter()
        self._process = subprocess.Popen(
            server.command,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._number = 0
        self._answers: dict[int, dict[str, Any]] = {}
        self.request("initialize", HANDSHAKE)
        self.start_ms = (time.perf_counter() - begun) * 1000
        """From the start of the process to its first answer."""
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        return self._answer(self._ask(method, params))

    def _ask(self, method: str, params: Mapping[str, Any]) -> int:
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        return self._number

    def _answer(self, number: int) -> dict[str, Any]:
        """Wait for an answer; it may have come before another that was asked for earlier."""
        assert self._process.stdout
        while number not in self._answers:
            line = self._process.stdout.readline()
            if not line:
                raise RuntimeError(f"{self._process.args!r} has ended")
            message: dict[str, Any] = json.loads(line)
            if "id" in message:
                self._answers[message["id"]] = message
        return self._answers.pop(number)

    def call(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call a tool that must succeed; returns its structured answer, if it has one."""
        return self.calls(tool, arguments, 1)[0]

    def calls(self, tool: str, arguments: Mapping[str, Any], times: int) -> list[dict[str, Any]]:
        """Call a tool several times at once."""
        numbers = [self._ask("tools/call", {"name": tool, "arguments": arguments}) for _ in range(times)]
        answers = [self._answer(number) for number in numbers]
        for answer in answers:
            if "result" not in answer or answer["result"].get("isError"):
                raise RuntimeError(f"{tool}: {json.dumps(answer)[:400]}")
        return [answer["result"].get("structuredContent") or {} for answer in answers]

    def pages(self, tool: str, arguments: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Call a tool until it has told all."""
        cursor = ""
        while True:
            page = self.call(tool, {**arguments, **({"cursor": cursor} if cursor else {})})
            yield page
            cursor = page.get("nextCursor") or ""
            if not cursor:
                return

    def per_second(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        seconds: float,
        *,
        at_once: int = 1,
        whole: bool = False,
    ) -> float:
        """Call a tool for some time, at least twice; returns how often it was done in a second.

        :param whole: all pages of an answer are one.
        """
        begun = time.perf_counter()
        calls = 0
        while calls < 2 or time.perf_counter() - begun < seconds:
            if whole:
                calls += bool(list(self.pages(tool, arguments)))
            else:
                calls += len(self.calls(tool, arguments, at_once))
        return calls / (time.perf_counter() - begun)

    def peak_mb(self) -> float:
        """Return the most memory that it had."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024

    def close(self) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.wait(timeout=20)
        self._process.stdout.close()


def repository(directory: Path, files: int) -> Path:
    """Make a repository with a history and a few changes; returns its root."""
    root = directory / "repository"
    for number in range(files):
        path = root / f"package_{number % FOLDERS:02}" / f"module_{number:05}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            "".join(f"def f_{number}_{line}(x: int) -> int:\n    return x + {line}\n" for line in range(20))
        )
    person = ("-c", "user.name=Nora", "-c", "user.email=nora@example.com", "-c", "gc.auto=0")
    git = ("git", "-C", str(root))
    subprocess.run(["git", "init", "-q", "-b", "main", str(root)], check=True)
    for number in range(COMMITS):
        (root / "package_00" / "module_00000.py").write_text(f"x = {number}\n")
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, *person, "commit", "-q", "-m", f"change {number}"], check=True)
    for number in range(CHANGED):
        (root / f"package_{number:02}" / f"module_{number:05}.py").write_text("changed = True\n")
    return root
