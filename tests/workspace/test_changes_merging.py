"""Three-way merge of texts: user changes stay, and ambiguous merges are rejected."""

from __future__ import annotations

import pytest
from hypothesis import example, given, strategies as st

from tests.support.work import assert_linear
from tideate_core.workspace.changes import merge_bytes, merge_text

BEFORE = "one\ntwo\nthree\nfour\nfive\nsix"
WRITTEN = "one\ntwo\n3\nfour\nfive\nsix"

MERGED = {
    "a line changed elsewhere": ("ONE\ntwo\n3\nfour\nfive\nsix", "ONE\ntwo\nthree\nfour\nfive\nsix"),
    "lines added at both ends": (
        "zero\none\ntwo\n3\nfour\nfive\nsix\nseven",
        "zero\none\ntwo\nthree\nfour\nfive\nsix\nseven",
    ),
    "a line deleted elsewhere": ("one\ntwo\n3\nfour\nsix", "one\ntwo\nthree\nfour\nsix"),
    "the same reverted by hand, and more": (
        "one\ntwo\nthree\nfour\nfive\nSIX",
        "one\ntwo\nthree\nfour\nfive\nSIX",
    ),
    "a last line end added": ("one\ntwo\n3\nfour\nfive\nsix\n", "one\ntwo\nthree\nfour\nfive\nsix\n"),
}


@pytest.mark.parametrize(("theirs", "wanted"), MERGED.values(), ids=MERGED.keys())
def test_changes_apart_from_each_other_are_both_made(theirs: str, wanted: str) -> None:
    assert merge_text(WRITTEN, theirs, BEFORE) == wanted
    assert merge_text(WRITTEN, BEFORE, theirs) == wanted


CONFLICTS = {
    "the same line": "one\ntwo\n3!\nfour\nfive\nsix",
    "the line above": "one\nTWO\n3\nfour\nfive\nsix",
    "the line below": "one\ntwo\n3\nFOUR\nfive\nsix",
    "a line added above": "one\ntwo\nmine\n3\nfour\nfive\nsix",
    "a line added below": "one\ntwo\n3\nmine\nfour\nfive\nsix",
    "it is deleted": "one\ntwo\nfour\nfive\nsix",
    "it is moved": "3\none\ntwo\nfour\nfive\nsix",
    "all is another text": "mine",
}


@pytest.mark.parametrize("theirs", CONFLICTS.values(), ids=CONFLICTS.keys())
def test_changes_that_touch_are_a_conflict(theirs: str) -> None:
    assert merge_text(WRITTEN, theirs, BEFORE) is None
    assert merge_text(WRITTEN, BEFORE, theirs) is None


@pytest.mark.parametrize(
    ("base", "theirs", "ours"),
    [
        ("x\na\na\na\ny", "x\na\na\na\na\nz\ny", "x\na\na\ny"),
        ("a\na\na", "a\na\na\nmine", "a\na\na\na"),
        ("}\n\n}\n\n}", "mine\n}\n\n}\n\n}", "}\n\n}\n\n}\n\n}"),
    ],
)
def test_a_change_among_equal_lines_touches_whatever_stands_at_any_of_them(
    base: str, theirs: str, ours: str
) -> None:
    assert merge_text(base, theirs, ours) is None


def test_insertions_at_one_place_have_no_order_unless_they_are_the_same() -> None:
    assert merge_text("a\nz", "a\nmine\nz", "a\nours\nz") is None
    assert merge_text("a\nz", "a\nsame\nz", "a\nsame\nz") == "a\nsame\nz"


def test_line_ends_and_bytes_that_are_no_utf8_are_kept() -> None:
    base, theirs = b"a\r\nb\r\nc\r\nd\xe9", b"a\r\nb\r\nc\r\nmine\r\nd\xe9"
    assert merge_bytes(base, theirs, b"A\r\nb\r\nc\r\nd\xe9") == b"A\r\nb\r\nc\r\nmine\r\nd\xe9"


def test_other_line_ends_everywhere_are_a_conflict() -> None:
    assert merge_bytes(b"a\r\nb\r\nc\r\n", b"a\nb\nc\n", b"A\r\nb\r\nc\r\n") is None


def test_of_binaries_only_one_may_be_changed() -> None:
    base, changed = b"\x00a\nb\nc\nd", b"\x00a\nb\nc\nD"
    assert merge_bytes(base, changed, b"\x00A\nb\nc\nd") is None
    assert merge_bytes(base, base, changed) == merge_bytes(base, changed, base) == changed


@pytest.mark.slow
def test_the_work_of_merging_grows_with_the_number_of_lines() -> None:
    def texts(count: int) -> tuple[str, ...]:
        lines, at = [f"line {number}" for number in range(count)], count // 5 * 4
        theirs = ["top", *lines[:at], "middle", *lines[at + 1 :], "end"]
        ours = [*lines[: at // 2], "new", *lines[at // 2 + 1 :]]
        merged = ["top", *ours[:at], "middle", *ours[at + 1 :], "end"]
        return tuple("\n".join(text) for text in (lines, theirs, ours, merged))

    def merge(made: tuple[str, ...]) -> None:
        base, theirs, ours, merged = made
        assert merge_text(base, theirs, ours) == merged

    assert_linear(texts, merge, 500)
    merge(texts(200_000))


LINES = st.lists(st.sampled_from(["a", "b", "", "c"]), max_size=10)
PERSONS = st.lists(st.tuples(st.integers(0, 10), st.integers(0, 2)), max_size=4)


def edited_by_hand(base: list[str], places: list[tuple[int, int]]) -> tuple[list[str], list[str]]:
    """Return a text with replaced lines at some places, and the unique new lines."""
    theirs: list[str] = list(base)
    for number, (place, gone) in enumerate(places):
        at = min(place, len(theirs))
        kept = [line for line in theirs[at : at + gone] if line.startswith("mine")]
        theirs[at : at + gone] = [f"mine {number}", *kept]
    return theirs, [line for line in theirs if line.startswith("mine")]


@pytest.mark.slow
@given(LINES, PERSONS, LINES)
def test_no_line_of_a_person_is_ever_lost(
    base: list[str], places: list[tuple[int, int]], ours: list[str]
) -> None:
    theirs, mine = edited_by_hand(base, places)
    merged = merge_text("\n".join(base), "\n".join(theirs), "\n".join(ours))
    if merged is not None:
        assert [line for line in merged.split("\n") if line.startswith("mine")] == mine


@given(LINES, LINES, LINES)
@example(["b", "a", "a", "b"], ["a", "a", "a", "a", "b", "a", "a"], ["a", "a", "a", "a", "b", "a", "a", "a"])
def test_it_does_not_matter_whose_change_is_whose(
    base: list[str], theirs: list[str], ours: list[str]
) -> None:
    texts = ["\n".join(lines) for lines in (base, theirs, ours)]
    assert merge_text(texts[0], texts[1], texts[2]) == merge_text(texts[0], texts[2], texts[1])


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_what_nobody_else_changed_is_restored_byte_for_byte(before: bytes, written: bytes) -> None:
    assert merge_bytes(written, written, before) == before
    assert merge_bytes(written, before, before) == before
