"""Machine-independent checks of the servers' answers: counts and sets of files."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, Any, Final

from benchmarks.figures import Figure
from benchmarks.mcp_servers import CHANGED, FOLDERS, LEFT_OUT, Running, ours

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COUNTING: Final = """#!/bin/sh
echo started >>"{log}"
exec "{git}" "$@"
"""
TIMES: Final = 5
SHOWN: Final = 5
"""Paths of a difference."""
LONGEST: Final = 80
"""Characters of each."""
GIT_TOOLS: Final = ("git_status", "git_diff_unstaged", "git_log")


def wrong_answers(git: Running, files: Running, root: Path, number: int) -> list[str]:
    """Compare answers about a repository with its content; return the differences in words.

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


def different_answers(our: Running, their: Running, root: Path) -> list[str]:
    """Compare the answers of our filesystem server and the reference server.

    :returns: the differences, in words.
    """
    file, there = "package_50/module_00050.py", {"path": str(root), **LEFT_OUT}
    found: dict[str, tuple[set[str], set[str]]] = {
        "tree": (
            {path for page in our.pages("directory_tree", {"path": "."}) for path in _files(page["tree"])},
            set(_files(json.loads(their.call("directory_tree", there)["content"]))),
        ),
        "list": (
            {entry["name"] for entry in our.call("list_directory", {"path": "package_50"})["entries"]},
            {
                line.removeprefix("[FILE] ")
                for line in _lines(their.call("list_directory", {"path": str(root / "package_50")}))
            },
        ),
        "read": (
            {our.call("read_text_file", {"path": file})["content"]},
            {their.call("read_text_file", {"path": str(root / file)})["content"]},
        ),
    }
    for pattern in ("**/*_00050.py", "**/*.py"):
        ours_ = our.pages("search_files", {"path": ".", "pattern": pattern})
        theirs = their.call("search_files", {**there, "pattern": pattern})
        found[f"search for {pattern}"] = (
            {path for page in ours_ for path in page["matches"]},
            {os.path.relpath(line, root) for line in _lines(theirs)},
        )
    return [
        f"{name}: {len(mine):,} in our answer, {len(other):,} in the reference's; only in one: "
        f"{', '.join(path[:LONGEST] for path in sorted(mine ^ other)[:SHOWN])}"
        for name, (mine, other) in found.items()
        if mine != other
    ]


def _files(nodes: list[dict[str, Any]], above: str = "") -> Iterator[str]:
    """Give the paths of the files of a tree."""
    for node in nodes:
        path = f"{above}{node['name']}"
        if "children" in node:
            yield from _files(node["children"], f"{path}/")
        else:
            yield path


def _lines(answer: dict[str, Any]) -> list[str]:
    return str(answer["content"]).splitlines()


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
