"""Diff hunks: minimal, separate, fast."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from tests.harness.work import assert_linear
from tideate_core.workspace import Hunk, apply_hunks, diff_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    Versions = tuple[list[str], list[str]]

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


@pytest.mark.slow
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


def numbered(count: int) -> list[str]:
    return [f"line {number}" for number in range(count)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "versions",
    [
        pytest.param(lambda n: (numbered(n), ["first", *numbered(n)[1:-1], "last"]), id="both ends"),
        pytest.param(lambda n: (["x"] * n, [*["x"] * (n // 2), "y", *["x"] * (n // 2)]), id="equal lines"),
        pytest.param(lambda n: (["x", "y"] * (n // 2), ["y", "z"] * (n // 2)), id="nothing unique"),
        pytest.param(lambda n: ([f"a{i}" for i in range(n)], [f"b{i}" for i in range(n)]), id="all new"),
    ],
)
def test_the_work_of_comparing_grows_with_the_number_of_lines(versions: Callable[[int], Versions]) -> None:
    def compare(both: Versions) -> None:
        old, new = both
        assert apply_hunks(old, diff_lines(old, new)) == new

    assert_linear(versions, compare, 500)
    compare(versions(100_000))
