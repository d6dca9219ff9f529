"""Additions of models to the file's lines are separated from the intended text."""

from __future__ import annotations

import pytest

from tideate_core.edits.matching.match import find_lines
from tideate_core.edits.matching.readings import (
    Reading,
    readings_of,
    trim_blank_edges,
    with_first_indent,
    with_plain_blanks,
)


@pytest.mark.parametrize(
    ("search", "replace", "added"),
    [
        (["7: a", "8: b"], ["7: c"], ["", "line numbers"]),
        (["7: a", "9: b"], ["7: c"], [""]),
        (["7: a", "8: b"], ["c"], [""]),
        (["```", "a", "```"], ["```py", "c", "```"], ["", "code fences"]),
        (["```", "a", "```"], ["c"], [""]),
        (["```", "a", "```", "b", "```"], ["```", "c", "```"], [""]),
    ],
)
def test_numbers_and_fences_are_left_out_only_where_both_sides_have_them(
    search: list[str], replace: list[str], added: list[str]
) -> None:
    assert [reading.added for reading in readings_of(Reading(search, replace))] == added


def test_as_many_blank_lines_are_left_out_of_the_new_lines_as_of_the_search() -> None:
    trimmed = trim_blank_edges(Reading(["", "", "a", ""], ["", "b", "", ""]), 1, 0)
    assert (trimmed.search, trimmed.replace) == (["", "a"], ["b", ""])
    same = Reading(["", "a"], ["b"])
    assert trim_blank_edges(same, 1, 0) is same


def test_first_lines_get_the_files_indentation_only_where_the_others_have_theirs() -> None:
    there = ["    if a:", "        b()"]
    given = with_first_indent(Reading(["if a:", "        b()"], ["if c:", "        b()"]), there)
    assert given is not None
    assert (given.search, given.replace) == (there, ["    if c:", "        b()"])
    assert with_first_indent(Reading(["if a:", "        b()"], ["if c:", "b()"]), there) is None


def test_blanks_that_the_file_has_itself_stay() -> None:
    reading = Reading(["a\u00a0b"], ["a\u00a0c"])
    assert with_plain_blanks(reading, ["a b"]).replace == ["a c"]
    assert with_plain_blanks(reading, ["a\u00a0b"]) is reading


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (["tuples, or", "        pairs of them."], ["        tuples, or", "        pairs of them."]),
        (["first()", "        second()"], ["        first()", "        second()"]),
        (["first()", "second()"], ["        first()", "        second()"]),
        (["if first:", "        second()"], ["        if first:", "                second()"]),
        (["first(", "        second)"], ["        first(", "                second)"]),
        (["first", "        .second()"], ["        first", "                .second()"]),
        (["first()", "    second()"], ["        first()", "            second()"]),
    ],
)
def test_lines_after_a_line_without_indentation_keep_their_own_if_it_fits(
    new: list[str], expected: list[str]
) -> None:
    lines = ["class A:", "    def b(self):", "        tuples.of()", "        return 1"]
    assert list(find_lines(lines, ["tuples.of()"], new).new) == expected
