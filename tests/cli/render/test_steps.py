"""Tool calls of an ended run: a list of few, counts of many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.app.stored import event_row
from tideate_core.app.run_details import TOOL_COMPLETED
from tideate_core.cli.render.steps import FEW_CALLS, show_calls

if TYPE_CHECKING:
    import pytest

    from tideate_core.store import EventRow


def called(tool: str, number: int, **ending: Any) -> EventRow:
    summary = f"{tool} {number}.py"
    data = {"step": "write", "server": "", "tool": tool, "summary": summary, "duration_ms": 100}
    return event_row(TOOL_COMPLETED, number, **{**data, "ok": True, **ending})


def test_few_calls_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    show_calls([called("search", 1), called("read_file", 2, ok=False, error="gone")], every=False)
    lines = capsys.readouterr().out.strip().splitlines()
    assert lines == [
        "2 tool calls: 1 search, 1 read_file (1 failed)",
        " write",
        "   ✓ search 1.py  0.1 s",
        "   ✗ read_file 2.py  0.1 s  gone",
    ]


def test_of_many_calls_only_their_numbers_are_shown_unless_all_are_wanted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    calls = [called("search", number) for number in range(FEW_CALLS)] + [called("read_file", 9)] * 7
    show_calls(calls, every=False)
    lines = capsys.readouterr().out.strip().splitlines()
    assert lines == ["12 tool calls: 7 read_file, 5 search", "   `tideate show --calls` lists them"]
    show_calls(calls, every=True)
    assert capsys.readouterr().out.count("✓ ") == 12
