"""Machines to draw: all kinds of transitions, large and random ones."""

from __future__ import annotations

import re
from collections import Counter

from hypothesis import strategies as st

from tideate_core.machines.language import BOUNDARY, MachineDefinition, State, Transition

ENTRY, EXIT = "*entry", "*exit"


def machine(*lines: str, name: str = "W", guidance: dict[str, str] | None = None) -> MachineDefinition:
    """Make a definition of lines like `a > b: when`."""
    transitions = []
    for line in lines:
        found = re.fullmatch(r"(\S+) > (\S+?)(?:: (.*))?", line, re.DOTALL)
        assert found, line
        source, target, when = found.groups()
        transitions.append(Transition(source, target, when or ""))
    return defined(transitions, name=name, guidance=guidance)


def defined(
    transitions: list[Transition], *, name: str = "W", guidance: dict[str, str] | None = None
) -> MachineDefinition:
    names = dict.fromkeys(end for each in transitions for end in each[:2] if end != BOUNDARY)
    states = {each: State(each, (guidance or {}).get(each, "")) for each in names}
    return MachineDefinition(name, states, tuple(transitions))


PLANNER = machine(
    "* > initial_loaded",
    "initial_loaded > continue_project: User wants to continue",
    "initial_loaded > define_project: There is no project yet, or the user wants a new one",
    "continue_project > execution: The tasks are defined",
    "continue_project > refine_tasks: The tasks need work",
    "continue_project > define_project: The user wants to start afresh",
    "define_project > refine_project: A first description stands",
    "define_project > define_project: The answers are not enough, ask again",
    "refine_project > refine_project: The user asks for changes",
    "refine_project > create_project: The user accepts the definition",
    "refine_project > define_project: The user wants another project altogether",
    "create_project > refine_tasks",
    "refine_tasks > execution: The tasks are accepted",
    "refine_tasks > refine_project: The project itself has to change",
    "execution > execution: A task is done, more are open",
    "execution > refine_tasks: A task turns out to be too large",
    "execution > all_tasks_complete: Nothing is open any more",
    "execution > *: The user pauses",
    "all_tasks_complete > define_project: New wishes",
    "all_tasks_complete > *: The user is content",
    name="PLANNER",
)

pieces = ["ask", "wider", "日本語", "e\u0301", "🙂", "a:b", "<b>", '"x"', "\\", "#1;"]
words = st.lists(st.sampled_from(pieces), max_size=9)


@st.composite
def machines(draw_: st.DrawFn) -> MachineDefinition:
    count = draw_(st.integers(0, 14))
    longer = draw_(st.sampled_from(["", "_" + "x" * 56]))
    ends = st.sampled_from([BOUNDARY, *(f"s{number}{longer}" for number in range(count))])
    transitions = st.lists(st.builds(Transition, ends, ends, words.map(" ".join)), max_size=3 * count + 1)
    return defined(draw_(transitions))


def edges_of(definition: MachineDefinition) -> Counter[tuple[str, str]]:
    pairs = {(each.source, each.target) for each in definition.transitions}
    return Counter((a if a != BOUNDARY else ENTRY, b if b != BOUNDARY else EXIT) for a, b in pairs)


def complete(count: int) -> MachineDefinition:
    """Return a machine with all transitions between `count` states."""
    names = [f"s{at}" for at in range(count)]
    edges = [Transition(source, target, f"why {source}") for source in names for target in names]
    return defined([Transition(BOUNDARY, "s0"), *edges, Transition("s0", BOUNDARY)])
