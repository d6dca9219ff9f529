"""`tideate machine step`: walk through a machine by hand."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Protocol

from cyclopts import Parameter
from rich.text import Text

from tideate_core.app import machine_state, open_machine
from tideate_core.cli.arguments import Called, Machine, Obfuscate, Root, StateName
from tideate_core.cli.process import interruptible, run_async
from tideate_core.cli.render.output import markdown, print_json, report_usage_errors, results, tell
from tideate_core.errors import InvalidDefinition, InvalidInput
from tideate_core.util.escaping import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rich.console import Console

    from tideate_core.machines.language import Action, Success, TransitionResult, Workflow
    from tideate_core.workflows import MachineWorkflow

__all__ = ["step"]

HELP = "number or name go there · b back · g graph · h path so far · q quit"


class Choices(Protocol):
    """Source of the transitions that a walk takes: a person, or lines of a file or pipe."""

    asks_again: bool
    """A choice that is not allowed may be corrected."""

    def next(self) -> str | None:
        """Return the next choice, not empty; None at the end of input.

        :raises KeyboardInterrupt: Ctrl-C.
        """
        ...


class Prompt:
    """Asks at the terminal."""

    asks_again = True

    def __init__(self, console: Console) -> None:
        from tideate_core.cli.keyboard import Keyboard

        self._console = console
        self._keyboard = Keyboard(console)

    def next(self) -> str | None:
        question = Text("where to? (? help)", style="bold")
        # a loop, unlike `input`, never misses a Ctrl-C that comes just before it waits
        while (answer := run_async(self._keyboard.line(question))) == "":
            pass
        if answer is None:
            self._console.print()
        return answer


class Lines:
    """Reads one choice from each line of stdin."""

    asks_again = False

    def next(self) -> str | None:
        return next((line.strip() for line in sys.stdin if line.strip()), None)


@report_usage_errors
def step(
    file: Machine,
    state: Annotated[StateName, Parameter(help="State to start in. Default: the entry, `*`.")] = None,
    next: Annotated[StateName, Parameter(help="Try only this one move.")] = None,  # noqa: A002
    /,
    *,
    obfuscate: Obfuscate = False,
    json: Annotated[bool, Parameter(name="--json", help="Print the result of one move as JSON.")] = False,
    called: Called = None,
    root: Root = None,
) -> int:
    """Walk through a machine, or try one move of it; return the exit status."""
    from tideate_core.machines.language import BOUNDARY

    if json and next is None:
        raise InvalidInput("--json prints the result of one move: name the STATE and the NEXT one")
    workflow = open_machine(file, root, obfuscate=obfuscate, called=called)
    start = BOUNDARY if state is None else machine_state(workflow, state)
    if start == BOUNDARY:
        _check_entry(workflow)
    if next is not None:
        return _one_move(workflow, start, next, as_json=json)
    walk = Walk(workflow, start, results())
    at_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    return walk.go(Prompt(walk.console) if at_terminal else Lines(), rendered=at_terminal)


DONE, REFUSED, USAGE, INTERRUPTED = 0, 1, 2, 130


def _check_entry(workflow: MachineWorkflow) -> None:
    """Refuse what a run refuses."""
    from tideate_core.machines.language import BOUNDARY

    if all(way.target == BOUNDARY for way in workflow.machine.outgoing[BOUNDARY]):
        raise InvalidDefinition(
            f"{workflow.name} has no entry: a transition `* to STATE` says where a walk starts"
        )


def _one_move(workflow: MachineWorkflow, start: str, target: str, *, as_json: bool) -> int:
    from tideate_core.machines.language import Success, Workflow

    result = Workflow(workflow.machine).transition(start, _spelled(workflow, target))
    if as_json:
        print_json(_move_json(result))
    else:
        Walk(workflow, start, results()).show(result, rendered=sys.stdout.isatty())
    return DONE if isinstance(result, Success) else REFUSED


def _spelled(workflow: MachineWorkflow, name: str) -> str:
    """Return what the machine calls a state; a name that it does not know is the machine's to refuse."""
    try:
        return machine_state(workflow, name)
    except InvalidInput:
        return name


