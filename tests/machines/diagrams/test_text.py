"""Text diagrams: each arrow followed from source to target."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import example, given, settings, strategies as st
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

RAILS = str.maketrans("╭╮╰╯├┤▶◀", "╮╭╯╰┤├◀▶")
CIRCLES = "①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳"
FRAME = re.compile(r"[┌╔╭][─═╌]{10,}[┐╗╮]")


class Tracer:
    """Reads a text drawing as a person does: boxes, their lines, and where the lines at them lead."""

    def __init__(self, text: str, definition: MachineDefinition) -> None:
        self.grid = [_cells(line) for line in text.splitlines()]
        self.width = max(map(len, self.grid), default=0)
        self.definition = definition
        self.mirrored = [[cell.translate(RAILS) for cell in reversed(self._padded(row))] for row in self.grid]
        self.nodes = _display_order(definition)
        self.edges: Counter[tuple[str, str]] = Counter()
        self._read()

    def _padded(self, row: list[str]) -> list[str]:
        return row + [" "] * (self.width - len(row))

    def _read(self) -> None:
        lines = ["".join(cell or " " for cell in line) for line in self.grid]
        frames = {row: found for row, line in enumerate(lines) if (found := FRAME.search(line))}
        axis = next((frame.start() for frame in frames.values()), 0) + 4
        boxes = []
        for row, line in enumerate(lines):
            if row in frames:
                boxes.append((row, frames[row].start(), frames[row].end() - 1))
            elif line[axis : axis + 1] in ("●", "◉") and line[axis - 4] in " ─":
                boxes.append((row, axis, axis))
        assert len(boxes) == len(self.nodes)
        named = [(*box, name) for box, name in zip(boxes, self.nodes, strict=True)]
        self.titles = {row + (left != right): name for row, left, right, name in named}
        self.numbers: dict[str, str] = {}
        for box in named:
            self._title(*box)
        for box in named:
            self._box(*box)

    def _title(self, row: int, left: int, right: int, name: str) -> None:
        if left == right:
            number = re.search(rf"◉ ([{CIRCLES}]|\(\d+\))", "".join(self.grid[row]))
            shown = name
        else:
            title = "".join(self.grid[row + 1][left + 2 : right - 1]).rstrip()
            number = re.match(rf"([{CIRCLES}]|\(\d+\)) ", title)
            shown = title[number.end() :] if number else title
        if number:
            self.numbers[number[1]] = name
        assert left == right or _fits(shown, "●" if name == ENTRY else name)

    def _box(self, top: int, left: int, right: int, name: str) -> None:
        row = top + (2 if left != right else 0)
        while left != right and self.grid[row][left] in "│║╎┤╢":
            self._line(row, left, right, name)
            row += 1
        below = self.grid[row + 1] if row + 1 < len(self.grid) else []
        if "▼" in below[left : right + 1]:
            assert left == right or self.grid[row][below.index("▼")] in "┬╤"
            self.edges[name, self.nodes[self.nodes.index(name) + 1]] += 1
        else:
            assert left == right or not {"┬", "╤"} & set(self.grid[row][left : right + 1])

    def _line(self, row: int, left: int, right: int, name: str) -> None:
        words = "".join(self.grid[row][left + 2 : right - 1])
        ports = (self.grid[row][left] in "┤╢", self.grid[row][right] in "├╟")
        if words.startswith("↺"):
            assert ports == (False, False)
            self.edges[name, name] += 1
        elif number := re.match(rf"→ ([{CIRCLES}]|\(\d+\))", words):
            assert ports == (False, False)
            self.edges[name, self.numbers[number[1]]] += 1
        elif ports == (False, False):
            # the arrow down at the bottom is the transition of this line
            assert _leads_to(words, self.nodes[self.nodes.index(name) + 1])
        else:
            assert ports.count(True) == 1
            target = self._follow(row, right) if ports[1] else self._follow_left(row, left)
            assert _leads_to(words, target)
            self.edges[name, target] += 1

    def _follow_left(self, row: int, column: int) -> str:
        return _walk(self.mirrored, row, self.width - 1 - column, "up", self.titles)

    def _follow(self, row: int, column: int) -> str:
        return _walk([self._padded(line) for line in self.grid], row, column, "down", self.titles)


def _walk(grid: list[list[str]], row: int, column: int, way: str, titles: dict[int, str]) -> str:
    """Follow a line out of a box, along its lane, and in again; crossings are passed straight on."""
    step, turn, back = (1, "╮", "╯") if way == "down" else (-1, "╯", "╮")
    column += 1
    while grid[row][column] in "─┼":
        column += 1
    assert grid[row][column] in (turn, "┤"), f"the line out ends with {grid[row][column]!r}"
    row += step
    while grid[row][column] in "│┼┤":
        row += step
    assert grid[row][column] in (back, "┤"), f"the lane ends with {grid[row][column]!r}"
    column -= 1
    while grid[row][column] in "─┼":
        column -= 1
    assert grid[row][column] == "◀", f"the line in ends with {grid[row][column]!r}"
    assert grid[row][column - 1] in f"│║╎◉{CIRCLES})"
    return titles[row]


def _cells(line: str) -> list[str]:
    """One item for each column; a wide character's second one is empty."""
    cells: list[str] = []
    for char in line:
        if cell_len(char) == 0:
            cells[-1] += char
        else:
            cells += [char, *[""] * (cell_len(char) - 1)]
    return cells


def _fits(shown: str, whole: str) -> bool:
    return shown == whole or (shown.endswith("…") and whole.startswith(shown[:-1]))


def _leads_to(words: str, target: str) -> bool:
    shown = words.removeprefix("→ ").rstrip()
    name = "◉" if target == EXIT else target
    return shown.startswith((f"{name}:", f"{name}…")) or _fits(shown, name)


def _display_order(definition: MachineDefinition) -> list[str]:
    order, seen = [BOUNDARY], {BOUNDARY}
    for source in order:
        for each in definition.transitions:
            if each.source == source and each.target not in seen:
                seen.add(each.target)
                order.append(each.target)
    leaves = [EXIT] if any(each.target == BOUNDARY for each in definition.transitions) else []
    return [ENTRY, *order[1:], *leaves, *(name for name in definition.states if name not in seen)]


def traced(definition: MachineDefinition, width: int, current: str | None = None) -> Counter[tuple[str, str]]:
    return Tracer(draw(definition, "text", width=width, current=current), definition).edges


@pytest.mark.parametrize("width", [20, 30, 40, 60, 80, 120, 200])
@pytest.mark.parametrize("current", [None, "execution", BOUNDARY])
def test_every_arrow_of_the_planner_leads_to_its_target(width: int, current: str | None) -> None:
    assert traced(PLANNER, width, current) == edges_of(PLANNER)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(machines(), st.integers(20, 130))
@example(machine("* > *"), 20)
@example(machine("* > a", "* > b: later", "a > a", "c > a", "c > *"), 80)
def test_every_arrow_of_any_machine_leads_to_its_target(definition: MachineDefinition, width: int) -> None:
    assert traced(definition, width) == edges_of(definition)


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
    assert Tracer(text, definition).edges == edges_of(definition)
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
