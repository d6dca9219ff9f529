"""All places are found; a scope selects one; the nearest lines are a hint."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from tideate_core.edits.matching.match import find_lines
from tideate_core.edits.matching.places import Scope, nearest_lines, places_of
from tideate_core.errors import UnusableAnswer

FEW = st.lists(st.sampled_from("ab"), max_size=30)


@given(FEW, FEW)
def test_all_places_are_found(wanted: list[str], among: list[str]) -> None:
    size = len(wanted)
    all_places = [at for at in range(len(among) - size + 1) if size and among[at : at + size] == wanted]
    assert list(places_of(wanted, among)) == all_places


def test_nothing_stands_nowhere() -> None:
    assert list(places_of([], ["a"])) == []


LINES = [
    "class A:",
    "    def f(self):",
    "        return 1",
    "",
    "class B:",
    "    def f(self):",
    "        return 1",
    "",
    "return 1",
]
RETURN = ["        return 1"]


@pytest.mark.parametrize(
    ("anchors", "line"),
    [(("class A:",), 2), (("class B:",), 6), (("class B:", "def f(self):"), 6), (("class B:", "no such"), 6)],
)
def test_lines_above_choose_their_own_block(anchors: tuple[str, ...], line: int) -> None:
    assert find_lines(LINES, RETURN, ["x"], scope=Scope(anchors)).start == line


@pytest.mark.parametrize("anchors", [(), ("def f(self):",), ("no such line",)])
def test_lines_above_that_stand_there_not_once_choose_nothing(anchors: tuple[str, ...]) -> None:
    with pytest.raises(UnusableAnswer, match=r"2 places \(lines 3, 7\)"):
        find_lines(LINES, RETURN, ["x"], scope=Scope(anchors))


def test_a_place_above_the_line_that_is_to_stand_above_it_is_refused() -> None:
    lines = [*LINES, "class C:", "    pass"]
    with pytest.raises(UnusableAnswer, match="line 1, which is not where it says"):
        find_lines(lines, ["class A:"], ["x"], scope=Scope(("class C:",)))


def test_the_end_of_the_file_chooses_the_last_place() -> None:
    lines = ["a", "x", "b", "x", ""]
    assert find_lines(lines, ["x"], ["y"], scope=Scope(at_end=True)).start == 3
    with pytest.raises(UnusableAnswer, match="which is not where it says"):
        find_lines(["x", "x", "b"], ["x"], ["y"], scope=Scope(at_end=True))


def test_lines_without_a_search_go_only_to_the_end() -> None:
    match = find_lines(["a", "b", ""], [], ["c"], scope=Scope(at_end=True))
    assert (match.start, match.end, match.new) == (2, 2, ("c",))
    with pytest.raises(UnusableAnswer, match="no lines to search"):
        find_lines(["a"], [], ["c"], scope=Scope(("a",)))


def test_a_bracket_that_closes_does_not_end_a_block() -> None:
    lines = ["f(", "    a", ") {", "    x", "}", "g {", "    x", "}"]
    assert find_lines(lines, ["    x"], ["y"], scope=Scope(("f(",))).start == 3


ROWS = [f"line_{number} = {number}" for number in range(1, 40)]


def test_the_lines_that_are_the_same_tell_the_place() -> None:
    search = ["line_20 = 20", "line_21 = 99", "line_22 = 22"]
    said = nearest_lines(ROWS, search)
    assert said.startswith("; the nearest are its lines 19 to 23:\n")
    assert said.splitlines()[1:] == ROWS[18:23]


def test_without_such_lines_it_is_the_most_alike() -> None:
    lines = ["import os", "def close_everything(self):", "    pass"]
    assert "lines 1 to 3" in nearest_lines(lines, ["def close_every_thing(self)"])


def test_where_nothing_is_alike_nothing_is_shown() -> None:
    assert nearest_lines(ROWS, ["§§§"]) == ""
    assert nearest_lines([], ["a"]) == ""
    assert nearest_lines(ROWS, [""]) == ""


def test_at_the_edges_of_the_file_and_without_line_ends() -> None:
    assert (
        nearest_lines(["abc def\r", "x\r"], ["abc def", "z"])
        == "; the nearest are its lines 1 to 2:\nabc def\nx"
    )


def test_a_long_search_shows_some_lines() -> None:
    assert len(nearest_lines(ROWS, [*ROWS, "more"]).splitlines()) == 15


def test_a_line_that_was_forgotten_does_not_lead_elsewhere() -> None:
    common = "this is one of the longer lines that stand in two places"
    lines = ["start", common, *ROWS[:20], common, "one", "two", "three", "four", "five", *ROWS[20:]]
    said = nearest_lines(lines, [common, "two", "three", "for", "five"])
    assert said.startswith("; the nearest are its lines 22 to 28:\n")


def test_a_short_line_with_another_word_is_found_where_most_of_it_stands() -> None:
    lines = [*ROWS, "let result = compute(a)", "    return"]
    said = nearest_lines(lines, ["let mistaken = compute(b)", "    return"])
    assert "let result = compute(a)" in said


def test_a_weak_match_does_not_hide_a_better_one() -> None:
    lines = [
        "}",
        "else:",
        "    unrelated",
        *ROWS,
        "if something.very_long(argument):",
        "    call(it)",
        "fi",
    ]
    said = nearest_lines(lines, ["if something.very_lng(argument):", "    cal(it)", "else:"])
    assert "if something.very_long(argument):" in said
