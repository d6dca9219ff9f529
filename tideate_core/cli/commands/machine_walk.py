"""`tideate machine step`: walk through a state machine by hand."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Final

from cyclopts import Parameter
from rich.text import Text

from tideate_core.app import machine_state, open_machine
from tideate_core.cli.arguments import Called, Machine, Obfuscate, Root, StateName
from tideate_core.cli.process import DONE, FAILED, INTERRUPTED, interruptible, run_async
from tideate_core.cli.render.output import markdown, print_json, report_usage_errors, results, tell
from tideate_core.errors import InvalidDefinition, InvalidInput
from tideate_core.util.escaping import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rich.console import Console

    from tideate_core.machines.language import Action, Success, TransitionResult, Workflow
    from tideate_core.workflows import MachineWorkflow

HELP = "number or name go there · b back · g graph · h path so far · q quit"


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
    return Walk(workflow, start, results(), sys.stdin.isatty() and sys.stdout.isatty()).go()


def _check_entry(workflow: MachineWorkflow) -> None:
    """Refuse a machine without an entry, as a run does."""
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
        Walk(workflow, start, results(), sys.stdout.isatty()).show(result)
    return DONE if isinstance(result, Success) else FAILED


def _spelled(workflow: MachineWorkflow, name: str) -> str:
    """Return the exact name of a state; an unknown name is unchanged, for the machine to refuse."""
    try:
        return machine_state(workflow, name)
    except InvalidInput:
        return name


@dataclass(slots=True)
class Walk:
    """Walk of a person, or of the lines of stdin, through a machine: path and guidance."""

    workflow: MachineWorkflow
    start: str
    console: Console
    at_terminal: bool
    """A person answers: guidance is rendered, and an invalid choice can be corrected."""
    machine: Workflow = field(init=False)
    path: list[str] = field(init=False)
    guidance: list[str] = field(init=False)
    """Guidance of each state on the path."""

    def __post_init__(self) -> None:
        from tideate_core.machines.language import BOUNDARY, Workflow

        self.machine = Workflow(self.workflow.machine)
        self.path = [self.start]
        self.guidance = ["" if self.start == BOUNDARY else self.machine.guidance(self.start)]

    def go(self) -> int:
        """Walk until the machine, the input or the person ends it; return the exit status."""
        try:
            with interruptible():
                return self._walk()
        except KeyboardInterrupt:
            self.console.print()
            return INTERRUPTED
        finally:
            self._history()

    def show(self, result: TransitionResult) -> None:
        """Print the result of a move."""
        from tideate_core.machines.language import Failure

        if isinstance(result, Failure):
            tell(self.console, Text(visible(result.message), style="red"))
            self._actions(result.valid_actions)
        else:
            self._state(result.next_state, result.guidance)
            self._actions(result.valid_actions, apart=result.guidance)

    def _walk(self) -> int:
        from tideate_core.machines.language import Failure

        ask = self._choices()
        self._show_place()
        while True:
            here = self.path[-1]
            actions = self.machine.valid_actions(here)
            if not actions:
                self.console.print(f"no transition leads out of {here}", style="yellow", markup=False)
                return DONE
            answer = ask()
            if answer is None:
                return DONE
            if answer not in (action.action for action in actions):
                if answer in ("q", "quit"):
                    return DONE
                if (command := COMMANDS.get(answer)) is not None:
                    command(self)
                    continue
            result = self.machine.transition(here, self._chosen(answer, actions))
            if isinstance(result, Failure):
                self.show(result)
                if not self.at_terminal:
                    return FAILED
            elif self._enter(result):
                return DONE

    def _choices(self) -> Callable[[], str | None]:
        """Return a function that reads the next non-empty choice; it returns None at the end of input."""
        if not self.at_terminal:
            return lambda: next((line.strip() for line in sys.stdin if line.strip()), None)
        from tideate_core.cli.keyboard import Keyboard

        keyboard, question = Keyboard(self.console), Text("where to? (? help)", style="bold")

        def ask() -> str | None:
            # unlike `input`, this never misses a Ctrl-C just before it waits
            while (answer := run_async(keyboard.line(question))) == "":
                pass
            if answer is None:
                self.console.print()
            return answer

        return ask

    def _enter(self, result: Success) -> bool:
        """Enter the next state; return whether it is the end."""
        self.path.append(result.next_state)
        self.guidance.append(result.guidance)
        if result.ended:
            self._state("the end", result.guidance)
        else:
            self._show_place()
        return result.ended

    def _chosen(self, answer: str, actions: tuple[Action, ...]) -> str:
        if answer.isdecimal() and 1 <= int(answer) <= len(actions):
            return actions[int(answer) - 1].action
        return _spelled(self.workflow, answer)

    def _show_place(self) -> None:
        self._state(self.path[-1], self.guidance[-1])
        self._actions(self.machine.valid_actions(self.path[-1]), apart=self.guidance[-1])

    def _state(self, name: str, guidance: str) -> None:
        self.console.print(Text(visible(name), style="bold cyan"), soft_wrap=True)
        if guidance and self.at_terminal:
            self.console.print(markdown(guidance))
        elif guidance:
            self.console.print(Text(visible(guidance)), soft_wrap=True)

    def _actions(self, actions: tuple[Action, ...], *, apart: str = "") -> None:
        """Print the choices, after an empty line if there is a text above."""
        from tideate_core.machines.language import BOUNDARY

        if apart and actions:
            self.console.print()
        for number, action in enumerate(actions, start=1):
            name = "the end (*)" if action.action == BOUNDARY else visible(action.action)
            line = Text.assemble((f"  {number} ", "bold"), name)
            if action.when:
                line.append(f"  {visible(' '.join(action.when.split()))}", "dim")
            tell(self.console, line, indent=len(f"  {number} "))

    def _back(self) -> None:
        if len(self.path) == 1:
            self.console.print("the walk began here", style="yellow")
            return
        self.path.pop()
        self.guidance.pop()
        self._show_place()

    def _graph(self) -> None:
        from tideate_core.machines.language import draw

        drawing = draw(self.workflow.machine, "text", width=self.console.width, current=self.path[-1])
        self.console.print(Text(visible(drawing).rstrip("\n")), soft_wrap=True)

    def _history(self) -> None:
        tell(self.console, Text(visible(" → ".join(self.path)), style="dim"))

    def _help(self) -> None:
        tell(self.console, Text(HELP, style="dim"))


COMMANDS: Final[Mapping[str, Callable[[Walk], None]]] = {
    **dict.fromkeys(("b", "back"), Walk._back),
    **dict.fromkeys(("g", "graph"), Walk._graph),
    **dict.fromkeys(("h", "history"), Walk._history),
    **dict.fromkeys(("?", "help"), Walk._help),
}
"""Commands beside moves; a state with the same name takes precedence."""


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
