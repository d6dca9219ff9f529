"""The task's lifecycle and the `.workflow` grammar as one writes them with other libraries.

The libraries come from the dependency group `peers`; they are loaded by name, because an environment for
`make test` does not have them.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from typing import Any, cast

from tideate_core.machines import TASK_TABLE, Choice, StateMachine, WorkflowEvent, WorkflowState

E = WorkflowEvent

ROUND = (
    E.START_TASK,
    E.PLANNING_COMPLETE,
    E.PLAN_GATE_PASSED,
    E.AUDITING_COMPLETE,
    E.AUDIT_GATE_PASSED,
    E.EXECUTION_COMPLETE,
    E.EXECUTION_GATE_PASSED,
    E.DOCUMENTATION_COMPLETE,
    E.DOCUMENTATION_GATE_PASSED,
    E.VERIFICATION_FAILED,
    E.CORRECTION_SUCCEEDED,
    E.VERIFICATION_PASSED,
    E.RESET,
)
"""From idle to idle by way of every stage; four of its thirteen transitions have a guard."""

Walk = Callable[[int], Any]
"""Goes that many rounds with a new machine and returns it or its history."""


def gate() -> bool:
    """The guard of every passed gate."""
    return True


def _guarded(event: str) -> bool:
    return event.endswith("gate_passed")


GUARDED_TABLE: dict[WorkflowState, dict[WorkflowEvent, Any]] = {
    state: {
        event: Choice("gate", cast("WorkflowState", to)) if _guarded(event) else to
        for event, to in row.items()
    }
    for state, row in TASK_TABLE.items()
}


def ours(rounds: int) -> StateMachine[WorkflowState, WorkflowEvent]:
    """`StateMachine`: history with timestamps, guards, logging as it always is."""
    machine = StateMachine(GUARDED_TABLE, WorkflowState.IDLE, guards={"gate": gate}, reset=E.RESET)
    transition = machine.transition
    for _ in range(rounds):
        for event in ROUND:
            transition(event)
    return machine


def bare_dict(rounds: int) -> list[tuple[Any, Any, Any]]:
    """A dict of dicts and an append: no guards, no timestamps, no question whether it is allowed."""
    table, state, history = TASK_TABLE, WorkflowState.IDLE, []
    for _ in range(rounds):
        for event in ROUND:
            to: Any = table[state][event]
            history.append((state, to, event))
            state = to
    return history


def transitions_library() -> Walk:
    """`transitions`: a model with triggers, conditions, and a callback that keeps the history."""
    library: Any = importlib.import_module("transitions")
    rows = [
        {"trigger": event.value, "source": state.value, "dest": str(to)}
        | ({"conditions": "gate"} if _guarded(event) else {})
        for state, row in TASK_TABLE.items()
        for event, to in row.items()
    ]

    class Task:
        def __init__(self) -> None:
            self.history: list[tuple[Any, ...]] = []

        def gate(self, _: Any) -> bool:
            return gate()

        def record(self, data: Any) -> None:
            made = data.transition
            self.history.append((made.source, made.dest, data.event.name, time.time()))

    def walk(rounds: int) -> Any:
        task = Task()
        library.Machine(
            model=task,
            states=[state.value for state in WorkflowState],
            transitions=rows,
            initial="idle",
            auto_transitions=False,
            send_event=True,
            after_state_change="record",
        )
        triggers = [getattr(task, event.value) for event in ROUND]
        for _ in range(rounds):
            for trigger in triggers:
                trigger()
        return task.history

    return walk


def python_statemachine() -> Walk:
    """`python-statemachine`: states and events of a class, conditions, and `after_transition`."""
    library: Any = importlib.import_module("statemachine")
    task: Any = type(library.StateMachine)("Task", (library.StateMachine,), _statemachine_body(library))

    def walk(rounds: int) -> Any:
        machine = task()
        events = [getattr(machine, event.value) for event in ROUND]
        for _ in range(rounds):
            for event in events:
                event()
        return machine.made

    return walk


def _statemachine_body(library: Any) -> dict[str, Any]:
    states = {state.value: library.State(initial=state is WorkflowState.IDLE) for state in WorkflowState}
    events: dict[str, Any] = {}
    for state, row in TASK_TABLE.items():
        for event, to in row.items():
            options = {"cond": "gate"} if _guarded(event) else {}
            made = states[state.value].to(states[str(to)], **options)
            events[event.value] = events[event.value] | made if event.value in events else made

    def begin(self: Any) -> None:
        self.made = []
        library.StateMachine.__init__(self)

    def record(self: Any, event: Any, source: Any, target: Any) -> None:
        self.made.append((source.id, target.id, str(event), time.time()))

    extra = {"__init__": begin, "gate": lambda self: gate(), "after_transition": record}
    return {"__module__": __name__, **states, **events, **extra}


# -- the language -------------------------------------------------------------------------------------

GRAMMAR = r"""
workflow: _NEWLINE* transition*
transition: guidance_line? state "to" state state_guidance? _NEWLINE+
guidance_line: GUIDANCE _NEWLINE+
state_guidance: ":" CONTENT? INDENTED?
state: IDENTIFIER | ENTRY

ENTRY: "*"
IDENTIFIER: /[a-zA-Z_][a-zA-Z0-9_]*/
GUIDANCE: /:[^\n]+/
CONTENT: /[^ \t\r\n][^\n]*/
INDENTED.2: /(\r?\n[ \t]+[^\n]+)+/
_NEWLINE: /\r?\n/
%ignore /[ \t]+/
%ignore /(#|\/\/)[^\n]*/
"""
"""Document 3's grammar, with its corrections; comments are ignored and an indented block is one token."""


def lark_parser() -> Callable[[str], Any]:
    """`lark`: LALR with its contextual lexer, a tree with positions."""
    library: Any = importlib.import_module("lark")
    parser = library.Lark(GRAMMAR, parser="lalr", start="workflow", propagate_positions=True)
    parse: Callable[[str], Any] = parser.parse
    return parse
