"""Sample outputs parsed to one format."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.toolchain.samples import SAMPLES, Found
from tideate_core.toolchain import parse_failures

ROOT = Path("/project")


def parsed(tool: str, text: str, root: Path = ROOT) -> list[Found]:
    found = parse_failures(text, root=root, tool=tool).found
    assert all(failure.tool == tool for failure in found)
    return [(f.file, f.line, f.column, f.message, f.code, f.severity) for f in found]


@pytest.mark.parametrize("tool", SAMPLES)
def test_the_output_of_a_tool_is_read(tool: str) -> None:
    text, wanted = SAMPLES[tool]
    assert parsed(tool, text) == wanted


@pytest.mark.parametrize("tool", ["mypy", "pyright", "tsc", "ruff", "eslint", "vitest", "cargo", "gcc"])
def test_it_is_read_as_well_behind_make_or_npm(tool: str) -> None:
    text, wanted = SAMPLES[tool]
    assert set(parsed("make", f"cc -c x\n{text}make: *** [test] Error 1\n")) == set(wanted)


def test_there_are_only_so_many_and_the_rest_is_said() -> None:
    text = "\n".join(f"a.py:{line}:1: error: e" for line in range(1, 1000))
    found = parse_failures(text, root=ROOT, tool="mypy", most=50)
    assert (len(found.found), found.cut) == (50, True)
    all_of_them = parse_failures(text, root=ROOT, tool="mypy", most=999)
    assert (len(all_of_them.found), all_of_them.cut) == (999, False)


def test_the_same_failure_twice_is_one() -> None:
    line = "a.py:1:1: error: e\n"
    assert len(parse_failures(line * 5, root=ROOT, tool="mypy").found) == 1
    assert len(parse_failures("a.py:1:1: error: e\na.py:1:1: error: f\n", root=ROOT, tool="mypy").found) == 2


def test_what_two_tools_could_have_printed_is_one() -> None:
    assert len(parse_failures("b.js:4:2: error: Missing. [Error/semi]\n", root=ROOT).found) == 1
