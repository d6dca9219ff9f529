"""Progress output of a run: no other text can forge its rows and lines."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from rich.console import Console

from tests.harness.hidden import HIDDEN, original, unseen
from tideate_core.cli.plan_text import plan_to_text
from tideate_core.cli.render.live_view import RunningCheck, RunView, StepState
from tideate_core.cli.render.progress import Progress
from tideate_core.engine import Event, EventName

pytestmark = pytest.mark.attack

DRAWING = re.compile(r"\x1b\[[0-9;]*m")
FAKE = "write\n ✓ review  0.1 s\nGo on? [y/N] y"
"""A name that goes on with rows that look like tideate's."""


def log_of(*events: tuple[str, dict[str, Any]]) -> str:
    file = io.StringIO()
    progress = Progress(Console(file=file, width=200, force_terminal=False, highlight=False), live=False)
    begun = {"name": "flow", "adapter": "fake", "steps": [], "demonstration": False}
    for name, data in (("WORKFLOW_STARTED", begun), *events):
        progress.emit(Event(EventName[name], "a" * 32, data))
    return file.getvalue()


@pytest.mark.parametrize("name", HIDDEN)
def test_an_error_says_what_is_in_it(name: str) -> None:
    text = log_of(("WORKFLOW_FAILED", {"error": HIDDEN[name]})).partition("error: ")[2].removesuffix("\n")
    assert not unseen(text)
    assert original(text) == HIDDEN[name]


@pytest.mark.parametrize(
    ("event", "data"),
    [
        ("STEP_STARTED", {"step": FAKE, "index": 1, "total": 2}),
        ("TOOL_CALLED", {"step": "s", "call": 1, "server": "x", "tool": FAKE}),
        ("TOOL_CALLED", {"step": "s", "call": 1, "server": FAKE, "tool": "x"}),
        (
            "TOOL_COMPLETED",
            {
                "step": "s",
                "call": 1,
                "server": "",
                "tool": "x",
                "summary": FAKE,
                "ok": True,
                "duration_ms": 1,
            },
        ),
        ("MCP_CONNECTED", {"server": FAKE, "transport": "stdio", "protocol": FAKE}),
        ("CHECK_STARTED", {"step": "s", "check": FAKE, "command": FAKE}),
        ("STEP_SKIPPED", {"step": "s", "reason": FAKE}),
        ("TRANSITION", {"step": "s", "to": FAKE, "when": ""}),
    ],
)
def test_an_event_takes_one_line_of_a_log(event: str, data: dict[str, Any]) -> None:
    assert len(log_of((event, data)).splitlines()) == 1


def test_changed_files_take_one_line_of_a_log() -> None:
    usage = {"input_tokens": 1, "output_tokens": 1}
    text = log_of(("WORKFLOW_COMPLETED", {"duration_ms": 1, "usage": usage, "files": [FAKE, "b.py"]}))
    (line,) = [line for line in text.splitlines() if "changed" in line]
    assert original(line) == f"changed: {FAKE}, b.py"


@pytest.mark.parametrize("part", ["title", "step", "remark", "move", "check", "command", "line"])
def test_a_row_of_the_live_view_is_one_row(part: str) -> None:
    file = io.StringIO()
    console = Console(file=file, width=100, height=40, force_terminal=True)
    view = RunView(console)
    view.title = FAKE if part == "title" else "flow"
    parts = ("remark", "move", "check", "command", "line")
    named = {key: FAKE if key == part else "x" for key in parts}
    step = StepState("running", move=named["move"], remark=named["remark"])
    step.check = RunningCheck(named["check"], named["command"], 0, named["line"])
    view.steps = {FAKE if part == "step" else "s": step}
    console.print(view.latest())
    rows = DRAWING.sub("", file.getvalue()).splitlines()
    assert len(rows) == 5, rows
    assert not any(row.startswith((" ✓ review", "Go on?")) for row in rows)


@pytest.mark.parametrize("end", ["\n", "\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"])
@pytest.mark.parametrize("key", ["path", "move_to"])
def test_a_name_makes_no_second_line_of_a_plan_that_is_edited(key: str, end: str) -> None:
    file = {"action": "move", "path": "a.py", "move_to": "b.py"} | {key: f"x.py{end}delete y.py"}
    with pytest.raises(ValueError, match="cannot be written on one line"):
        plan_to_text([file])
