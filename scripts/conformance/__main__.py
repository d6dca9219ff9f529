"""Hold our MCP servers and client against the official conformance suite, and against others' programs."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING

from rich.console import Console

from scripts.conformance import others, suites, walking
from scripts.conformance.programs import INSPECTOR, PACKAGES, SUITE, FailedError, Programs, provide

if TYPE_CHECKING:
    from collections.abc import Callable

CHECKS: tuple[tuple[str, Callable[[Programs, Console], None]], ...] = (
    (f"conformance suite {PACKAGES[SUITE]}, our servers", suites.server_scenarios),
    ("the active suite, a server made for it", suites.active_suite),
    ("the suite, our client", suites.client_scenarios),
    (f"MCP inspector {PACKAGES[INSPECTOR]}, stdio", others.inspected),
    (f"MCP inspector {PACKAGES[INSPECTOR]}, a walk", walking.walks),
    ("the SDK's client, HTTP", others.reference_client),
    ("WebSocket, other implementations", others.websockets),
)


def main() -> int:
    """Run all checks, or the checks that match an argument; return 0 if all passed."""
    console = Console(highlight=False, soft_wrap=True)
    wanted = sys.argv[1:]
    try:
        programs = provide(console)
    except FailedError as error:
        return _tell(console, error)
    failed = 0
    for name, check in CHECKS:
        if wanted and not any(word in name for word in wanted):
            continue
        console.rule(f"[bold]{name}", align="left", style="dim")
        started = time.monotonic()
        try:
            check(programs, console)
        except (FailedError, subprocess.TimeoutExpired) as error:
            failed += _tell(console, error)
        console.print(f"  [dim]{time.monotonic() - started:.0f} s")
    if not failed:
        console.print("[bold green]all checks passed[/]")
    return 1 if failed else 0


def _tell(console: Console, error: Exception) -> int:
    console.print("  [bold red]✗[/] ", end="")
    console.out(str(error), highlight=False)
    return 1


if __name__ == "__main__":
    sys.exit(main())
