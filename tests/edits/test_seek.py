"""All places are found, overlapping ones too."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tideate_core.edits.seek import places_of

FEW = st.lists(st.sampled_from("ab"), max_size=30)


@given(FEW, FEW)
def test_all_places_are_found(wanted: list[str], among: list[str]) -> None:
    size = len(wanted)
    all_places = [at for at in range(len(among) - size + 1) if size and among[at : at + size] == wanted]
    assert list(places_of(wanted, among)) == all_places


def test_nothing_stands_nowhere() -> None:
    assert list(places_of([], ["a"])) == []
