"""Counts and failures in printed output."""

from __future__ import annotations

import pytest

from tests.toolchain.recorded_reports import SMALL, places, report
from tideate_core.toolchain.testing.printed_results import failures_printed, read_summaries


def test_cargo() -> None:
    text = report("cargo-1.txt").decode()
    tally = read_summaries(text, "cargo").tally
    assert tally is not None
    failures_printed(text, SMALL, "cargo", tally)
    assert (tally.passed, tally.failed, tally.skipped) == (2, 1, 1)
    assert places(tally) == [("failed", "tests::wrong", "src/lib.rs", 8)]
    assert tally.failures[0].message == "assertion `left == right` failed: sum"


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("==== 3 failed, 4 passed, 1 skipped, 2 xfailed, 1 xpassed, 2 errors in 0.14s ====", (5, 3, 2, 3)),
        ("5 passed in 0.02s", (5, 0, 0, 0)),
        ("1 failed, 705 passed, 22 skipped, 5 deselected, 16 subtests passed in 16.71s", (705, 1, 0, 22)),
        ("no tests ran in 0.01s", (0, 0, 0, 0)),
        ("Ran 4 tests in 0.001s\n\nFAILED (failures=1, errors=1, skipped=1)", (1, 1, 1, 1)),
        ("Ran 2 tests in 0.001s\n\nOK", (2, 0, 0, 0)),
        ("=" * 70 + "\nERROR: setUpClass (a.B)\nRan 1 test in 0.1s\n\nFAILED (errors=1)", (1, 0, 1, 0)),
        ("Tests:       1 failed, 1 skipped, 1 todo, 3 passed, 6 total", (3, 1, 0, 2)),
        ("      Tests  1 failed | 1 passed (2)", (1, 1, 0, 0)),
        ("67% tests passed, 1 tests failed out of 3", (2, 1, 0, 0)),
        ("test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured\n" * 2, (4, 0, 0, 2)),
    ],
)
def test_the_counts_of_a_runner_that_is_not_known_are_those_it_prints(
    text: str, counts: tuple[int, ...]
) -> None:
    tally = read_summaries(f"something before\n{text}\nsomething after").tally
    assert tally is not None
    assert (tally.passed, tally.failed, tally.errors, tally.skipped) == counts


@pytest.mark.parametrize("text", ["", "all is well", "12 files in 3s", "3 apples in 4.0s", "Tests: none"])
def test_what_says_no_counts_has_none(text: str) -> None:
    assert read_summaries(text).tally is None
