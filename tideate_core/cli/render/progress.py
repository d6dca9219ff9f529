"""Progress of runs from their events: a live view on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from rich.live import Live
from rich.text import Text

from tideate_core.cli.render.live_view import RunningCheck, RunView, StepState
from tideate_core.cli.render.output import tell
from tideate_core.cli.render.words import (
    TASK,
    VERIFICATION,
    check_text,
    correction_words,
    first_failures,
    gate_issues,
    gate_text,
    not_run_words,
    rolled_back_lines,
    step_words,
    tool_running,
    tool_text,
    usage_words,
)
from tideate_core.engine import EventName
from tideate_core.util.escaping import label, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rich.console import Console, RenderableType

    from tideate_core.engine import Event


class Progress:
    """Renderer of run events.

    :param live: draw a live view; otherwise print a line for each change.
    """

    def __init__(self, console: Console, *, live: bool) -> None:
        self._console = console
        self._view = RunView(console)
        self._within: dict[str, str] = {}
        """Prefix of step names, by run id."""
        self._compared: dict[str, str] = {}
        """Prefix of step names of compared runs, by run id."""
        self._tasks: set[str] = set()
        """Ids of gated tasks."""
        self._commands: dict[str, str] = {}
        """Last shown command of each check."""
        self._not_run: list[str] = []
        """Checks without a command in the current verification."""
        self._told_not_run: list[str] = []
        self.began = False
        """Whether a run has started."""
        self._live: Live | None = None
        self._draws = live
        self._gone = False

    def emit(self, event: Event) -> None:
        """Show an event, unless the terminal is gone."""
        if (handler := _HANDLERS.get(event.name)) is not None:
            self._while_there(lambda: handler(self, event))

    def _while_there(self, draw: Callable[[], object]) -> None:
        """Draw, and stop drawing for good when the terminal is closed; the run continues."""
        if self._gone:
            return
        try:
            draw()
        except OSError:
            self._gone = True

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Clear the live view for a question."""
        drawing = self._live is not None
        self._while_there(self._stop_drawing)
        try:
            yield
        finally:
            if drawing:
                self._while_there(self._start_drawing)

    def typed(self, text: str | None) -> None:
        """Show the line that the person is typing.

        :param text: None if no input is read.
        """
        self._view.typed = text
        if self._live:
            self._while_there(self._live.refresh)

    def warn(self, words: str) -> None:
        """Print a warning, unless the terminal is gone."""
        self._while_there(lambda: self._print(words, "yellow"))

    def tell(self, *parts: RenderableType, soft_wrap: bool) -> None:
        """Print renderables, unless the terminal is gone."""
        for part in parts:
            self._while_there(partial(self._console.print, part, soft_wrap=soft_wrap))

    def close(self) -> None:
        """Stop the live view."""
        self._while_there(self._stop_drawing)

    def _start_drawing(self) -> None:
        # a new view each time: a restarted one would erase as many lines above as it had before
        self._live = Live(
            get_renderable=self._view.latest, console=self._console, transient=True, refresh_per_second=12
        )
        self._live.start()

    def _stop_drawing(self) -> bool:
        live, self._live = self._live, None
        if live:
            live.stop()
        return live is not None

    def _started(self, event: Event) -> None:
        data = event.data
        if data["name"] == TASK:
            self._tasks.add(event.execution_id)
        parent = data.get("parent")
        if parent in self._within:
            self._within[event.execution_id] = f"{self._within[parent]}{data['parent_step']} → "
            return
        self.began = True
        if data.get("compared"):
            self._compared_started(event)
            return
        self._within = {event.execution_id: ""}
        self._view.title, self._view.begun = f"{data['name']} · {data['adapter']}", time.monotonic()
        earlier = data.get("completed", [])
        steps = dict.fromkeys(data["steps"]) or dict.fromkeys(earlier)
        self._view.steps = {step: StepState("earlier" if step in earlier else "waiting") for step in steps}
        if data["demonstration"]:
            self._print(
                "the bundled model is only a demonstration, its answers are often wrong; "
                "`tideate doctor` says where to configure a real one",
                "yellow",
            )
        if event.name is EventName.WORKFLOW_RESTORED and not data.get("forked"):
            ended = f"{len(earlier)} step{'' if len(earlier) == 1 else 's'}"
            self._print(f"resumed after {ended} completed before" if earlier else "restarted", "dim")
        if self._draws:
            self._start_drawing()

    def _compared_started(self, event: Event) -> None:
        """Add the steps of a compared run to the view, under the name of its model."""
        data, view = event.data, self._view
        if event.execution_id in self._compared:
            return  # resumed in this process
        prefix = f"{data['adapter']}: "
        self._within[event.execution_id] = self._compared[event.execution_id] = prefix
        view.title = f"{data['name']} · {len(data['compared'])} models"
        view.begun = view.begun or time.monotonic()
        earlier = data.get("completed", [])
        view.steps |= {
            f"{prefix}{step}": StepState("earlier" if step in earlier else "waiting")
            for step in data["steps"]
        }
        if self._draws and self._live is None:
            self._start_drawing()

    def _label(self, event: Event) -> str:
        return self._within.get(event.execution_id, "") + str(event.data["step"])

    def _step_started(self, event: Event) -> None:
        label, data = self._label(event), event.data
        step = self._view.steps.setdefault(label, StepState())
        step.state, step.begun = "running", time.monotonic()
        step.move, self._view.move = self._view.move, ""
        step.remark = correction_words(label)
        step.workless = event.execution_id in self._tasks and "stage" not in data
        if step.workless:
            return
        place = f"[{data['index']}/{data['total']}] " if data["total"] else ""
        self._line(f"{place}{label}{f' ({step.remark})' if step.remark else ''} …")

    def _moved(self, event: Event) -> None:
        if event.execution_id in self._tasks:
            return  # stages and gates show the position of a task
        data = event.data
        why = " ".join(data["when"].split())
        move = f"→ {data['to']}" + (f"  ({why})" if why else "")
        target = self._view.entered(self._within.get(event.execution_id, "") + data["to"])
        if target is None:
            self._view.move = move
        else:
            target.move = move
        self._line(move)

    def _token(self, event: Event) -> None:
        self._view.streams(self._label(event), event.data["text"])

    def _step_executed(self, event: Event) -> None:
        label, data = self._label(event), event.data
        step, seconds = self._view.step_of(label), data["duration_ms"] / 1000
        how = "done" if data["success"] else "stopped" if data.get("declined") else "failed"
        if label in self._view.steps:
            step.state, step.seconds = how, seconds
        elif data["success"]:
            step.items += 1
        self._view.streamed(label)
        took = f"{seconds:.1f} s"
        if how != "done" or not (step.workless or step.verified or took == "0.0 s"):
            self._line(f"{label} {how} after {took}")

    def _step_skipped(self, event: Event) -> None:
        label = self._label(event)
        self._view.steps.setdefault(label, StepState()).state = "skipped"
        self._line(f"{label} skipped: {event.data['reason']}")

    def _step_retries(self, event: Event) -> None:
        data = event.data
        again = f"again in {data['wait_ms'] / 1000:.1f} s"
        words = f"{self._label(event)}: attempt {data['attempt']} failed, {again}: {data['error']}"
        self._print(words, "yellow")

    def _paused(self, event: Event) -> None:
        where = f"tideate resume {event.execution_id[:8]}"
        if event.data.get("reason"):  # its process is ending
            self._finish("stopped")
            if event.execution_id not in self._compared:  # compared runs are resumed together
                self._print(f"the run waits; `{where}` resumes it", "cyan")
            return
        place = "in" if event.data.get("within") else "before"
        self._print(f"paused {place} {step_words(event.data['step'])}; `{where}` resumes it", "cyan")

    def _resumed(self, event: Event) -> None:
        self._print("resumed", "cyan")

    def _notice(self, event: Event) -> None:
        self._print(event.data["message"], "yellow" if event.data["level"] == "warn" else "dim")

    def _gate_passed(self, event: Event) -> None:
        if "number" in event.data:  # other gates are shown only on failure
            self._decided(event, passed=True)

    def _gate_failed(self, event: Event) -> None:
        if "number" in event.data:
            self._decided(event, passed=False)
        for issue in gate_issues(event.data):
            self._print(f"{event.data['gate']}: {issue}", "red")

    def _decided(self, event: Event, *, passed: bool) -> None:
        if self._not_run and self._not_run != self._told_not_run:
            self._note(event, Text(f"· not run: {', '.join(self._not_run)}", style="dim"))
            self._told_not_run = self._not_run
        self._not_run = []
        self._note(event, gate_text(event.data, passed=passed))
        if event.data["number"] == VERIFICATION:
            self._view.step_of(self._label(event)).verified = True

    def _check_started(self, event: Event) -> None:
        data = event.data
        check = RunningCheck(data["check"], data["command"], time.monotonic())
        self._view.step_of(self._label(event)).check = check
        if self._commands.get(check.name) != check.command:
            self._commands[check.name] = check.command
            self._line(f"{check.name}: {check.command} …")

    def _check_printed(self, event: Event) -> None:
        check = self._view.step_of(self._label(event)).check
        lines = [line for line in event.data["lines"] if line.strip()]
        if check is not None and lines:
            check.line = lines[-1]

    def _check_ended(self, event: Event) -> None:
        data = event.data
        self._view.step_of(self._label(event)).check = None
        if data["status"] == "not_configured":
            self._not_run.append(not_run_words(data))
            return
        self._note(event, check_text(data))
        for line in first_failures(data["failures"]):
            self._print(f"{data['check']}: {line}", "red")

    def _connected(self, event: Event) -> None:
        data = event.data
        self._line(f"connected to the MCP server {data['server']} ({data['transport']}, {data['protocol']})")

    def _tool_called(self, event: Event) -> None:
        label, data = self._label(event), event.data
        self._view.turned(label)
        self._view.step_of(label).calls[data["call"]] = words = tool_running(data)
        if data["server"]:  # tideate's own tools take no noticeable time
            self._line(f"{words} …")

    def _tool_runs(self, event: Event) -> None:
        self._view.step_of(self._label(event)).remark = tool_running(event.data)

    def _tool_completed(self, event: Event) -> None:
        step = self._view.step_of(self._label(event))
        step.remark = ""
        step.calls.pop(event.data["call"], None)
        self._note(event, tool_text(event.data))
        for line in event.data.get("checklist", ()):
            self._note(event, Text(f"  {visible(line)}", style="dim"))

    def _reasoned(self, event: Event) -> None:
        self._view.reasons(self._label(event), event.data["text"])

    def _answered(self, event: Event) -> None:
        self._view.turned(self._label(event))

    def _rolled_back(self, event: Event) -> None:
        if not self._is_within(event):
            self._finish("stopped")  # print the steps before the rollback
        for line in rolled_back_lines(event.data):
            tell(self._console, line)

    def _note(self, event: Event, text: Text) -> None:
        """Add a row below a step in the live view, or print it."""
        if self._draws:
            self._view.step_of(self._label(event)).notes.append(Text("   ").append_text(text))
        else:
            tell(self._console, text)

    def _is_within(self, event: Event) -> bool:
        """Return whether the run is a step of another run."""
        return bool(self._within.get(event.execution_id))

    def _completed(self, event: Event) -> None:
        if self._is_within(event):
            return
        self._finish("stopped")
        data = event.data
        words = [f"{data['duration_ms'] / 1000:.1f} s", usage_words(data["usage"])]
        self._print(", ".join(filter(None, words)), "dim")
        if data.get("unchanged"):
            self._print("nothing changed: the answer leaves everything as it is", "yellow")
        if data["files"]:
            self._print(f"changed: {', '.join(map(label, data['files']))}", "green")

    def _failed(self, event: Event) -> None:
        if (prefix := self._compared.get(event.execution_id)) is not None:
            words = visible(f"{prefix}{event.data['error']}")
            tell(self._console, Text.assemble(("error: ", "bold red"), words))
            return
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
        """Replace the live view by its final state."""
        self._view.end(unfinished)
        if self._stop_drawing():
            self._console.print(self._view.whole())

    def _line(self, text: str) -> None:
        if not self._draws:
            self._print(text.replace("\n", r"\n"), "dim")

    def _print(self, text: str, style: str) -> None:
        tell(self._console, Text(visible(text), style=style))


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
    EventName.REASONING: Progress._reasoned,
    EventName.MODEL_ANSWERED: Progress._answered,
    EventName.NOTICE: Progress._notice,
    EventName.GATE_PASSED: Progress._gate_passed,
    EventName.GATE_FAILED: Progress._gate_failed,
    EventName.CHECK_STARTED: Progress._check_started,
    EventName.CHECK_OUTPUT: Progress._check_printed,
    EventName.CHECK_ENDED: Progress._check_ended,
    EventName.ROLLED_BACK: Progress._rolled_back,
    EventName.MCP_CONNECTED: Progress._connected,
    EventName.TOOL_CALLED: Progress._tool_called,
    EventName.TOOL_PROGRESS: Progress._tool_runs,
    EventName.TOOL_COMPLETED: Progress._tool_completed,
}
