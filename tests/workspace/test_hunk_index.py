"""Hunk index compared with a search of all hunks."""

from __future__ import annotations

from hypothesis import given, strategies as st

from tests.support.work import assert_linear
from tideate_core.workspace import Hunk, HunkIndex

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
