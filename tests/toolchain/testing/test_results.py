"""Limits of results, and the report file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.toolchain.recorded_reports import SMALL
from tideate_core.errors import ConfigError
from tideate_core.toolchain.testing.json_reports import GoEvents
from tideate_core.toolchain.testing.junit import read_junit
from tideate_core.toolchain.testing.printed_results import failures_printed, read_summaries
from tideate_core.toolchain.testing.results import (
    MOST_FAILURES,
    Tally,
    TestResults,
    make_test_failure,
    write_report,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MANY = 50_000
"""So many that what takes time with their square takes minutes."""


def _junit_of_many() -> None:
    text = b"<testsuite>" + b"<testcase name='t'><failure message='m'>x</failure></testcase>" * MANY
    tally = read_junit(text + b"</testsuite>", SMALL)
    assert (tally.failed, len(tally.failures), tally.cut) == (MANY, MOST_FAILURES, True)


def _go_of_many() -> None:
    events = GoEvents(SMALL)
    for number in range(MANY):
        events.feed(f'{{"Action":"output","Package":"p{number}","Test":"T{number}","Output":"said\\n"}}')
        events.feed(f'{{"Action":"fail","Package":"q{number}"}}')
    tally = events.end()
    assert (tally.errors, len(tally.failures)) == (MANY, MOST_FAILURES)
    assert len(events.text()) < 2 << 20


def _printed_of_many() -> None:
    text = "1 passed in 0s\nFAIL: a (b)\nRan 1 test in 0s\nthread 'x' panicked at a.rs:1:2\n" * MANY
    for runner in ("", "pytest", "unittest", "cargo"):
        read_summaries(text, runner)


def _printed_of_length() -> None:
    for text in ("1 " * 2_000_000, "9 passed, " * 500_000, "=" * 4_000_000, "a=1, " * 900_000):
        read_summaries(text)
        failures_printed(text, SMALL, "", Tally())


@pytest.mark.slow
@pytest.mark.parametrize("work", [_junit_of_many, _go_of_many, _printed_of_many, _printed_of_length])
def test_the_time_a_report_takes_grows_with_it_and_no_faster(work: Callable[[], None]) -> None:
    work()


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
    wrong = make_test_failure("te\ud800st", "wröng")
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
