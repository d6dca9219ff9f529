"""Hunks of a diff: few, apart from each other, quickly found."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from tideate_core.workspace import Hunk, apply_hunks, diff_lines

LINES = st.lists(st.sampled_from(["", "}", "a", "b", "c", "return"]), max_size=40)


@given(LINES, LINES)
def test_the_hunks_of_a_diff_make_the_new_text(old: list[str], new: list[str]) -> None:
    assert apply_hunks(old, diff_lines(old, new)) == new


@given(LINES, LINES)
def test_hunks_are_apart_and_hold_the_lines_they_replace(old: list[str], new: list[str]) -> None:
    hunks = diff_lines(old, new)
    assert all(tuple(old[hunk.start : hunk.end]) == hunk.old for hunk in hunks)
    assert all(first.end < second.start for first, second in pairwise(hunks))
    assert all(hunk.old != hunk.new for hunk in hunks)


def test_one_changed_line_is_one_hunk_of_one_line() -> None:
    old = [f"line {number % 50}" for number in range(2000)]
    new = [*old[:700], "other", *old[701:]]
    assert diff_lines(old, new) == [Hunk(700, (old[700],), ("other",))]


def test_an_inserted_function_is_one_insertion() -> None:
    old = ["def a():", "    return 1", "", "def c():", "    return 3"]
    new = ["def a():", "    return 1", "", "def b():", "    return 2", "", "def c():", "    return 3"]
    (hunk,) = diff_lines(old, new)
    assert (hunk.old, len(hunk.new)) == ((), 3)


FUNCTION = ["def f():", "    x = 1", "    if x:", "        pass", "    return x", ""]


@pytest.mark.parametrize("lines", [300, 1000, 10_000])
@pytest.mark.parametrize("line", [0, 4])
def test_hunks_of_a_long_text_of_equal_lines_are_as_fine_as_those_of_git(line: int, lines: int) -> None:
    old = [FUNCTION[number % 6] for number in range(lines)]
    new = [f"{text}  # new" if number % 6 == line else text for number, text in enumerate(old)]
    places = range(line, lines, 6)
    assert diff_lines(old, new) == [
        Hunk(at, (FUNCTION[line],), (f"{FUNCTION[line]}  # new",)) for at in places
    ]


def test_a_text_that_is_compared_in_parts_has_fine_hunks() -> None:
    old = [f"line {number % 97}" for number in range(50_000)]
    new = [f"new {text}" if number % 50 == 0 else text for number, text in enumerate(old)]
    assert len(diff_lines(old, new)) == 1000


@given(LINES, LINES)
def test_as_many_lines_as_possible_are_kept_where_none_is_unique(old: list[str], new: list[str]) -> None:
    old, new = ["old head", *old, *old, "old end"], ["new head", *new, *new, "new end"]
    lengths = [0] * (len(new) + 1)
    for line in old:
        row = [0]
        for at, other in enumerate(new):
            row.append(lengths[at] + 1 if line == other else max(row[-1], lengths[at + 1]))
        lengths = row
    assert len(old) - sum(len(hunk.old) for hunk in diff_lines(old, new)) == lengths[-1]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(
            [f"line {n}" for n in range(50_000)],
            ["first", *(f"line {n}" for n in range(1, 49_999)), "last"],
            id="both ends",
        ),
        pytest.param(["x"] * 50_000, ["x"] * 25_000 + ["y"] + ["x"] * 25_000, id="equal lines"),
        pytest.param(["x", "y"] * 25_000, ["y", "z"] * 25_000, id="nothing unique"),
        pytest.param([f"a{n}" for n in range(50_000)], [f"b{n}" for n in range(50_000)], id="all new"),
    ],
)
def test_fifty_thousand_lines_are_compared_quickly(old: list[str], new: list[str]) -> None:
    started = time.process_time()
    hunks = diff_lines(old, new)
    assert time.process_time() - started < 3
    assert apply_hunks(old, hunks) == new
