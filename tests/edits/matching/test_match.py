"""A search/replace block changes its unique place, or nothing."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, strategies as st

from tests.edits.search_replace import LINES, apply_blocks, block, refused
from tideate_core.edits.matching.match import find_lines
from tideate_core.errors import UnusableAnswer


@pytest.mark.parametrize(
    ("search", "replace", "tolerance", "changed"),
    [
        ("        return 1", "        return 3", "exact", "        return 3"),
        (
            "    def f(self):   \n        return 1",
            "    def f(self):\n        return 3",
            "trailing blanks",
            "        return 3",
        ),
        ("def f(self):\n    return 1", "def f(self):\n    return 3", "indentation", "        return 3"),
        ("            return 1", "            return 3", "indentation", "        return 3"),
        ("def f(self):\n\treturn 1", "def f(self):\n\treturn 3", "indentation", "        return 3"),
    ],
)
def test_tolerances_in_their_order(search: str, replace: str, tolerance: str, changed: str) -> None:
    done = apply_blocks(LINES, block(search, replace))
    assert done.lines == [*LINES[:2], changed, *LINES[3:]]
    assert [place.tolerance for place in done.places] == [tolerance]


def test_blank_lines_around_a_block_are_left_out_where_the_file_has_none() -> None:
    around = block("\n    def f(self):\n", "\n    def h(self):\n")
    assert apply_blocks(LINES, around).lines == [LINES[0], "    def h(self):", *LINES[2:]]


@pytest.mark.parametrize(
    ("search", "replace"),
    [
        ("\nbeta = 2", "beta = 5"),
        ("\nbeta = 2", "\nbeta = 5"),
        ("beta = 2\n", "beta = 5"),
        ("beta = 2\n", "beta = 5\n"),
        ("\n\nbeta = 2\n", "\nbeta = 5\n"),
        ("\nbeta = 2\n", "beta = 5"),
    ],
)
def test_blank_lines_too_many_at_the_edges_are_left_out(search: str, replace: str) -> None:
    lines = ["x0 = 1", "a = 1", "beta = 2", "c0 = 3", "y0 = 4"]
    done = apply_blocks(lines, block(search, replace))
    assert done.lines == [*lines[:2], "beta = 5", *lines[3:]]
    assert [place.tolerance for place in done.places] == ["blank lines around it"]


def test_a_blank_line_that_the_file_has_is_kept_and_only_the_other_one_left_out() -> None:
    lines = ["x0 = 1", "a = 1", "return 1", "", "y0 = 4"]
    assert apply_blocks(lines, block("\nreturn 1\n", "\nreturn 3\n")).lines == [
        *lines[:2],
        "return 3",
        *lines[3:],
    ]


def test_all_is_deleted_where_blank_lines_stand_around_nothing() -> None:
    lines = ["x0 = 1", "a = 1", "return 1", "y0 = 4"]
    assert apply_blocks(lines, block("\nreturn 1\n", "\n")).lines == [lines[0], lines[1], lines[3]]


def test_a_blank_line_beyond_the_next_line_says_that_that_one_is_missing() -> None:
    assert "not in the file" in refused(block("    def f(self):\n", "    def h(self):\n"))


@pytest.mark.parametrize("mark", [": ", "|", " | ", "| ", "\t", "→", " "])
def test_line_numbers_in_front_of_all_lines_are_left_out(mark: str) -> None:
    def numbered(lines: list[str]) -> str:
        return "\n".join(f"{at}{mark}{line}" for at, line in enumerate(lines, 2))

    new = [LINES[1], "        return 3", "", LINES[4]]
    done = apply_blocks(LINES, block(numbered(LINES[1:5]), numbered(new)))
    assert done.lines == [LINES[0], *new, LINES[5]]
    assert [place.tolerance for place in done.places] == ["line numbers"]


def test_numbers_that_do_not_count_lines_are_text() -> None:
    assert "not in the file" in refused(block("1: a\n7: b", "1: a\n7: c"), ["a", "b"])
    assert "not in the file" in refused(block("1: a\n2: b", "a\n2: c"), ["a", "b"])


@pytest.mark.parametrize("tag", ["", "python"])
def test_a_fence_inside_both_is_left_out(tag: str) -> None:
    done = apply_blocks(
        LINES, block(f"```{tag}\n        return 1\n```", f"```{tag}\n        return 3\n        # three\n```")
    )
    assert done.lines == [*LINES[:2], "        return 3", "        # three", *LINES[3:]]
    assert [place.tolerance for place in done.places] == ["code fences"]


def test_fences_of_the_file_stay() -> None:
    lines = ["```py", "value = 1", "```"]
    for tag in ("py", ""):
        answer = block(f"```{tag}\nvalue = 1\n```", f"```{tag}\nvalue = 2\n```")
        assert apply_blocks(lines, answer).lines == ["```py", "value = 2", "```"]
    assert "not in the file" in refused(block("```\nvalue = 1\n```", ""), lines)


def test_the_indentation_that_only_the_first_lines_lost_is_the_files() -> None:
    done = apply_blocks(
        LINES, block("def f(self):\n        return 1", "def f(self, a):\n        a()\n        return 1")
    )
    assert done.lines == [LINES[0], "    def f(self, a):", "        a()", *LINES[2:]]
    kept = block("def f(self):\n        return 1", "    def f(self):\n        return 3")
    assert apply_blocks(LINES, kept).lines[2] == "        return 3"


def test_new_lines_that_go_on_otherwise_are_not_moved_by_the_first_one() -> None:
    refused(block("def f(self):\n        return 1", "def f(self):\n    return 3"))


def test_non_breaking_blanks_of_the_search_are_spaces() -> None:
    strange = "    def f(self):".replace(" ", "\u00a0")
    for new in ("    def f(self, a):", "    def f(self, a):".replace(" ", "\u00a0")):
        done = apply_blocks(LINES, block(strange, new))
        assert done.lines == [LINES[0], "    def f(self, a):", *LINES[2:]]
        assert [place.tolerance for place in done.places] == ["non-breaking blanks"]


def test_a_new_line_keeps_a_dash_beside_non_breaking_blanks_of_the_search() -> None:
    assert apply_blocks(["a = b"], block("a\u00a0= b", "a = b — c")).lines == ["a = b — c"]


@pytest.mark.parametrize("twin", ["    x = 1", "x = 1 ", "\tx = 1"])
def test_places_that_differ_only_in_blanks_are_refused(twin: str) -> None:
    reason = refused(block("x = 1", "x = 2"), ["x = 1", "z", twin])
    assert "at line 1 and, with other blanks, at line 3" in reason
    assert apply_blocks(["x = 1", "z", twin], block("x = 1\nz", "x = 2\nz")).lines == ["x = 2", "z", twin]


@pytest.mark.parametrize(
    ("search", "replace"),
    [
        ("return 1", "        if a:\n            return 3"),
        ("b = 3", "b = 4"),
        ("class A:", "class B:"),
    ],
)
def test_a_refusal_shows_the_true_lines(search: str, replace: str) -> None:
    lines = [*LINES, "    b = 3", "", "  class A:"]
    reason = refused(block(search, replace), lines)
    assert any(f"\n{line}" in reason for line in (LINES[2], "    b = 3", "  class A:"))


@pytest.mark.parametrize("mark", ["...", "# ...", "# …unchanged…", "# ... existing code ..."])
def test_an_elision_that_only_the_replacement_has_is_refused(mark: str) -> None:
    lines = ["def f():", "    a()", "    b()", "", "def g():", f"    {mark}"]
    answer = block("def f():\n    a()\n    b()", f"def f():\n    c()\n    {mark}")
    assert "left out" in refused(answer, lines)
    both = block(f"def g():\n    {mark}", f"def g(x):\n    {mark}")
    assert apply_blocks(lines, both, language="python").lines[4:] == ["def g(x):", f"    {mark}"]


def test_unicode_punctuation_is_the_last_step_and_other_lines_keep_theirs() -> None:
    lines = ["say(“hello”)", "x = 1", "say('a \u2013 b')"]
    done = apply_blocks(
        lines, block("say(\"hello\")\nx = 1\nsay('a - b')", "say(\"hello\")\nx = 2\nsay('a - b')")
    )
    assert done.lines == ["say(“hello”)", "x = 2", "say('a \u2013 b')"]
    assert [place.tolerance for place in done.places] == ["punctuation"]


def test_lines_that_the_block_only_repeats_keep_their_blanks() -> None:
    lines = ["a = 1   ", "b = 2", "c = 3\t"]
    assert apply_blocks(lines, block("a = 1\nb = 2\nc = 3", "a = 1\nb = 5\nc = 3")).lines == [
        "a = 1   ",
        "b = 5",
        "c = 3\t",
    ]


def test_changed_indentation_of_a_repeated_line_is_a_change() -> None:
    assert apply_blocks(["f()", "g()"], block("f()\ng()", "if a:\n    f()\ng()")).lines == [
        "if a:",
        "    f()",
        "g()",
    ]


def test_a_place_whose_indentation_differs_line_by_line_is_none() -> None:
    assert "not in the file" in refused(block("def f(self):\nreturn 1", "x"))


def test_several_places_are_refused_with_their_lines() -> None:
    assert "2 places (lines 1, 3)" in refused(block("x", "y"), ["x", "z", "x"])
    assert "2 places" in refused(block("x", "y"), ["  x", "z", "    x"])


def test_lines_that_are_not_there_are_refused_with_the_nearest() -> None:
    reason = refused(block("    def f(self):\n        return 7", "x"))
    assert "not in the file" in reason
    assert "    def f(self):\n        return 1" in reason
    assert "def g(self):" in refused(block("    def gg(self):", "x"))
    assert refused(block("§", "x")).endswith("not in the file")


def test_nothing_merely_similar_is_found() -> None:
    assert "not in the file" in refused(block("        return 1 + 0", "        return 3"))


def test_all_blocks_are_applied_to_the_text_as_it_was() -> None:
    answer = (
        "First:\n"
        + block("        return 2", "        return 1\n        # two")
        + "\nthen\n"
        + block("        return 1", "")
    )
    assert apply_blocks(LINES, answer).lines == [
        *LINES[:2],
        "",
        "",
        LINES[4],
        "        return 1",
        "        # two",
    ]


def test_one_bad_block_refuses_all() -> None:
    assert "block 2" in refused(block("        return 1", "        return 3") + "\n" + block("nowhere", "x"))


def test_a_blank_text_is_filled_by_an_empty_search() -> None:
    assert apply_blocks([""], block("", "x = 1")).lines == ["x = 1"]


def test_cr_at_line_ends_is_kept() -> None:
    assert apply_blocks(["a\r", "b\r"], block("a", "c\nd").replace("\n", "\r\n")).lines == [
        "c\r",
        "d\r",
        "b\r",
    ]


def test_tabs_of_the_file_are_used() -> None:
    lines = ["if (a) {", "\tb();", "\tif (c) {", "\t\td();", "\t}", "}"]
    answer = block("    if (c) {\n        d();\n    }", "    if (c) {\n        e();\n    }")
    assert apply_blocks(lines, answer).lines == [*lines[:3], "\t\te();", *lines[4:]]


WORDS = st.lists(st.sampled_from(["a", "  a", "b", "  b", "c", "", "    c"]), min_size=1, max_size=12)


@given(WORDS, st.data())
def test_a_found_place_is_the_only_one_and_nothing_else_changes(
    lines: list[str], data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(lines) - 1))
    end = data.draw(st.integers(start + 1, len(lines)))
    search = lines[start:end]
    assume(any(line.strip() for line in search))
    try:
        match = find_lines(lines, search, ["new"])
    except UnusableAnswer:
        core = [line.strip() for line in search]
        alike = [
            i for i in range(len(lines)) if [line.strip() for line in lines[i : i + len(search)]] == core
        ]
        assert len(alike) > 1
    else:
        assert (match.start, match.end, match.tolerance) == (start, end, "exact")
        assert match.new == ("new",)
