"""The drawings show the machine: each arrow of a text is followed from its source to its target."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from xml.etree import ElementTree as ET

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from tideate_core.errors import MachineError
from tideate_core.machines.language import BOUNDARY, MachineDefinition, State, Transition, draw
from tideate_core.machines.language.diagrams import FORMATS, Format

SVG = "{http://www.w3.org/2000/svg}"
RAILS = str.maketrans("╭╮╰╯├┤▶◀", "╮╭╯╰┤├◀▶")
CIRCLES = "①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳"
FRAME = re.compile(r"[┌╔╭][─═╌]{10,}[┐╗╮]")
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


def edges_of(definition: MachineDefinition) -> Counter[tuple[str, str]]:
    pairs = {(each.source, each.target) for each in definition.transitions}
    return Counter((a if a != BOUNDARY else ENTRY, b if b != BOUNDARY else EXIT) for a, b in pairs)


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


def complete(count: int) -> MachineDefinition:
    """A machine in which each state leads to each, and the first one from the entry and to the exit."""
    names = [f"s{at}" for at in range(count)]
    edges = [Transition(source, target, f"why {source}") for source in names for target in names]
    return defined([Transition(BOUNDARY, "s0"), *edges, Transition("s0", BOUNDARY)])


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


def test_a_list_has_a_line_for_each_transition_and_not_much_more() -> None:
    definition = defined([Transition(BOUNDARY, f"s{at}", "x\x1b[31m" * 40) for at in range(3000)])
    text = draw(definition, "text", current="s2999")
    assert text.count("\n") == 1 + 2 + 3000 + 2
    assert text.endswith("\n\n▶ s2999\n")
    assert "\x1b" not in text


def test_an_svg_of_too_many_transitions_is_refused_with_the_formats_that_have_them() -> None:
    with pytest.raises(MachineError, match=r"2,027 transitions.*'dot' or 'mermaid'"):
        draw(complete(45), "svg")
    assert draw(complete(45), "dot").count("->") == draw(complete(45), "mermaid").count("-->") == 2027


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


@pytest.mark.parametrize("form", FORMATS)
def test_control_characters_of_a_file_do_not_reach_the_drawing(form: Format) -> None:
    evil = "red \x1b[31m \x07 \u202e back \r\n over \u2028 line \x9b2J"
    drawing = draw(machine("* > a", f"a > *: {evil}", guidance={"a": evil}, name=f"n{evil}"), form)
    assert not [char for char in drawing if char != "\n" and unicodedata.category(char) in ("Cc", "Cf", "Zl")]


@pytest.mark.parametrize("form", FORMATS)
def test_an_unknown_current_state_is_refused_with_the_nearest(form: Format) -> None:
    with pytest.raises(MachineError, match="did you mean 'execution'"):
        draw(PLANNER, form, current="exekution")


def test_an_unknown_format_is_refused_with_the_nearest() -> None:
    with pytest.raises(MachineError, match=r"did you mean 'svg'\? \(known: text, mermaid, dot, svg\)"):
        draw(PLANNER, "svgs")  # type: ignore[arg-type]


# what Mermaid's own grammar takes: a label has no `:`, `;` or line end in it, entities are decoded before
MERMAID = re.compile(
    r'    state "(?P<label>[^"\n]*)" as (?P<alias>s\d+)'
    r"|    (?P<source>s\d+|\[\*\]) --> (?P<target>s\d+|\[\*\])(?: : (?P<when>[^:;\n]+))?"
    r"|    classDef current [a-z:0-9-]+|    class s\d+ current"
)
HOSTILE = [
    "a: b; c # d %% comment --> x",
    'say "yes" {now} [*] <b>bold</b> <script>alert(1)</script>',
    "direction LR",
    "line\nbreak\\n",
    "1. first - *second* _third_ `fourth` $$x$$",
    "style x:#fff; end note",
    "日本語 — «é»",
]
KEYWORDS = ["end", "state", "class", "note", "default", "direction", "classDef", "fork", "as", "style", "_x_"]


def decoded(text: str) -> str:
    return re.sub(r"⟪(\d+)⟫", lambda match: chr(int(match[1])), text)


def pairs_of(definition: MachineDefinition) -> list[tuple[str, str]]:
    return [(each.source, each.target) for row in definition.outgoing.values() for each in row]


@pytest.mark.parametrize("when", [*HOSTILE, ""])
def test_mermaid_keeps_every_edge_and_every_word(when: str) -> None:
    definition = machine("* > end", *(f"end > {word}: {when}" for word in KEYWORDS), "end > *")
    first, *lines = draw(definition, "mermaid", current="state").splitlines()
    assert first == "stateDiagram-v2"
    found = [MERMAID.fullmatch(re.sub(r"#(\d+);", r"⟪\1⟫", line)) for line in lines]
    assert all(found), lines
    parts = [each.groupdict() for each in found if each]
    names = {each["alias"]: decoded(each["label"]) for each in parts if each["alias"]} | {"[*]": "*"}
    edges = [each for each in parts if each["source"]]
    assert [(names[each["source"]], names[each["target"]]) for each in edges] == pairs_of(definition)
    assert {decoded(each["when"] or "") for each in edges} == {"", " ".join(when.split())}
    # these make a statement, a comment or a broken entity of any line that they are in
    assert not re.search(r"direction\s+(TB|BT|LR|RL)|%%|style.*:\S*#.*;", "\n".join(lines), re.IGNORECASE)


def test_long_labels_are_shortened_in_mermaid_and_dot() -> None:
    definition = machine("* > a", "a > *: " + "very " * 100)
    assert max(map(len, draw(definition, "mermaid").splitlines())) < 90
    assert re.findall(r'label="([^"]*)…"', draw(definition, "dot"))[:1] == [("very " * 12).strip()]


# the DOT language: a quoted string ends at the first quote without a backslash before it
DOT_STRING = r'"((?:[^"\\\n]|\\.)*)"'


@pytest.mark.parametrize("when", HOSTILE)
def test_dot_keeps_every_edge_and_every_word(when: str) -> None:
    lines = ["* > node", *(f"node > {word}: {when}" for word in KEYWORDS), "node > *"]
    definition = machine(*lines, name='a"b\\')
    text = draw(definition, "dot")
    assert text.startswith('digraph "a\\"b\\\\" {\n')
    names = dict(re.findall(rf"^    (s\d+) \[label={DOT_STRING}", text, re.MULTILINE))
    names |= {"entry": "*", "exit": "*"}
    label = rf"(?: \[label={DOT_STRING}, tooltip={DOT_STRING}\])?"
    edges = re.findall(rf"^    (\w+) -> (\w+){label};$", text, re.MULTILINE)
    assert [(names[source], names[target]) for source, target, *_ in edges] == pairs_of(definition)
    expected = " ".join(when.split()).replace("\\", "\\\\").replace('"', '\\"')
    assert {tip for *_, tip in edges} == {"", expected}
    assert "entry [shape=point" in text
    assert "exit [shape=doublecircle" in text


def test_dot_without_an_exit_has_none() -> None:
    assert "exit" not in draw(machine("* > a"), "dot")


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(machines())
def test_an_svg_is_valid_and_its_words_fit_their_boxes(definition: MachineDefinition) -> None:
    root = ET.fromstring(draw(definition, "svg"))
    width, height = (float(root.get(side, "")) for side in ("width", "height"))
    frames = [_frame(box) for box in root.iter(f"{SVG}rect") if "box" in box.get("class", "").split()]
    for text in root.iter(f"{SVG}text"):
        if text.get("class") not in ("title", "when"):
            continue
        x, y, length = (float(text.get(key, "")) for key in ("x", "y", "textLength"))
        shown = "".join(title.tail or "" for title in text.iter(f"{SVG}title"))
        assert length == pytest.approx(cell_len(shown) * 7.8, abs=0.1)
        assert any(box[0] <= x and x + length <= box[1] and box[2] <= y <= box[3] for box in frames)
    assert all(min(box) >= 0 and box[1] <= width and box[3] <= height for box in frames)


def _frame(box: ET.Element) -> tuple[float, float, float, float]:
    x, y, width, height = (float(box.get(key, "")) for key in ("x", "y", "width", "height"))
    return x, x + width, y, y + height


def test_an_svg_has_each_arrow_and_is_self_contained() -> None:
    text = draw(PLANNER, "svg", current="execution")
    root = ET.fromstring(text)
    heads = [each for each in root.iter(f"{SVG}path") if each.get("class", "").startswith("head")]
    joints = [each for each in root.iter() if each.get("class", "").startswith("joint")]
    loops = [each for each in root.iter(f"{SVG}title") if (each.tail or "").startswith("↺")]
    # arrows to one target share a head, each further one joins at a joint
    assert len(heads) + len(joints) + len(loops) == len(PLANNER.transitions)
    assert [each for each in root.iter() if each.get("class") == "box current"]
    assert not re.search(r"<script|href|url\(|@import|onload", text)
    assert "prefers-color-scheme: dark" in text


def test_an_svg_shows_the_whole_words_as_tooltips() -> None:
    when = "R&D says <yes> " + "very " * 40 + '"loudly"'
    definition = machine("* > a", f"a > *: {when}", guidance={"a": "Do & tell."})
    root = ET.fromstring(draw(definition, "svg"))
    titles = [each.text for each in root.iter(f"{SVG}title")]
    assert f"→ ◉: {when}" in titles
    assert "a: Do & tell." in titles
