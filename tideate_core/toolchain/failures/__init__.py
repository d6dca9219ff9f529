"""Choose the parsers for a tool's output and collect the failures in one format."""

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
"""Parsers for programs that may run any tool: make, npm scripts."""

_LAST: Final[tuple[Parser, ...]] = (test_runners.parse_tracebacks, compilers.parse_plain)
"""Parsers used if no other parser finds anything."""


@dataclass(frozen=True, slots=True)
class Failures:
    """Failures in the order of each tool's output."""

    found: tuple[Failure, ...] = ()
    cut: bool = False
    """There are more failures."""


def parse_failures(text: str, *, root: Path, folder: str = "", tool: str = "", most: int = _MOST) -> Failures:
    """Return the failures in a tool's output.

    If the tool's own parser finds nothing, all other parsers are tried. The time is linear in the text for
    any content.

    :param text: without control sequences, as in `Output.text`.
    :param root: paths become relative to it.
    :param folder: the tool's working folder relative to the root, base of the paths in the output.
    :param tool: see `Tool.name`; empty if unknown.
    :param most: maximum number of failures.
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
    """Return distinct failures, at most one more than the limit."""
    collected: dict[Failure, None] = {}
    for parser in parsers:
        # a less exact parser does not repeat the findings of an earlier one
        taken = {(failure.file, failure.line) for failure in collected if failure.line}
        for failure in parser(output):
            file = path_of(failure.file) if failure.file else ""
            # node names a test file as a test by its absolute path
            test = path_of(failure.test) if failure.test.startswith("/") else failure.test
            said = failure.message.replace(failure.test, test, 1) if test else failure.message
            if (file, failure.line) not in taken:
                collected[replace(failure, file=file, message=said, test=test, tool=output.tool)] = None
            if len(collected) > most:
                return list(collected)
    return list(collected)
