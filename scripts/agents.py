"""Test with real agents, offline: `make test-agents` (arguments go to pytest).

The agents are npm packages at the versions below, kept in ``.cache/agents``; Node is that of
`scripts.conformance`. On machines for which an agent has no program, the tests of all agents fail.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from rich.console import Console

from scripts.conformance.programs import FailedError, provide_node, run

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / ".cache" / "agents"
PACKAGES = {
    "@agentclientprotocol/claude-agent-acp": "0.101.0",
    "@agentclientprotocol/codex-acp": "2.6.0",
    "@anthropic-ai/claude-code": "2.1.197",
    "@github/copilot": "1.0.102",
    "@google/gemini-cli": "0.61.0",
    "@openai/codex": "0.171.0",
    "opencode-ai": "1.18.33",
}


def provide(console: Console) -> Path:
    """Install missing agents; return the folder of Node.

    :raises FailedError: a registry cannot be reached.
    """
    node, npm = provide_node(console)
    wanted = {"private": True, "dependencies": PACKAGES}
    described, marker = PLACE / "package.json", PLACE / "installed"
    if not marker.is_file() or json.loads(marker.read_text()) != wanted:
        console.print("[dim]installing agents (2 GB, minutes) …")
        PLACE.mkdir(parents=True, exist_ok=True)
        described.write_text(json.dumps(wanted, indent=2))
        path = os.pathsep.join([str(node.parent), os.environ.get("PATH", os.defpath)])
        # their own scripts put the programs in place
        quiet = ("--no-package-lock", "--no-audit", "--no-fund", "--silent")
        run([*npm, "install", "--prefix", str(PLACE), *quiet], {**os.environ, "PATH": path})
        marker.write_text(json.dumps(wanted))
    return node.parent


def main() -> int:
    """Run the tests; returns their exit status."""
    console = Console(highlight=False)
    try:
        node = provide(console)
    except FailedError as error:
        console.print(f"[red]{error}")
        return 1
    programs = os.pathsep.join([str(node), str(PLACE / "node_modules" / ".bin")])
    test = [sys.executable, "-m", "pytest", "-n", "auto", "tests/external_agents", *sys.argv[1:]]
    return subprocess.run(
        test, cwd=ROOT, env={**os.environ, "TIDEATE_AGENTS": programs}, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
