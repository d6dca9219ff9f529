"""Rows of the live view: steps with checks and gates, streamed text, typed input."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len, set_cell_size
from rich.console import Group
from rich.text import Text

from tideate_core.adapters import is_loading
from tideate_core.cli.render.words import step_words
from tideate_core.util.escaping import visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

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
    """A running check of the project."""

    name: str
    command: str
    begun: float
    line: str = ""
    """Last line of its output."""


@dataclass(slots=True)
class StepState:
    """State of a step; `earlier`: completed in an earlier process."""

    state: str = "waiting"
    begun: float = 0.0
    seconds: float = 0.0
    characters: int = 0
    """Number of streamed characters."""
    items: int = 0
    """Number of completed list items."""
    move: str = ""
    """The machine's transition to this state."""
    remark: str = ""
    """Remark at the end of its row."""
    notes: list[Text] = field(default_factory=list)
    """Rows below it: gate decisions and ended checks."""
    calls: dict[int, str] = field(default_factory=dict)
    """Running tool calls, by number."""
    check: RunningCheck | None = None
    workless: bool = False
    """Whether it only prepares or decides; then it has a row only while it runs, or if it fails."""
    verified: bool = False
    """Whether gate 5 decided in it, with its duration shown."""

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.begun if self.state == "running" else self.seconds


def step_row(name: str, step: StepState) -> Text:
    """Render the row of a step."""
    mark, style = MARKS.get(step.state, (_frame(), "cyan"))
    untimed = step.state in UNTIMED
    row = Text.assemble((f" {mark} ", style), (visible(step_words(name)), "dim" if untimed else ""))
    if not untimed:
        row.append(f"  {step.elapsed:.1f} s", "dim")
    if remark := step.remark or _call_words(step.calls):
        row.append(f"  {visible(remark)}", "dim")
    if step.items:
        row.append(f"  {step.items} item{'' if step.items == 1 else 's'} done", "dim")
    if step.state == "running" and step.characters:
        row.append(f"  {step.characters} characters", "dim")
    elif step.state == "running" and is_loading():
        row.append("  loading the model library", "dim")
    return row


def _call_words(calls: Mapping[int, str]) -> str:
    """Return the newest running tool call and the number of the others."""
    if not calls:
        return ""
    last, others = list(calls.values())[-1], len(calls) - 1
    return f"{last} …" if not others else f"{last} and {others} other{'' if others == 1 else 's'} …"


def check_rows(check: RunningCheck) -> list[Text]:
    """Render a running check with its command and last output line."""
    row = Text.assemble((f"   {_frame()} ", "cyan"), visible(check.name))
    row.append(f"  {time.monotonic() - check.begun:.1f} s  ", "dim").append(visible(check.command), "dim")
    line = " ".join(check.line.split())
    return [row, Text(f"     │ {visible(line)}", style="dim")] if line else [row]


def _frame() -> str:
    return FRAMES[int(time.monotonic() * 12) % len(FRAMES)]


STREAM_LINES: Final = 10
STREAM_CHARACTERS: Final = 4000
"""Kept characters of streamed text, more than the visible lines."""


