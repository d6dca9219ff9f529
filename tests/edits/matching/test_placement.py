"""New code gets its place's indentation and line ends, without repeated neighbours."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from tideate_core.edits.matching.placement import fit_to_place, fit_to_range, trim_neighbours
from tideate_core.errors import UnusableAnswer


class TestFitToRange:
    def test_dedented_code_is_moved_to_its_place(self) -> None:
        old = ["        if a:", "            b()"]
        assert fit_to_range(["if a:", "    c()"], old) == ["        if a:", "            c()"]

    def test_code_that_is_too_deep_is_moved_back(self) -> None:
        assert fit_to_range(["        a()", "        b()"], ["    a()"]) == ["    a()", "    b()"]

    def test_code_in_its_place_stays_byte_for_byte(self) -> None:
        code = ["    a(  )  ", "", "  odd", "    \tb"]
        assert fit_to_range(code, ["    a()"]) == code

    def test_only_the_first_line_lost_its_indentation(self) -> None:
        old = ["    def f(self):", "        return self.x", "", "    def g(self):", "        return 1"]
        code = ["def f(self) -> int:", "        return self.x", "", "    def g(self):", "        return 2"]
        assert fit_to_range(code, old) == ["    def f(self) -> int:", *code[1:]]

    def test_a_stripped_answer_is_known_by_its_depth_too(self) -> None:
        assert fit_to_range(["def f():", "        b()"], ["    def f():", "        a()"]) == [
            "    def f():",
            "        b()",
        ]

    def test_code_is_moved_as_its_unchanged_lines_are(self) -> None:
        old = ["            last()", "        elif b:", "            other()", "        else:"]
        code = ["elif b:", "    other()", "else:", "    more()"]
        assert fit_to_range(code, old) == [
            "        elif b:",
            "            other()",
            "        else:",
            "            more()",
        ]

    def test_unchanged_lines_that_do_not_agree_tell_nothing(self) -> None:
        code = ["a", "  b", "      c"]
        assert fit_to_range(code, ["    a", "    b", "    c"]) == ["    a", "      b", "          c"]

    def test_a_range_that_begins_deeper_than_it_goes_on(self) -> None:
        old = ["        last()", "    def g(self):", "        return 1"]
        code = ["    def g(self):", "        return 1"]
        assert fit_to_range(code, old) == code

    def test_lines_left_of_the_first_are_moved_as_far(self) -> None:
        assert fit_to_range(["    a", "  b"], ["        a"]) == ["        a", "      b"]

    def test_lines_that_cannot_be_moved_are_refused(self) -> None:
        with pytest.raises(UnusableAnswer, match="'b'"):
            fit_to_range(["        a", "b"], ["    z"])

    def test_spaces_become_tabs_where_the_old_lines_have_tabs(self) -> None:
        old = ["\tif (a) {", "\t\tb();", "\t}"]
        assert fit_to_range(["if (a) {", "  c();", "}"], old) == ["\tif (a) {", "\t\tc();", "\t}"]
        assert fit_to_range(["    if (a) {", "        c();", "    }"], old) == [
            "\tif (a) {",
            "\t\tc();",
            "\t}",
        ]

    def test_tabs_become_spaces_where_the_old_lines_have_spaces(self) -> None:
        old = ["  if (a) {", "    b();", "  }"]
        assert fit_to_range(["if (a) {", "\tc();", "}"], old) == ["  if (a) {", "    c();", "  }"]

    def test_the_rest_of_the_file_tells_the_style_of_a_flat_range(self) -> None:
        assert fit_to_range(["f:", "    a"], ["f:"], style=["g:", "\tb"]) == ["f:", "\ta"]

    def test_blank_lines_at_the_edges_stay_those_of_the_old_text(self) -> None:
        assert fit_to_range(["", "b", "", ""], ["", " ", "a", ""]) == ["", " ", "b", ""]

    def test_cr_at_line_ends_is_kept_where_all_lines_have_it(self) -> None:
        assert fit_to_range(["a", "b\r", ""], ["x\r", "y\r", "\r"]) == ["a\r", "b\r", "\r"]
        assert fit_to_range(["a", "b\r"], ["x\r", "y"]) == ["a", "b"]

    def test_a_blank_range_takes_the_code_as_it_is(self) -> None:
        assert fit_to_range(["  a", "b"], [""]) == ["  a", "b"]

    @given(
        st.lists(st.sampled_from(["a", "  b", "    c", "", "\t"]), min_size=1, max_size=8).map(
            lambda xs: ["x", *xs, "y"]
        ),
        st.sampled_from(["", "  ", "    ", "        "]),
    )
    def test_moving_keeps_every_text_and_the_relative_indentation(self, code: list[str], indent: str) -> None:
        fitted = fit_to_range(code, [f"{indent}old"])
        assert [line.strip() for line in fitted] == [line.strip() for line in code]
        assert [line[len(indent) :] for line in fitted if line.strip()] == [
            line for line in code if line.strip()
        ]


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


TEXT = [
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


def test_a_line_of_one_keyword_is_no_proof() -> None:
    lines = ["def f():", "    try:", "        a()", "    finally:", "        b()"]
    code = ["try:", "    a()", "finally:", "    c()"]
    assert trim(code, lines, (2, 3)) == code


def test_a_nested_function_of_another_name_is_no_repetition() -> None:
    code = ["    def helper(x):", "        return x", "    return helper(xs)"]
    assert trim(code) == code


def test_insertion_trims_both_sides() -> None:
    assert trim([*TEXT[2:5], "    check(xs)", *TEXT[5:7]], at=(5, 5)) == ["    check(xs)"]
