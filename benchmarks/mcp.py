"""Our MCP servers beside the reference servers: ``python -m benchmarks.mcp [--short]``.

Every figure is taken over stdio by the same client, in turns, and compared turn by turn: what slows all of
them down falls out. A figure that other programs on the machine disturbed is told by its spread.

The reference filesystem server is told to leave `.git` out, as ours does unasked, and both have to name the
same files. Where ours answers in pages, all pages are one call.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.table import Table

from benchmarks.figures import Figure, console, number, ratios, targets_table
from benchmarks.mcp_answers import different_answers, git_processes, wrong_answers
from benchmarks.mcp_servers import (
    LEFT_OUT,
    Running,
    Server,
    bare,
    ours,
    reference_filesystem,
    reference_git,
    repository,
)
from tideate_core.mcp.servers import SERVERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

SHORT: Final = "--short" in sys.argv
FILES: Final = 1_000 if SHORT else 5_000
SIDE_BY_SIDE: Final = 4
"""Calls that a model makes in one go."""
TIMES: Final = "times"
START: Final = 380 / 416
"""Of the start of a bare server on the SDK: measured beside each other, 380 ms were to be reached."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One thing that two servers do."""

    name: str
    tool: str
    our: dict[str, Any]
    their: dict[str, Any] | None
    """None: the reference has no such call."""
    target: float
    """How many times as fast we are to be."""
    at_once: int = 1
    """How many calls are under way."""
    whole: bool = False
    """All pages of our answer are counted as one call: the reference has one long answer."""


def git_calls(root: Path) -> tuple[Measured, ...]:
    """Return the calls that both git servers are measured by."""
    there = {"repo_path": str(root)}
    return (
        Measured("status", "git_status", {}, there, 1),
        Measured("diff", "git_diff_unstaged", {}, there, 1),
        Measured("log", "git_log", {"max_count": 10}, {**there, "max_count": 10}, 1),
        Measured(f"status, {SIDE_BY_SIDE} at once", "git_status", {}, there, 1, SIDE_BY_SIDE),
        Measured(f"diff, {SIDE_BY_SIDE} at once", "git_diff_unstaged", {}, there, 1, SIDE_BY_SIDE),
    )


def file_calls(root: Path) -> tuple[Measured, ...]:
    """Return the calls that both filesystem servers are measured by."""
    file, one, every = "package_50/module_00050.py", "**/*_00050.py", "**/*.py"
    there = {"path": str(root), **LEFT_OUT}
    return (
        Measured("search, 1 file", "search_files", _glob(one), {**there, "pattern": one}, 10, whole=True),
        Measured(
            "search, all files", "search_files", _glob(every), {**there, "pattern": every}, 1, whole=True
        ),
        Measured("tree, its first page", "directory_tree", {"path": "."}, None, 0),
        Measured("tree, all files", "directory_tree", {"path": "."}, there, 1, whole=True),
        Measured("read", "read_text_file", {"path": file}, {"path": str(root / file)}, 0),
        Measured("list", "list_directory", {"path": "package_50"}, {"path": str(root / "package_50")}, 0),
    )


def _glob(pattern: str) -> dict[str, Any]:
    return {"path": ".", "pattern": pattern}


def starts(servers: list[Server], turns: int) -> dict[str, list[float]]:
    """Start all servers in turns; milliseconds to the first answer."""
    found: dict[str, list[float]] = {server.name: [] for server in servers}
    for turn in range(turns + 1):
        for server in servers:
            running = Running(server)
            running.close()
            if turn:  # the first one fills the caches
                found[server.name].append(running.start_ms)
    return found


def compared(
    our: Running, their: Running, calls: tuple[Measured, ...], turns: int, seconds: float
) -> Iterator[tuple[Measured, list[float], list[float]]]:
    """Give the calls per second of both for each call."""
    for one in calls:
        ours_, theirs = [], []
        for _ in range(turns):
            ours_.append(our.per_second(one.tool, one.our, seconds, at_once=one.at_once, whole=one.whole))
            if one.their is not None:
                theirs.append(their.per_second(one.tool, one.their, seconds, at_once=one.at_once))
        yield one, ours_, theirs


