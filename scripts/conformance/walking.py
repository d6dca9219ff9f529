"""The transitions server, walked from the beginning to the end with the MCP inspector."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from scripts.conformance.programs import ROOT, FailedError
from scripts.conformance.running import at_address

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from scripts.conformance.programs import Programs

SEARCHED = 20_000
"""How many beginnings of ways are looked at for the longest one."""
WORKFLOW = "PLANNER"
PROJECT = ROOT / ".cache" / "conformance"
"""Project with the key of the obfuscated names."""
SERVE = (
    *(sys.executable, "-m", "tideate_core.cli", "mcp", "serve", "transitions"),
    *("--workflow", WORKFLOW, "--root", str(PROJECT)),
)


def longest_way(states: dict[str, Any]) -> list[str]:
    """Return the longest path from `*` to `*` without repeated states."""
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


def walks(programs: Programs, console: Console) -> None:
    """Walk the machine from `*` to the end over both transports, plain and obfuscated."""
    PROJECT.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(max_workers=2) as pool:
        made = [pool.submit(_walk_over, programs, options) for options in ((), ("--obfuscate",))]
        for label, each in zip(("plain", "obfuscated"), made, strict=True):
            way = each.result()
            for transport in ("stdio", "http"):
                console.print(f"  [green]✓[/] {transport}, {label} [dim]{' → '.join(way)}")


def _walk_over(programs: Programs, options: tuple[str, ...]) -> list[str]:
    hidden = "--obfuscate" in options
    over_stdio = walk(programs, [*SERVE, *options], hidden=hidden)
    with at_address([*SERVE, *options], "http") as (url, token):
        over_http = walk(programs, [url, "--header", f"Authorization: Bearer {token}"], hidden=hidden)
    if over_stdio != over_http:
        raise FailedError(f"the transports lead different ways: {over_stdio}, {over_http}")
    return over_stdio
