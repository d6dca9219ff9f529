"""The checks of `make test` and of `make quick`, each under its own heading; pytest comes last, alone.

`python -m scripts.checks [test|quick|words] [ARGUMENT…]`; arguments go to pytest.
"""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
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


PURE = (
    *("machines", "workflows", "gates", "config", "project", "edits", "util"),
    *("workspace/test_*.py", "test_*.py"),
)
"""Tests without editors, servers and runs, below `tests/`; patterns, of which some may be there later."""


def _pytest(*paths: str) -> Check:
    command = (sys.executable, "-m", "pytest", "-m", "not slow", "-n", "auto", "--dist", "worksteal", *paths)
    return Check("pytest", command, live=True)


def _collected(*paths: str) -> Check:
    """Have the test modules compiled once: the workers of pytest would each do it, side by side."""
    return Check("tests are collected", (sys.executable, "-m", "pytest", "--collect-only", "-qq", *paths))


def _pure() -> list[str]:
    tests = ROOT / "tests"
    found = (path for pattern in PURE for path in sorted(tests.glob(pattern)))
    return [path.relative_to(ROOT).as_posix() for path in found]


RUFF = Check("ruff", (str(BIN / "ruff"), "check", "--quiet"))
MYPY = Check("mypy (strict)", (str(BIN / "mypy"), "--no-error-summary"))
"""Looks again only at what changed since it last ran here, and at what depends on that. Without workers: mypy
fails where one does not start within three seconds, and the others take the second core meanwhile."""
IMPORTS = Check("import-linter", (str(BIN / "lint-imports"), "--no-cache"))
LUA = Check("Lua loads, sets no globals", (sys.executable, "-m", "scripts.lua_check"))
WORDS = Check("headlines and words", (sys.executable, "-m", "scripts.words"))

CHECKS = {
    "test": (RUFF, MYPY, IMPORTS, WORDS, LUA, _collected(), _pytest()),
    "quick": (RUFF, MYPY, IMPORTS, WORDS, LUA, _pytest(*_pure())),
    "words": (WORDS,),
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a check."""

    passed: bool
    output: str
    seconds: float


def _run(check: Check) -> Outcome:
    started = time.monotonic()
    done = subprocess.run(check.command, cwd=ROOT, capture_output=not check.live, text=True, check=False)
    output = "" if check.live else done.stdout + done.stderr
    return Outcome(done.returncode == 0, output, time.monotonic() - started)


def _head(check: Check, console: Console) -> None:
    console.rule(f"[bold]{check.name}", align="left", style="dim")


def _tell(check: Check, outcome: Outcome, console: Console) -> bool:
    """Show how a check ended; return whether it passed."""
    if not outcome.passed:
        console.out(outcome.output, highlight=False, end="")
    mark = "[green]✓[/]" if outcome.passed else "[bold red]✗[/]"
    console.print(f"{mark} {check.name} [dim]{outcome.seconds:.1f} s[/]", highlight=False)
    return outcome.passed


def _run_all(checks: list[Check], console: Console) -> list[str]:
    """Run all checks and return the names of failed ones; checks with live output run last, one at a time."""
    quiet = [check for check in checks if not check.live]
    failed = []
    with ThreadPoolExecutor(max_workers=len(quiet)) as threads:
        for check, outcome in zip(quiet, threads.map(_run, quiet), strict=True):
            _head(check, console)
            failed += [] if _tell(check, outcome, console) else [check.name]
    for check in (check for check in checks if check.live):
        _head(check, console)
        failed += [] if _tell(check, _run(check), console) else [check.name]
    return failed


def main(words: list[str]) -> int:
    """Run all checks of a set, even after a failure; return 0 if all passed."""
    name, *arguments = words or ["test"]
    if name not in CHECKS:
        sys.exit(f"usage: python -m scripts.checks [{'|'.join(CHECKS)}] [ARGUMENT…]")
    console = Console()
    checks = [
        replace(check, command=(*check.command, *arguments)) if "pytest" in check.command else check
        for check in CHECKS[name]
    ]
    failed = _run_all(checks, console)
    console.rule(style="dim")
    if failed:
        console.print(f"[bold red]failed:[/] {', '.join(failed)}")
    else:
        console.print("[bold green]all checks passed[/]")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
