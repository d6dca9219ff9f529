"""New code gets its place's indentation and line ends, without repeated neighbours."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from tideate_core.edits.matching.placement import fit_to_place, fit_to_range, trim_neighbours
from tideate_core.errors import UnusableAnswer

FITTED: dict[str, tuple[list[str], list[str], list[str]]] = {
    "dedented code": (
        ["if a:", "    c()"],
        ["        if a:", "            b()"],
        ["        if a:", "            c()"],
    ),
    "code that is too deep": (["        a()", "        b()"], ["    a()"], ["    a()", "    b()"]),
    "code in its place": (
        ["    a(  )  ", "", "  odd", "    \tb"],
        ["    a()"],
        ["    a(  )  ", "", "  odd", "    \tb"],
    ),
    "only the first line lost its indentation": (
        ["def f(self) -> int:", "        return self.x", "", "    def g(self):", "        return 2"],
        ["    def f(self):", "        return self.x", "", "    def g(self):", "        return 1"],
        ["    def f(self) -> int:", "        return self.x", "", "    def g(self):", "        return 2"],
    ),
    "a stripped answer is known by its depth": (
        ["def f():", "        b()"],
        ["    def f():", "        a()"],
        ["    def f():", "        b()"],
    ),
    "moved as its unchanged lines are": (
        ["elif b:", "    other()", "else:", "    more()"],
        ["            last()", "        elif b:", "            other()", "        else:"],
        ["        elif b:", "            other()", "        else:", "            more()"],
    ),
    "unchanged lines that do not agree": (
        ["a", "  b", "      c"],
        ["    a", "    b", "    c"],
        ["    a", "      b", "          c"],
    ),
    "a range that begins deeper than it continues": (
        ["    def g(self):", "        return 1"],
        ["        last()", "    def g(self):", "        return 1"],
        ["    def g(self):", "        return 1"],
    ),
    "lines left of the first": (["    a", "  b"], ["        a"], ["        a", "      b"]),
    "spaces become tabs": (
        ["if (a) {", "  c();", "}"],
        ["\tif (a) {", "\t\tb();", "\t}"],
        ["\tif (a) {", "\t\tc();", "\t}"],
    ),
    "deep spaces become tabs": (
        ["    if (a) {", "        c();", "    }"],
        ["\tif (a) {", "\t\tb();", "\t}"],
        ["\tif (a) {", "\t\tc();", "\t}"],
    ),
    "tabs become spaces": (
        ["if (a) {", "\tc();", "}"],
        ["  if (a) {", "    b();", "  }"],
        ["  if (a) {", "    c();", "  }"],
    ),
    "blank edges": (["", "b", "", ""], ["", " ", "a", ""], ["", " ", "b", ""]),
    "CR on all lines": (["a", "b\r", ""], ["x\r", "y\r", "\r"], ["a\r", "b\r", "\r"]),
    "CR on some lines": (["a", "b\r"], ["x\r", "y"], ["a", "b"]),
    "a blank range": (["  a", "b"], [""], ["  a", "b"]),
}


@pytest.mark.parametrize(("code", "old", "fitted"), FITTED.values(), ids=FITTED)
def test_code_is_fitted_to_its_range(code: list[str], old: list[str], fitted: list[str]) -> None:
    assert fit_to_range(code, old) == fitted


def test_lines_that_cannot_be_moved_are_refused() -> None:
    with pytest.raises(UnusableAnswer, match="'b'"):
        fit_to_range(["        a", "b"], ["    z"])


def test_the_rest_of_the_file_tells_the_style_of_a_flat_range() -> None:
    assert fit_to_range(["f:", "    a"], ["f:"], style=["g:", "\tb"]) == ["f:", "\ta"]


@given(
    st.lists(st.sampled_from(["a", "  b", "    c", "", "\t"]), min_size=1, max_size=8).map(
        lambda xs: ["x", *xs, "y"]
    ),
    st.sampled_from(["", "  ", "    ", "        "]),
)
def test_moving_keeps_every_text_and_the_relative_indentation(code: list[str], indent: str) -> None:
    fitted = fit_to_range(code, [f"{indent}old"])
    assert [line.strip() for line in fitted] == [line.strip() for line in code]
    assert [line[len(indent) :] for line in fitted if line.strip()] == [line for line in code if line.strip()]


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


TEXT = PYTHON
BODY = (5, 9)
JS = [
    "const a = 1;",
    "function f() {",
    "  let x = 1;",
    "  return x;",
    "}",
    "",
    "function g() {",
    "  return a;",
    "}",
]
NEW = ["    return sum(xs)"]


def trim(code: list[str], lines: list[str] = TEXT, at: tuple[int, int] = BODY) -> list[str]:
    return trim_neighbours(code, lines, *at)


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(NEW, id="nothing repeated"),
        pytest.param([*TEXT[2:5], *NEW], id="lines before"),
        pytest.param([*NEW, *TEXT[9:]], id="lines after"),
        pytest.param([*TEXT[:5], *NEW, *TEXT[9:]], id="the whole file"),
        pytest.param(["LIMIT = 10", "def total(xs):", *NEW], id="without its blank lines"),
        pytest.param(["def total(xs):", *NEW], id="the line that opens the block"),
        pytest.param(["", *NEW, ""], id="blank lines"),
    ],
)
def test_repeated_lines_are_taken_off(code: list[str]) -> None:
    assert trim(code) == NEW


def test_the_line_that_closes_an_opened_block_goes_with_it() -> None:
    assert trim(["function f() {", "  return 1;", "}"], JS, (2, 4)) == ["  return 1;"]
    assert trim(["function f() {", "  if (a) {", "  }", "}"], JS, (2, 4)) == ["  if (a) {", "  }"]
    assert trim(["function f() {", "  if (a) {", "  }"], JS, (2, 4)) == ["  if (a) {", "  }"]


TWICE = ["f(1)", "  a()", "g(2)", "end", "f(1)", "  a()", "g(2)", "end"]


def test_lines_beside_an_unchanged_line_are_repeated_even_if_they_stand_twice() -> None:
    assert trim(["f(1)", "  a()", "  b()"], TWICE, (1, 2)) == ["  a()", "  b()"]
    assert trim(["  b()", "  a()", "g(2)", "end"], TWICE, (1, 2)) == ["  b()", "  a()"]
    assert trim(["  b()", "  a()", "g(2)"], TWICE, (5, 6)) == ["  b()", "  a()"]


def test_two_lines_are_repeated_even_if_they_stand_twice() -> None:
    assert trim(["  b()", "g(2)", "end"], TWICE, (1, 2)) == ["  b()"]


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(["import sys", "", *TEXT[2:5], *NEW], id="an import added above"),
        pytest.param([*NEW, *TEXT[9:], "print(1)"], id="a line added below"),
        pytest.param(["def total(xs: list[int]) -> int:", *NEW], id="another signature"),
        pytest.param(
            ["def total(xs):", *NEW, "", "def other(ys):", "    return 1"], id="the next one changed"
        ),
        pytest.param(["import sys", "def total(xs):", *NEW, *TEXT[9:]], id="the lines before changed"),
        pytest.param(["@cache", "def total(xs):", *NEW], id="a decorator added above"),
        pytest.param(TEXT[2:5], id="nothing but repeated lines"),
    ],
)
def test_changed_surroundings_are_refused(code: list[str]) -> None:
    with pytest.raises(UnusableAnswer, match="answer only with the new text"):
        trim(code)


def test_insertion_trims_both_sides() -> None:
    assert trim([*TEXT[2:5], "    check(xs)", *TEXT[5:7]], at=(5, 5)) == ["    check(xs)"]


XY = ["x(1)", "x(1)", "y(2)", "x(1)", "x(1)"]
UNTRIMMED: dict[str, tuple[list[str], list[str], tuple[int, int]]] = {
    "the range begins with it": (["x(1)", "z(3)"], XY, (1, 3)),
    "the range ends with it": (["z(3)", "x(1)"], XY, (2, 4)),
    "indented in another way": (
        ["o(0)", "p(1)", "  q(2)", "s(4)"],
        ["o(0)", "p(1)", "q(2)", "r(3)", "o(0)", "p(1)", "q(2)"],
        (3, 4),
    ),
    "an early return": (["  let x = 1;", "  if (a) {", "    return x;", "  }"], JS, (2, 3)),
    "a closing line of the code": (["  if (a) {", "}"], JS, (2, 4)),
    "a single line": (["a = 1", "b = 5"], ["a = 1", "b = 2", "c = 3"], (1, 2)),
    "lines that occur elsewhere": (["new", "}", "}"], ["x", "}", "}", "middle", "}", "}"], (3, 4)),
    "a keyword": (
        ["try:", "    a()", "finally:", "    c()"],
        ["def f():", "    try:", "        a()", "    finally:", "        b()"],
        (2, 3),
    ),
    "a nested function": (["    def helper(x):", "        return x", "    return helper(xs)"], TEXT, BODY),
}


@pytest.mark.parametrize(("code", "lines", "at"), UNTRIMMED.values(), ids=UNTRIMMED)
def test_lines_that_need_not_be_a_repetition_stay(
    code: list[str], lines: list[str], at: tuple[int, int]
) -> None:
    assert trim(code, lines, at) == code
