"""Which branches of the rooms that runs depend on the tests take: `make coverage`.

Measured in every process that the tests start, those that end by a signal other than SIGTERM left out.
Arguments go to pytest in place of the folders and the number of processes. Exits 0 only if the tests
pass and each room has its share.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

__all__ = ["LEAST", "ROOMS", "Branches", "Module", "main", "of_modules", "of_rooms", "short_of"]

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / ".cache" / "coverage"
REPORT = DATA / "report.json"
PACKAGE = "tideate_core"
ROOMS = ("engine", "workflows", "store")
PARTS = {"builtin": "engine"}
"""Rooms that are counted with another one."""
TESTS = (
    *("tests/engine", "tests/builtin", "tests/workflows", "tests/store"),
    *("tests/cli/test_handoff.py", "tests/cli/test_task.py", "tests/cli/test_tool_steps.py"),
    *("tests/cli/test_review.py", "tests/cli/test_terminal.py", "tests/cli/commands/test_review.py"),
    *(f"tests/cli/commands/test_{name}.py" for name in ("checkpoint", "compare", "continue", "control")),
    *(f"tests/cli/commands/test_{name}.py" for name in ("fork", "next_run", "resume", "rollback", "run")),
)
LEAST = 95.0
"""Per cent of a room's branches that the tests have to take."""


@dataclass(frozen=True, slots=True)
class Branches:
    """Number of branches and of taken branches."""

    taken: int = 0
    all: int = 0

    def __add__(self, other: Branches) -> Branches:
        return Branches(self.taken + other.taken, self.all + other.all)

    @property
    def share(self) -> float:
        """Percentage of taken branches; 100 without branches."""
        return 100 * self.taken / self.all if self.all else 100.0


@dataclass(frozen=True, slots=True)
class Module:
    """Branch coverage of one module."""

    room: str
    name: str
    branches: Branches
    missing: tuple[str, ...]
    """Branches not taken: `12→15` leads from line 12 to 15, and `12→` to the end of its block."""


def of_modules(report: dict[str, Any]) -> list[Module]:
    """Return the measured modules of a `coverage json` report."""
    return [
        _module(Path(name), measured)
        for name, measured in sorted(report["files"].items())
        if Path(name).is_relative_to(PACKAGE) and Path(name).parts[1] in (*ROOMS, *PARTS)
    ]


def _module(path: Path, measured: dict[str, Any]) -> Module:
    summary = measured["summary"]
    missing = tuple(f"{line}→{to if to > 0 else ''}" for line, to in measured["missing_branches"])
    branches = Branches(summary["covered_branches"], summary["num_branches"])
    room = path.parts[1]
    if room in PARTS:
        return Module(PARTS[room], str(Path(*path.parts[1:])), branches, missing)
    return Module(room, str(Path(*path.parts[2:])), branches, missing)


def of_rooms(modules: list[Module]) -> dict[str, Branches]:
    """Sum up the branches of each package; unmeasured packages have none."""
    rooms = defaultdict(Branches, {room: Branches() for room in ROOMS})
    for module in modules:
        rooms[module.room] += module.branches
    return rooms


def short_of(rooms: dict[str, Branches]) -> list[str]:
    """Return the packages below the required share, and unmeasured ones."""
    return [room for room, branches in rooms.items() if not branches.all or branches.share < LEAST]


def _show(modules: list[Module], rooms: dict[str, Branches], console: Console) -> None:
    table = Table("", "taken", "of", "%", "not taken", box=None, pad_edge=False)
    for room, branches in rooms.items():
        table.add_row(f"[bold]{room}", *_figures(branches), "")
        for module in modules:
            if module.room == room and module.missing:
                table.add_row(f"  {module.name}", *_figures(module.branches), " ".join(module.missing))
    console.print(table)


def _figures(branches: Branches) -> tuple[str, str, str]:
    return str(branches.taken), str(branches.all), f"{branches.share:.1f}"


def _coverage(*arguments: str) -> bool:
    command = (sys.executable, "-m", "coverage", *arguments)
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def _measure(arguments: list[str]) -> bool:
    """Run the tests; return whether they passed."""
    shutil.rmtree(DATA, ignore_errors=True)
    DATA.mkdir(parents=True)
    passed = _coverage("run", "-m", "pytest", *(arguments or ["-n", "auto", *TESTS]))
    if not (
        _coverage("combine", "--quiet") and _coverage("json", "--quiet", "-o", str(DATA / "report.json"))
    ):
        raise SystemExit("make coverage: nothing was measured; what pytest said is above")
    return passed


def main(arguments: list[str]) -> int:
    """Run the tests, print the table, return 0 if all is well."""
    console = Console(soft_wrap=False)
    passed = _measure(arguments)
    modules = of_modules(json.loads(REPORT.read_text()))
    rooms = of_rooms(modules)
    _show(modules, rooms, console)
    short = short_of(rooms)
    if short:
        console.print(f"[bold red]less than {LEAST:g} % of the branches:[/] {', '.join(short)}")
    return 0 if passed and not short else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
