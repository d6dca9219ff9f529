"""JUnit XML reports, also broken and hostile ones."""

from __future__ import annotations

import tracemalloc

import pytest

from tests.toolchain.recorded_reports import SMALL, places, report
from tideate_core.toolchain.testing.junit import read_junit
from tideate_core.toolchain.testing.results import UnreadableReport


def test_pytest() -> None:
    tally = read_junit(report("pytest-9.xml"), SMALL)
    # of the test whose teardown fails pytest's own summary counts both
    assert (tally.passed, tally.failed, tally.errors, tally.skipped) == (2, 3, 2, 2)
    assert places(tally) == [
        ("failed", "tests/test_a.py::test_bad", "tests/test_a.py", 5),
        ("failed", "tests/test_a.py::TestK::test_in", "tests/test_a.py", 7),
        ("failed", "tests/test_a.py::TestK::test_p[z::w]", "tests/test_a.py", 9),
        ("error", "tests/test_a.py::test_teardown", "tests/test_a.py", 17),
        ("error", "tests/test_a.py::test_setup", "tests/test_a.py", 20),
    ]
    assert [one.message for one in tally.failures][3:] == ["RuntimeError: tear", "KeyError: 'set'"]


def test_pytest_that_could_not_collect_a_file() -> None:
    text = "<testsuite><testcase name='tests.test_b' classname='' file='tests/test_b.py'><error message='x'>"
    text += "tests/test_b.py:1: in &lt;module&gt;\n    import x\nE   ModuleNotFoundError: No module named 'x'"
    tally = read_junit(f"{text}</error></testcase></testsuite>".encode(), SMALL)
    assert places(tally) == [("error", "tests/test_b.py", "tests/test_b.py", 1)]
    assert tally.failures[0].message == "ModuleNotFoundError: No module named 'x'"


def test_ctest() -> None:
    tally = read_junit(report("ctest-3.xml"), SMALL)
    assert (tally.passed, tally.failed, tally.errors, tally.skipped) == (1, 1, 1, 1)
    assert places(tally) == [("failed", "broken", "main.c", 3), ("error", "gone", "", None)]


BOMB = (
    '<?xml version="1.0"?><!DOCTYPE t [<!ENTITY a "aaaaaaaaaa">'
    + "".join(
        f'<!ENTITY {new} "{f"&{old};" * 10}">' for old, new in zip("abcdefghi", "bcdefghij", strict=True)
    )
    + "]><testsuite><testcase name='&j;'/></testsuite>"
)
OUTSIDE = (
    "<!DOCTYPE t [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><testsuite><testcase name='&x;'/></testsuite>"
)


@pytest.mark.parametrize(
    "text",
    [
        BOMB,
        OUTSIDE,
        "<!DOCTYPE testsuite><testsuite/>",
        "",
        "\0",
        "no xml",
        "<testsuite><testcase",
        "<a>" * 100_000,
        "<?xml version='1.0' encoding='nonsense'?><a>",
        "<testsuite><testcase name='&#0;'/></testsuite>",
    ],
    ids=range(10),
)
def test_a_report_that_no_runner_writes_is_broken_and_costs_nothing(text: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(UnreadableReport):
            read_junit(text.encode(), SMALL)
        assert tracemalloc.get_traced_memory()[1] < 10 << 20
    finally:
        tracemalloc.stop()


def test_what_is_kept_of_a_report_s_text_is_bounded() -> None:
    text = b"<testsuite><testcase name='t'><failure message='m'>" + b"E   a:\n" * 1_000_000
    text += b"</failure></testcase></testsuite>"
    tracemalloc.start()
    try:
        tally = read_junit(text, SMALL)
        assert len(tally.failures[0].message) <= 600
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()
