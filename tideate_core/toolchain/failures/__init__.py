"""What tools found wrong, read off what they print and brought to one form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from tideate_core.toolchain.failures import compilers, javascript, native, python
from tideate_core.toolchain.failures.failure import Failure, Severity, project_path
from tideate_core.toolchain.failures.printed import Printed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tideate_core.toolchain.failures.printed import Parser

__all__ = ["Failure", "Failures", "Severity", "parse_failures"]

_MOST: Final = 200

_PARSERS: Final[Mapping[str, tuple[Parser, ...]]] = {
    "mypy": (compilers.labelled,),
    "pyright": (compilers.dashed,),
    "ruff": (compilers.coded, compilers.arrows),
    "flake8": (compilers.coded,),
    "pytest": (python.pytest,),
    "unittest": (python.unittest,),
    "tsc": (compilers.parenthesized, compilers.dashed),
    "eslint": (javascript.eslint_json, javascript.eslint),
    "jest": (javascript.test_runners,),
    "vitest": (javascript.test_runners,),
    "cargo": (compilers.cargo_json, compilers.arrows, native.panics),
    "go": (native.go_tests, compilers.plain),
    "golangci-lint": (compilers.plain,),
    "sphinx": (compilers.labelled,),
}

_ALL: Final[tuple[Parser, ...]] = tuple(
    dict.fromkeys(
        parser for parsers in _PARSERS.values() for parser in parsers if parser is not compilers.plain
    )
)
"""For what may run any tool: make, the scripts of npm."""

_LAST: Final[tuple[Parser, ...]] = (python.tracebacks, compilers.plain)
"""Where nothing else was found."""


@dataclass(frozen=True, slots=True)
class Failures:
    """What was found, in the order in which it was printed by each tool."""

    found: tuple[Failure, ...] = ()
    cut: bool = False
    """There are more than these."""


def parse_failures(text: str, *, root: Path, tool: str = "", most: int = _MOST) -> Failures:
    """Return what a tool's output says is wrong.

    Output that the tool's own parser finds nothing in is read as any tool's. Takes a time that grows with
    the text and no faster, whatever it contains.

    :param text: without control sequences, as `Output.text` is.
    :param root: paths become relative to it; they are read as seen from there.
    :param tool: as `Tool.name`; empty if it is not known.
    :param most: failures that are returned.
    """
    printed = Printed(text, root, tool)
    for parsers in (_PARSERS.get(tool, ()), _ALL, _LAST):
        collected = _collect(printed, parsers, most)
        if collected:
            return Failures(tuple(collected[:most]), len(collected) > most)
    return Failures()


def _collect(printed: Printed, parsers: Sequence[Parser], most: int) -> list[Failure]:
    """Return the different failures, at most one too many."""
    collected: dict[Failure, None] = {}
    for parser in parsers:
        # what one parser found is not found again by another one that reads its form less well
        taken = {(failure.file, failure.line) for failure in collected if failure.line}
        for failure in parser(printed):
            file = project_path(failure.file, printed.root) if failure.file else ""
            if (file, failure.line) not in taken:
                collected[replace(failure, file=file, tool=printed.tool)] = None
            if len(collected) > most:
                return list(collected)
    return list(collected)
