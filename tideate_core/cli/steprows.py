"""A run's steps as rows of the live view, and below a step the checks that it runs and the gates."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from typing import Final

from rich.text import Text

from tideate_core.adapters import MODULES
from tideate_core.cli.output import visible

__all__ = ["RunningCheck", "StepState", "check_rows", "step_row"]

FRAMES: Final = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
MARKS: Final = {
    "done": ("✓", "green"),
    "earlier": ("✓", "dim green"),
    "failed": ("✗", "red"),
    "skipped": ("⊘", "dim"),
    "stopped": ("■", "yellow"),
    "waiting": ("·", "dim"),
}
UNTIMED: Final = frozenset({"earlier", "skipped", "waiting"})


@dataclass(slots=True)
class RunningCheck:
    """A command that verifies the project, while it runs."""

    name: str
    command: str
    begun: float
    line: str = ""
    """The last one that it printed."""


@dataclass(slots=True)
class StepState:
    """Where a step stands; `earlier` is one that was completed before this process had the run."""

    state: str = "waiting"
    begun: float = 0.0
    seconds: float = 0.0
    characters: int = 0
    """How much was streamed."""
    items: int = 0
    """How many of a list's items are done."""
    move: str = ""
    """How a machine came here."""
    remark: str = ""
    """What else its row says."""
    notes: list[Text] = field(default_factory=list)
    """Rows below it: the gate that decided, the checks that ended."""
    check: RunningCheck | None = None

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.begun if self.state == "running" else self.seconds


def step_row(name: str, step: StepState) -> Text:
    """Return a step's row."""
    mark, style = MARKS.get(step.state, (_frame(), "cyan"))
    untimed = step.state in UNTIMED
    row = Text.assemble((f" {mark} ", style), (visible(name), "dim" if untimed else ""))
    if not untimed:
        row.append(f"  {step.elapsed:.1f} s", "dim")
    if step.remark:
        row.append(f"  {visible(step.remark)}", "dim")
    if step.items:
        row.append(f"  {step.items} item{'' if step.items == 1 else 's'} done", "dim")
    if step.state == "running" and step.characters:
        row.append(f"  {step.characters} characters", "dim")
    elif step.state == "running" and _is_loading():
        row.append("  loading the model library", "dim")
    return row


def check_rows(check: RunningCheck) -> list[Text]:
    """Return a running check with its command, and the last line that it printed."""
    row = Text.assemble((f"   {_frame()} ", "cyan"), visible(check.name))
    row.append(f"  {time.monotonic() - check.begun:.1f} s  ", "dim").append(visible(check.command), "dim")
    line = " ".join(check.line.split())
    return [row, Text(f"     │ {visible(line)}", style="dim")] if line else [row]


def _frame() -> str:
    return FRAMES[int(time.monotonic() * 12) % len(FRAMES)]


def _is_loading() -> bool:
    """Tell whether the first request still waits for its imports."""
    return MODULES[0] in sys.modules and MODULES[-1] not in sys.modules
