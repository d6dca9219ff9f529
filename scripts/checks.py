"""The checks of `make test` and of `make quick`, one after the other, each under its own heading.

`python -m scripts.checks [test|quick|words] [ARGUMENT…]`; arguments go to pytest.
"""

from __future__ import annotations

import subprocess
import sys
import time
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


def _pure() -> list[str]:
    tests = ROOT / "tests"
    found = (path for pattern in PURE for path in sorted(tests.glob(pattern)))
    return [path.relative_to(ROOT).as_posix() for path in found]


RUFF = Check("ruff", (str(BIN / "ruff"), "check", "--quiet"))
MYPY = Check("mypy (strict)", (str(BIN / "mypy"), "--no-error-summary", "--num-workers", "auto"))
"""Looks again only at what changed since it last ran here, and at what depends on that."""
IMPORTS = Check("import-linter", (str(BIN / "lint-imports"), "--no-cache"))
LUA = Check("Lua loads, sets no globals", (sys.executable, "-m", "scripts.lua_check"))
WORDS = Check("headlines and words", (sys.executable, "-m", "scripts.words"))

CHECKS = {
    "test": (RUFF, MYPY, IMPORTS, WORDS, LUA, _pytest()),
    "quick": (RUFF, MYPY, IMPORTS, WORDS, LUA, _pytest(*_pure())),
    "words": (WORDS,),
}


def _run(check: Check, console: Console) -> bool:
    console.rule(f"[bold]{check.name}", align="left", style="dim")
    started = time.monotonic()
    done = subprocess.run(check.command, cwd=ROOT, capture_output=not check.live, text=True, check=False)
    if not check.live and done.returncode:
        console.out(done.stdout + done.stderr, highlight=False, end="")
    mark = "[green]✓[/]" if done.returncode == 0 else "[bold red]✗[/]"
    console.print(f"{mark} {check.name} [dim]{time.monotonic() - started:.1f} s[/]", highlight=False)
    return done.returncode == 0


def main(words: list[str]) -> int:
    """Run all of a set, also after a failure; return 0 if all passed."""
    name, *arguments = words or ["test"]
    if name not in CHECKS:
        sys.exit(f"usage: python -m scripts.checks [{'|'.join(CHECKS)}] [ARGUMENT…]")
    console = Console()
    checks = [
        replace(check, command=(*check.command, *arguments)) if check.name == "pytest" else check
        for check in CHECKS[name]
    ]
    failed = [check.name for check in checks if not _run(check, console)]
    console.rule(style="dim")
    if failed:
        console.print(f"[bold red]failed:[/] {', '.join(failed)}")
    else:
        console.print("[bold green]all checks passed[/]")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
