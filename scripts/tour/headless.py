"""The tour without a person: three workflows in a headless Neovim, printed as they happen."""

from __future__ import annotations

import difflib
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.syntax import Syntax

from scripts.tour.sample_project import ROOT, copy_sample
from tests.harness.editor import Editor

if TYPE_CHECKING:
    from collections.abc import Mapping

NOTE = (
    "The bundled model (135M parameters, on this machine) is only a demonstration; for a real one put "
    '`adapter = "anthropic:claude-sonnet-5-5"` into ~/.config/tideate/config.toml (README.md).'
)
LINES = (ROOT / "README.md", "tideate runs", "after a crash")
REFUSED = {"UnusableAnswer", "StepFailed", "InvalidReply"}
"""Codes of a run that went as it should with an answer that could not be used."""


class Ending(Enum):
    """How an example of the tour ended; only the last is a failure of the tour."""

    DONE = "done"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Example:
    """One run of the tour, on the lines of a file that begin with `first` up to `last`."""

    workflow: str
    file: Path
    first: str
    last: str
    prompt: str = ""

    def lines(self) -> tuple[int, int]:
        """Return the selection, 1-based with both ends."""
        lines = self.file.read_text(encoding="utf-8").splitlines()
        start = next(number for number, line in enumerate(lines) if line.startswith(self.first))
        end = next(number for number, line in enumerate(lines[start:], start) if line.startswith(self.last))
        return start + 1, end + 1


@dataclass(slots=True)
class Outcome:
    """Result of a run, with the text before and after it."""

    result: dict[str, Any]
    before: list[str]
    after: list[str]
    declined: str = ""
    """The question that the tour answered with no."""
    tokens: int = 0
    seconds: float = 0.0

    @property
    def diff(self) -> str:
        return "\n".join(difflib.unified_diff(self.before, self.after, "before", "after", lineterm=""))

    @property
    def refusal(self) -> str:
        """Why the answer was turned down, empty if the run ended otherwise."""
        if self.result.get("error_code") in REFUSED:
            return str(self.result["error"])
        declined = self.result.get("reason") == "declined"
        return f"{self.declined} A person would say no." if declined and self.declined else ""

    @property
    def failure(self) -> str:
        return str(self.result.get("error") or "the run was cancelled")


class Tour:
    """Runs examples in one Neovim and prints their results."""

    def __init__(self, editor: Editor, console: Console) -> None:
        self._editor = editor
        self._console = console
        self._window = int(editor.lua("return vim.api.nvim_get_current_win()"))
        self._buffer = 0
        self._script = Path(__file__).with_name("run.lua").read_text(encoding="utf-8")

    def run(self, example: Example) -> Outcome:
        """Run one example to its end, streaming the model's words."""
        # the window of the last answer may have the focus
        self._editor.lua("vim.api.nvim_set_current_win(...)", self._window)
        self._buffer = self._editor.edit(example.file)
        selection = example.lines()
        self._announce(example, selection)
        before = self._editor.lines(self._buffer)
        started = time.monotonic()
        nvim = self._editor.nvim
        self._editor.lua(self._script, nvim.channel_id, example.workflow, example.prompt, *selection)
        outcome = self._follow(Outcome({}, before, before))
        outcome.seconds = time.monotonic() - started
        outcome.after = self._editor.lines(self._buffer)
        return outcome

    def undo(self) -> list[str]:
        """Type one `u` in the text's window and return the text."""
        self._editor.lua("vim.api.nvim_set_current_win(...)", self._window)
        self._editor.feed("u")
        return self._editor.lines(self._buffer)

    def _announce(self, example: Example, selection: tuple[int, int]) -> None:
        shown = f":{selection[0]},{selection[1]}Workflow {example.workflow} {example.prompt}".rstrip()
        name = example.file.relative_to(ROOT) if example.file.is_relative_to(ROOT) else example.file.name
        self._console.print()
        self._console.rule(f"[bold cyan]{escape(shown)}[/]  [dim]{name}", align="left")

    def _follow(self, outcome: Outcome) -> Outcome:
        while not outcome.result:
            _, kind, (data,) = self._editor.nvim.next_message()
            if kind == "event":
                self._on_event(data["name"], data["data"], outcome)
            elif kind == "confirm":
                answer = "yes" if data["accepted"] else "no"
                outcome.declined = outcome.declined or ("" if data["accepted"] else data["message"])
                self._say(f"? {data['message']} [bold]{answer}[/] (a person is asked here)")
            else:
                outcome.result = data
        return outcome

    def _on_event(self, name: str, data: dict[str, Any], outcome: Outcome) -> None:
        match name:
            case "SD_EVENT_STEP_STARTED":
                self._say(f"▸ step {data['index']}/{data['total']}: [bold]{data['step']}[/]")
            case "SD_EVENT_TOKEN":
                self._console.out(data["text"], end="", highlight=False)
                self._console.file.flush()
            case "SD_EVENT_MODEL_ANSWERED":
                outcome.tokens += data["usage"]["output_tokens"]
                self._console.print()
            case "SD_EVENT_NOTICE":
                self._say(f"! {escape(data['message'])}")

    def _say(self, text: str) -> None:
        self._console.print(f"[dim]{text}[/]", highlight=False)


