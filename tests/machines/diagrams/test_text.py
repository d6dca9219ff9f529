"""Text diagrams: whole drawings, their widths and their limits."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given, settings, strategies as st
from rich.cells import cell_len

from tests.machines.diagrams.machines import (
    ENTRY,
    EXIT,
    PLANNER,
    complete,
    defined,
    edges_of,
    machine,
    machines,
)
from tideate_core.machines.language import BOUNDARY, MachineDefinition, Transition, draw

WIDE = """\
           ●
           ▼
       ┌──────────────────────────────────────────────────────────────┐
       │ initial_loaded                                               │
       │ → continue_project: User wants to continue                   │
       │ → define_project: There is no project yet, or the user want… ├──╮
       └───┬──────────────────────────────────────────────────────────┘  │
           ▼                                                             │
       ┌──────────────────────────────────────────────────────────────┐  │
       │ continue_project                                             │  │
       │ → execution: The tasks are defined                           ├──┼─╮
       │ → refine_tasks: The tasks need work                          ├──┼─┼─╮
       │ → define_project: The user wants to start afresh             │  │ │ │
       └───┬──────────────────────────────────────────────────────────┘  │ │ │
           ▼                                                             │ │ │
       ┌──────────────────────────────────────────────────────────────┐  │ │ │
╭─────▶│ define_project                                               │◀─╯ │ │
│      │ → refine_project: A first description stands                 ├──╮ │ │
│      │ ↺ The answers are not enough, ask again                      │  │ │ │
│      └──────────────────────────────────────────────────────────────┘  │ │ │
│                                                                        │ │ │
│      ┌──────────────────────────────────────────────────────────────┐  │ │ │
│   ╭─▶│ execution                                                    │◀─┼─╯ │
│   │  │ ↺ A task is done, more are open                              │  │   │
│   │  │ → refine_tasks: A task turns out to be too large             │  │   │
│   │  │ → all_tasks_complete: Nothing is open any more               ├──┼─╮ │
│   │  │ → ◉: The user pauses                                         ├──┼─┼─┼─╮
│   │  └───┬──────────────────────────────────────────────────────────┘  │ │ │ │
│   │      ▼                                                             │ │ │ │
│   │  ┌──────────────────────────────────────────────────────────────┐  │ │ │ │
│ ╭─┼─▶│ refine_tasks                                                 │◀─┼─┼─╯ │
│ │ ╰──┤ → execution: The tasks are accepted                          │  │ │   │
│ │    │ → refine_project: The project itself has to change           │  │ │   │
│ │    └───┬──────────────────────────────────────────────────────────┘  │ │   │
│ │        ▼                                                             │ │   │
│ │    ┌──────────────────────────────────────────────────────────────┐  │ │   │
│ │    │ refine_project                                               │◀─╯ │   │
│ │    │ ↺ The user asks for changes                                  │    │   │
│ │    │ → create_project: The user accepts the definition            ├──╮ │   │
├─┼────┤ → define_project: The user wants another project altogether  │  │ │   │
│ │    └──────────────────────────────────────────────────────────────┘  │ │   │
│ │                                                                      │ │   │
│ │    ┌──────────────────────────────────────────────────────────────┐  │ │   │
│ │    │ all_tasks_complete                                           │◀─┼─╯   │
╰─┼────┤ → define_project: New wishes                                 │  │     │
  │    │ → ◉: The user is content                                     ├──┼─────┤
  │    └──────────────────────────────────────────────────────────────┘  │     │
  │                                                                      │     │
  │    ┌──────────────────────────────────────────────────────────────┐  │     │
  │    │ create_project                                               │◀─╯     │
  ╰────┤ → refine_tasks                                               │        │
       └──────────────────────────────────────────────────────────────┘        │
                                                                               │
           ◉◀──────────────────────────────────────────────────────────────────╯
