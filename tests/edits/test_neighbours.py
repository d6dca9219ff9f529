"""Repeated surroundings are taken off an answer, or the answer is refused."""

from __future__ import annotations

import pytest

from tideate_core.edits.neighbours import trim_neighbours
from tideate_core.errors import UnusableAnswer

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


def trim(code: list[str], lines: list[str] = PYTHON, at: tuple[int, int] = BODY) -> list[str]:
    return trim_neighbours(code, lines, *at)


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(NEW, id="nothing repeated"),
        pytest.param([*PYTHON[2:5], *NEW], id="lines before"),
        pytest.param([*NEW, *PYTHON[9:]], id="lines after"),
        pytest.param([*PYTHON[:5], *NEW, *PYTHON[9:]], id="the whole file"),
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


def test_lines_that_the_range_itself_begins_or_ends_with_stay() -> None:
    lines = ["x(1)", "x(1)", "y(2)", "x(1)", "x(1)"]
    assert trim(["x(1)", "z(3)"], lines, (1, 3)) == ["x(1)", "z(3)"]
    assert trim(["z(3)", "x(1)"], lines, (2, 4)) == ["z(3)", "x(1)"]


def test_lines_that_are_indented_among_themselves_in_another_way_stay() -> None:
    lines = ["o(0)", "p(1)", "q(2)", "r(3)", "o(0)", "p(1)", "q(2)"]
    code = ["o(0)", "p(1)", "  q(2)", "s(4)"]
    assert trim(code, lines, (3, 4)) == code


def test_an_early_return_deeper_than_the_next_lines_stays() -> None:
    code = ["  let x = 1;", "  if (a) {", "    return x;", "  }"]
    assert trim(code, JS, (2, 3)) == code


def test_a_closing_line_of_the_code_itself_stays() -> None:
    assert trim(["  if (a) {", "}"], JS, (2, 4)) == ["  if (a) {", "}"]


def test_a_line_that_is_no_proof_stays() -> None:
    lines = ["a = 1", "b = 2", "c = 3"]
    assert trim(["a = 1", "b = 5"], lines, (1, 2)) == ["a = 1", "b = 5"]


def test_lines_that_stand_elsewhere_too_are_no_proof() -> None:
    lines = ["x", "}", "}", "middle", "}", "}"]
    assert trim(["new", "}", "}"], lines, (3, 4)) == ["new", "}", "}"]


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(["import sys", "", *PYTHON[2:5], *NEW], id="an import added above"),
        pytest.param([*NEW, *PYTHON[9:], "print(1)"], id="a line added below"),
        pytest.param(["def total(xs: list[int]) -> int:", *NEW], id="another signature"),
        pytest.param(
            ["def total(xs):", *NEW, "", "def other(ys):", "    return 1"], id="the next one changed"
        ),
        pytest.param(["import sys", "def total(xs):", *NEW, *PYTHON[9:]], id="the lines before changed"),
        pytest.param(["@cache", "def total(xs):", *NEW], id="a decorator added above"),
        pytest.param(PYTHON[2:5], id="nothing but repeated lines"),
    ],
)
def test_changed_surroundings_are_refused(code: list[str]) -> None:
    with pytest.raises(UnusableAnswer, match="answer only with the new text"):
        trim(code)


def test_a_line_of_one_keyword_is_no_proof() -> None:
    lines = ["def f():", "    try:", "        a()", "    finally:", "        b()"]
    code = ["try:", "    a()", "finally:", "    c()"]
    assert trim(code, lines, (2, 3)) == code


def test_a_nested_function_of_another_name_is_no_repetition() -> None:
    code = ["    def helper(x):", "        return x", "    return helper(xs)"]
    assert trim(code) == code


def test_insertion_trims_both_sides() -> None:
    assert trim([*PYTHON[2:5], "    check(xs)", *PYTHON[5:7]], at=(5, 5)) == ["    check(xs)"]
