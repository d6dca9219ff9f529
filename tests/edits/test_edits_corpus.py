"""Models' edits on real files: correct ones apply exactly, corrupted ones are never misapplied.

The corpus is a smaller one of `benchmarks/edits.py`, with known results.
"""

from __future__ import annotations

import pytest

from benchmarks.edits import HOSTILE_INPUTS, OUTCOMES, astray, judged, unnamed
from benchmarks.edits_corpus import Case, corpus
from benchmarks.edits_methods import METHODS, OURS
from benchmarks.edits_ways import WAYS_OF

pytestmark = pytest.mark.slow

COUNT = 400
"""The drawn files depend on the installed packages; with few files, one more refusal is half a percent."""
RIGHTLY, REFUSED, NEEDLESSLY, WRONGLY = OUTCOMES
NEVER_REFUSED = ("as it is", "wrong order", "wrong line numbers", "no line numbers", "several files")


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return corpus(COUNT)


def test_nothing_is_applied_wrongly(cases: list[Case]) -> None:
    score = judged(METHODS[OURS], cases)
    assert sum(score.outcomes.values()) == COUNT
    assert [(case.name, case.form, case.way) for case in score.wrong] == []
    assert score.outcomes[NEEDLESSLY] <= COUNT * 0.03
    assert all(score.by_way[way][NEEDLESSLY] == 0 for way in NEVER_REFUSED)
    assert unnamed(score) == 0
    assert astray(score) <= COUNT * 0.05


def test_the_corpus_has_every_way_and_is_the_same_each_time(cases: list[Case]) -> None:
    assert {case.way for case in cases} == set(WAYS_OF)
    assert {case.form for case in cases} == {"search/replace", "patch", "diff", "whole"}
    assert all(case.truth != case.files for case in cases)
    assert corpus(40) == cases[:40]


def test_the_corpus_can_tell_wrong_from_right(cases: list[Case]) -> None:
    first = judged(METHODS["the first match wins"], cases)
    assert first.outcomes[WRONGLY] > COUNT / 10


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", HOSTILE_INPUTS)
def test_hostile_input_comes_to_an_end(name: str) -> None:
    # each would take hours if the work grew with the square of the lines
    score = judged(METHODS[OURS], [HOSTILE_INPUTS[name](100_000)])
    assert sum(score.outcomes.values()) == 1
