"""Rows of the live view: steps, their checks and gates, and the text that streams."""

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

__all__ = ["RunView", "RunningCheck", "StepState"]

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
    """State of a step; `earlier` is one completed before this process had the run."""

    state: str = "waiting"
    begun: float = 0.0
    seconds: float = 0.0
    characters: int = 0
    """Characters streamed so far."""
    items: int = 0
    """Items of a list that are done."""
    move: str = ""
    """The machine's move to this state."""
    remark: str = ""
    """Remark at the end of its row."""
    notes: list[Text] = field(default_factory=list)
    """Rows below it: the gate that decided, the checks that ended."""
    calls: dict[int, str] = field(default_factory=dict)
    """Tool calls under way, by their number."""
    check: RunningCheck | None = None
    workless: bool = False
    """It only prepares or decides: it has a row while it runs, or where it did not end well."""
    verified: bool = False
    """Gate 5 decided in it, and said how long that took."""

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.begun if self.state == "running" else self.seconds


def step_row(name: str, step: StepState) -> Text:
    """Return a step's row."""
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
    """Return the tool call that began last, and how many others are under way."""
    if not calls:
        return ""
    last, others = list(calls.values())[-1], len(calls) - 1
    return f"{last} …" if not others else f"{last} and {others} other{'' if others == 1 else 's'} …"


def check_rows(check: RunningCheck) -> list[Text]:
    """Return a running check with its command, and the last line that it printed."""
    row = Text.assemble((f"   {_frame()} ", "cyan"), visible(check.name))
    row.append(f"  {time.monotonic() - check.begun:.1f} s  ", "dim").append(visible(check.command), "dim")
    line = " ".join(check.line.split())
    return [row, Text(f"     │ {visible(line)}", style="dim")] if line else [row]


def _frame() -> str:
    return FRAMES[int(time.monotonic() * 12) % len(FRAMES)]


STREAM_LINES: Final = 10
STREAM_CHARACTERS: Final = 4000
"""Streamed text that is kept: more than the lines of it that are shown."""


class RunView:
    """Content of the live view of a run."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self.title = ""
        self.begun: float | None = None
        """On the monotonic clock; None: not yet, or it has ended."""
        self.steps: dict[str, StepState] = {}
        """By name; of runs within the run with the names of the steps that they are."""
        self.move = ""
        """A machine's move whose target has not begun."""
        self.typed: str | None = None
        """The line that the person types; None where none is read."""
        self.takes_turns = False
        """A model was seen that reads messages between its turns."""
        self._streams: dict[str, str] = {}
        """Ends of what is said at once, by step or item; the first one's is shown, the others wait."""
        self._reasoning: tuple[str, str] | None = None
        """A step and what its model was thinking last, until it says or does something."""

    def step_of(self, label: str) -> StepState:
        """Return a step; an item of a list has none of its own."""
        found = self.steps.get(label) or self.steps.get(label.rpartition("[")[0])
        # a machine's steps are known when they come
        return found or self.steps.setdefault(label, StepState())

    def entered(self, state: str) -> StepState | None:
        """Return the step that runs, if it is a visit of this state."""
        name, step = next(reversed(self.steps.items()), ("", StepState()))
        return step if step.state == "running" and name.partition("#")[0] == state else None

    def streams(self, label: str, text: str) -> None:
        """Add to a step's answer."""
        self.step_of(label).characters += len(text)
        self.reasoned(label)
        self._streams[label] = (self._streams.get(label, "") + visible(text))[-STREAM_CHARACTERS:]

    def reasons(self, label: str, text: str) -> None:
        """Add to what a step's model is thinking."""
        before = self._reasoning[1] if self._reasoning and self._reasoning[0] == label else ""
        self._reasoning = (label, (before + visible(text))[-STREAM_CHARACTERS:])

    def reasoned(self, label: str) -> None:
        """A step's model has ended thinking, for now."""
        if self._reasoning and self._reasoning[0] == label:
            self._reasoning = None

    def turned(self, label: str) -> None:
        """A turn of a step's model has ended: what it says next is not glued to what it said."""
        self.reasoned(label)
        self.takes_turns = True
        if said := self._streams.get(label, "").rstrip():
            self._streams[label] = f"{said}\n\n"

    def streamed(self, label: str) -> None:
        """A step's answer has ended."""
        self.reasoned(label)
        self._streams.pop(label, None)

    def end(self, unfinished: str) -> None:
        """Nothing runs any more; what did is left in this state."""
        self.begun = None  # how long it took is said by who says that it has ended
        for step in self.steps.values():
            step.check = None
            if step.state == "running":
                step.seconds, step.state = step.elapsed, unfinished

    def whole(self) -> Group:
        """Return all rows."""
        return Group(*self._rows())

    def latest(self) -> Group:
        """Return as much as the terminal has room for."""
        tail = self._tail()
        # a machine may run for ever: what is done scrolls out at the top
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
        # a row is a line: the view erases as many as it has
        row = Text(" ").join(row.split("\n")) if "\n" in row.plain else row
        row.truncate(self._console.width, overflow="ellipsis")
        return row

    def _tail(self) -> list[Text]:
        return [*self._answer_rows(), *self._reasoning_rows(), *self._typed_rows()]

    def _typed_rows(self) -> list[Text]:
        """Return the line that is typed; of a long one its end."""
        if not self.typed:
            hint = Text("\u203a type a message to the model, Enter sends it", style="dim")
            return [self._fitted(hint)] if self.typed is not None and self.takes_turns else []
        text, room = visible(self.typed), max(10, self._console.width - 4)
        if cell_len(text) > room:
            text = f"…{set_cell_size(text[::-1], room - 1)[::-1]}"
        return [Text.assemble(("\u203a ", "cyan"), text, (" ", "reverse"))]

    def _reasoning_rows(self) -> list[Text]:
        """Return the last line of what a model is thinking."""
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
