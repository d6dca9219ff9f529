"""Calls of tools in words: while a run goes on, and in `tideate show`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from tideate_core.cli.output import results, visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tideate_core.store import EventRow

__all__ = ["calls_json", "show_calls", "tool_running", "tool_text"]

COMPLETED = "SD_EVENT_TOOL_COMPLETED"
LONGEST = 200
"""Characters of an error on a line."""


def tool_running(data: Mapping[str, Any]) -> str:
    """Return what is called, and how far that is, if it said so."""
    of = f"/{data['total']:g}" if data.get("total") else ""
    far = f"{data['progress']:g}{of}" if "progress" in data else ""
    return " ".join(filter(None, (_name(data), far, data.get("message"))))


def tool_text(data: Mapping[str, Any]) -> Text:
    """Return how a call ended."""
    took = f"{data['duration_ms'] / 1000:.1f} s"
    if data["ok"]:
        return Text.assemble(("✓ ", "green"), visible(_name(data)), (f"  {took}", "dim"))
    why = " ".join(str(data.get("error") or "stopped").split())
    why = why if len(why) <= LONGEST else f"{why[: LONGEST - 1]}…"
    return Text.assemble(("✗ ", "red"), visible(_name(data)), (f"  {took}  ", "dim"), (visible(why), "red"))


def calls_json(happened: list[EventRow]) -> list[dict[str, Any]]:
    """Return a run's calls as tools get them, in the order in which they ended."""
    return [{**row.data, "at": row.at} for row in happened if row.name == COMPLETED]


def show_calls(happened: list[EventRow]) -> None:
    """Print a run's calls, those of each step together."""
    visit = ""
    for row in happened:
        if row.name != COMPLETED:
            continue
        if not visit:
            results().print(Text("\nTools", style="bold"))
        if row.data["step"] != visit:
            visit = row.data["step"]
            results().print(Text(f" {visible(visit)}", style="dim"), soft_wrap=True)
        results().print(Text("   ").append_text(tool_text(row.data)), soft_wrap=True)


def _name(data: Mapping[str, Any]) -> str:
    return f"{data['server']}/{data['tool']}"
