"""One uniform rule maps a model's indentation to the file's, or none does."""

from __future__ import annotations

import pytest

from tideate_core.edits.indentation import indentation_between, refuse_other_blanks
from tideate_core.errors import UnusableAnswer


def moved(search: list[str], there: list[str], new: list[str]) -> list[str] | None:
    rule = indentation_between(search, there, new)
    return None if rule is None else rule(new)


@pytest.mark.parametrize(
    ("search", "there", "new", "moves_to"),
    [
        (["a", "  b"], ["    a", "      b"], ["c", "  d"], ["    c", "      d"]),
        (["    a"], ["  a"], ["    c", "", "      d"], ["  c", "", "    d"]),
        (["    a"], ["        a"], ["  c"], ["      c"]),
        (["\ta"], ["\t\ta"], ["\tc", "\t\td"], ["\t\tc", "\t\t\td"]),
        (["    a", "        b"], ["\ta", "\t\tb"], ["        c"], ["\t\tc"]),
        (["  a", "    b"], ["\ta", "\t\tb"], ["      c"], ["\t\t\tc"]),
        (["a", "    b"], ["\ta", "\t\tb"], ["        c"], ["\t\t\tc"]),
        (["    a"], ["\ta"], ["        c"], ["\t\tc"]),
        (["\ta", "\t\tb"], ["  a", "    b"], ["\t\t\tc"], ["      c"]),
        (["\ta"], ["    a"], ["\t\tc"], ["        c"]),
        (["    a", "      b"], ["\ta", "\t  b"], ["        c"], ["\t\tc"]),
        ([], [], ["  c"], ["  c"]),
    ],
)
def test_lines_move_as_the_searched_ones(
    search: list[str], there: list[str], new: list[str], moves_to: list[str]
) -> None:
    assert moved(search, there, new) == moves_to


@pytest.mark.parametrize(
    ("search", "there"),
    [
        (["a", "b"], ["a", "  b"]),
        (["a", "  b"], ["  a", "   b"]),
        (["  a", "    b", "      c"], ["\ta", "\t\tb", "\tc"]),
        (["\t  a"], ["    a"]),
        (["     a", "   b"], ["\ta", "\t\tb"]),
    ],
)
def test_uneven_indentation_has_no_rule(search: list[str], there: list[str]) -> None:
    assert indentation_between(search, there, []) is None


def test_a_line_that_no_rule_fits_is_refused() -> None:
    with pytest.raises(UnusableAnswer, match="does not fit the lines around it"):
        moved(["    a", "        b"], ["\ta", "\t\tb"], ["      c"])
    with pytest.raises(UnusableAnswer, match="mixes tabs and spaces"):
        moved(["    a", "        b"], ["\ta", "\t\tb"], ["  \tc"])
    with pytest.raises(UnusableAnswer, match="indented less"):
        moved(["    a"], ["a"], ["c"])
    with pytest.raises(UnusableAnswer, match="indented less"):
        moved(["  a"], ["\t  a"], ["\tc"])
    with pytest.raises(UnusableAnswer, match="indented less"):
        moved([" a"], ["\t  a"], ["c"])


def test_how_wide_a_tab_is_is_not_guessed() -> None:
    assert indentation_between(["a"], ["\ta"], ["    c"]) is None
    assert indentation_between(["a"], ["    a"], ["\tc"]) is None


def test_other_blanks_than_the_files_are_refused_where_nothing_tells_their_width() -> None:
    tabs, spaces = ["f {", "\ta", "\tb", "}"], ["f:", "    a"]
    with pytest.raises(UnusableAnswer, match="indented with tabs and your line 'c' with spaces"):
        refuse_other_blanks(tabs, ["f {"], ["f {", "    c"])
    with pytest.raises(UnusableAnswer, match="indented with spaces and your line 'c' with tabs"):
        refuse_other_blanks(spaces, ["f:"], ["f:", "\tc"])


def test_the_stars_of_a_comment_and_the_files_own_blanks_are_let_pass() -> None:
    refuse_other_blanks(["\ta", "\tb"], ["\ta"], ["/**", "  * word", "  */", "\tc"])
    refuse_other_blanks(["\ta", "    b"], ["\ta"], ["    c", "\td"])
    refuse_other_blanks(["a"], ["a"], ["\tb"])
