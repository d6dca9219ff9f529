"""The nearest lines are shown with their numbers."""

from __future__ import annotations

from tideate_core.edits.nearest import nearest_lines

LINES = [f"line_{number} = {number}" for number in range(1, 40)]


def test_the_lines_that_are_the_same_tell_the_place() -> None:
    search = ["line_20 = 20", "line_21 = 99", "line_22 = 22"]
    said = nearest_lines(LINES, search)
    assert said.startswith("; the nearest are its lines 19 to 23:\n")
    assert said.splitlines()[1:] == LINES[18:23]


def test_without_such_lines_it_is_the_most_alike() -> None:
    lines = ["import os", "def close_everything(self):", "    pass"]
    assert "lines 1 to 3" in nearest_lines(lines, ["def close_every_thing(self)"])


def test_where_nothing_is_alike_nothing_is_shown() -> None:
    assert nearest_lines(LINES, ["§§§"]) == ""
    assert nearest_lines([], ["a"]) == ""
    assert nearest_lines(LINES, [""]) == ""


def test_at_the_edges_of_the_file_and_without_line_ends() -> None:
    assert (
        nearest_lines(["abc def\r", "x\r"], ["abc def", "z"])
        == "; the nearest are its lines 1 to 2:\nabc def\nx"
    )


def test_a_long_search_shows_some_lines() -> None:
    assert len(nearest_lines(LINES, [*LINES, "more"]).splitlines()) == 15


def test_a_line_that_was_forgotten_does_not_lead_elsewhere() -> None:
    common = "this is one of the longer lines that stand in two places"
    lines = ["start", common, *LINES[:20], common, "one", "two", "three", "four", "five", *LINES[20:]]
    said = nearest_lines(lines, [common, "two", "three", "for", "five"])
    assert said.startswith("; the nearest are its lines 22 to 28:\n")


def test_a_short_line_with_another_word_is_found_where_most_of_it_stands() -> None:
    lines = [*LINES, "let result = compute(a)", "    return"]
    said = nearest_lines(lines, ["let mistaken = compute(b)", "    return"])
    assert "let result = compute(a)" in said


def test_a_weak_match_does_not_hide_a_better_one() -> None:
    lines = ["}", "else:", "    unrelated", *LINES, "if something.very_long(argument):", "    call(it)", "fi"]
    said = nearest_lines(lines, ["if something.very_lng(argument):", "    cal(it)", "else:"])
    assert "if something.very_long(argument):" in said
