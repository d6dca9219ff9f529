from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from tests.support.work import assert_linear
from tests.workspace.test_diff import LINES
from tideate_core.errors import EditConflict
from tideate_core.workspace import FileChange, Hunk, apply_hunks, diff_lines, unified_diff
from tideate_core.workspace.changes import first_clash, rebase

if TYPE_CHECKING:
    from pathlib import Path


@given(LINES, LINES, st.data())
def test_any_choice_of_hunks_can_be_applied(old: list[str], new: list[str], data: st.DataObject) -> None:
    hunks = diff_lines(old, new)
    accepted = data.draw(st.sets(st.integers(0, len(hunks))))
    chosen = [hunk for index, hunk in enumerate(hunks) if index in accepted]
    assert apply_hunks(old, hunks, accepted) == apply_hunks(old, chosen)


@pytest.mark.parametrize("hunk", [Hunk(0, ("b",), ()), Hunk(2, ("a",), ()), Hunk(5, (), ("a",))])
def test_a_hunk_whose_lines_are_not_there_is_refused(hunk: Hunk) -> None:
    with pytest.raises(EditConflict):
        apply_hunks(["a", "b"], [hunk])


def test_overlapping_hunks_are_refused() -> None:
    with pytest.raises(EditConflict):
        apply_hunks(["a", "b"], [Hunk(0, ("a", "b"), ("c",)), Hunk(1, ("b",), ("d",))])


def test_an_empty_text_is_one_empty_line_and_no_text_is_none() -> None:
    assert FileChange("x", "modify", "", "a").hunks == [Hunk(0, ("",), ("a",))]
    assert FileChange("x", "create", None, "a").hunks == [Hunk(0, (), ("a",))]
    assert FileChange("x", "delete", "a", None).hunks == [Hunk(0, ("a",), ())]


@given(old=st.one_of(st.none(), LINES), new=st.one_of(st.none(), LINES))
def test_a_patch_changes_as_many_lines_as_its_heads_say(old: list[str] | None, new: list[str] | None) -> None:
    change = FileChange(
        "x", "modify", None if old is None else "\n".join(old), None if new is None else "\n".join(new)
    )
    body = unified_diff(change).split("\n")[3:-1]
    removed = sum(line.startswith("-") for line in body)
    added = sum(line.startswith("+") for line in body)
    hunks = [hunk for hunk in change.hunks if old is not None or new is not None]
    if change.before and change.after:
        assert removed == sum(len(hunk.old) for hunk in hunks)
        assert added == sum(len(hunk.new) for hunk in hunks)


@pytest.mark.parametrize(
    ("action", "before", "after"),
    [
        ("modify", "\n".join("abcdefghijklmnop"), "\n".join("AbcdefghijklmnoP")),
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
    patch = unified_diff(FileChange("x", "modify", "\n".join(old), "\n".join(new)))
    heads = [line for line in patch.split("\n") if line.startswith("@@")]
    assert heads == ["@@ -1,3 +1,5 @@", "@@ -17,7 +19,7 @@"]


def test_a_change_of_nothing_has_no_patch() -> None:
    assert unified_diff(FileChange("x", "modify", "a\nb", "a\nb")) == ""


BASE = "one\ntwo\nthree\nfour\nfive"
TWO = Hunk(1, ("two",), ("2", "2b"))


def moved(current: str, *hunks: Hunk) -> str | None:
    found = rebase(hunks, BASE, current)
    return None if found is None else "\n".join(apply_hunks(current.split("\n"), found))


def test_an_edit_follows_lines_that_were_typed_above_it() -> None:
    assert moved("new\none\ntwo\nthree\nfour\nfive", TWO) == "new\none\n2\n2b\nthree\nfour\nfive"


def test_lines_typed_below_or_beside_it_stay() -> None:
    assert moved("ONE\ntwo\nTHREE\nfour", TWO) == "ONE\n2\n2b\nTHREE\nfour"


def test_lines_inserted_at_either_edge_stay_where_they_were_typed() -> None:
    assert moved("one\nabove\ntwo\nbelow\nthree\nfour\nfive", TWO) == (
        "one\nabove\n2\n2b\nbelow\nthree\nfour\nfive"
    )


def test_a_changed_line_is_not_overwritten() -> None:
    assert moved("one\ntwo!\nthree\nfour\nfive", TWO) is None


def test_a_deleted_line_is_not_brought_back() -> None:
    assert moved("one\nthree\nfour\nfive", TWO) is None


def test_a_line_inserted_inside_the_replaced_ones_is_not_lost() -> None:
    both = Hunk(1, ("two", "three"), ("2",))
    assert moved("one\ntwo\ntyped\nthree\nfour\nfive", both) is None


def test_two_insertions_at_one_place_have_no_order() -> None:
    assert moved("one\ntyped\ntwo\nthree\nfour\nfive", Hunk(1, (), ("new",))) is None


def test_one_clash_among_several_hunks_refuses_all() -> None:
    assert moved("one\ntwo\nthree\nfour\n5", TWO, Hunk(4, ("five",), ("V",))) is None


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


@pytest.mark.slow
def test_the_work_of_moving_grows_with_the_number_of_lines() -> None:
    def versions(count: int) -> tuple[list[str], list[str]]:
        base = [f"line {number}" for number in range(count)]
        return base, ["top", *base[: count // 5 * 4], "middle", *base[count // 5 * 4 + 1 :], "end"]

    def move(both: tuple[list[str], list[str]]) -> None:
        base, current = both
        at = len(base) // 5 * 2
        hunk = Hunk(at, (base[at],), ("new",))
        assert rebase([hunk], "\n".join(base), "\n".join(current)) == [Hunk(at + 1, hunk.old, hunk.new)]

    assert_linear(versions, move, 500)
    move(versions(200_000))


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


@given(WORDS, WORDS)
def test_nothing_typed_moves_nothing(base: list[str], wanted: list[str]) -> None:
    hunks = diff_lines(base, wanted)
    assert rebase(hunks, "\n".join(base), "\n".join(base)) == hunks
