"""Reports and output of test runners are brought to one form, whoever wrote them."""

from __future__ import annotations

import json
import os
import time
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tideate_core.errors import ConfigError
from tideate_core.toolchain.results.golang import GoEvents
from tideate_core.toolchain.results.jest import read_jest
from tideate_core.toolchain.results.junit import read_junit
from tideate_core.toolchain.results.models import TestResults
from tideate_core.toolchain.results.printed import count_printed, failures_printed
from tideate_core.toolchain.results.report import read_bounded, write_report
from tideate_core.toolchain.results.tally import MOST, Broken, Tally, told

if TYPE_CHECKING:
    from collections.abc import Callable

REPORTS = Path(__file__).parent / "reports"
"""What the runners wrote about small projects; go's events are written by hand, after `go doc test2json`."""
SMALL = Path("/srv/small")
SLOW = 10.0
"""Seconds; what takes time with the square of its input takes minutes."""


def report(name: str) -> bytes:
    return (REPORTS / name).read_bytes()


def places(tally: Tally) -> list[tuple[str, str, str, int | None]]:
    return [(one.kind, one.name, one.file, one.line) for one in tally.failures]


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


@pytest.mark.parametrize(("name", "file"), [("jest-30", "src/sum.test.js"), ("vitest-4", "src/sum.test.ts")])
def test_jest_and_vitest(name: str, file: str) -> None:
    tally = read_jest(report(f"{name}.json"), SMALL)
    assert (tally.passed, tally.failed, tally.errors, tally.skipped) == (1, 1, 1, 2)
    bad = file.replace("sum", "bad")
    assert sorted(places(tally)) == [("error", bad, bad, 1), ("failed", "sum > is wrong", file, 5)]
    assert all("\x1b" not in one.message for one in tally.failures)


def test_go(tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text("module example.com/small\n")
    events = GoEvents(tmp_path)
    for line in report("go-events.txt").decode().splitlines():
        events.feed(line)
    tally = events.end()
    assert (tally.passed, tally.failed, tally.errors, tally.skipped) == (2, 1, 2, 1)
    assert places(tally) == [
        ("failed", "example.com/small/sum.TestWrong", "sum/sum_test.go", 12),
        ("error", "example.com/small/bad", "bad/bad.go", 3),
        ("error", "example.com/small/dies", "", None),
    ]
    assert [one.message for one in tally.failures][:2] == ["got 3, want 4", "undefined: nothing"]
    assert "    sum_test.go:13: and more\n--- FAIL: TestWrong (0.00s)\n" in events.text()


def test_a_package_that_an_older_go_cannot_build_is_told_with_the_compilers_words(tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text("module small\n")
    events = GoEvents(tmp_path)
    for line in ("FAIL\tsmall [setup failed]", "FAIL\tsmall/other [build failed]", "FAIL\tsmall/other [x]"):
        events.feed(line)
    said = "# small\nsmall_test.go:3:14: expected ')', found 'EOF'\n# small/other\nother/o.go:3:23: no int\n"
    tally = events.end(f"{events.text()}\n{said}")
    assert tally.errors == 2
    assert places(tally) == [
        ("error", "small", "small_test.go", 3),
        ("error", "small/other", "other/o.go", 3),
    ]


def test_cargo() -> None:
    text = report("cargo-1.txt").decode()
    tally = count_printed(text, "cargo")
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
        ("no tests ran in 0.01s", (0, 0, 0, 0)),
        ("Ran 4 tests in 0.001s\n\nFAILED (failures=1, errors=1, skipped=1)", (1, 1, 1, 1)),
        ("Ran 2 tests in 0.001s\n\nOK", (2, 0, 0, 0)),
        ("ERROR: setUpClass (a.B)\nRan 1 test in 0.1s\n\nFAILED (errors=1)", (1, 0, 1, 0)),
        ("Tests:       1 failed, 1 skipped, 1 todo, 3 passed, 6 total", (3, 1, 0, 2)),
        ("      Tests  1 failed | 1 passed (2)", (1, 1, 0, 0)),
        ("67% tests passed, 1 tests failed out of 3", (2, 1, 0, 0)),
        ("test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured\n" * 2, (4, 0, 0, 2)),
    ],
)
def test_the_counts_of_a_runner_that_is_not_known_are_those_it_prints(
    text: str, counts: tuple[int, ...]
) -> None:
    tally = count_printed(f"something before\n{text}\nsomething after")
    assert tally is not None
    assert (tally.passed, tally.failed, tally.errors, tally.skipped) == counts


@pytest.mark.parametrize("text", ["", "all is well", "12 files in 3s", "3 apples in 4.0s", "Tests: none"])
def test_what_says_no_counts_has_none(text: str) -> None:
    assert count_printed(text) is None


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
        with pytest.raises(Broken):
            read_junit(text.encode(), SMALL)
        assert tracemalloc.get_traced_memory()[1] < 10 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "text",
    ["", "\0", "[]", "null", '{"testResults": 1}', "[" * 100_000, '{"testResults": [' * 50_000, "\ud800"],
    ids=range(8),
)
def test_a_report_that_is_no_json_of_jest_is_broken(text: str) -> None:
    with pytest.raises(Broken):
        read_jest(text.encode("utf-8", "surrogatepass"), SMALL)


