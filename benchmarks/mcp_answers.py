"""Whether the servers answer what they are asked: counts that are the same on every machine."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, Any, Final

from benchmarks.figures import Figure
from benchmarks.mcp_servers import CHANGED, FOLDERS, Running, ours

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["git_processes", "wrong_answers"]

COUNTING: Final = """#!/bin/sh
echo started >>"{log}"
exec "{git}" "$@"
"""
TIMES: Final = 5
GIT_TOOLS: Final = ("git_status", "git_diff_unstaged", "git_log")


def wrong_answers(git: Running, files: Running, root: Path, number: int) -> list[str]:
    """Compare what is told of a repository with what is in it; returns what is wrong, in words.

    :param number: how many files it has.
    """
    file = "package_50/module_00050.py"
    found: dict[str, tuple[Any, Any]] = {
        "files in status": (len(git.call("git_status", {})["files"]), CHANGED),
        "files in diff": (_all(git, "git_diff_unstaged", {}).count("diff --git "), CHANGED),
        "commits in log": (len(git.call("git_log", {"max_count": 10})["commits"]), 10),
        "files that search finds": (
            files.call("search_files", {"path": ".", "pattern": "**/*_00050.py"})["matches"],
            [file],
        ),
        "files in tree": (_all(files, "directory_tree", {"path": "."}).count('"type": "file"'), number),
        "entries in list": (
            files.call("list_directory", {"path": "package_50"})["total"],
            number // FOLDERS,
        ),
        "characters read": (
            files.call("read_text_file", {"path": file})["content"],
            (root / file).read_text(),
        ),
    }
    return [f"{name}: {got!r}, not {wanted!r}" for name, (got, wanted) in found.items() if got != wanted]


def _all(running: Running, tool: str, arguments: dict[str, Any]) -> str:
    return "".join(json.dumps(page) for page in running.pages(tool, arguments))


def git_processes(directory: Path, root: Path) -> Iterator[Figure]:
    """Count the processes of git that one call starts."""
    log, folder = directory / "started", directory / "counting"
    folder.mkdir()
    program = folder / "git"
    program.write_text(COUNTING.format(log=log, git=shutil.which("git")))
    program.chmod(0o755)
    running = Running(ours("git", root), {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"})
    try:
        running.call("git_status", {})  # the first one reads the configuration too
        for tool in GIT_TOOLS:
            log.write_text("")
            for _ in range(TIMES):
                running.call(tool, {})
            started = len(log.read_text().splitlines()) / TIMES
            yield Figure(f"processes of git for one {tool}", [started], "", 1, exact=True)
    finally:
        running.close()
