"""Failures of any tool, parsed from its output into one form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from tideate_core.toolchain.failures import compilers, test_runners
from tideate_core.toolchain.failures.failure import ToolOutput, project_path
from tideate_core.toolchain.failures.forms import FORM_PARSERS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from tideate_core.toolchain.failures.failure import Failure, Parser

__all__ = ["Failures", "parse_failures"]

_MOST: Final = 200

_PARSERS: Final[Mapping[str, tuple[Parser, ...]]] = {
    "mypy": (compilers.parse_labelled,),
    "pyright": (compilers.parse_dashed,),
    "ruff": (compilers.parse_coded, compilers.parse_arrows),
    "flake8": (compilers.parse_coded,),
    "pytest": (test_runners.parse_pytest,),
    "unittest": (test_runners.parse_unittest,),
    "tsc": (compilers.parse_parenthesized, compilers.parse_dashed),
    "eslint": (compilers.parse_eslint_json, compilers.parse_eslint),
    "jest": (test_runners.parse_node_tests,),
    "vitest": (test_runners.parse_node_tests,),
    "cargo": (compilers.parse_cargo_json, compilers.parse_arrows, test_runners.parse_panics),
    "go": (test_runners.parse_go_tests, compilers.parse_plain),
    "golangci-lint": (compilers.parse_plain,),
    "sphinx": (compilers.parse_labelled,),
    "ty": (compilers.parse_arrows, compilers.parse_coded),
    **{name: (parser,) for name, parser in FORM_PARSERS.items()},
    "node": (test_runners.parse_thrown, FORM_PARSERS["node"], FORM_PARSERS["tap"]),
    "mocha": (FORM_PARSERS["mocha"], test_runners.parse_thrown),
}

_ALL: Final[tuple[Parser, ...]] = tuple(
    dict.fromkeys(
        parser for parsers in _PARSERS.values() for parser in parsers if parser is not compilers.parse_plain
    )
)
"""For what may run any tool: make, the scripts of npm."""

_LAST: Final[tuple[Parser, ...]] = (test_runners.parse_tracebacks, compilers.parse_plain)
"""Used if no other parser found anything."""


@dataclass(frozen=True, slots=True)
class Failures:
    """Failures in the order in which each tool printed them."""

    found: tuple[Failure, ...] = ()
    cut: bool = False
    """There are more than these."""


def parse_failures(text: str, *, root: Path, folder: str = "", tool: str = "", most: int = _MOST) -> Failures:
    """Return the failures in a tool's output.

    Output that the tool's own parser finds nothing in is read as any tool's. Takes a time that grows with
    the text and no faster, whatever it contains.

    :param text: without control sequences, as `Output.text` is.
    :param root: paths become relative to it.
    :param folder: where the tool ran, relative to the root: paths are read as seen from there.
    :param tool: as `Tool.name`; empty if it is not known.
    :param most: failures that are returned.
    """
    output = ToolOutput(text, root / folder, tool)
    for parsers in (_PARSERS.get(tool, ()), _ALL, _LAST):
        collected = _collect(output, parsers, most, partial(project_path, root=root, folder=folder))
        if collected:
            return Failures(tuple(collected[:most]), len(collected) > most)
    return Failures()


def _collect(
    output: ToolOutput, parsers: Sequence[Parser], most: int, path_of: Callable[[str], str]
) -> list[Failure]:
    """Return the different failures, at most one too many."""
    collected: dict[Failure, None] = {}
    for parser in parsers:
        # what one parser found is not found again by another one that reads its form less well
        taken = {(failure.file, failure.line) for failure in collected if failure.line}
        for failure in parser(output):
            file = path_of(failure.file) if failure.file else ""
            # node names a file that is a test of its own by its whole path
            test = path_of(failure.test) if failure.test.startswith("/") else failure.test
            said = failure.message.replace(failure.test, test, 1) if test else failure.message
            if (file, failure.line) not in taken:
                collected[replace(failure, file=file, message=said, test=test, tool=output.tool)] = None
            if len(collected) > most:
                return list(collected)
    return list(collected)
