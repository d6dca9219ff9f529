"""A whole text as an answer changes what it means to change."""

from __future__ import annotations

import pytest

from tideate_core.edits.whole import fit_whole, whole_text
from tideate_core.errors import UnusableAnswer

OLD = ["a = 1  ", "b = “x”", "c = 3", *(f"d{number} = 0" for number in range(10))]


def test_lines_that_differ_only_in_blanks_or_punctuation_stay() -> None:
    new = ["a = 1", 'b = "x"', "c = 4", *OLD[3:]]
    done = fit_whole(new, OLD, "python")
    assert done.lines == [*OLD[:2], "c = 4", *OLD[3:]]
    assert done.notes == [
        "1 line that differed only in trailing blanks stayed as before",
        "1 line that differed only in punctuation stayed as before",
    ]


@pytest.mark.parametrize("new", [["a = 1", *OLD[1:]], [OLD[0], 'b = "x"', *OLD[2:]]])
def test_where_nothing_else_is_changed_they_are_the_change(new: list[str]) -> None:
    done = fit_whole(new, OLD, "python")
    assert (done.lines, done.notes) == (new, [])


def test_careless_trailing_blanks_are_left_out_of_new_lines_of_code() -> None:
    new = [OLD[0], OLD[1], "c = 4 ", *(f"{line}\t" for line in OLD[3:])]
    assert fit_whole(new, OLD, "python").lines == [*OLD[:2], "c = 4", *OLD[3:]]
    with pytest.raises(UnusableAnswer, match="not clear whether those of its new lines are meant"):
        fit_whole(new, OLD, "markdown")


def test_trailing_blanks_of_new_lines_stay_where_the_answer_is_careful() -> None:
    new = [*OLD[:2], "c = 4  ", *OLD[3:]]
    assert fit_whole(new, OLD, "python").lines == new


def test_a_part_is_refused() -> None:
    with pytest.raises(UnusableAnswer, match="it has 3 lines and the file has 13, so it seems to be a part"):
        fit_whole(OLD[:3], OLD, "python")


def test_a_blank_file_and_a_new_one_take_the_text_as_it_is() -> None:
    assert fit_whole(["  x"], [""], "python").lines == ["  x"]
    assert whole_text("```\nx = 1\n```", None, "python").lines == ["x = 1"]
