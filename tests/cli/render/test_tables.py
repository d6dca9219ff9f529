"""Tables with a long last column."""

from __future__ import annotations

import io
from datetime import datetime

import pytest
from rich.console import Console
from rich.text import Text

from tideate_core.cli.render.tables import age, table

MINUTE = 60_000
DAY = 24 * 60 * MINUTE
NOON = round(datetime(2026, 11, 29, 12).timestamp() * 1000)


@pytest.mark.parametrize("last", ["it failed " * 200, Text("it failed " * 200)])
@pytest.mark.parametrize("width", [80, 200])
def test_a_long_last_cell_is_cut_and_the_others_are_whole(width: int, last: str | Text) -> None:
    rows = table("run", "workflow", "status", "when", "took", "", right=("took",))
    rows.add_row("0123abcd", "task", "failed", "today 22:10", "3 min 2 s", last)
    console = Console(width=width, file=io.StringIO())
    console.print(rows)
    header, line = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert header.split() == ["run", "workflow", "status", "when", "took"]
    assert line.startswith("0123abcd  task      failed  today 22:10  3 min 2 s  it failed")
    assert line.rstrip().endswith("…")


@pytest.mark.parametrize(
    ("passed", "words"),
    [
        (0, "just now"),
        (MINUTE, "1 min ago"),
        (59 * MINUTE, "59 min ago"),
        (61 * MINUTE, "1 h ago"),
        (25 * 60 * MINUTE, "1 d ago"),
        (27 * DAY, "27 d ago"),
        (-DAY, "2026-11-30"),
        (29 * DAY, "2026-10-31"),
    ],
)
def test_an_age_is_in_its_largest_unit_and_later_a_date(passed: int, words: str) -> None:
    assert age(NOON - passed, NOON) == words
