"""What a run does, as it does it: a live view on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Group
from rich.live import Live
from rich.text import Text

from tideate_core.cli.output import tell, visible
from tideate_core.cli.steprows import StepState, step_row
from tideate_core.engine import EventName

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rich.console import Console, RenderableType

    from tideate_core.engine import Event

__all__ = ["Progress"]

STREAM_LINES = 10
STREAM_CHARACTERS = 4000
"""How much of the streamed text is kept: more than the lines of it that are shown."""


class Progress:
    """Takes a run's events.

    :param live: redraw in place; otherwise every change of a step is one line.
    """

    def __init__(self, console: Console, *, live: bool) -> None:
        self._console = console
        self._title = ""
        self._steps: dict[str, StepState] = {}
        """By name; of runs within the run with the names of the steps that they are."""
        self._within: dict[str, str] = {}
        """What stands before the names of a run's steps, by its id."""
        self._move = ""
        """A machine's move whose target has not begun."""
        self._stream = ""
        self._streams: str | None = None
        """Of the steps that are answered at once, the one whose text is shown."""
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
            handler(self, event)
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

    def _started(self, event: Event) -> None:
        data = event.data
        parent = data.get("parent")
        if parent in self._within:
            self._within[event.execution_id] = f"{self._within[parent]}{data['parent_step']} → "
            return
        self.began = True
        self._within = {event.execution_id: ""}
        self._title = f"{data['name']} · {data['adapter']}"
        earlier = data.get("completed", [])
        steps = dict.fromkeys(data["steps"]) or dict.fromkeys(earlier)
        self._steps = {step: StepState("earlier" if step in earlier else "waiting") for step in steps}
        if data["demonstration"]:
            self._print(
                "the bundled model is only a demonstration, its answers are often wrong; "
                "`tideate doctor` says where to configure a real one",
                "yellow",
            )
        if event.name is EventName.WORKFLOW_RESTORED:
            ended = f"{len(earlier)} step{'' if len(earlier) == 1 else 's'}"
            self._print(f"goes on after {ended} that ended before" if earlier else "starts again", "dim")
        if self._draws:
            self._start_drawing()

    def _label(self, event: Event) -> str:
        return self._within.get(event.execution_id, "") + str(event.data["step"])

    def _step_of(self, label: str) -> StepState:
        """Return a step; an item of a list has none of its own."""
        found = self._steps.get(label) or self._steps.get(label.rpartition("[")[0])
        # a machine's steps are known when they come
        return found or self._steps.setdefault(label, StepState())

    def _step_started(self, event: Event) -> None:
        label, data = self._label(event), event.data
        step = self._steps.setdefault(label, StepState())
        step.state, step.begun = "running", time.monotonic()
        step.move, self._move = self._move, ""
        place = f"[{data['index']}/{data['total']}] " if data["total"] else ""
        self._line(f"{place}{label} …")

    def _moved(self, event: Event) -> None:
        data = event.data
        why = " ".join(data["when"].split())
        move = f"→ {data['to']}" + (f"  ({why})" if why else "")
        target = self._entered(self._within.get(event.execution_id, "") + data["to"])
        if target is None:
            self._move = move
        else:
            target.move = move
        self._line(move)

    def _entered(self, state: str) -> StepState | None:
        """Return the step that runs, if it is a visit of this state."""
        name, step = next(reversed(self._steps.items()), ("", StepState()))
        return step if step.state == "running" and name.partition("#")[0] == state else None

    def _token(self, event: Event) -> None:
        label, text = self._label(event), event.data["text"]
        self._step_of(label).characters += len(text)
        if self._streams is None:
            self._streams, self._stream = label, ""
        if self._streams == label:
            self._stream = (self._stream + visible(text))[-STREAM_CHARACTERS:]

    def _step_executed(self, event: Event) -> None:
        label, data = self._label(event), event.data
        step, seconds = self._step_of(label), data["duration_ms"] / 1000
        how = "done" if data["success"] else "stopped" if data.get("declined") else "failed"
        if label in self._steps:
            step.state, step.seconds = how, seconds
        elif data["success"]:
            step.items += 1
        if self._streams == label:
            self._streams, self._stream = None, ""
        self._line(f"{label} {how} after {seconds:.1f} s")

    def _step_skipped(self, event: Event) -> None:
        label = self._label(event)
        self._steps.setdefault(label, StepState()).state = "skipped"
        self._line(f"{label} skipped: {event.data['reason']}")

    def _step_retries(self, event: Event) -> None:
        data = event.data
        again = f"again in {data['wait_ms'] / 1000:.1f} s"
        words = f"{self._label(event)}: attempt {data['attempt']} failed, {again}: {data['error']}"
        self._print(words, "yellow")

    def _paused(self, event: Event) -> None:
        if event.data.get("reason"):  # its process leaves it
            self._finish("stopped")
        where = f"tideate resume {event.execution_id[:8]}"
        self._print(f"paused before {event.data['step']}; `{where}` goes on with it", "cyan")

    def _resumed(self, event: Event) -> None:
        self._print("goes on", "cyan")

    def _notice(self, event: Event) -> None:
        self._print(event.data["message"], "yellow" if event.data["level"] == "warn" else "dim")

    def _gate_failed(self, event: Event) -> None:
        for issue in event.data["issues"]:
            self._print(f"{event.data['gate']}: {issue}", "red")

    def _is_within(self, event: Event) -> bool:
        """Tell whether it is only a step's run that ends."""
        return bool(self._within.get(event.execution_id))

    def _completed(self, event: Event) -> None:
        if self._is_within(event):
            return
        self._finish("stopped")
        data, usage = event.data, event.data["usage"]
        cost = f", ${usage['cost']:.4f}" if "cost" in usage else ""
        tokens = f"{usage['input_tokens']} tokens read, {usage['output_tokens']} written{cost}"
        self._print(f"{data['duration_ms'] / 1000:.1f} s, {tokens}", "dim")
        if data["files"]:
            self._print(f"changed: {', '.join(data['files'])}", "green")

    def _failed(self, event: Event) -> None:
        if self._is_within(event):
            return
        self._finish("failed")
        tell(self._console, Text.assemble(("error: ", "bold red"), visible(event.data["error"])))

    def _cancelled(self, event: Event) -> None:
        if self._is_within(event):
            return
        self._finish("stopped")
        data = event.data
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
            rows.append(step_row(name, step))
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


_HANDLERS: Mapping[EventName, Callable[[Progress, Event], None]] = {
    EventName.WORKFLOW_STARTED: Progress._started,
    EventName.WORKFLOW_COMPLETED: Progress._completed,
    EventName.WORKFLOW_FAILED: Progress._failed,
    EventName.WORKFLOW_CANCELLED: Progress._cancelled,
    EventName.WORKFLOW_PAUSED: Progress._paused,
    EventName.WORKFLOW_RESTORED: Progress._started,
    EventName.WORKFLOW_RESUMED: Progress._resumed,
    EventName.STEP_STARTED: Progress._step_started,
    EventName.STEP_SKIPPED: Progress._step_skipped,
    EventName.STEP_RETRYING: Progress._step_retries,
    EventName.STEP_EXECUTED: Progress._step_executed,
    EventName.TRANSITION: Progress._moved,
    EventName.TOKEN: Progress._token,
    EventName.NOTICE: Progress._notice,
    EventName.GATE_FAILED: Progress._gate_failed,
}
