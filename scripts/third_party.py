"""Have a real Neovim use a server that others made: the reference filesystem server from npm, as a tool.

The server is kept in ``.cache/npm-servers`` at the version below; Node is that of `scripts.conformance`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from rich.console import Console

from scripts import conformance

ROOT = Path(__file__).resolve().parent.parent
SERVERS = ROOT / ".cache" / "npm-servers"
PACKAGE = "@modelcontextprotocol/server-filesystem"
VERSION = "2026.8.31"
VARIABLE = "TIDEATE_THIRD_PARTY_SERVER"
"""Tells the test the command, as JSON; without it the test is left out."""


def provide(console: Console) -> list[str]:
    """Install the server if it is missing; returns its command without arguments.

    :raises FailedError: a registry cannot be reached.
    """
    programs = conformance.provide(console)
    folder = SERVERS / "node_modules" / PACKAGE
    described = folder / "package.json"
    if not described.is_file() or json.loads(described.read_text())["version"] != VERSION:
        console.print(f"[dim]installing {PACKAGE} …")
        SERVERS.mkdir(parents=True, exist_ok=True)
        quiet = ("--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts")
        npm = _npm(programs.node)
        done = subprocess.run(
            [*npm, "install", "--prefix", str(SERVERS), *quiet, f"{PACKAGE}@{VERSION}"],
            env=programs.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise conformance.FailedError(f"npm install failed: {done.stderr[-800:]}")
    entry = json.loads(described.read_text())["bin"]
    return [str(programs.node), str(folder / next(iter(entry.values())))]


def _npm(node: Path) -> list[str]:
    own = node.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return [str(node), str(own)] if own.is_file() else ["npm"]


def main() -> int:
    """Run the test; returns its exit status."""
    console = Console(highlight=False)
    try:
        command = provide(console)
    except conformance.FailedError as error:
        console.print(f"[red]{error}")
        return 1
    test = [sys.executable, "-m", "pytest", "-q", "-n", "0", "tests/editor/test_third_party.py"]
    return subprocess.run(
        test, cwd=ROOT, env={**os.environ, VARIABLE: json.dumps(command)}, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