def test_odd_values_in_a_report_are_taken_for_what_they_are_worth() -> None:
    odd = {
        "testResults": [
            1,
            {"name": 5, "status": "failed", "message": ["x"], "assertionResults": {"a": 1}},
            {
                "name": "a\0b\ud800",
                "assertionResults": [
                    None,
                    {"status": "failed", "title": "t\x1b[2J\u202e", "failureMessages": [None, {"a": 1}]},
                    {"status": "failed", "ancestorTitles": "no", "location": {"line": "7"}},
                    {"status": ["passed"]},
                ],
            },
        ]
    }
    tally = read_jest(json.dumps(odd).encode(), SMALL)
    assert (tally.failed, tally.errors, tally.skipped) == (2, 1, 1)
    for one in tally.failures:
        one.model_dump_json()  # can be sent
        assert not set("\x1b\u202e\0") & set(one.name + one.message + one.file)


MANY = 50_000


def _junit_of_many() -> None:
    text = b"<testsuite>" + b"<testcase name='t'><failure message='m'>x</failure></testcase>" * MANY
    tally = read_junit(text + b"</testsuite>", SMALL)
    assert (tally.failed, len(tally.failures), tally.cut) == (MANY, MOST, True)


def _junit_of_length() -> None:
    long = b"<testsuite><testcase name='t'><failure message='m'>" + b"E   a:\n" * 500_000
    tally = read_junit(long + b"</failure></testcase></testsuite>", SMALL)
    assert len(tally.failures[0].message) <= 600


def _go_of_many() -> None:
    events = GoEvents(SMALL)
    for number in range(MANY):
        events.feed(f'{{"Action":"output","Package":"p{number}","Test":"T{number}","Output":"said\\n"}}')
        events.feed(f'{{"Action":"fail","Package":"q{number}"}}')
    tally = events.end()
    assert (tally.errors, len(tally.failures)) == (MANY, MOST)
    assert len(events.text()) < 2 << 20


def _printed_of_many() -> None:
    text = "1 passed in 0s\nFAIL: a (b)\nRan 1 test in 0s\nthread 'x' panicked at a.rs:1:2\n" * MANY
    for runner in ("", "pytest", "unittest", "cargo"):
        count_printed(text, runner)


def _printed_of_length() -> None:
    for text in ("1 " * 2_000_000, "9 passed, " * 500_000, "=" * 4_000_000, "a=1, " * 900_000):
        count_printed(text)
        failures_printed(text, SMALL, "", Tally())


@pytest.mark.parametrize(
    "work", [_junit_of_many, _junit_of_length, _go_of_many, _printed_of_many, _printed_of_length]
)
def test_the_time_a_report_takes_grows_with_it_and_no_faster(work: Callable[[], None]) -> None:
    begin = time.process_time()
    work()
    assert time.process_time() - begin < SLOW


def _go_of_length() -> None:
    events = GoEvents(SMALL)
    for number in range(40_000):
        events.feed(
            f'{{"Action":"output","Package":"{number:0200}","Test":"T","Output":"said {number:0200}"}}'
        )
        events.feed(f'{{"Action":"fail","Package":"{number:0200}","Test":"U"}}')


@pytest.mark.slow
def test_what_is_kept_of_go_s_events_is_bounded() -> None:
    tracemalloc.start()
    try:
        _go_of_length()
        assert tracemalloc.get_traced_memory()[1] < 24 << 20
    finally:
        tracemalloc.stop()


def test_what_is_kept_of_a_report_s_text_is_bounded() -> None:
    text = b"<testsuite><testcase name='t'><failure message='m'>" + b"E   a:\n" * 1_000_000
    text += b"</failure></testcase></testsuite>"
    tracemalloc.start()
    try:
        read_junit(text, SMALL)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "line",
    ["{", '{"Action": 1}', '{"Action":"fail","Test":["a"],"Package":{}}', "[" * 99_999, "{" * 9_999, "\0"],
)
def test_no_line_of_go_is_too_odd(line: str) -> None:
    events = GoEvents(SMALL)
    events.feed(line)
    for one in events.end().failures:
        one.model_dump_json()


def test_only_a_regular_file_of_a_bounded_size_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    os.mkfifo(tmp_path / "pipe")
    assert read_bounded(tmp_path / "file", 5) == b"12345"
    assert read_bounded(tmp_path / "file", 4) is None
    assert [read_bounded(tmp_path / name, 99) for name in ("link", "pipe", "", "none")] == [None] * 4


def results(**more: object) -> TestResults:
    known: dict[str, object] = {
        "status": "failed",
        "runner": "make",
        "command": ["make", "test"],
        "duration_ms": 1,
        "exit_code": 2,
        "ending": "ended with status 2",
        "started_at": "2026-01-01T00:00:00.000Z",
        **dict.fromkeys(("passed", "failed", "skipped", "errors")),
    }
    return TestResults.model_validate(known | more)


def test_a_report_is_written_whole_in_camel_case_and_read_again(tmp_path: Path) -> None:
    wrong = told("te\ud800st", "wröng")
    path = write_report(tmp_path, results(failures=[wrong.model_dump()]))
    values = json.loads(path.read_bytes())
    assert path == tmp_path / ".tideate/qa/reports/test_results.json"
    assert (values["durationMs"], values["exitCode"], values["passed"]) == (1, 2, None)
    assert TestResults.model_validate(values) == results(failures=[wrong.model_dump()])
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_a_report_that_cannot_be_written_leaves_the_last_one(tmp_path: Path) -> None:
    path = write_report(tmp_path, results())
    before = path.read_bytes()
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    path.parent.rename(outside / "reports")
    path.parent.symlink_to(outside / "reports")
    with pytest.raises(ConfigError, match="it is a link, or there is a link"):
        write_report(tmp_path, results(exit_code=3))
    assert (outside / "reports" / path.name).read_bytes() == before
