"""Hunks: applied, rebased, merged, indexed and shown as patches."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given, strategies as st

from tests.harness.work import assert_linear
from tests.workspace.project import creating, deleting, edit
from tests.workspace.test_diff import LINES
from tideate_core.errors import EditConflict
from tideate_core.workspace import FileChange, Hunk, HunkIndex, apply_hunks, diff_lines, unified_diff
from tideate_core.workspace.changes import first_clash, merge_bytes, merge_text, rebase

if TYPE_CHECKING:
    from pathlib import Path


@given(LINES, LINES, st.data())
def test_any_choice_of_hunks_can_be_applied(old: list[str], new: list[str], data: st.DataObject) -> None:
    hunks = diff_lines(old, new)
    accepted = data.draw(st.sets(st.integers(0, len(hunks))))
    chosen = [hunk for index, hunk in enumerate(hunks) if index in accepted]
    assert apply_hunks(old, hunks, accepted) == apply_hunks(old, chosen)


@pytest.mark.parametrize(
    "hunks",
    [
        [Hunk(0, ("b",), ())],
        [Hunk(2, ("a",), ())],
        [Hunk(5, (), ("a",))],
        [Hunk(0, ("a", "b"), ("c",)), Hunk(1, ("b",), ("d",))],
    ],
)
def test_hunks_whose_lines_are_not_there_or_overlap_are_refused(hunks: list[Hunk]) -> None:
    with pytest.raises(EditConflict):
        apply_hunks(["a", "b"], hunks)


def test_an_empty_text_is_one_empty_line_and_no_text_is_none() -> None:
    assert edit("x", "", "a").hunks == [Hunk(0, ("",), ("a",))]
    assert creating("x", "a").hunks == [Hunk(0, (), ("a",))]
    assert deleting("x", "a").hunks == [Hunk(0, ("a",), ())]


@pytest.mark.parametrize(
    ("action", "before", "after"),
    [
        ("modify", "\n".join("abcdefghijklmnop"), "\n".join("AbcdefghijklmnoP")),
        ("modify", "\n".join("abcdefghijklmnop"), "\n".join("abCdeFghijklmnop")),
        ("modify", "\n".join("abcdefghijklmnop"), "\n".join("bcdefghijXklmnop")),
        ("create", None, "one\ntwo"),
        ("create", None, ""),
        ("delete", "one\ntwo", None),
        ("move", "one\ntwo\nthree\nfour", "one\ntwo\nthree\n4"),
        ("move", "one", "one"),
    ],
)
def test_git_applies_a_patch(tmp_path: Path, action: str, before: str | None, after: str | None) -> None:
    if before is not None:
        (tmp_path / "old").write_text(before + "\n")
    target = "new" if action == "move" else None
    change = FileChange("old", action, before, after, move_to=target)  # type: ignore[arg-type]
    patch = unified_diff(change)
    subprocess.run(["git", "apply", "-"], input=patch.encode(), cwd=tmp_path, check=True)
    expected = {} if after is None else {target or "old": after + "\n" if after else ""}
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == expected


def test_the_heads_of_a_patch_name_the_lines_of_both_sides() -> None:
    old = [str(number) for number in range(1, 31)]
    new = ["new", "newer", *old[:19], "twenty", *old[20:]]
    patch = unified_diff(edit("x", "\n".join(old), "\n".join(new)))
    heads = [line for line in patch.split("\n") if line.startswith("@@")]
    assert heads == ["@@ -1,3 +1,5 @@", "@@ -17,7 +19,7 @@"]


def test_a_change_of_nothing_has_no_patch() -> None:
    assert unified_diff(edit("x", "a\nb", "a\nb")) == ""


BASE = "one\ntwo\nthree\nfour\nfive"
TWO = Hunk(1, ("two",), ("2", "2b"))


REBASED = {
    "typed above": ("new\none\ntwo\nthree", (TWO,), "new\none\n2\n2b\nthree"),
    "typed beside": ("ONE\ntwo\nTHREE", (TWO,), "ONE\n2\n2b\nTHREE"),
    "inserted at both edges": (
        "one\na\ntwo\nb\nthree\nfour\nfive",
        (TWO,),
        "one\na\n2\n2b\nb\nthree\nfour\nfive",
    ),
    "the line changed": ("one\ntwo!\nthree\nfour\nfive", (TWO,), None),
    "the line deleted": ("one\nthree\nfour\nfive", (TWO,), None),
    "inserted between its lines": (
        "one\ntwo\ntyped\nthree\nfour\nfive",
        (Hunk(1, ("two", "three"), ("2",)),),
        None,
    ),
    "two insertions": ("one\ntyped\ntwo\nthree\nfour\nfive", (Hunk(1, (), ("new",)),), None),
    "one of several clashes": ("one\ntwo\nthree\nfour\n5", (TWO, Hunk(4, ("five",), ("V",))), None),
}


@pytest.mark.parametrize(("current", "hunks", "wanted"), REBASED.values(), ids=REBASED.keys())
def test_an_edit_follows_its_lines_or_is_refused(
    current: str, hunks: tuple[Hunk, ...], wanted: str | None
) -> None:
    found = rebase(hunks, BASE, current)
    assert wanted == (None if found is None else "\n".join(apply_hunks(current.split("\n"), found)))


@pytest.mark.parametrize(
    ("current", "line"),
    [
        (BASE, None),
        ("one\ntwo\nthree\nfour\n5", 5),
        ("typed\nmore\none\ntwo!\nthree\nfour\nfive", 4),
        ("one\nthree\nfour\n5", 2),
        ("new\none\ntwo\nthree\nfour\n5", 6),
    ],
)
def test_a_refused_edit_has_a_place_in_the_text_as_it_is_now(current: str, line: int | None) -> None:
    assert first_clash([Hunk(4, ("five",), ("V",)), TWO], BASE, current) == line


WORDS = st.lists(st.sampled_from(["a", "b", "c", "", "d"]), min_size=1, max_size=12)


@given(WORDS, WORDS, WORDS)
def test_a_moved_edit_always_fits_and_keeps_every_line_the_person_typed(
    base: list[str], current: list[str], wanted: list[str]
) -> None:
    hunks = diff_lines(base, wanted)
    found = rebase(hunks, "\n".join(base), "\n".join(current))
    if found is not None:
        result = apply_hunks(current, found)
        assert [(hunk.old, hunk.new) for hunk in found] == [(hunk.old, hunk.new) for hunk in hunks]
        typed = sum(len(hunk.new) for hunk in diff_lines(base, current))
        assert len(result) >= typed


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


FEW_LINES = st.lists(st.sampled_from(["a", "b", "", "c"]), max_size=10)
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
@given(FEW_LINES, PERSONS, FEW_LINES)
def test_no_line_of_a_person_is_ever_lost(
    base: list[str], places: list[tuple[int, int]], ours: list[str]
) -> None:
    theirs, mine = edited_by_hand(base, places)
    merged = merge_text("\n".join(base), "\n".join(theirs), "\n".join(ours))
    if merged is not None:
        assert [line for line in merged.split("\n") if line.startswith("mine")] == mine


@given(FEW_LINES, FEW_LINES, FEW_LINES)
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


HUNKS = st.builds(
    lambda start, size: Hunk(start, ("old",) * size, ("new",)), st.integers(0, 6), st.integers(0, 3)
)


@given(st.lists(HUNKS, max_size=6), HUNKS, st.sets(st.integers(0, 5)))
def test_the_same_clash_as_with_each_alone(hunks: list[Hunk], hunk: Hunk, gone: set[int]) -> None:
    index, left = HunkIndex(hunks), dict(enumerate(hunks))
    for number in gone & left.keys():
        assert index.remove(number) == left.pop(number)
    clashing = [number for number, one in left.items() if one.clashes(hunk)]
    around = [number for number, one in left.items() if one.start <= hunk.start and hunk.end <= one.end]
    assert index.clashes(hunk) is bool(clashing)
    assert index.first_clash(hunk) == min(clashing, default=None)
    assert index.around(hunk) == around


def test_clashes_are_found_by_work_that_grows_as_the_hunks_do() -> None:
    def find(hunks: list[Hunk]) -> None:
        index = HunkIndex(hunks)
        assert all(index.clashes(hunk) and index.around(hunk) for hunk in hunks)

    assert_linear(lambda count: [Hunk(3 * at, ("old",), ()) for at in range(count)], find, 100)