"""
NARROW = """\
         ●
         ▼
     ┌────────────────────────┐
     │ initial_loaded         │
     │ → continue_project: U… │
     │ → define_project: The… ├──╮
     └───┬────────────────────┘  │
         ▼                       │
     ┌────────────────────────┐  │
     │ continue_project       │  │
     │ → execution: The task… ├──┼─╮
     │ → refine_tasks: The t… ├──┼─┼─╮
     │ → define_project: The… │  │ │ │
     └───┬────────────────────┘  │ │ │
         ▼                       │ │ │
     ┌────────────────────────┐  │ │ │
     │ ① define_project       │◀─╯ │ │
     │ → refine_project: A f… ├──╮ │ │
     │ ↺ The answers are not… │  │ │ │
     └────────────────────────┘  │ │ │
                                 │ │ │
     ╔════════════════════════╗  │ │ │
  ╭─▶║ execution              ║◀─┼─╯ │
  │  ║ ↺ A task is done, mor… ║  │   │
  │  ║ → refine_tasks: A tas… ║  │   │
  │  ║ → all_tasks_complete:… ╟──┼─╮ │
  │  ║ → ◉: The user pauses   ╟──┼─┼─┼─╮
  │  ╚═══╤════════════════════╝  │ │ │ │
  │      ▼                       │ │ │ │
  │  ┌────────────────────────┐  │ │ │ │
╭─┼─▶│ refine_tasks           │◀─┼─┼─╯ │
│ ╰──┤ → execution: The task… │  │ │   │
│    │ → refine_project: The… │  │ │   │
│    └───┬────────────────────┘  │ │   │
│        ▼                       │ │   │
│    ┌────────────────────────┐  │ │   │
│    │ refine_project         │◀─╯ │   │
│    │ ↺ The user asks for c… │    │   │
│    │ → create_project: The… ├──╮ │   │
│    │ → ① define_project: T… │  │ │   │
│    └────────────────────────┘  │ │   │
│                                │ │   │
│    ┌────────────────────────┐  │ │   │
│    │ all_tasks_complete     │◀─┼─╯   │
│    │ → ① define_project: N… │  │     │
│    │ → ◉: The user is cont… ├──┼─────┤
│    └────────────────────────┘  │     │
│                                │     │
│    ┌────────────────────────┐  │     │
│    │ create_project         │◀─╯     │
╰────┤ → refine_tasks         │        │
     └────────────────────────┘        │
                                       │
         ◉◀────────────────────────────╯
