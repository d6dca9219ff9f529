"""Tools of the work loop on many files: search beside ripgrep and git, symbols.

``--short`` takes fewer files and samples. The exit code is 1 only if something could not be measured: figures
of a busy machine are no verdict. Ratios are of turns one after the other, so that what slows both falls out.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.figures import Figure, console, ratios, targets_table
from benchmarks.snapshots_trees import copied
from tideate_core.agents import StagedFiles
from tideate_core.agents.tools.table import tools_named
from tideate_core.agents.tools.tool import ToolContext
from tideate_core.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from tideate_core.agents.tools.tool import WorkTool

PATTERNS: Final = {"a literal": ("get_event_loop", True), "an expression": (r"def \w+_loop\(", False)}
NAME: Final = "get_event_loop"


@dataclass(frozen=True, slots=True)
class Step:
    """The part of a step that reading tools use."""

    workspace: Workspace

    def notice(self, message: str, *, level: str = "info") -> None:
        """Show nothing."""


@dataclass(frozen=True, slots=True)
class Place:
    """A project, and the tools in it."""

    root: Path
    context: ToolContext
    turns: int

    async def call(self, name: str, /, **arguments: Any) -> str:
        tool: WorkTool[Any] = tools_named([name], editor=False)[0]
        return await tool.work(self.context, tool.parse(arguments))

    async def by_turns(self, works: dict[str, Callable[[], Awaitable[object]]]) -> dict[str, list[float]]:
        """Return milliseconds of each work, one after the other, over and over; the first turn warms up."""
        taken: dict[str, list[float]] = {name: [] for name in works}
        for turn in range(self.turns + 1):
            for name, work in works.items():
                begun = time.perf_counter()
                await work()
                if turn:
                    taken[name].append((time.perf_counter() - begun) * 1000)
        return taken


async def searches(place: Place) -> list[Figure]:
    """Search by ours and by ripgrep, beside the bare programs."""
    figures = []
    for what, (pattern, literal) in PATTERNS.items():
        fixed = ["-F"] if literal else ["-E"]
        git = ["git", "grep", "--untracked", "-n", *(fixed if literal else ["-P"]), "-e", pattern]
        works: dict[str, Callable[[], Awaitable[object]]] = {
            "search, without ripgrep": _search(place, pattern, literal, ripgrep=False),
            "git grep": _program(place.root, git),
        }
        if ripgrep := _ripgrep():
            works["search, with ripgrep"] = _search(place, pattern, literal, ripgrep=True)
            bare = [ripgrep, "-n", *(["-F"] if literal else []), "-e", pattern, "."]
            works["rg"] = _program(place.root, bare)
        taken = await place.by_turns(works)
        figures += [Figure(f"{what}: {name}", samples, "ms") for name, samples in taken.items()]
        ours, theirs = taken["search, without ripgrep"], taken["git grep"]
        figures.append(Figure(f"{what}: search, without ripgrep / git grep", ratios(ours, theirs)))
    return figures


def _search(place: Place, pattern: str, literal: bool, *, ripgrep: bool) -> Callable[[], Awaitable[object]]:
    async def work() -> str:
        kept = os.environ["PATH"]
        os.environ["PATH"] = _path(ripgrep=ripgrep)
        try:
            return await place.call("search", pattern=pattern, literal=literal)
        finally:
            os.environ["PATH"] = kept

    return work


def _path(*, ripgrep: bool) -> str:
    folders = [folder for folder in os.get_exec_path() if not Path(folder, "rg").exists()]
    found = _ripgrep() if ripgrep else ""
    return os.pathsep.join([*([str(Path(found).parent)] if found else []), *folders])


def _ripgrep() -> str:
    folders = [str(Path(sys.executable).parent), *os.get_exec_path()]
    return next((f"{folder}/rg" for folder in folders if Path(folder, "rg").exists()), "")


def _program(root: Path, argv: Sequence[str]) -> Callable[[], Awaitable[object]]:
    async def work() -> None:
        process = await asyncio.create_subprocess_exec(
            *argv, cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        _, said = await process.communicate()
        if process.returncode not in (0, 1):
            raise RuntimeError(f"{argv[0]} failed: {said.decode()}")

    return work


async def symbols(place: Place) -> list[Figure]:
    """Look a name up."""
    taken = [await _timed(place.call("find_symbol", name=NAME)) for _ in range(place.turns)]
    return [Figure("find_symbol with references", taken, "ms")]


async def _timed(work: Awaitable[object]) -> float:
    begun = time.perf_counter()
    await work
    return (time.perf_counter() - begun) * 1000


async def measure(files: int, turns: int) -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory(prefix="tideate-bench-") as folder:
        root, private = Path(folder) / "project", Path(folder) / "private"
        private.mkdir()
        title = await asyncio.to_thread(copied, root, files)
        step: Any = Step(Workspace(root, private=private))
        place = Place(root, ToolContext(step, StagedFiles()), turns)
        figures = [*await searches(place), None, *await symbols(place)]
        console().print(targets_table(figures, f"tools of the work loop: {title}"))


if __name__ == "__main__":
    asyncio.run(measure(1_000, 2) if "--short" in sys.argv[1:] else measure(10_000, 5))
