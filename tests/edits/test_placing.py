"""New lines are indented as the place they go to."""

from __future__ import annotations

import pytest

from tideate_core.edits.placing import fit_to_place

PYTHON = [
    "import os",
    "",
    "LIMIT = 10",
    "",
    "def total(xs):",
    "    result = 0",
    "    for x in xs:",
    "        result += x",
    "    return result",
    "",
    "def other(ys):",
    "    return max(ys)",
]
CODE = ["if a:", "    b()"]


@pytest.mark.parametrize(
    ("lines", "at", "indent"),
    [
        pytest.param([""], 0, "", id="an empty buffer"),
        pytest.param(["x = 1", ""], 2, "", id="the end"),
        pytest.param(PYTHON, 6, "    ", id="inside a function"),
        pytest.param(PYTHON, 5, "    ", id="below a line that opens a block"),
        pytest.param(PYTHON, 10, "", id="between two functions"),
        pytest.param([*PYTHON, ""], 13, "", id="after a blank line at the end"),
        pytest.param(PYTHON, 12, "    ", id="right below the last line"),
        pytest.param(["if a {", "b()"], 1, "    ", id="below an opening line that has nothing in it"),
        pytest.param(["f() {", "}"], 1, "    ", id="between braces"),
        pytest.param(["f() {", "  a();", "}"], 2, "  ", id="above a closing brace"),
        pytest.param(["f() {", "\ta();", "\tb();", "}"], 2, "\t", id="among tabs"),
        pytest.param(["function f()", "  a()", "end"], 2, "  ", id="above a closing word"),
    ],
)
def test_new_lines_are_indented_as_their_place_is(lines: list[str], at: int, indent: str) -> None:
    assert fit_to_place(["a", "b"], lines, at) == [f"{indent}a", f"{indent}b"]


def test_new_lines_that_come_indented_stay() -> None:
    assert fit_to_place(["  a", "b"], PYTHON, 6) == ["  a", "b"]


def test_new_lines_use_the_texts_tabs_and_line_ends() -> None:
    assert fit_to_place(CODE, ["f:\r", "\tx\r"], 1) == ["\tif a:\r", "\t\tb()\r"]