def start_figures(found: dict[str, list[float]]) -> Iterator[Figure | None]:
    """Give milliseconds to start each server, and ours beside the others; None is a rule in the table."""
    plain = found["bare, Python SDK"]
    for name, samples in found.items():
        yield Figure(f"start, {name}", samples, "ms")
    yield None
    for name in (*SERVERS, "transitions"):
        if f"tideate {name}" in found:
            yield Figure(
                f"start, {name} : bare server on the SDK",
                ratios(found[f"tideate {name}"], plain),
                TIMES,
                START,
            )
    yield Figure("start, git : reference git", ratios(found["tideate git"], found["reference git"]), TIMES, 1)


def main() -> int:
    """Measure and print; returns 1 where an answer was wrong, or not the reference's, or a count missed."""
    turns, seconds = (2, 0.1) if SHORT else (7, 1.0)
    out = console()
    with tempfile.TemporaryDirectory() as directory:
        root = repository(Path(directory), FILES)
        own = {name: ours(name, root) for name in SERVERS}
        others = [bare(), reference_git(root), reference_filesystem(root)]
        missed = checked(out, own, others[-1], Path(directory), root)
        out.print(targets_table(start_figures(starts([*own.values(), *others], turns)), "start over stdio"))
        with ExitStack() as stack:
            calls_table(out, stack, own, others, root, turns, seconds)
    return 1 if missed else 0


def checked(out: Console, own: dict[str, Server], reference: Server, directory: Path, root: Path) -> bool:
    """Print the machine-independent checks; return whether any of them fails."""
    git, files, other = Running(own["git"]), Running(own["filesystem"]), Running(reference)
    try:
        wrong = wrong_answers(git, files, root, FILES)
        different = different_answers(files, other, root)
    finally:
        for running in (git, files, other):
            running.close()
    for words in (*wrong, *different):
        out.print(f"[red]✗[/] {words}", highlight=False)
    figures = [
        Figure("answers that are wrong", [len(wrong)], "", 0, exact=True),
        Figure("answers about files that differ from the reference's", [len(different)], "", 0, exact=True),
        *git_processes(directory, root),
    ]
    out.print(targets_table(figures, "answers"))
    return any(not figure.reached for figure in figures)


def calls_table(
    out: Console,
    stack: ExitStack,
    own: dict[str, Server],
    others: list[Server],
    root: Path,
    turns: int,
    seconds: float,
) -> None:
    """Print calls per second and memory."""

    def run(server: Server) -> Running:
        running = Running(server)
        stack.callback(running.close)
        return running

    plain, git, files = (run(server) for server in others)
    our_git, our_files = run(own["git"]), run(own["filesystem"])
    rates = Table(f"calls/s, {FILES:,} files", "tideate", "reference")
    figures: list[Figure | None] = []
    echo = [plain.per_second("echo", {"text": "x"}, seconds) for _ in range(turns)]
    for ours_, theirs, calls in ((our_git, git, git_calls(root)), (our_files, files, file_calls(root))):
        for one, mine, other in compared(ours_, theirs, calls, turns, seconds):
            rates.add_row(one.name, *(number(statistics.median(rate)) for rate in (mine, other) if rate))
            if not other:
                continue
            target = one.target or None
            figures.append(
                Figure(f"{one.name} : reference", ratios(mine, other), TIMES, target, at_least=True)
            )
            if target is None:
                figures.append(Figure(f"{one.name} : echo of a bare server", ratios(mine, echo), TIMES))
    rates.add_row("echo of a bare server on the SDK", "", number(statistics.median(echo)))
    out.print(rates)
    figures += [
        None,
        *(
            Figure(f"peak memory, {name}", [one.peak_mb()], "MB")
            for name, one in (
                ("tideate git", our_git),
                ("reference git", git),
                ("tideate filesystem", our_files),
                ("reference filesystem", files),
                ("bare", plain),
            )
        ),
    ]
    out.print(targets_table(figures, "calls over stdio"))


if __name__ == "__main__":
    sys.exit(main())
