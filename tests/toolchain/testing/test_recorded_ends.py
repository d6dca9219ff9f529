"""Recorded abnormal ends of runners: names, locations and counts."""

from __future__ import annotations

import pytest

from tests.toolchain.recorded_reports import SMALL, places, report
from tideate_core.toolchain.failures import parse_failures
from tideate_core.toolchain.testing.json_reports import GoEvents, read_jest
from tideate_core.toolchain.testing.junit import read_junit
from tideate_core.toolchain.testing.printed_results import failures_printed, read_summaries
from tideate_core.toolchain.testing.results import Tally


def test_each_failed_subtest_counts_and_is_named_without_colours() -> None:
    tally = read_junit(report("pytest-9-subtests.xml"), SMALL)
    # as pytest counted: 6 failed, 1 passed, 1 error
    assert (tally.failed, tally.passed, tally.errors, tally.skipped) == (6, 1, 1, 0)
    name = "test_a.py::test_sub"
    assert [place[1:] for place in places(tally)][1:4] == [
        (name, "test_a.py", 5),
        (name, "test_a.py", 6),
        (name, "test_a.py", 4),
    ]
    assert [one.message for one in tally.failures][1:4] == [
        "assert 1 == 2",
        "assert 3 == 4",
        "contains 2 failed subtests",
    ]
    assert "#x1B" not in tally.failures[0].message
    assert "test_a.py::test_p[a b]" in {one.name for one in tally.failures}


def test_skipped_and_disabled_tests_of_ctest_are_no_errors() -> None:
    tally = read_junit(report("ctest-3-skipped.xml"), SMALL)
    assert (tally.passed, tally.failed, tally.errors, tally.skipped) == (1, 3, 2, 3)
    assert [(one.name, one.message) for one in tally.failures][:3] == [
        ("gone", "Unable to find executable"),
        ("req", "Required Files Missing"),
        ("red", "red"),
    ]


def test_a_broken_conftest_is_named_with_its_place() -> None:
    [failure] = parse_failures(report("pytest-9-conf.txt").decode(), root=SMALL, tool="pytest").found
    assert (failure.file, failure.line, failure.code) == ("conftest.py", 1, "ModuleNotFoundError")


def test_an_unknown_option_is_named_with_its_file() -> None:
    text = (
        "ERROR: usage: python -m pytest [options] [file_or_dir] [...]\n"
        "python -m pytest: error: unrecognized arguments: --bogus\n"
        "  inifile: /srv/small/pytest.ini\n  rootdir: /srv/small\n"
    )
    [failure] = parse_failures(text, root=SMALL, tool="pytest").found
    assert (failure.file, failure.message) == ("pytest.ini", "unrecognized arguments: --bogus")


def test_a_crash_keeps_its_place_and_the_failures_before_it() -> None:
    crashed = report("pytest-9-crash.txt").decode()
    found = parse_failures(crashed, root=SMALL, tool="pytest").found
    assert [(one.file, one.line, one.test, one.message) for one in found] == [
        ("test_c.py", None, "test_a", "test_a: failed"),
        ("test_c.py", 3, "test_crash", "test_crash: Segmentation fault"),
    ]


def test_a_test_that_did_not_end_in_time_is_named() -> None:
    text = "test_t.py::test_a[a b] FAILED    [ 33%]\ntest_t.py::test_b PASSED [ 66%]\ntest_t.py::A::test_hang"
    found = parse_failures(text, root=SMALL, tool="pytest").found
    assert [(one.test, one.message) for one in found] == [
        ("test_a[a b]", "test_a[a b]: failed"),
        ("A.test_hang", "A.test_hang: did not end"),
    ]


def test_a_missing_module_of_jest_is_told_where_it_is_required() -> None:
    [failure] = read_jest(report("jest-30-missing.json"), SMALL).failures
    assert (failure.file, failure.line) == ("miss.test.js", 1)
    assert "Cannot find module './nosuch'" in failure.message


def test_a_time_out_of_vitest_says_so() -> None:
    [hangs, broken] = read_jest(report("vitest-4-time.json"), SMALL).failures
    assert (hangs.name, hangs.file, hangs.line) == ("hangs", "t.test.mjs", 2)
    assert hangs.message == "did not end within the time of a test"
    assert (broken.file, broken.line) == ("t.test.mjs", 3)


def test_all_failures_of_cargo_are_listed_and_the_program_that_crashed() -> None:
    text = report("cargo-1-ends.txt").decode()
    summaries = read_summaries(text, "cargo")
    tally = summaries.tally or Tally()
    failures_printed(text, SMALL, "cargo", tally)
    assert (tally.failed, tally.errors, summaries.missing({})) == (4, 0, "cargo")
    assert [(one.name, one.file, one.line) for one in tally.failures] == [
        ("tests::other", "src/lib.rs", 12),
        ("tests::wrong", "src/lib.rs", 4),
        ("tests::calm", "src/lib.rs", 9),
        ("tests::says", "", None),
        ("", "tests/dies.rs", None),
    ]
    assert "SIGABRT" in tally.failures[-1].message


def test_a_panic_of_go_has_its_place() -> None:
    events = GoEvents(SMALL)
    for line in report("go-panic.txt").decode().split("\n"):
        events.feed(line)
    [_, panic] = events.end().failures
    assert (panic.name, panic.file, panic.line) == ("small.TestPanic", "small_test.go", 9)
    assert panic.message == "panic: assignment to entry in nil map [recovered]"
    assert events.unfinished == ""


@pytest.mark.parametrize("tool", ["unittest", ""])
def test_what_a_test_prints_is_no_failure_of_unittest(tool: str) -> None:
    line = "=" * 70
    told = '  File "mod.py", line 3\nAssertionError: x'
    text = f"FAIL: fake (A.b)\n{line}\nFAIL: test_a (mod.A.test_a)\n{'-' * 70}\n{told}"
    assert [one.test for one in parse_failures(text, root=SMALL, tool=tool).found] == ["test_a"]
