"""What a run does, as it does it: a live view on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.live import Live
from rich.text import Text

from tideate_core.adapters.libraries import MODULES
from tideate_core.cli.output import tell, visible
from tideate_core.engine import EventName

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rich.console import Console, RenderableType

    from tideate_core.engine import Event

__all__ = ["Progress"]

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
MARKS = {"waiting": ("·", "dim"), "done": ("✓", "green"), "failed": ("✗", "red"), "stopped": ("■", "yellow")}
STREAM_LINES = 10
STREAM_CHARACTERS = 4000
"""How much of the streamed text is kept: more than the lines of it that are shown."""


@dataclass(slots=True)
class _Step:
    state: str = "waiting"
    begun: float = 0.0
    seconds: float = 0.0
    characters: int = 0
    """How much was streamed."""
    move: str = ""
    """How a machine came here."""

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.begun if self.state == "running" else self.seconds


class Progress:
    """Takes a run's events.

    :param live: redraw in place; otherwise every change of a step is one line.
    """

    def __init__(self, console: Console, *, live: bool) -> None:
        self._console = console
        self._title = ""
        self._steps: dict[str, _Step] = {}
        self._move = ""
        """A machine's move whose target has not begun."""
        self._stream = ""
        self.began = False
        """The run was accepted and has started."""
        self._live: Live | None = None
        self._draws = live
        self._gone = False

    def emit(self, event: Event) -> None:
        """Show an event; does nothing more once the terminal is gone."""
        handler = _HANDLERS.get(event.name)
        if handler is None or self._gone:
            return
        try:
            handler(self, event.data)
        except OSError:
            # the terminal was closed; the run goes on to its orderly end
            self._gone = True

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave the terminal to a question."""
        drawing = self._stop_drawing()
        try:
            yield
        finally:
            if drawing:
                self._start_drawing()

    def close(self) -> None:
        """Give the terminal back."""
        self._stop_drawing()

    def _start_drawing(self) -> None:
        # a new one each time: it would erase, above itself, as many lines as it had when it was stopped
        self._live = Live(
            get_renderable=self._view, console=self._console, transient=True, refresh_per_second=12
        )
        self._live.start()

    def _stop_drawing(self) -> bool:
        live, self._live = self._live, None
        if live:
            live.stop()
        return live is not None

    def _started(self, data: Mapping[str, Any]) -> None:
        self.began = True
        self._title = f"{data['name']} · {data['adapter']}"
        self._steps = {step: _Step() for step in data["steps"]}
        if data["demonstration"]:
            self._print(
                "the bundled model is only a demonstration, its answers are often wrong; "
                "`tideate doctor` says where to configure a real one",
                "yellow",
            )
        if self._draws:
            self._start_drawing()

    def _step_started(self, data: Mapping[str, Any]) -> None:
        self._stream = ""
        # a machine's steps are known when they come
        step = self._steps.setdefault(data["step"], _Step())
        step.state, step.begun = "running", time.monotonic()
        step.move, self._move = self._move, ""
        place = f"[{data['index']}/{data['total']}] " if data["total"] else ""
        self._line(f"{place}{data['step']} …")

    def _moved(self, data: Mapping[str, Any]) -> None:
        when = " ".join(data["when"].split())
        move = f"→ {data['to']}" + (f"  ({when})" if when else "")
        target = self._entered(data["to"])
        if target is None:
            self._move = move
        else:
            target.move = move
        self._line(move)

    def _entered(self, state: str) -> _Step | None:
        """Return the step that runs, if it is a visit of this state."""
        name, step = next(reversed(self._steps.items()), ("", _Step()))
        return step if step.state == "running" and name.partition("#")[0] == state else None

    def _token(self, data: Mapping[str, Any]) -> None:
        self._steps[data["step"]].characters += len(data["text"])
        self._stream = (self._stream + visible(data["text"]))[-STREAM_CHARACTERS:]

    def _step_executed(self, data: Mapping[str, Any]) -> None:
        step = self._steps[data["step"]]
        step.seconds = data["duration_ms"] / 1000
        step.state = "done" if data["success"] else "stopped" if data.get("declined") else "failed"
        self._stream = ""
        self._line(f"{data['step']} {step.state} after {step.seconds:.1f} s")

    def _notice(self, data: Mapping[str, Any]) -> None:
        self._print(data["message"], "yellow" if data["level"] == "warn" else "dim")

    def _gate_failed(self, data: Mapping[str, Any]) -> None:
        for issue in data["issues"]:
            self._print(f"{data['gate']}: {issue}", "red")

    def _completed(self, data: Mapping[str, Any]) -> None:
        self._finish("stopped")
        usage = data["usage"]
        cost = f", ${usage['cost']:.4f}" if "cost" in usage else ""
        tokens = f"{usage['input_tokens']} tokens read, {usage['output_tokens']} written{cost}"
        self._print(f"{data['duration_ms'] / 1000:.1f} s, {tokens}", "dim")
        if data["files"]:
            self._print(f"changed: {', '.join(data['files'])}", "green")

    def _failed(self, data: Mapping[str, Any]) -> None:
        self._finish("failed")
        tell(self._console, Text.assemble(("error: ", "bold red"), visible(data["error"])))

    def _cancelled(self, data: Mapping[str, Any]) -> None:
        self._finish("stopped")
        words = [data["reason"]]
        if data["reason"] == "declined" and data["message"] not in ("", "declined"):
            words.append(data["message"])
        self._print(": ".join(words), "yellow")

    def _finish(self, unfinished: str) -> None:
        """Leave the steps as they ended on the screen."""
        for step in self._steps.values():
            if step.state == "running":
                step.seconds, step.state = step.elapsed, unfinished
        if self._stop_drawing():
            self._console.print(Group(*self._rows()))

    def _line(self, text: str) -> None:
        if not self._draws:
            self._print(text, "dim")

    def _print(self, text: str, style: str) -> None:
        tell(self._console, Text(visible(text), style=style))

    def _view(self) -> RenderableType:
        tail = self._tail()
        # a machine may go on for ever: what is done scrolls out at the top
        title, *rows = self._rows()
        room = max(1, self._console.height - len(tail) - 2)
        return Group(title, *rows[-room:], *tail)

    def _rows(self) -> list[Text]:
        rows = [Text(visible(self._title), style="bold")]
        for name, step in self._steps.items():
            if step.move:
                rows.append(self._move_row(step.move))
            rows.append(_row(name, step))
        if self._move:
            rows.append(self._move_row(self._move))
        return rows

    def _move_row(self, move: str) -> Text:
        row = Text(f"   {visible(move)}", style="dim")
        row.truncate(self._console.width, overflow="ellipsis")
        return row

    def _tail(self) -> list[Text]:
        # a typed answer streams as JSON, which is no reading matter
        if not self._stream.strip() or self._stream.lstrip().startswith("{"):
            return []
        room = max(3, min(STREAM_LINES, self._console.height - len(self._rows()) - 2))
        width = max(10, self._console.width - 4)
        lines = Text(self._stream.strip("\n"), style="dim").wrap(self._console, width)[-room:]
        return [Text("  │ ", style="dim").append_text(line) for line in lines]


def _row(name: str, step: _Step) -> Text:
    frame = FRAMES[int(time.monotonic() * 12) % len(FRAMES)]
    mark, style = MARKS.get(step.state, (frame, "cyan"))
    row = Text.assemble((f" {mark} ", style), (visible(name), "" if step.state != "waiting" else "dim"))
    if step.state != "waiting":
        row.append(f"  {step.elapsed:.1f} s", "dim")
    if step.state == "running" and step.characters:
        row.append(f"  {step.characters} characters", "dim")
    elif step.state == "running" and _is_loading():
        row.append("  loading the model library", "dim")
    return row


def _is_loading() -> bool:
    """Tell whether the first request still waits for its imports."""
    return MODULES[0] in sys.modules and MODULES[-1] not in sys.modules


_HANDLERS: Mapping[EventName, Callable[[Progress, Mapping[str, Any]], None]] = {
    EventName.WORKFLOW_STARTED: Progress._started,
    EventName.WORKFLOW_COMPLETED: Progress._completed,
    EventName.WORKFLOW_FAILED: Progress._failed,
    EventName.WORKFLOW_CANCELLED: Progress._cancelled,
    EventName.STEP_STARTED: Progress._step_started,
    EventName.STEP_EXECUTED: Progress._step_executed,
    EventName.TRANSITION: Progress._moved,
    EventName.TOKEN: Progress._token,
    EventName.NOTICE: Progress._notice,
    EventName.GATE_FAILED: Progress._gate_failed,
}
