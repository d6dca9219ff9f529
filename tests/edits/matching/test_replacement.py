"""Parts are applied together in any order; their reverse restores the text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, example, given, strategies as st

from tideate_core.edits.formats.file_edits import Part
from tideate_core.edits.matching.match import find_lines
from tideate_core.edits.matching.preservation import plain_line
from tideate_core.edits.matching.replacement import apply_parts, fit_whole
from tideate_core.edits.resolve import resolve_text
from tideate_core.errors import UnusableAnswer
from tideate_core.workspace import Document

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

TEXT = [f"line {number}" for number in range(12)]


def part(search: list[str], new: list[str], name: str = "part") -> Part:
    return Part(name, ((tuple(search), tuple(new)),))


def test_parts_may_quote_the_same_lines_and_touch() -> None:
    parts = [
        part(TEXT[0:4], [*TEXT[0:2], "two", TEXT[3]]),
        part(TEXT[3:6], [TEXT[3], "four", TEXT[5]]),
        part(TEXT[6:7], ["six", "more"]),
    ]
    parts[0] = part(TEXT[0:3], [*TEXT[0:2], "two"])
    done = apply_parts(TEXT, parts)
    assert done.lines == [*TEXT[:2], "two", TEXT[3], "four", TEXT[5], "six", "more", *TEXT[7:]]
    assert [place.line for place in done.places] == [3, 5, 7]


def test_a_context_that_both_quote_is_no_overlap() -> None:
    first = part(TEXT[0:3], ["new", *TEXT[1:3]])
    second = part(TEXT[1:5], [*TEXT[1:4], "four"])
    assert apply_parts(TEXT, [second, first]).lines == ["new", *TEXT[1:4], "four", *TEXT[5:]]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (part(TEXT[2:3], ["a"]), part(TEXT[2:3], ["b"])),
        (part(TEXT[2:4], ["a"]), part(TEXT[3:5], ["b"])),
        (part(TEXT[1:6], [*TEXT[1:5], "x"]), part(TEXT[3:4], ["b"])),
        (part(TEXT[2:3], [TEXT[2], "after"]), part(TEXT[3:4], ["before", TEXT[3]])),
        (part(TEXT[2:3], [TEXT[2], "more"]), part(TEXT[2:3], ["other", "more"])),
        (part(TEXT[1:9], ["a", *TEXT[2:9]]), part(TEXT[4:6], [TEXT[4], "within", TEXT[5]])),
    ],
)
def test_what_one_changes_another_may_not_quote(one: Part, other: Part) -> None:
    for parts in ([one, other], [other, one]):
        with pytest.raises(UnusableAnswer, match="change the same lines"):
            apply_parts(TEXT, parts)


def test_an_overlap_behind_a_longer_part_is_found() -> None:
    around = part(TEXT[0:10], ["first", *TEXT[1:10]], "one")
    two = part(TEXT[3:5], [TEXT[3], "x", TEXT[4]], "two")
    three = part(TEXT[4:6], [TEXT[4], "y", TEXT[5]], "three")
    with pytest.raises(UnusableAnswer, match="change the same lines"):
        apply_parts(TEXT, [around, two, three])


def test_stray_blanks_of_one_part_are_left_out_of_all() -> None:
    parts = [part(["line 1 \t"], ["one"]), part(["line 5"], ["five  "])]
    assert apply_parts(TEXT, parts, language="python").lines[5] == "five"
    assert apply_parts(TEXT, parts[1:], language="python").lines[5] == "five  "


def test_new_lines_that_are_indented_as_the_file_beside_searched_ones_that_are_not_are_refused() -> None:
    lines = ["if a:", "    one = 1", "    two = 2"]
    with pytest.raises(UnusableAnswer, match="indented otherwise than in the file and its new lines are not"):
        apply_parts(lines, [part(["one = 1", "two = 2"], ["    one = 3", "    two = 2"])])


def test_too_little_to_go_by_is_found_only_as_it_stands() -> None:
    lines = ["f {", "    g {", "        a", "    }", "]"]
    assert apply_parts(lines, [part(["    }"], ["    };"])]).lines[3] == "    };"
    with pytest.raises(UnusableAnswer, match="stand at line 4 with other blanks or signs, and are too few"):
        apply_parts(lines, [part(["        }"], ["        };"])])


def test_a_change_of_blanks_alone_that_cannot_be_told_is_refused() -> None:
    with pytest.raises(UnusableAnswer, match="differ only in blanks"):
        apply_parts(["a\t", "b"], [part(["a", "b"], ["a ", "b"])])


def test_more_places_than_are_compared_are_refused_whatever_their_indentation() -> None:
    lines = [line for width in range(1, 60) for line in (" " * width + "a", " " * (60 - width) + "b")]
    with pytest.raises(UnusableAnswer, match="more than 50 places"):
        find_lines(lines, ["x a".removeprefix("x "), "b"], [])


def test_mixed_line_ends_stay() -> None:
    done = apply_parts(
        ["a\r", "b", "c\r", "d\r"], [part(["b", "c"], ["b", "x", "c"]), part(["d"], ["y", "z"])]
    )
    assert done.lines == ["a\r", "b", "x", "c\r", "y\r", "z\r"]


ROWS = st.lists(
    st.sampled_from(["a", "  a", "\ta", "b", "  b ", "c", "", "  ", "“a”", '"a"', "x \u2013 y", "x - y"]),
    min_size=1,
    max_size=14,
)


@pytest.mark.slow
@given(ROWS, ROWS, ROWS)
@example(["  a", "a"], ["a", "a"], ["a"])
def test_a_place_that_was_found_by_a_step_is_the_only_one_by_it(
    lines: list[str], search: list[str], new: list[str]
) -> None:
    try:
        match = find_lines(lines, search, new)
    except UnusableAnswer:
        return
    assume(any(line.strip() for line in search) and match.end > match.start)
    same: dict[str, Callable[[str], str]] = {
        "exact": str,
        "trailing blanks": str.rstrip,
        "indentation": str.strip,
        "punctuation": plain_line,
        "blank lines around it": str.rstrip,
    }
    key = same[match.tolerance]
    wanted = [key(line) for line in search]
    size = match.end - match.start
    there = [key(line) for line in lines[match.start : match.end]]
    if size == len(search):
        assert there == wanted
    if match.tolerance in {"exact", "trailing blanks"} and size == len(search):
        places = [
            at
            for at in range(len(lines) - size + 1)
            if [key(line) for line in lines[at : at + size]] == wanted
        ]
        assert places == [match.start]


@pytest.mark.slow
@given(ROWS, st.data())
def test_it_comes_out_the_same_every_time_and_in_any_order(lines: list[str], data: st.DataObject) -> None:
    parts = [
        part(data.draw(ROWS), data.draw(ROWS), f"part {number}")
        for number in range(data.draw(st.integers(1, 3)))
    ]
    outcomes: list[list[str] | None] = []
    for order in (parts, parts, parts[::-1]):
        try:
            outcomes.append(apply_parts(lines, order).lines)
        except UnusableAnswer:
            outcomes.append(None)
    assert outcomes[0] == outcomes[1] == outcomes[2]


@given(
    st.integers(2, 40),
    st.randoms(use_true_random=False),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.booleans(),
)
def test_an_edit_and_its_reverse_leave_the_bytes(
    count: int, dice: random.Random, newline: str, last: bool, mark: bool
) -> None:
    lines = [" " * dice.choice((0, 4, 8)) + f"line {number}" for number in range(count)]
    data = (newline.join(lines) + newline * last).encode()
    data = b"\xef\xbb\xbf" + data if mark else data
    document = Document.decode(data)
    start = dice.randrange(count - 1)
    end = dice.randrange(start + 1, count)
    new = [f"{line} new" for line in lines[start:end]]
    forth = apply_parts(document.text.split("\n"), [part(lines[start:end], new)]).lines
    after = Document.decode(document.encode("\n".join(forth)))
    assert after.text.split("\n") == [*lines[:start], *new, *lines[end:]]
    back = apply_parts(after.text.split("\n"), [part(new, lines[start:end])]).lines
    assert after.encode("\n".join(back)) == data


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


def test_stray_trailing_blanks_are_left_out_of_new_lines_of_code() -> None:
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
    assert resolve_text("```\nx = 1\n```", None, language="python").lines == ["x = 1"]
