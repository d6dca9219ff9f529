"""Events of go, and reports of jest and vitest."""

from __future__ import annotations

import json
import tracemalloc
from typing import TYPE_CHECKING

import pytest

from tests.toolchain.recorded_reports import SMALL, places, report
from tideate_core.toolchain.testing.json_reports import GoEvents, read_jest
from tideate_core.toolchain.testing.results import UnreadableReport

if TYPE_CHECKING:
    from pathlib import Path


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


@pytest.mark.parametrize(
    "text",
    ["", "\0", "[]", "null", '{"testResults": 1}', "[" * 100_000, '{"testResults": [' * 50_000, "\ud800"],
    ids=range(8),
)
def test_a_report_that_is_no_json_of_jest_is_broken(text: str) -> None:
    with pytest.raises(UnreadableReport):
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


@pytest.mark.parametrize(("end", "named"), [("pass", []), ("fail", ["a.TestB/in"]), ("", ["a.TestB/in"])])
def test_a_test_of_go_that_did_not_end_is_named_where_its_package_did_not_pass(
    end: str, named: list[str]
) -> None:
    events = GoEvents(SMALL)
    for action, test in (
        ("run", "TestA"),
        ("pass", "TestA"),
        ("run", "TestB"),
        ("run", "TestB/in"),
        (end, ""),
    ):
        events.feed(json.dumps({"Action": action, "Package": "a", **({"Test": test} if test else {})}))
    tally = events.end()
    assert [one.name for one in tally.failures if one.message == "did not end"] == named
    assert tally.passed == 1


@pytest.mark.slow
def test_what_is_kept_of_go_s_events_is_bounded() -> None:
    tracemalloc.start()
    try:
        events = GoEvents(SMALL)
        for number in range(40_000):
            name = f"{number:0200}"
            events.feed(f'{{"Action":"output","Package":"{name}","Test":"T","Output":"said {name}"}}')
            events.feed(f'{{"Action":"fail","Package":"{name}","Test":"U"}}')
        assert tracemalloc.get_traced_memory()[1] < 24 << 20
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
