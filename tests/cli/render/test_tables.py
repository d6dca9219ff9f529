"""Tables with a long last column."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.text import Text

from tideate_core.cli.render.tables import table


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