@dataclass(slots=True)
class Walk:
    """Position of a person in a machine, and the path to it."""

    workflow: MachineWorkflow
    start: str
    console: Console
    machine: Workflow = field(init=False)
    path: list[str] = field(init=False)
    guidance: list[str] = field(init=False)
    """Of each state of the path, as it was entered."""

    def __post_init__(self) -> None:
        from tideate_core.machines.language import BOUNDARY, Workflow

        self.machine = Workflow(self.workflow.machine)
        self.path = [self.start]
        self.guidance = ["" if self.start == BOUNDARY else self.machine.guidance(self.start)]

    @property
    def current(self) -> str:
        return self.path[-1]

    def go(self, choices: Choices, *, rendered: bool) -> int:
        """Ask until the machine, the input or the person ends it; returns the exit status."""
        try:
            with interruptible():
                return self._walk(choices, rendered=rendered)
        except KeyboardInterrupt:
            self.console.print()
            return INTERRUPTED
        finally:
            self._history()

    def show(self, result: TransitionResult, *, rendered: bool) -> None:
        """Print what came of a move."""
        from tideate_core.machines.language import Failure

        if isinstance(result, Failure):
            tell(self.console, Text(visible(result.message), style="red"))
            self._actions(result.valid_actions)
        else:
            self._state(result.next_state, result.guidance, rendered=rendered)
            self._actions(result.valid_actions, apart=result.guidance)

    def _walk(self, choices: Choices, *, rendered: bool) -> int:
        from tideate_core.machines.language import Failure

        self._show_place(rendered=rendered)
        while True:
            actions = self.machine.valid_actions(self.current)
            if not actions:
                self.console.print(f"no transition leads out of {self.current}", style="yellow", markup=False)
                return DONE
            answer = choices.next()
            if answer is None or (answer in ("q", "quit") and not _is_action(answer, actions)):
                return DONE
            command = None if _is_action(answer, actions) else COMMANDS.get(answer)
            if command is not None:
                command(self, rendered)
                continue
            result = self.machine.transition(self.current, self._chosen(answer, actions))
            if isinstance(result, Failure):
                self.show(result, rendered=rendered)
                if not choices.asks_again:
                    return REFUSED
            elif self._enter(result, rendered=rendered):
                return DONE

    def _enter(self, result: Success, *, rendered: bool) -> bool:
        """Go on to the next state; tells whether that is the end."""
        self.path.append(result.next_state)
        self.guidance.append(result.guidance)
        if result.ended:
            self._state("the end", result.guidance, rendered=rendered)
        else:
            self._show_place(rendered=rendered)
        return result.ended

    def _chosen(self, answer: str, actions: tuple[Action, ...]) -> str:
        if answer.isdecimal() and 1 <= int(answer) <= len(actions):
            return actions[int(answer) - 1].action
        return _spelled(self.workflow, answer)

    def _show_place(self, *, rendered: bool) -> None:
        self._state(self.current, self.guidance[-1], rendered=rendered)
        self._actions(self.machine.valid_actions(self.current), apart=self.guidance[-1])

    def _state(self, name: str, guidance: str, *, rendered: bool) -> None:
        self.console.print(Text(visible(name), style="bold cyan"), soft_wrap=True)
        if guidance and rendered:
            self.console.print(markdown(guidance))
        elif guidance:
            self.console.print(Text(visible(guidance)), soft_wrap=True)

    def _actions(self, actions: tuple[Action, ...], *, apart: str = "") -> None:
        """Print the choices; an empty line sets them apart from a text above."""
        from tideate_core.machines.language import BOUNDARY

        if apart and actions:
            self.console.print()
        for number, action in enumerate(actions, start=1):
            name = "the end (*)" if action.action == BOUNDARY else visible(action.action)
            line = Text.assemble((f"  {number} ", "bold"), name)
            if action.when:
                line.append(f"  {visible(' '.join(action.when.split()))}", "dim")
            tell(self.console, line, indent=len(f"  {number} "))

    def _back(self, rendered: bool) -> None:
        if len(self.path) == 1:
            self.console.print("the walk began here", style="yellow")
            return
        self.path.pop()
        self.guidance.pop()
        self._show_place(rendered=rendered)

    def _graph(self, _rendered: bool) -> None:
        from tideate_core.machines.language import draw

        drawing = draw(self.workflow.machine, "text", width=self.console.width, current=self.current)
        self.console.print(Text(visible(drawing).rstrip("\n")), soft_wrap=True)

    def _history(self, _rendered: bool = False) -> None:
        tell(self.console, Text(visible(" → ".join(self.path)), style="dim"))

    def _help(self, _rendered: bool) -> None:
        tell(self.console, Text(HELP, style="dim"))


COMMANDS: Mapping[str, Callable[[Walk, bool], None]] = {
    "b": Walk._back,
    "back": Walk._back,
    "g": Walk._graph,
    "graph": Walk._graph,
    "h": Walk._history,
    "history": Walk._history,
    "?": Walk._help,
    "help": Walk._help,
}
"""Commands that are no move. A state of such a name comes first."""


def _is_action(answer: str, actions: tuple[Action, ...]) -> bool:
    return any(answer == action.action for action in actions)


def _move_json(result: TransitionResult) -> dict[str, Any]:
    from tideate_core.machines.language import Success

    shape: dict[str, Any] = {"ok": isinstance(result, Success), "move": result.move, "state": result.state}
    if isinstance(result, Success):
        shape |= {"next_state": result.next_state, "guidance": result.guidance, "ended": result.ended}
    else:
        shape["message"] = result.message
    shape["valid_actions"] = [
        {"action": action.action, "when": action.when} for action in result.valid_actions
    ]
    return shape