"""
CIRCLES = "①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳"


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(machines(), st.integers(20, 130))
def test_no_line_is_wider_than_asked(definition: MachineDefinition, width: int) -> None:
    for line in draw(definition, "text", width=width).splitlines():
        assert cell_len(line) <= width
        assert line == line.rstrip()


def dense(count: int, prefix: str = "state") -> MachineDefinition:
    steps = [(at, (at * step + 3) % count) for at in range(count) for step in (1, 2, 5, 7)]
    lines = [f"{prefix}_{a} > {prefix}_{b}: reason {a}" for a, b in dict.fromkeys(steps)]
    return machine(f"* > {prefix}_0", *lines, f"{prefix}_{count - 1} > *")


@pytest.mark.parametrize("prefix", ["state", "a_state_whose_name_needs_nearly_all_of_the_sixty_letters"])
def test_forty_states_keep_whole_lines_and_whole_names(prefix: str) -> None:
    definition = dense(40, prefix)
    text = draw(definition, "text", width=80)
    assert max(map(cell_len, text.splitlines())) <= 80
    assert all(re.search(rf"{name}\b", text) for name in definition.states)
    assert "(21) " in text


@pytest.mark.slow
def test_up_to_two_thousand_transitions_are_drawn() -> None:
    definition = defined([Transition(BOUNDARY, f"s{at}") for at in range(2000)])
    assert "┌─" in draw(definition, "text")
    assert draw(definition, "svg").startswith("<svg")
    doubled = defined([*definition.transitions, Transition(BOUNDARY, "s1", "once more")])
    assert "┌─" in draw(doubled, "text")


@pytest.mark.parametrize("width", [1, 20, 80])
def test_of_too_many_transitions_there_is_a_list_that_says_so(width: int) -> None:
    definition = complete(45)
    text = draw(definition, "text", width=width, current="s7")
    lines = text.splitlines()
    assert lines[0] == ("A list: 2,027 transitions are too many to draw." if width == 80 else "A list: 2,027")
    assert max(map(cell_len, lines)) <= max(width, 20)
    assert lines.count("▶ s7") == 1
    edges: Counter[tuple[str, str]] = Counter()
    source = ""
    for line in lines[lines.index("") :]:
        if line.startswith("  → "):
            target = line.removeprefix("  → ").partition(":")[0]
            edges[source, EXIT if target == "◉" else target] += 1
        elif line:
            source = line.removeprefix("▶ ").replace("●", ENTRY)
    assert edges == edges_of(definition)


@pytest.mark.slow
def test_a_list_has_a_line_for_each_transition_and_not_much_more() -> None:
    definition = defined([Transition(BOUNDARY, f"s{at}", "x\x1b[31m" * 40) for at in range(3000)])
    text = draw(definition, "text", current="s2999")
    assert text.count("\n") == 1 + 2 + 3000 + 2
    assert text.endswith("\n\n▶ s2999\n")
    assert "\x1b" not in text


@pytest.mark.parametrize(("width", "current", "drawing"), [(80, None, WIDE), (40, "execution", NARROW)])
def test_every_arrow_of_the_planner_leads_to_its_target(
    width: int, current: str | None, drawing: str
) -> None:
    assert draw(PLANNER, "text", width=width, current=current) == drawing


def test_a_narrow_drawing_says_with_numbers_what_it_has_no_room_to_draw() -> None:
    text = draw(PLANNER, "text", width=30)
    assert re.findall(r"│ → (.) execution: ", text)[:1] == re.findall(r"│ (.) execution +│", text)


def test_the_planner_at_eighty_columns_needs_no_numbers() -> None:
    assert not set(CIRCLES) & set(draw(PLANNER, "text"))


def test_the_text_of_a_small_machine() -> None:
    asking = ["* > ask", "* > do: known", "ask > ask: unclear", "ask > do: clear"]
    definition = machine(*asking, "do > ask: not yet", "do > *", "old > do", "old > *")
    assert draw(definition, "text", width=40, current="do") == (
        "     ╭────────────────╮\n"
        "     │ ●              │\n"
        "     │ → do: known    ├──╮\n"
        "     ╰───┬────────────╯  │\n"
        "         ▼               │\n"
        "     ┌────────────────┐  │\n"
        "  ╭─▶│ ask            │  │\n"
        "  │  │ ↺ unclear      │  │\n"
        "  │  │ → do: clear    │  │\n"
        "  │  └───┬────────────┘  │\n"
        "  │      ▼               │\n"
        "  │  ╔════════════════╗  │\n"
        "╭─┼─▶║ do             ║◀─╯\n"
        "│ ╰──╢ → ask: not yet ║\n"
        "│    ╚═══╤════════════╝\n"
        "│        ▼\n"
        "│ ╭─────▶◉\n"
        "│ │  unreachable:\n"
        "│ │  ┌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌┐\n"
        "│ │  ╎ old            ╎\n"
        "╰─┼──┤ → do           ╎\n"
        "  ╰──┤ → ◉            ╎\n"
        "     └╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌┘\n"
    )


def test_a_state_that_nothing_leads_to_is_marked_and_stands_last() -> None:
    lines = draw(machine("* > a", "a > *", "lost > a"), "text").splitlines()
    heading = next(at for at, line in enumerate(lines) if "unreachable" in line)
    assert "lost" in lines[heading + 2]
    assert "╌" in lines[heading + 1]
    assert not any("lost" in line for line in lines[:heading])


def test_only_the_current_state_has_a_double_frame() -> None:
    lines = draw(PLANNER, "text", current="execution").splitlines()
    tops = [at for at, line in enumerate(lines) if "╔" in line]
    assert len(tops) == 1
    assert "║ execution " in lines[tops[0] + 1]


def test_a_machine_without_states_is_an_entry_alone() -> None:
    assert draw(MachineDefinition("W", {}), "text") == "    ●\n"
