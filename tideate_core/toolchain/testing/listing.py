"""List of a project's tests, read from its files: nothing is run, so no trust is needed.

Tests created by a runner's configuration or at run time are not found.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final

from tideate_core.util.regular_files import read_bounded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

MOST_FILES: Final = 20_000
MOST_TESTS: Final = 50_000
_LOOKED_AT: Final = 500_000
"""Maximum number of directory entries searched."""
_LARGEST: Final = 1 << 20
"""Maximum bytes of a file."""
_LONGEST: Final = 1_000
"""Maximum characters of a line."""
_PASSED_OVER: Final = frozenset(
    {"__pycache__", "node_modules", "site-packages", "target", "vendor", "venv", "env", "dist"}
)
"""Directories of foreign code or build output, besides hidden ones."""

_PYTHON: Final = re.compile(
    r"(?P<gap>[ \t]{0,40})(?:async )?(?:def (?P<def>\w{1,200})|class (?P<class>\w{1,200}))\b"
)
_SCRIPT: Final = re.compile(
    r"\s{0,40}(?:it|test)(?:\.\w{1,20}){0,3}\(\s{0,4}(?P<quote>['\"`])(?P<test>.{1,300}?)(?P=quote)"
)
_GO: Final = re.compile(r"func (?P<test>(?:Test|Example|Fuzz)\w{0,200})\(")
_RUST_MARK: Final = re.compile(r"\s{0,40}#\[(?:\w{1,40}::)?test\b")
_RUST: Final = re.compile(r"\s{0,40}(?:pub )?(?:async )?fn (?P<test>\w{1,200})")
_CMAKE: Final = re.compile(
    r"\s{0,40}add_test\((?:\[=\[(?P<test>[^\]]{1,300})\]=\]|\"?(?P<plain>[^\s\")]{1,300}))"
)


@dataclass(frozen=True, slots=True)
class ListedTest:
    """A test found in a file."""

    file: str
    """Relative to the root."""
    line: int
    """1-based."""
    name: str


def find_test_files(root: Path, runner: str) -> list[str]:
    """Return the files in which a runner looks for tests, relative to the root and sorted; blocking.

    :param runner: if unknown, files of any runner are returned.
    """
    form = re.compile(_FILES.get(runner, _ANY), re.DOTALL)
    return sorted(islice(filter(form.fullmatch, _walk(root, generated=runner == "ctest")), MOST_FILES))


def is_test_file(path: str, runner: str) -> bool:
    """Return whether a runner looks for tests in a file of this name; True for an unknown runner."""
    return runner not in _FILES or re.fullmatch(_FILES[runner], path, re.DOTALL) is not None


def list_tests(root: Path, files: list[str]) -> list[ListedTest]:
    """Return the tests in these files, in order; blocking."""
    return list(islice(_tests_in(root, files), MOST_TESTS))


def _tests_in(root: Path, files: list[str]) -> Iterator[ListedTest]:
    for file in files:
        content = read_bounded(root / file, _LARGEST)
        lines = (content or b"").decode("utf-8", "replace").split("\n")
        read = _READERS.get(file.rpartition(".")[2], partial(_matching, _SCRIPT))
        yield from (ListedTest(file, number, name) for number, name in read(lines))


def _walk(root: Path, *, generated: bool) -> Iterator[str]:
    """Yield the files below the root; links are ignored."""
    looked = 0
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        try:
            entries = sorted(os.scandir(root / folder), key=lambda entry: entry.name)
        except OSError:
            continue  # not readable, or deleted meanwhile
        looked += len(entries)
        if looked > _LOOKED_AT:
            return
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir(follow_symlinks=False):
                if not entry.name.startswith(".") and (generated or entry.name not in _PASSED_OVER):
                    waiting.append(path)
            elif entry.is_file(follow_symlinks=False):
                yield path


_PYTEST: Final = r"(?:.*/)?(?:test_[^/]*|[^/]*_test)\.py"
_JEST: Final = r"(?:(?:.*/)?__tests__/.*|.*\.(?:test|spec))\.(?:[cm]?[jt]s|[jt]sx)"
_FILES: Final[Mapping[str, str]] = {
    "cargo": r".*\.rs",
    "ctest": r"(?:.*/)?CTestTestfile\.cmake",
    "go": r".*_test\.go",
    "jest": _JEST,
    "pytest": _PYTEST,
    "unittest": r"(?:.*/)?test[^/]*\.py",
    "vitest": _JEST,
}
"""Patterns of test files by runner."""
_ANY: Final = rf"{_PYTEST}|{_JEST}|.*_test\.go"


def _of_python(lines: list[str]) -> Iterator[tuple[int, str]]:
    above: list[tuple[int, str]] = []
    """Enclosing classes with their indentation; functions have an empty name."""
    for number, line in enumerate(lines, 1):
        match = _PYTHON.match(line[:_LONGEST])
        if match is None:
            continue
        depth = len(match["gap"])
        while above and above[-1][0] >= depth:
            above.pop()
        names = [name for _, name in above]
        if match["def"] and match["def"].startswith("test") and all(names):
            yield number, "::".join([*names, match["def"]])
        above.append((depth, match["class"] or ""))


def _matching(form: re.Pattern[str], lines: list[str]) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(lines, 1):
        if match := form.match(line[:_LONGEST]):
            yield number, match["test"] or match["plain"]


def _of_rust(lines: list[str]) -> Iterator[tuple[int, str]]:
    marked = False
    for number, line in enumerate(lines, 1):
        if _RUST_MARK.match(line[:_LONGEST]):
            marked = True
        elif marked and (match := _RUST.match(line[:_LONGEST])):
            marked = False
            yield number, match["test"]


_READERS: Final[Mapping[str, Callable[[list[str]], Iterator[tuple[int, str]]]]] = {
    "cmake": partial(_matching, _CMAKE),
    "go": partial(_matching, _GO),
    "py": _of_python,
    "rs": _of_rust,
}
