"""What a patch says about a place decides between several, and has to hold for one."""

from __future__ import annotations

import pytest

from tideate_core.edits.match import find_lines
from tideate_core.edits.scope import Scope
from tideate_core.errors import UnusableAnswer

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
