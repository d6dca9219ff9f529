"""Every check of `make test`, one after the other, each under its own heading."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent


@dataclass(frozen=True, slots=True)
class Check:
    """A command that exits 0 if all is well."""

    name: str
    command: tuple[str, ...]
    live: bool = False
    """Its output is shown as it comes, and not only when it fails."""


PYTEST = ("-m", "not slow", "-n", "auto", "--dist", "worksteal")
CHECKS = (
    Check("ruff", (str(BIN / "ruff"), "check", "--quiet")),
    Check("mypy (strict)", (str(BIN / "mypy"), "--no-error-summary")),
    Check("import-linter", (str(BIN / "lint-imports"), "--no-cache")),
    Check("Lua loads, sets no globals", (sys.executable, "-m", "scripts.lua_check")),
    Check(
        "pytest",
        (sys.executable, "-m", "pytest", "-m", "not slow", "-n", "auto", "--dist", "worksteal"),
        live=True,
    ),
)


def _run(check: Check, console: Console) -> bool:
    console.rule(f"[bold]{check.name}", align="left", style="dim")
    started = time.monotonic()
    done = subprocess.run(check.command, cwd=ROOT, capture_output=not check.live, text=True, check=False)
    if not check.live and done.returncode:
        console.out(done.stdout + done.stderr, highlight=False, end="")
    mark = "[green]✓[/]" if done.returncode == 0 else "[bold red]✗[/]"
    console.print(f"{mark} {check.name} [dim]{time.monotonic() - started:.1f} s[/]", highlight=False)
    return done.returncode == 0


def main() -> int:
    """Run them all, also after a failure; return 0 if all passed."""
    console = Console()
    failed = [check.name for check in CHECKS if not _run(check, console)]
    console.rule(style="dim")
    if failed:
        console.print(f"[bold red]failed:[/] {', '.join(failed)}")
    else:
        console.print("[bold green]all checks passed[/]")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