def _print_end(console: Console, outcome: Outcome) -> None:
    took = f"{outcome.seconds:.1f} s, {outcome.tokens} tokens from the model"
    if outcome.result["ok"]:
        console.print(f"[green]✓[/] done [dim]in {took}[/]", highlight=False)
    else:
        console.print(f"[yellow]✗[/] not done [dim]after {took}[/]", highlight=False)


def judge_refactoring(console: Console, tour: Tour, outcome: Outcome) -> Ending:
    """Print the diff and that it can be undone, or that nothing was changed."""
    unchanged = outcome.after == outcome.before
    if not outcome.result["ok"]:
        if not unchanged:
            console.print("[red]The text was changed all the same!")
            return Ending.FAILED
        if not outcome.refusal:
            console.print(f"[red]Failed:[/] {escape(outcome.failure)}", highlight=False)
            return Ending.FAILED
        console.print(f"[yellow]Refused:[/] {escape(outcome.refusal)}", highlight=False)
        return Ending.REFUSED
    if unchanged:
        console.print("The model's answer is the text as it was: there is nothing to change.")
        return Ending.DONE
    console.print(Syntax(outcome.diff, "diff", background_color="default"))
    if tour.undo() != outcome.before:
        console.print("[red]✗ not undone by one u")
        return Ending.FAILED
    console.print("[green]✓[/] one [bold]u[/] brought the text back")
    return Ending.DONE


def judge_text(console: Console, outcome: Outcome) -> Ending:
    """Print a failure or a changed text; only an answer is expected."""
    if not outcome.result["ok"]:
        console.print(f"[red]Failed:[/] {escape(outcome.failure)}", highlight=False)
        return Ending.FAILED
    if outcome.after != outcome.before:
        console.print("[red]The text was changed!")
        return Ending.FAILED
    return Ending.DONE


def _show_texts(console: Console, home: Path) -> dict[str, Ending]:
    examples = (
        Example("summarize", *LINES),
        Example("ask", *LINES, prompt="What undoes an edit?"),
    )
    endings = {}
    with closing(Editor(home, cwd=ROOT)) as editor:
        tour = Tour(editor, console)
        for example in examples:
            outcome = tour.run(example)
            _print_end(console, outcome)
            endings[example.workflow] = judge_text(console, outcome)
    return endings


def _show_refactoring(console: Console, home: Path, project: Path) -> dict[str, Ending]:
    example = Example("refactor", project / "shop.py", "def total", "    return", prompt="use sum()")
    with closing(Editor(home, cwd=project)) as editor:
        tour = Tour(editor, console)
        outcome = tour.run(example)
        _print_end(console, outcome)
        return {example.workflow: judge_refactoring(console, tour, outcome)}


def close(console: Console, endings: Mapping[str, Ending]) -> int:
    """Say how the examples ended; returns the exit status, 0 unless one failed."""
    named = {kind: ", ".join(name for name in endings if endings[name] is kind) for kind in Ending}
    console.print()
    if named[Ending.DONE]:
        console.print(f"[green]✓ done:[/] {named[Ending.DONE]}", highlight=False)
    if named[Ending.REFUSED]:
        words = "its answer could not be used, so nothing was changed, as it should be"
        console.print(f"[yellow]✗ refused:[/] {named[Ending.REFUSED]} ({words})", highlight=False)
    if named[Ending.FAILED]:
        console.print(f"[red]✗ failed:[/] {named[Ending.FAILED]}", highlight=False)
    return 1 if named[Ending.FAILED] else 0


def show() -> int:
    """Run the examples; 0 if each ended as it should, be it with a refused refactoring."""
    console = Console(soft_wrap=True)
    console.print("[bold]tideate[/]: AI workflows in Neovim that you can trust with your code")
    console.print(f"[yellow]{escape(NOTE)}[/]", highlight=False)
    with tempfile.TemporaryDirectory(prefix="tideate-tour-") as temporary:
        homes = [Path(temporary) / name for name in ("texts", "refactoring")]
        for home in homes:
            home.mkdir()
        endings = _show_texts(console, homes[0])
        endings |= _show_refactoring(console, homes[1], copy_sample(Path(temporary)))
    status = close(console, endings)
    console.print(
        "In a terminal, [bold]make run[/] opens Neovim and a tour to try it yourself.", highlight=False
    )
    return status
