from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from tideate_core.workspace import Hunk, apply_hunks, diff_lines, rebase

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


def test_fifty_thousand_lines_are_moved_quickly() -> None:
    base = [f"line {number}" for number in range(50_000)]
    current = ["top", *base[:40_000], "middle", *base[40_001:], "end"]
    hunk = Hunk(20_000, (base[20_000],), ("new",))
    started = time.process_time()
    assert rebase([hunk], "\n".join(base), "\n".join(current)) == [Hunk(20_001, hunk.old, hunk.new)]
    assert time.process_time() - started < 2


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