class RunView:
    """State and content of the live view."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self.title = ""
        self.begun: float | None = None
        """Start on the monotonic clock; None before the start and after the end."""
        self.steps: dict[str, StepState] = {}
        """Steps by name; steps of inner runs have prefixed names."""
        self.move = ""
        """A machine's transition to a step that has not started."""
        self.typed: str | None = None
        """The line that the person is typing; None if no input is read."""
        self.takes_turns = False
        """Whether a model that reads messages between turns was seen."""
        self._streams: dict[str, str] = {}
        """Ends of concurrent streams, by step or item; only the first is shown."""
        self._reasoning: tuple[str, str] | None = None
        """Step and latest reasoning of its model, until its next answer or tool call."""

    def step_of(self, label: str) -> StepState:
        """Return a step, for a list item the step of its list."""
        found = self.steps.get(label) or self.steps.get(label.rpartition("[")[0])
        # steps of a machine are not known in advance
        return found or self.steps.setdefault(label, StepState())

    def entered(self, state: str) -> StepState | None:
        """Return the running step if it is a visit of a state."""
        name, step = next(reversed(self.steps.items()), ("", StepState()))
        return step if step.state == "running" and name.partition("#")[0] == state else None

    def streams(self, label: str, text: str) -> None:
        """Append text to a step's answer."""
        self.step_of(label).characters += len(text)
        self.reasoned(label)
        self._streams[label] = (self._streams.get(label, "") + visible(text))[-STREAM_CHARACTERS:]

    def reasons(self, label: str, text: str) -> None:
        """Append text to the reasoning of a step's model."""
        before = self._reasoning[1] if self._reasoning and self._reasoning[0] == label else ""
        self._reasoning = (label, (before + visible(text))[-STREAM_CHARACTERS:])

    def reasoned(self, label: str) -> None:
        """Clear the reasoning of a step's model."""
        if self._reasoning and self._reasoning[0] == label:
            self._reasoning = None

    def turned(self, label: str) -> None:
        """End a turn of a step's model: separate the next text from the previous one."""
        self.reasoned(label)
        self.takes_turns = True
        if said := self._streams.get(label, "").rstrip():
            self._streams[label] = f"{said}\n\n"

    def streamed(self, label: str) -> None:
        """End a step's answer."""
        self.reasoned(label)
        self._streams.pop(label, None)

    def end(self, unfinished: str) -> None:
        """Set running steps to a final state."""
        self.begun = None  # the completion message has the duration
        for step in self.steps.values():
            step.check = None
            if step.state == "running":
                step.seconds, step.state = step.elapsed, unfinished

    def whole(self) -> Group:
        """Render all rows."""
        return Group(*self._rows())

    def latest(self) -> Group:
        """Render the rows that fit on the terminal."""
        tail = [*self._answer_rows(), *self._reasoning_rows(), *self._typed_rows()]
        # a machine may run for ever: old steps scroll out at the top
        title, *rows = self._rows()
        room = max(1, self._console.height - len(tail) - 2)
        return Group(title, *rows[-room:], *tail)

    def _rows(self) -> list[Text]:
        rows = []
        for name, step in self.steps.items():
            if step.move:
                rows.append(self._move_row(step.move))
            if not step.workless or step.state != "done":
                rows.append(step_row(name, step))
            rows += [note.copy() for note in step.notes]
            if step.check:
                rows += check_rows(step.check)
        if self.move:
            rows.append(self._move_row(self.move))
        title = Text(visible(self.title), style="bold")
        if self.begun is not None:
            title.append(f"  {time.monotonic() - self.begun:.0f} s", "not bold dim")
        return [self._fitted(title), *map(self._fitted, rows)]

    def _move_row(self, move: str) -> Text:
        return Text(f"   {visible(move)}", style="dim")

    def _fitted(self, row: Text) -> Text:
        # one line per row: the view erases as many lines as it has rows
        row = Text(" ").join(row.split("\n")) if "\n" in row.plain else row
        row.truncate(self._console.width, overflow="ellipsis")
        return row

    def _typed_rows(self) -> list[Text]:
        """Render the typed line, truncated at its start."""
        if not self.typed:
            hint = Text("\u203a type a message to the model, Enter sends it", style="dim")
            return [self._fitted(hint)] if self.typed is not None and self.takes_turns else []
        text, room = visible(self.typed), max(10, self._console.width - 4)
        if cell_len(text) > room:
            text = f"…{set_cell_size(text[::-1], room - 1)[::-1]}"
        return [Text.assemble(("\u203a ", "cyan"), text, (" ", "reverse"))]

    def _reasoning_rows(self) -> list[Text]:
        """Render the last line of the reasoning."""
        lines = self._reasoning[1].strip().splitlines() if self._reasoning else []
        if not lines:
            return []
        line = lines[-1].strip()
        room = max(10, self._console.width - 4)
        return [Text(f"  ┆ {line if len(line) <= room else '…' + line[1 - room :]}", style="dim italic")]

    def _answer_rows(self) -> list[Text]:
        said = next(iter(self._streams.values()), "")
        if not said.strip():
            return []
        room = max(3, min(STREAM_LINES, self._console.height - len(self._rows()) - 2))
        width = max(10, self._console.width - 4)
        lines = Text(said.strip("\n"), style="dim").wrap(self._console, width)[-room:]
        return [Text("  │ ", style="dim").append_text(line) for line in lines]
